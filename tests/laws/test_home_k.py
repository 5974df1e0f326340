"""HomeK: which permits are kept, which are recalled, and what an entry costs."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.algorithms.kmutex.home_k import Ask, Busy, Grant, HomeK, Permits, Recall, Return
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message, integers
from congenial.kernel.node import INSIDE, Node
from congenial.kernel.out import Outbox
from congenial.kernel.state import freeze, state_of
from congenial.kernel.trace import Trace
from congenial.sim.arrivals import Arrival
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.system import System

N = 9  # processes of the tests by hand; serials begin above


def permits(k: int) -> Permits:
    return Permits(k, N)


def kinds(mail: list[tuple[int, Message]]) -> list[tuple[int, str]]:
    return [(dst, type(msg).__name__) for dst, msg in mail]


# -- the home ----------------------------------------------------------------------------------------------


def test_a_permit_may_be_kept_if_another_one_is_left() -> None:
    home = permits(2)
    assert home.on_ask(3) == [(3, Grant(N + 1, True))]
    assert home.on_ask(4) == [(4, Grant(N + 2, False))]


def test_the_last_permit_may_be_kept_by_the_process_that_had_it_before() -> None:
    home = permits(1)
    assert home.on_ask(3) == [(3, Grant(N + 1, False))]
    home.on_return(N + 1)
    assert home.on_ask(3) == [(3, Grant(N + 2, True))]
    home.on_return(N + 2)
    assert home.on_ask(4) == [(4, Grant(N + 3, False))]


def test_nothing_is_kept_while_somebody_waits_nor_by_the_home() -> None:
    home = permits(2)
    assert home.on_ask(0) == [(0, Grant(N + 1, False))]
    home.on_ask(1)
    assert home.on_ask(2) == home.on_ask(1) == []
    assert home.on_return(N + 1) == [(2, Grant(N + 3, False))]


def test_those_that_wait_are_served_in_their_order() -> None:
    home = permits(1)
    home.on_ask(5)
    for process in (7, 2, 4):
        assert home.on_ask(process) == []
    assert [home.on_return(N + turn)[0][0] for turn in (1, 2, 3)] == [7, 2, 4]


def kept(k: int) -> Permits:
    """Processes 1 to k-1 may keep their permits; process k may not."""
    home = permits(k)
    for process in range(1, k + 1):
        home.on_ask(process)
    assert len(home.kept) == k - 1
    return home


def test_one_permit_is_recalled_for_each_that_waits_the_oldest_first() -> None:
    home = kept(5)
    assert home.on_ask(6) == [(1, Recall(N + 1))]
    assert home.on_ask(7) == [(2, Recall(N + 2))]


def test_for_each_that_is_busy_two_others_are_recalled() -> None:
    home = kept(8)
    home.on_ask(0)
    assert kinds(home.on_busy(N + 1)) == [(2, "Recall"), (3, "Recall")]
    assert kinds(home.on_busy(N + 2)) == [(4, "Recall"), (5, "Recall")]
    assert kinds(home.on_busy(N + 3)) == [(6, "Recall"), (7, "Recall")]


def test_when_a_permit_is_back_nothing_more_is_recalled() -> None:
    home = kept(8)
    home.on_ask(0)
    home.on_busy(N + 1)
    assert kinds(home.on_return(N + 2)) == [(0, "Grant")]
    assert home.on_busy(N + 3) == []
    assert len(home.kept) == 4


def test_busy_says_nothing_if_the_permit_is_back_already() -> None:
    home = kept(2)
    home.on_ask(5)
    home.on_ask(6)
    home.on_return(N + 1)
    assert home.on_busy(N + 1) == []
    assert not home.busy


# -- a process ---------------------------------------------------------------------------------------------


def process(k: int = 2, me: int = 1) -> Any:
    return System(HomeK, N, {"k": str(k)}).node(me)


def told(node: Node, msg: Message) -> list[Message]:
    out = Outbox()
    node.receive(0, msg, out)
    return [sent for _, sent in out.sent]


def asked(node: Node) -> list[Message]:
    out = Outbox()
    node.request((0,), out)
    return [sent for _, sent in out.sent]


def left(node: Node) -> list[Message]:
    out = Outbox()
    node.release(out)
    return [sent for _, sent in out.sent]


def test_with_a_kept_permit_a_process_enters_without_a_message() -> None:
    node = process()
    assert not node.could_enter()
    assert asked(node) == [Ask()]
    assert told(node, Grant(10, True)) == []
    assert left(node) == []
    assert node.could_enter()
    assert asked(node) == []
    assert node.phase == INSIDE


def test_a_kept_permit_goes_back_when_it_is_recalled() -> None:
    node = process()
    asked(node)
    told(node, Grant(10, True))
    left(node)
    assert told(node, Recall(10)) == [Return(10)]
    assert asked(node) == [Ask()]


def test_a_permit_in_use_goes_back_when_the_process_leaves() -> None:
    node = process()
    asked(node)
    told(node, Grant(10, True))
    assert told(node, Recall(10)) == [Busy(10)]
    assert left(node) == [Return(10)]


def test_a_recall_may_overtake_its_permit() -> None:
    node = process()
    asked(node)
    assert told(node, Recall(10)) == [Busy(10)]
    told(node, Grant(10, True))
    assert left(node) == [Return(10)]


def test_a_recall_may_come_too_late() -> None:
    node = process()
    asked(node)
    told(node, Grant(10, False))
    assert left(node) == [Return(10)]
    asked(node)
    assert told(node, Recall(10)) == []
    told(node, Grant(12, True))
    assert told(node, Recall(10)) == []
    assert left(node) == []


@pytest.mark.parametrize(
    ("me", "src", "msg"),
    [
        (1, 0, Grant(10, False)),  # not asked for
        (1, 2, Ask()),  # not the home
        (0, 1, Return(10)),  # never granted
    ],
)
def test_what_cannot_be_is_refused(me: int, src: int, msg: Message) -> None:
    node = process(me=me)
    before = state_of(node)
    with pytest.raises(UnexpectedMessage):
        node.receive(src, msg, Outbox())
    assert state_of(node) == before


def test_nobody_gives_back_what_another_process_has() -> None:
    home = process(me=0)
    told_home = Outbox()
    home.receive(1, Ask(), told_home)
    with pytest.raises(UnexpectedMessage):
        home.receive(2, Return(N + 1), Outbox())
    home.receive(2, Ask(), Outbox())
    home.receive(3, Ask(), Outbox())
    with pytest.raises(UnexpectedMessage):
        home.receive(3, Ask(), Outbox())


# -- in a cluster that changes -----------------------------------------------------------------------------


def test_a_home_begins_with_those_that_are_inside() -> None:
    home, holder = process(k=3, me=0), process(k=3, me=4)
    home.inherit(4, 0)
    holder.resume(0)
    assert home.permits.free == 2
    assert left(holder) == [Return(5)]
    home.receive(4, Return(5), Outbox())
    assert home.permits.free == 3


def test_all_permits_may_be_inherited() -> None:
    home = process(k=1, me=0)
    home.inherit(3, 0)
    assert not home.could_enter()
    out = Outbox()
    home.receive(1, Ask(), out)
    assert not out.sent
    out = Outbox()
    home.receive(3, Return(4), out)
    assert out.sent == [(1, Grant(N + 1, False))]


def test_a_process_that_relaxes_gives_back_what_it_keeps() -> None:
    node = process()
    asked(node)
    told(node, Grant(10, True))
    out = Outbox()
    node.relax(out)
    assert not out.sent
    assert not node.is_at_rest()
    left(node)
    assert not node.is_at_rest()
    node.relax(out)
    assert out.sent == [(0, Return(10))]
    assert node.is_at_rest()
    node.relax(out)
    assert len(out.sent) == 1


def test_a_new_home_begins_above_the_serials_of_the_old_one() -> None:
    home = process(me=0)
    assert home.floor() == (0, N)
    home.receive(1, Ask(), Outbox())
    assert not home.is_at_rest()
    home.receive(1, Return(N + 1), Outbox())
    assert home.is_at_rest()
    after = process(me=0)
    after.begin_above(home.floor())
    assert after.floor() == home.floor() == (0, N + 1)
    after.begin_above((0, 0))
    assert after.floor() == (0, N + 1)
    assert process(me=1).floor() == (0, 0)


# -- what an entry costs -----------------------------------------------------------------------------------


def counted(seed: int, **parameters: Any) -> tuple[dict[str, int], int]:
    """How many messages of each kind there were, and how many entries."""
    trace = Trace()
    Scenario("home-k", **parameters).engine(seed, trace).run()
    sent: dict[str, int] = {}
    for event in trace.events:
        if event.event == "send":
            sent[event.message] = sent.get(event.message, 0) + 1
    return sent, len([event for event in trace.events if event.event == "enter"])


@pytest.mark.parametrize(("n", "k"), [(2, 1), (5, 2), (9, 3), (9, 8), (4, 6)])
@pytest.mark.parametrize("think", [0, 10, 500])
def test_a_permit_costs_at_most_five_messages_however_often_it_is_used(n: int, k: int, think: int) -> None:
    for seed, fifo in enumerate((True, False)):
        sent, entries = counted(seed, nodes=n, fifo=fifo, options={"k": str(k)}, think=think, hold=5, requests=12)
        grants = sent.get("Grant", 0)
        assert sent.get("Ask", 0) == grants <= entries == 12 * n
        assert grants >= sent.get("Return", 0) >= grants - k
        assert grants >= sent.get("Recall", 0) >= sent.get("Busy", 0)


def test_with_permits_for_all_each_process_asks_once() -> None:
    sent, entries = counted(1, nodes=4, options={"k": "5"}, think=3, hold=4, requests=20)
    assert sent == {"Ask": 3, "Grant": 3}
    assert entries == 80


def test_under_heavy_load_an_entry_costs_three_messages() -> None:
    sent, entries = counted(1, nodes=12, options={"k": "3"}, think=0, hold=20, requests=50)
    assert set(sent) <= {"Ask", "Grant", "Return", "Recall", "Busy"}
    assert sum(sent.values()) < 3 * entries
    assert sent.get("Recall", 0) < entries / 50


def asking(processes: tuple[int, ...], times: int) -> list[Arrival]:
    """These processes ask so often, one after the other, with a long pause after each."""
    turns = [process for process in processes for _ in range(times)]
    return [Arrival(100.0 * turn, process, (0,), 1.0) for turn, process in enumerate(turns)]


def test_a_process_that_asks_alone_pays_for_its_first_two_entries_only() -> None:
    sent, entries = counted(1, nodes=6, load=asking((3,), 40), options={"k": "1"})
    assert sent == {"Ask": 2, "Grant": 2, "Return": 1}
    assert entries == 40


def test_a_process_that_comes_after_it_needs_the_permit_recalled() -> None:
    sent, entries = counted(1, nodes=6, load=asking((3, 4), 40), options={"k": "1"})
    assert sent == {"Ask": 4, "Grant": 4, "Return": 3, "Recall": 1}
    assert entries == 80


def test_no_message_grows_with_the_number_of_processes_or_permits() -> None:
    assert max([integers(msg) for msg in (Ask(), Grant(1, True), Return(1), Recall(1), Busy(1))]) == 2


def test_a_process_that_never_asks_receives_nothing_and_keeps_no_state() -> None:
    engine = Scenario("home-k", nodes=6, load=asking((1, 2, 3, 4), 5), options={"k": "2"}).engine(1, Trace())
    engine.run()
    assert freeze(engine.nodes[5]) == freeze(engine.system.node(5))


# -- every run, and many ------------------------------------------------------------------------------------


@pytest.mark.deep
@pytest.mark.parametrize("k", ["1", "2"])
def test_every_run_of_three_processes_was_seen(k: str) -> None:
    result = check("home-k", nodes=3, requests=3, options={"k": k}, limit=2_000_000)
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.parametrize("k", ["1", "2", "3", "5"])
def test_random_runs_are_safe_and_serve_all(k: str) -> None:
    result = fuzz("home-k", nodes=7, requests=4, options={"k": k}, runs=60)
    assert result.ok, result.verdict()


def test_long_runs_are_safe_and_serve_all() -> None:
    for seed, delay in enumerate(("1", "10", "lognormal:5,1.5")):
        result = simulate("home-k", nodes=40, options={"k": "7"}, think=30, delay=delay, requests=30, seed=seed)
        assert result.ok, result.verdict()
        assert result.entries == result.requests
