"""What is known about algorithms, from papers and from their critics, comes out of the checker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from congenial import MUTEX, Law, Message, Node, Out, Spec
from congenial.checker.check import check
from congenial.checker.result import CheckResult
from congenial.kernel.node import WAITING

COUNTEREXAMPLES = Path(__file__).parents[2] / "docs" / "counterexamples"


def checked(file: str, node: str, **system: Any) -> CheckResult:
    return check(f"{COUNTEREXAMPLES / file}.py:{node}", **system)


def kind(result: CheckResult) -> str:
    return "" if result.counterexample is None else result.counterexample.kind


# -- Lamport 1978 needs channels that keep the order of messages -------------------------------------------


@dataclass(frozen=True)
class Request(Message):
    time: int


@dataclass(frozen=True)
class Acknowledge(Message):
    time: int


@dataclass(frozen=True)
class Release(Message):
    time: int


class Lamport(Node):
    """Everyone keeps the queue of all requests; one enters when its own is the oldest and all have spoken since."""

    spec: ClassVar[Spec] = Spec(name="lamport", title="Lamport", problem=MUTEX, messages=Law("3*(n-1)"))

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.clock = 0
        self.heard = [0] * n  # the latest time heard of each
        self.queue: dict[int, int] = {}  # the time of each process's request

    def request(self, groups: tuple[int, ...], out: Out) -> None:
        self.wait()
        self.clock += 1
        self.queue[self.me] = self.clock
        out.broadcast(Request(self.clock))
        self._enter_if_oldest(out)

    def release(self, out: Out) -> None:
        self.leave()
        self.clock += 1
        del self.queue[self.me]
        out.broadcast(Release(self.clock))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        assert isinstance(msg, Request | Acknowledge | Release)
        self.clock = max(self.clock, msg.time)
        self.heard[src] = max(self.heard[src], msg.time)
        if isinstance(msg, Request):
            self.queue[src] = msg.time
            self.clock += 1
            out.send(src, Acknowledge(self.clock))
        elif isinstance(msg, Release):
            self.queue.pop(src, None)
        self._enter_if_oldest(out)

    def _enter_if_oldest(self, out: Out) -> None:
        mine = self.queue.get(self.me, 0)
        others_spoke = all([self.heard[process] > mine for process in range(self.n) if process != self.me])
        oldest = min([(time, process) for process, time in self.queue.items()], default=None)
        if self.phase == WAITING and others_spoke and oldest == (mine, self.me):
            self.enter(out)


@pytest.mark.parametrize(("nodes", "requests"), [(2, 1), (2, 2), (3, 1)])
def test_lamport_is_right_on_fifo_channels(nodes: int, requests: int) -> None:
    result = check(Lamport, nodes=nodes, requests=requests, order="fifo", reduce=False)
    assert result.ok, result.verdict()
    assert result.complete
    assert (result.least_messages, result.most_messages) == (3 * (nodes - 1), 3 * (nodes - 1))


@pytest.mark.parametrize("reduce", [True, False])
@pytest.mark.parametrize("nodes", [2, 3])
def test_lamport_is_wrong_where_messages_overtake(nodes: int, reduce: bool) -> None:
    """An acknowledgement overtakes the older request of its sender, and both enter."""
    assert kind(check(Lamport, nodes=nodes, requests=1, order="any", reduce=reduce)) == "safety"


# -- Suzuki & Kasami 1985: procedure P1 must be atomic -----------------------------------------------------


@pytest.mark.parametrize("reduce", [True, False])
@pytest.mark.parametrize("nodes", [2, 3])
def test_a_request_that_meets_the_end_of_p1_is_forgotten(nodes: int, reduce: bool) -> None:
    """Velazquez 1993, appendix A, lines 17 to 21."""
    result = checked("suzuki_kasami_line_by_line", "LineByLine", nodes=nodes, requests=1, reduce=reduce)
    assert kind(result) == "deadlock"
    assert result.counterexample is not None
    assert len(result.counterexample.actions) == nodes + 3  # with 3 nodes one more request is delivered


@pytest.mark.parametrize(("nodes", "requests"), [(2, 3), (3, 1)])
def test_suzuki_kasami_is_right_if_p1_looks_again_or_is_atomic(nodes: int, requests: int) -> None:
    for result in (
        checked("suzuki_kasami_line_by_line", "LooksAgain", nodes=nodes, requests=requests),
        check("suzuki-kasami", nodes=nodes, requests=requests),
    ):
        assert result.ok, result.verdict()
        assert result.complete


def test_bounded_numbers_need_more_than_one_round() -> None:
    result = checked("suzuki_kasami_one_round", "OneRound", nodes=3, requests=2, options={"round": "2"})
    assert kind(result) == "illegal step"


# -- Maekawa 1985: later losers must be told, on FIFO channels ---------------------------------------------


@pytest.mark.parametrize("reduce", [True, False])
@pytest.mark.parametrize(("nodes", "quorums"), [(3, "nested"), (4, "majority")])
def test_maekawa_deadlocks_if_later_losers_are_not_told(nodes: int, quorums: str, reduce: bool) -> None:
    options = {"quorums": quorums}
    result = checked("maekawa_later_loser", "NewcomersOnly", nodes=nodes, requests=1, options=options, reduce=reduce)
    assert kind(result) == "deadlock"


def test_maekawa_is_right_if_they_are() -> None:
    result = checked("maekawa_later_loser", "LaterLosersToo", nodes=3, requests=2)
    assert result.ok, result.verdict()
    assert result.complete


def test_without_a_third_request_at_a_member_nobody_loses_later() -> None:
    """In the plane of 3 points a member is in two quorums only."""
    options = {"quorums": "plane"}
    result = checked("maekawa_later_loser", "NewcomersOnly", nodes=3, requests=2, options=options)
    assert result.ok, result.verdict()
    assert result.complete


def test_maekawa_is_wrong_where_messages_overtake() -> None:
    assert not check("maekawa", nodes=3, requests=1, order="any").ok


# -- Mittal & Mohan 2007, section 5.2.1 --------------------------------------------------------------------


@pytest.mark.parametrize("reduce", [True, False])
def test_a_late_request_passes_for_a_new_one(reduce: bool) -> None:
    system: dict[str, Any] = {"nodes": 2, "requests": 2, "groups": 2, "options": {"limit": "2"}, "reduce": reduce}
    assert kind(checked("token_gme_bounded_as_published", "AsPublished", **system)) == "illegal step"
