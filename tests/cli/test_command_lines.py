"""Random command lines of all commands: none ends in a traceback, with a strange exit code, or leaves litter."""

from __future__ import annotations

import os

import pytest
from command_lines import POOLS, Outcome, commands, judge, line_of, place, run_many

QUICK = ("list", "sim", "compare", "check", "fuzz", "replay", "sweep", "detector", "status", "certs", "lock")
"""The commands that end immediately, whatever they are asked, or nearly so."""


def test_every_option_has_values_to_draw_from() -> None:
    unknown = [
        f"{parameter.command} {parameter.name}"
        for parameters in commands().values()
        for parameter in parameters
        if parameter.name not in POOLS and parameter.kind is not bool
    ]
    assert unknown == []


@pytest.mark.parametrize("command", QUICK)
def test_some_command_lines(command: str) -> None:
    count, faults = run_many(1, 60.0, command, most=6)
    assert not faults, "\n".join(faults)
    assert count


@pytest.mark.deep
@pytest.mark.parametrize("part", range(4))
def test_many_command_lines(part: int) -> None:
    first = int(os.environ.get("SEED", "1")) * 1_000_000 + part * 1000
    count, faults = run_many(first, 300.0, most=100)  # so many, not so long: equal on every machine
    assert not faults, "\n".join(faults)
    assert count > 10


def test_equal_seeds_give_equal_lines() -> None:
    table = commands()
    assert [line_of(seed, table) for seed in range(20)] == [line_of(seed, table) for seed in range(20)]


def test_the_judge_sees_what_is_wrong() -> None:
    """It would be in vain otherwise."""
    one = "congenial: no\n"
    assert judge(["sim"], Outcome(2, "", one, ())) == ""
    assert "traceback" in judge(["sim"], Outcome(1, "", "Traceback (most recent call last)\n", ()))
    assert "nobody has thought of" in judge(["sim"], Outcome(1, "", "congenial: (CONGENIAL_TRACEBACK=1 shows)\n", ()))
    assert "exit code 3" in judge(["sim"], Outcome(3, "", one, ()))
    assert "exit code -9" in judge(["sim"], Outcome(-9, "", "", ()))
    assert "printed" in judge(["sim"], Outcome(2, "a table", one, ()))
    assert "not one line" in judge(["sim"], Outcome(2, "", "a\nb\n", ()))
    assert "no verdict" in judge(["sim"], Outcome(1, "", "", ()))
    assert "changed" in judge(["sim"], Outcome(2, "", one, ("here/old.txt",)))
    assert "litter" in judge(["sim"], Outcome(0, "fine", "", ("here/x",)))
    assert judge(["sim", "--trace", "x"], Outcome(0, "fine", "", ("here/x",))) == ""


def test_a_place_runs_a_command_and_sees_what_it_changes() -> None:
    with place() as here:
        ended = here.run(["sim", "lamport", "-n", "2", "-r", "1", "--trace", "new.ndjson"])
        assert (ended.code, ended.changed) == (0, ("here/new.ndjson",)), ended
        assert here.run(["sim", "lamport", "-n", "0"]) == Outcome(
            2, "", "congenial: nodes must be at least 1, not 0\n", ()
        )
