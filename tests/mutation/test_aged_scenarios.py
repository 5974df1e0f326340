"""Each run in `aged_scenarios` finds a mutant, and none finds one that is explained: they judge what is wrong, and not
what is only different."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOUND = """
import json, sys
from aged_scenarios import AGED
from explanations import Explanations
from mutate import mutants_of
from workbench import SOURCES, put_in_place, set_up

def faulty():
    algorithm = sys.modules["congenial.systems.catalogue"].find_algorithm("mishra-srimani")
    names = []
    for name, scenario in AGED.items():
        try:
            wrong = scenario(algorithm) != ""
        except Exception:
            wrong = True
        if wrong:
            names.append(name)
    return names

set_up()
found = {"original": faulty(), "all": list(AGED), "killing": [], "explained": []}
explanations = Explanations.load()
for file in ("mishra_srimani", "aged_token"):
    for mutant in mutants_of(SOURCES / f"congenial/algorithms/token/{file}.py"):
        if not mutant.lenient:
            put_in_place(mutant)
            names = faulty()
            if explanations.of(mutant):
                found["explained"] += [(mutant.name, name) for name in names]
            else:
                found["killing"] += names
print(json.dumps(found))
"""


@pytest.mark.deep
def test_every_run_finds_what_is_wrong_and_only_that() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FOUND], cwd=Path(__file__).parent, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["original"] == []
    assert found["explained"] == []
    assert set(found["killing"]) == set(found["all"])
