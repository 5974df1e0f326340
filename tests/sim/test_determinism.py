"""Equal seeds give equal runs: again, in another process, compiled or interpreted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import digest
import pytest

from congenial.sim.chance import CHOICES, FAULTS, NETWORK
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import SOUND
from congenial.systems.streams import stream

SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.mark.deep
def test_the_interpreted_package_repeats_every_run_to_the_bit(tmp_path: Path) -> None:
    """Where the tests run compiled this compares compiled with interpreted; where not, two processes."""
    shutil.copytree(SOURCE, tmp_path / "src", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "PYTHONHASHSEED": "4711"}
    command = [sys.executable, digest.__file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
    theirs = json.loads(done.stdout)
    assert theirs.pop("engine") == str(tmp_path / "src" / "congenial" / "sim" / "engine.py")
    assert theirs == digest.digests()


@pytest.mark.parametrize("name", SOUND)
def test_equal_seeds_equal_runs_and_different_seeds_different_ones(name: str) -> None:
    assert digest.digest(name, "exponential", 1) == digest.digest(name, "exponential", 1)
    assert len({digest.digest(name, "exponential", seed) for seed in range(5)}) == 5


@pytest.mark.parametrize("name", SOUND)
def test_tracing_changes_nothing(name: str, tmp_path: Path) -> None:
    plain = simulate(name, nodes=7, requests=5).as_dict()
    traced = simulate(name, nodes=7, requests=5, trace=str(tmp_path / "trace.ndjson")).as_dict()
    for result in (plain, traced):
        result.pop("deliveries_per_second")
    assert plain == traced


@pytest.mark.parametrize(
    ("seed", "index", "expected"),
    [
        (0, 0, [0.44354149302679, 0.753123606018941, 130, 233]),
        (1, 0, [0.6320274011520897, 0.5350350814797064, 367, 862]),
        (1, 1, [0.9303584282179665, 0.3916878182278778, 458, 960]),
        (1, NETWORK, [0.5308952904619484, 0.42592137123730267, 182, 215]),
        (-5, FAULTS, [0.5378949448395832, 0.9064101376263864, 402, 817]),
        (2**63 - 1, CHOICES, [0.39863973227855243, 0.3777397872149336, 208, 903]),
    ],
)
def test_the_streams_are_pinned(seed: int, index: int, expected: list[float]) -> None:
    """If a new librt draws other numbers, every published run changes: that must not pass unseen."""
    rng = stream(seed, index)
    assert [rng.random(), rng.random(), rng.randrange(1000), rng.randrange(1000)] == expected


def test_neighbouring_streams_are_unrelated() -> None:
    first = [stream(seed, index).random() for seed in range(40) for index in range(-3, 40)]
    assert len(set(first)) == len(first)
    assert abs(sum(first) / len(first) - 0.5) < 0.03
