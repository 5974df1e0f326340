"""Algorithms that are kept for their flaws: the suite and the checker refuse them, no lock runs on them, and what mends
them is in the catalogue."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from congenial.checker.check import check
from congenial.kernel.errors import ConfigError
from congenial.net.config import ClusterConfig
from congenial.systems.catalogue import ALGORITHMS, SOUND
from congenial.testing import conformance

FLAWED = [name for name in ALGORITHMS if name not in SOUND]


def test_there_are_some() -> None:
    assert "raynal-primes" in FLAWED


@pytest.mark.parametrize("name", FLAWED)
class TestEveryFlawedAlgorithm:
    def test_it_says_what_is_wrong_and_what_to_use_instead(self, name: str) -> None:
        spec = ALGORITHMS[name].spec
        assert spec.flaws
        assert SOUND[spec.mended_by].spec.problem is spec.problem

    def test_the_checker_finds_its_flaw_and_none_in_what_mends_it(self, name: str) -> None:
        assert not check(name, nodes=2, requests=1).ok
        mended = check(ALGORITHMS[name].spec.mended_by, nodes=2, requests=1)
        assert mended.ok
        assert mended.complete

    def test_the_conformance_suite_refuses_it(self, name: str) -> None:
        refused = []
        for case in conformance(name, states=3000, runs=4):
            if case.name.startswith("all runs"):
                with pytest.raises(AssertionError, match=r"STARVATION|DEADLOCK|SAFETY"):
                    case.run()
                refused.append(case.name)
        assert len(refused) >= 3

    def test_no_lock_runs_on_it(self, name: str) -> None:
        mended = ALGORITHMS[name].spec.mended_by
        nodes = {"a": "127.0.0.1:7101", "b": "127.0.0.1:7102"}
        with pytest.raises(ConfigError, match=f"no locks on '{name}', .*: use '{mended}'"):
            ClusterConfig(nodes, algorithm=name)
        assert ClusterConfig(nodes, algorithm=mended).system().name == mended


def test_the_list_says_so() -> None:
    command = [sys.executable, "-m", "congenial", "list", "--json"]
    rows = {row["name"]: row for row in json.loads(subprocess.run(command, capture_output=True, check=True).stdout)}
    assert {name for name, row in rows.items() if row["mended_by"]} == set(FLAWED)
