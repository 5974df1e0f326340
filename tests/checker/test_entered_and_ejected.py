"""A step may enter and be ejected again: the simulator, the explorer, random runs and replays agree about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.checker.replay import replay, write_trace
from congenial.checker.stepper import Action, Stepper
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec
from congenial.kernel.trace import EJECT, ENTER, Trace
from congenial.problems.mutex import MUTEX
from congenial.problems.weak import WEAK, fence_of
from congenial.sim.scenario import Scenario
from congenial.systems.system import System


@dataclass(frozen=True)
class Ask(Message):
    pass


@dataclass(frozen=True)
class Grant(Message):
    pass


class Glimpse(Node):
    """Process 0 lets everyone in. Each process enters, and has lost its critical section in the same step."""

    spec: ClassVar[Spec] = Spec("glimpse", "in and out again", MUTEX)

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.me == 0:
            self.glimpse(out)
        else:
            out.send(0, Ask())

    def glimpse(self, out: Out) -> None:
        self.enter(out)
        self.lose(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Ask):
            out.send(src, Grant())
        else:
            self.glimpse(out)


class Overlapping(Glimpse):
    """The same, except that process 0 stays inside while others glimpse."""

    def glimpse(self, out: Out) -> None:
        if self.me == 0:
            self.enter(out)
        else:
            super().glimpse(out)

    def release(self, out: Out) -> None:
        self.leave()


@pytest.mark.parametrize("reduce", [True, False])
def test_the_explorer_takes_it(reduce: bool) -> None:
    result = check(Glimpse, nodes=2, requests=2, reduce=reduce)
    assert result.ok, result.verdict()
    assert result.complete


def test_random_runs_and_simulations_take_it() -> None:
    assert fuzz(Glimpse, nodes=2, runs=50).ok
    trace = Trace()
    engine = Scenario(Glimpse, nodes=2, requests=5).engine(1, trace)
    engine.run()
    kinds = [event.event for event in trace.events]
    assert kinds.count(ENTER) == kinds.count(EJECT) == 10
    assert not engine.waiters()


def test_effects_are_told_in_order() -> None:
    stepper = Stepper(System(Glimpse, 1), fifo=False)
    stepper.take(Action("request", 0, groups=(0,)))
    assert [event.event for event in stepper.events] == ["request", "enter", "eject"]
    assert stepper.holders() == []
    stepper.take(Action("request", 0, groups=(0,)))
    assert stepper.entries == 2


def test_a_glimpse_while_another_process_is_inside_is_found_by_all(tmp_path: Path) -> None:
    """Even if it lasts no time at all."""
    checked = check(Overlapping, nodes=2, requests=1)
    fuzzed = fuzz(Overlapping, nodes=2, requests=1)
    path = tmp_path / "overlap.ndjson"
    for found in (checked.counterexample, fuzzed.counterexample):
        assert found is not None
        assert found.kind == "safety"
        assert found.text == "process 1 enters while process 0 is inside"
        write_trace(path, f"{Path(__file__)}:Overlapping", 2, {}, False, found.events)
        assert replay(path).verdict() == "SAFETY: process 1 enters while process 0 is inside"


# -- with operations ---------------------------------------------------------------------------------------


class Fleeting(Node):
    """A weak mutex for one process: each operation is executed and answered immediately, except that its last stay ends
    in the step that began it, and its `failing` operation (0: none) fails with an ejection."""

    spec: ClassVar[Spec] = Spec("fleeting", "weak, in and out again", WEAK)
    failing: ClassVar[int] = 0
    executes_what_fails: ClassVar[bool] = False

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.entries = 0
        self.issued = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.entries += 1
        self.enter(out, fence_of(self.entries, 1))
        if self.entries % 2 == 0:
            self.lose(out)

    def issue(self, operation: object, out: Out) -> None:
        self.issued += 1
        if self.issued != self.failing or self.executes_what_fails:
            out.execute(self.me, self.issued, operation, None)
        if self.issued == self.failing:
            self.lose(out)
        else:
            out.answer(self.issued, None)

    def release(self, out: Out) -> None:
        self.leave()


class FailingOnce(Fleeting):
    failing: ClassVar[int] = 1


class Lying(FailingOnce):
    executes_what_fails: ClassVar[bool] = True


@pytest.mark.parametrize("algorithm", [Fleeting, FailingOnce])
def test_the_ledger_of_operations_takes_it(algorithm: type[Node]) -> None:
    checked = check(algorithm, nodes=1, requests=3, operations=2)
    assert checked.ok, checked.verdict()
    assert checked.complete
    assert fuzz(algorithm, nodes=1, operations=2, runs=20).ok
    Scenario(algorithm, nodes=1, requests=4, operations=2).engine(1).run()


def test_an_ejection_fails_what_is_pending_and_nothing_else() -> None:
    wrong = "process 0 is ejected, but operation 1 of 0, pending, has been executed"
    for result in (check(Lying, nodes=1, operations=1), fuzz(Lying, nodes=1, operations=1)):
        assert result.counterexample is not None
        assert result.counterexample.text == wrong
