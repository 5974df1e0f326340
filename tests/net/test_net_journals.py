"""The judge of what members say about a guarded object amid chaos objects where it must."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from journals import Journals
from troubled_node import Journal


def read(folder: Path, **journals: list[list[object]]) -> Journals:
    for name, lines in journals.items():
        (folder / f"{name}.journal").write_text("".join([json.dumps(line) + "\n" for line in lines]))
    judged = Journals()
    judged.read(folder)
    return judged


def answer(journal: Journal, life: str, number: int) -> list[object]:
    return ["answer", life, number, *journal.apply((life, number))]


def test_members_that_agree(tmp_path: Path) -> None:
    journal = Journal()
    ours = [answer(journal, "a/1", 1), answer(journal, "a/1", 2), ["lost", "a/1", 3], ["blocked", "a/1", 5.0, 6.5]]
    others = [answer(journal, "b/2", 1), ["replica", "b/2", journal.count, journal.digest]]
    judged = read(tmp_path, a=[*ours, answer(journal, "a/1", 4)], b=others)
    assert (judged.violations, judged.operations, judged.lost) == ([], 4, 1)
    assert judged.blocked == [("a", 5.0, 6.5)]


def test_replicas_that_differ(tmp_path: Path) -> None:
    judged = read(tmp_path, a=[answer(Journal(), "a/1", 1)], b=[answer(Journal(), "b/2", 1)])
    assert "not alike" in judged.violations[0]


@pytest.mark.parametrize("known", [True, False])
def test_an_operation_that_is_gone(known: bool, tmp_path: Path) -> None:
    """That may be only if the cluster has said that so many members were gone."""
    if known:
        (tmp_path / "b.log").write_text("WARNING guarded.lost node=b object=journal\n")
    journal = Journal()
    judged = read(tmp_path, a=[answer(Journal(), "a/1", 1), answer(journal, "a/1", 2)])
    assert any(["had an answer, and is gone" in violation for violation in judged.violations]) is not known


def test_a_lost_operation_that_was_executed(tmp_path: Path) -> None:
    journal = Journal()
    journal.apply(("a/1", 1))
    judged = read(tmp_path, a=[["lost", "a/1", 1], answer(journal, "a/1", 2)])
    assert "was told: lost" in judged.violations[0]
