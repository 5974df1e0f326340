"""Notes, checked: what is written in one view is read in all later ones, whatever is lost, and whoever crashes."""

from __future__ import annotations

from typing import Any

import pytest
from keeping import ADD, COUNT_BITS, MOVE, WATCH, Counter, Mortal, Moved, Stubborn

from congenial.checker.check_run import CheckRun
from congenial.checker.fuzz import fuzz
from congenial.checker.rules import Rules
from congenial.kernel.effects import EVERYONE
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out, Outbox
from congenial.parts.notes import EMPTY, MOST_TOLD, Gather, Had, Kept, Look, Note, Notes, Put, Seen, Stored
from congenial.parts.views import Voters
from congenial.systems.system import System

ADDS, WATCHES, MOVES = [(ADD,)], [(WATCH,)], [(MOVE,)]
ANYTHING = f"{ADD},{WATCH},{MOVE}"

# -- every run of a few processes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("views", "menus", "requests", "states"),
    [
        ("01", [ADDS + WATCHES, ADDS + WATCHES], 2, 13_762),
        ("0 1", [ADDS + MOVES, ADDS + WATCHES], 2, 4_974),
        ("0 1 0", [MOVES, ADDS + MOVES], 2, 16_735),
        ("01 1", [ADDS + MOVES, ADDS], 1, 299),
        pytest.param("0 1 0", [ADDS + MOVES, ADDS + MOVES], 2, 32_549, marks=pytest.mark.deep),
        pytest.param("01 2", [ADDS, MOVES, ADDS], 1, 250_968, marks=pytest.mark.deep),
    ],
)
def test_all_runs(views: str, menus: list[Any], requests: int, states: int) -> None:
    rules = Rules(requests=requests, menus=menus)
    result = CheckRun(System(Counter, len(menus), {"views": views}), rules, False, False, 1_000_000, None).result()
    assert result.ok, result.verdict()
    assert result.complete
    assert result.states == states


def test_all_runs_with_a_crash_and_a_recovery() -> None:
    rules = Rules(requests=1, menus=[ADDS + MOVES, ADDS], crashes=1, fifo=True)
    result = CheckRun(System(Mortal, 2, {"views": "0 1"}), rules, False, False, 1_000_000, None).result()
    assert result.ok, result.verdict()
    assert result.complete


# -- random runs ---------------------------------------------------------------------------------------------------

VIEWS = {
    "the same voters": (3, "012 012 012"),
    "one voter": (3, "0 1 2 0"),
    "one voter is replaced": (4, "012 123 230 013"),
    "all are replaced": (5, "012 34 014 123 034"),
    "more and fewer": (5, "01234 012 34 1 024"),
}


@pytest.mark.parametrize("views", VIEWS)
def test_random_runs(views: str) -> None:
    n, text = VIEWS[views]
    assert_ok(Counter, n, text, 60, requests=4)


@pytest.mark.deep
@pytest.mark.parametrize("views", VIEWS)
@pytest.mark.parametrize(
    ("node", "runs", "faults"),
    [
        (Counter, 150, {}),
        (Mortal, 100, {"crashes": 2}),
        (Stubborn, 40, {"crashes": 1, "losses": 3, "duplicates": 2}),
    ],
)
def test_many_random_runs(views: str, node: type[Node], runs: int, faults: dict[str, int]) -> None:
    n, text = VIEWS[views]
    assert_ok(node, n, text, runs, requests=3, **faults)


def assert_ok(node: type[Node], n: int, views: str, runs: int, **bounds: Any) -> None:
    wants = ";".join([ANYTHING] * n)
    found = fuzz(node, nodes=n, runs=runs, options={"views": views}, wants=wants, **bounds).counterexample
    assert found is None, found.text


# -- mutants -------------------------------------------------------------------------------------------------------


class HalfIsEnough(Notes):
    """Takes half of the voters, rounded down, for a majority."""

    def has_ended(self, number: int) -> bool:
        return self.is_kept(number) or super().has_ended(number)

    def is_kept(self, number: int) -> bool:
        yes = len(self.questions[number].yes)
        return yes > 0 and 2 * yes >= len(self.view[1]) - 1


class PromisesNothing(Notes):
    """Does not remember which holder has asked."""

    def _promise(self, key: str, fence: int, out: Out) -> bool:
        return fence == 0 or fence >= self.promised.get(key, 0)


class BreaksPromises(Notes):
    """Accepts notes of earlier holders."""

    def _accept(self, key: str, note: Note, out: Out) -> bool:
        self.promised[key] = 0
        return super()._accept(key, note, out)


class AnswersTooEarly(Notes):
    """A voter of a new view answers before it knows what was written before."""

    def is_complete(self) -> bool:
        return self.keeps()


class BelievesTheFirst(Notes):
    """One of the earlier voters is enough."""

    def _needed(self) -> list[Voters]:
        told = [voters for voters in super()._needed() if any([self._has_told(voter) for voter in voters])]
        return [tuple([voter for voter in voters if self._has_told(voter)]) for voters in told]


class ForgetsWhichVotersWereTold(Notes):
    def _had(self, notes: list[Kept], part: int, last: bool) -> Had:
        self.handed = {}
        return super()._had(notes, part, last)


class CountsWhatItWasTold(Notes):
    """Says that it has accepted a note before a promise, although others have, and it was told."""

    def _accept(self, key: str, note: Note, out: Out) -> bool:
        return super()._accept(key, note, out) or note == self.note(key)


class HandsOverNoPromises(Notes):
    def _had(self, notes: list[Kept], part: int, last: bool) -> Had:
        return super()._had([(key, 0, fence, turn, value) for key, _, fence, turn, value in notes], part, last)


class HandsOverNoNotes(Notes):
    def _had(self, notes: list[Kept], part: int, last: bool) -> Had:
        return super()._had([(key, promised, 0, 0, b"") for key, promised, _, _, _ in notes], part, last)


class SavesNothing(Notes):
    durable = ("view",)


class KeepsAnswers(Notes):
    """What the voters of an earlier view have answered counts in the next one."""

    def move(self, number: int, voters: Voters, members: tuple[int, ...], birth: int, out: Out) -> None:
        answered = {asked: set(self.questions[asked].yes) for asked in self.questions}
        super().move(number, voters, members, birth, out)
        for asked in answered:
            self.questions[asked].yes |= answered[asked]


class TakesOldAnswers(Notes):
    """An answer to a question with the same number, of an earlier life, counts."""

    def _is_asked(self, src: int, number: int, key: str, fence: int, turn: int) -> bool:
        return number in self.questions


PROMISED = f"{ADD};{ADD};{MOVE}"
MUTANTS: list[Any] = [
    (HalfIsEnough, "012", "", {}),
    (PromisesNothing, "012", "", {}),
    (BreaksPromises, "012", "", {}),
    (AnswersTooEarly, "0 1 2 0", "", {}),
    (BelievesTheFirst, "012 0 1", "", {}),
    (ForgetsWhichVotersWereTold, "0 1 2 0", "", {}),
    (HandsOverNoPromises, "012 0", PROMISED, {}),
    (HandsOverNoNotes, "0 1 2 0", "", {}),
    (SavesNothing, "012", "", {"crashes": 2}),
    (KeepsAnswers, "012 2 0", "", {}),
    pytest.param(TakesOldAnswers, "012", "", {"crashes": 2}, marks=pytest.mark.deep),
]


@pytest.mark.parametrize(("part", "views", "wants", "faults"), MUTANTS)
def test_the_mutant_is_killed_and_the_original_lives(
    part: type[Notes], views: str, wants: str, faults: dict[str, Any]
) -> None:
    original = Mortal if faults else Counter
    broken = type(part.__name__, (original,), {"part": part})
    bounds: dict[str, Any] = {"requests": 3, "wants": wants or ";".join([ANYTHING] * 3), **faults}
    result = fuzz(broken, nodes=3, runs=5000, options={"views": views}, **bounds)
    assert result.counterexample is not None, "it lives"
    assert result.counterexample.kind == "safety", result.counterexample.text
    assert fuzz(original, nodes=3, runs=min(result.runs, 200), options={"views": views}, **bounds).ok


# -- by hand -------------------------------------------------------------------------------------------------------


class Net:
    """Three processes, of which the test says what arrives, and when."""

    def __init__(self, part: type[Notes], views: str) -> None:
        kind = type("Tried", (Counter,), {"part": part})
        self.nodes: list[Any] = System(kind, 3, {"views": views}).nodes()
        self.under_way: list[tuple[int, int, Any]] = []
        self.entered: list[tuple[int, int, int]] = []  # process, fence, counter

    def do(self, process: int, what: str, *arguments: Any) -> None:
        out = Outbox()
        getattr(self.nodes[process], what)(*arguments, out)
        if out.entered is not None and out.entered[1]:
            fence, count = divmod(out.entered[1], 1 << COUNT_BITS)
            self.entered.append((process, fence, count))
        for dst, msg in out.sent:
            receivers = [other for other in range(3) if other != process] if dst == EVERYONE else [dst]
            self.under_way += [(process, receiver, msg) for receiver in receivers]

    def deliver(self, src: int, dst: int, kind: type[Message]) -> None:
        """The latest message of a kind."""
        packet = [one for one in self.under_way if one[:2] == (src, dst) and isinstance(one[2], kind)][-1]
        self.under_way.remove(packet)
        self.do(dst, "receive", src, packet[2])


@pytest.mark.parametrize("part", [Notes, CountsWhatItWasTold])
def test_a_note_that_came_too_late_is_not_made_sure_of_by_a_later_voter(part: type[Notes]) -> None:
    """Process 0 writes, and only it accepts that. Then process 1 reads, from 1 and 2, which have seen nothing. In the
    next view, process 0 is the only voter. It knows of the promise to 1, so its own note must not count."""
    net = Net(part, "012 0")
    net.do(0, "request", (ADD,))
    net.deliver(0, 2, Look)
    net.deliver(2, 0, Seen)
    net.do(1, "request", (ADD,))
    net.deliver(1, 2, Look)
    net.deliver(2, 1, Seen)
    net.do(2, "request", (MOVE,))
    net.deliver(2, 0, Moved)
    net.deliver(0, 2, Gather)
    net.deliver(2, 0, Had)
    net.deliver(2, 1, Moved)
    net.deliver(1, 0, Put)
    net.deliver(0, 1, Stored)
    lost = [(0, 3, 1), (1, 4, 1)]
    assert net.entered == (lost[1:] if part is Notes else lost)


def test_many_notes_are_told_in_parts_and_a_part_that_is_missing_is_noticed() -> None:
    old, new = Notes(0, 0, 0, ((0, 0),)), Notes(1, 0, 0, ((0, 0),))
    for number in range(5):
        old.put(f"{number}", (1, 1, bytes(MOST_TOLD // 2)), False, Outbox())
    for notes in (old, new):
        notes.move(1, ((1, 0),), (0, 1), 0, Outbox())
    told = Outbox()
    old.receive(1, Gather(1), told)
    parts = [msg for _, msg in told.sent]
    assert len(parts) > 2
    for part in (*parts[:1], *parts[2:]):
        assert isinstance(part, Had)
        new.receive(0, part, Outbox())
    assert not new.is_complete()
    for part in parts:
        assert isinstance(part, Had)
        new.receive(0, part, Outbox())
    assert new.is_complete()
    assert new.notes == old.notes


def test_a_process_that_has_forgotten_what_it_kept_is_another_one() -> None:
    """It draws a new birth, and the majority of the earlier voters must be told by others."""
    voters = ((0, 0), (1, 0), (2, 0))
    again = Notes(2, 7, 3, voters)
    assert not again.keeps()
    again.move(4, ((0, 0), (1, 0), (2, 7)), (0, 1, 2), 7, Outbox())
    again.receive(0, Had(4, 0, (3, voters), (), (), 0, True), Outbox())
    assert not again.is_complete()
    again.receive(1, Had(4, 0, (3, voters), (), (("x", 5, 4, 1, b"v"),), 0, True), Outbox())
    assert again.is_complete()
    assert again.note("x") == (4, 1, b"v")
    assert again.note("y") == EMPTY
