"""Survivors are explained one by one, and what is explained exists; a small sample is hunted down."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from explanations import KINDS, SURVIVORS, entries
from mutate import mutants_of
from run import all_mutants
from workbench import SOURCES

ENTRIES = entries()


def test_names_are_unique() -> None:
    names = [(mutant.path, mutant.name) for mutant in [*all_mutants(), *all_mutants(views=True)]]
    assert len(names) == len(set(names))
    assert len(names) > 6000


def test_a_page_is_named_after_its_file() -> None:
    """Of what is no algorithm, with its room."""
    places = {Path(entry["file"]) for entry in ENTRIES}
    pages = {place.stem if place.parts[0] == "algorithms" else f"{place.parts[0]}_{place.stem}" for place in places}
    assert {path.stem for path in SURVIVORS.iterdir()} == pages


def test_every_explained_mutant_exists_and_is_explained_once() -> None:
    explained = [(entry["file"], name) for entry in ENTRIES for name in entry["mutants"]]
    assert len(explained) == len(set(explained))
    existing = {
        (file, mutant.name)
        for file in {entry["file"] for entry in ENTRIES}
        for mutant in mutants_of(SOURCES / "congenial" / file)
        if not mutant.lenient
    }
    assert [pair for pair in explained if pair not in existing] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=[f"{at}-{entry['file']}" for at, entry in enumerate(ENTRIES)])
def test_every_explanation_says_why(entry: dict[str, object]) -> None:
    assert entry["kind"] in KINDS
    assert len(str(entry["why"]).split()) >= 5
    assert entry["mutants"]


SETTLED = ("token/raymond_tree", "token/neilsen_mizuno", "permission/maekawa", "permission/carvalho")


@pytest.mark.deep
def test_a_sample_is_killed_or_explained(tmp_path: Path) -> None:
    files = [argument for file in SETTLED for argument in ("--file", file)]
    command = [sys.executable, str(Path(__file__).with_name("run.py")), *files, "--sample", "30", "--seed", "12"]
    done = subprocess.run(
        [*command, "--json", "--cache", str(tmp_path / "results.jsonl")], capture_output=True, text=True, timeout=900
    )
    verdicts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(verdicts) == 30, done.stderr
    assert [verdict["mutant"] for verdict in verdicts if verdict["state"] == "survived"] == []
    assert sum([verdict["state"] == "killed" for verdict in verdicts]) > 15
    assert done.returncode == 0
