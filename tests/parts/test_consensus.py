"""Consensus, checked: agreement, validity, termination; what it costs; what it keeps."""

from __future__ import annotations

from typing import Any

import pytest
from agreement import INSTANCE, Amnesiac, Decider, Eager, Phoenix, Stubborn

from congenial.checker.check import check
from congenial.checker.check_run import CheckRun
from congenial.checker.fuzz import Batch, fuzz, run_batch
from congenial.checker.rules import Rules
from congenial.kernel.effects import EVERYONE
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox
from congenial.kernel.state import copy_of, durable_state, freeze, restore_durable, state_of
from congenial.net.codec import Vocabulary
from congenial.net.frames import encode_frame
from congenial.net.wire import Data
from congenial.parts.consensus import Accept, Consensus, ConsensusMessage, Decide, News, Prepare, Promise, Propose
from congenial.systems.system import System

FORMS = ["yes", "no"]  # a process that accepts tells everyone, or the owner of the ballot


# -- every run of three processes --------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_without_faults(form: str) -> None:
    result = check(Eager, nodes=3, requests=1, options={"everyone": form})
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.parametrize("victim", [0, 1, 2])
@pytest.mark.parametrize("form", FORMS)
def test_with_a_crash_at_any_moment(form: str, victim: int) -> None:
    """The process stays down, and any of the messages it sent last may be lost."""
    fifo = victim == 0  # the first owner: too many states otherwise
    rules = Rules(requests=1, fifo=fifo, crashes=1, victim=victim, recovery=False, vanishing=True, askers=[0, 2])
    assert_exhausted(Eager, form, rules)


@pytest.mark.parametrize("victim", [0, 1, 2])
@pytest.mark.parametrize("form", FORMS)
def test_with_a_false_suspicion_at_any_moment(form: str, victim: int) -> None:
    """Once for each process that may be wrong about any other."""
    fifo = victim == 1  # the second owner
    askers = [0, 2]  # those that decide; all take part
    assert_exhausted(Eager, form, Rules(requests=1, fifo=fifo, suspicions=1, victim=victim, askers=askers))


@pytest.mark.parametrize("form", FORMS)
def test_with_a_lost_message_and_patience(form: str) -> None:
    assert_exhausted(Stubborn, form, Rules(requests=1, losses=1, patient=True, askers=[1]))


@pytest.mark.parametrize("form", FORMS)
def test_with_a_crash_and_a_recovery(form: str) -> None:
    assert_exhausted(Phoenix, form, Rules(requests=1, crashes=1, fifo=True), nodes=2)
    result = check(Phoenix, nodes=3, requests=1, crashes=1, limit=10_000, options={"everyone": form})
    assert result.ok, result.verdict()


def assert_exhausted(node: type[Node], form: str, rules: Rules, nodes: int = 3) -> None:
    result = CheckRun(System(node, nodes, {"everyone": form}), rules, False, False, 3_000_000, None).result()
    assert result.ok, result.verdict()
    assert result.complete


@pytest.mark.parametrize("form", FORMS)
def test_a_process_that_recovers_without_its_state_can_break_agreement(form: str) -> None:
    """What `durable` names is needed."""
    found = fuzz(Amnesiac, nodes=3, requests=1, crashes=2, suspicions=2, runs=3000, options={"everyone": form})
    assert found.counterexample is not None
    assert found.counterexample.kind == "safety"


# -- random runs of more ---------------------------------------------------------------------------------------

FAULTS: dict[str, tuple[type[Node], dict[str, Any]]] = {
    "crashes for good": (Eager, {"crashes": 2, "recovery": False, "vanishing": True}),
    "crashes and recoveries": (Phoenix, {"crashes": 3}),
    "everything": (Stubborn, {"crashes": 3, "losses": 10, "patient": True}),
}


@pytest.mark.parametrize("nodes", [5, 7])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FAULTS)
def test_random_runs_with_faults(name: str, form: str, nodes: int) -> None:
    node, faults = FAULTS[name]
    rules = Rules(requests=1, menus=[[(0,)]] * nodes, suspicions=4, duplicates=4, **faults)
    batch = run_batch(Batch(System(node, nodes, {"everyone": form}), rules, 1, 60))
    assert batch.failed is None
    assert batch.entries > 60 * (nodes - 3)


# -- costs -------------------------------------------------------------------------------------------------


class Rounds:
    """Parts that run in step: what is sent in one round arrives in the next."""

    def __init__(self, n: int, everyone: bool, crashed: tuple[int, ...] = ()) -> None:
        self.n = n
        self.parts = [Consensus(me, n, everyone) for me in range(n)]
        self.up = [process not in crashed for process in range(n)]
        self.under_way: list[tuple[int, int, Message]] = []
        self.messages = 0

    def out(self, process: int, out: Outbox) -> None:
        for dst, message in out.sent:
            receivers = [other for other in range(self.n) if other != process] if dst == EVERYONE else [dst]
            self.messages += len(receivers)
            self.under_way += [(process, receiver, message) for receiver in receivers]

    def propose(self) -> None:
        for process, part in enumerate(self.parts):
            if self.up[process]:
                out = Outbox()
                part.propose(INSTANCE, f"value {process}", out)
                self.out(process, out)

    def suspect(self, peer: int) -> None:
        for process, part in enumerate(self.parts):
            if self.up[process] and process != peer:
                out = Outbox()
                part.on_suspect(peer, out)
                self.out(process, out)

    def step(self) -> None:
        arriving, self.under_way = self.under_way, []
        for src, dst, message in arriving:
            if self.up[dst]:
                out = Outbox()
                assert isinstance(message, ConsensusMessage)
                self.parts[dst].receive(src, message, out)
                self.out(dst, out)

    def run(self) -> int:
        """The number of rounds until all that are up have decided; messages in transit then still arrive."""
        rounds = 0
        while not self.done():
            self.step()
            rounds += 1
            assert rounds < 20
        while self.under_way:
            self.step()
        return rounds

    def done(self) -> bool:
        return all([part.decided(INSTANCE) for process, part in enumerate(self.parts) if self.up[process]])

    def decisions(self) -> set[object]:
        return {part.decision(INSTANCE) for process, part in enumerate(self.parts) if self.up[process]}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 10, 31])
@pytest.mark.parametrize("everyone", [True, False])
def test_what_a_decision_costs(n: int, everyone: bool) -> None:
    """Romano & Rodrigues 2009, beside table 1: two steps and O(n^2) messages, or one step more and O(n)."""
    rounds = Rounds(n, everyone)
    rounds.propose()
    steps = rounds.run()
    assert rounds.messages == (n * (n - 1) if everyone else 3 * (n - 1))
    assert steps == (0 if n == 1 else 2 if everyone or n <= 3 else 3)
    assert rounds.decisions() == {"value 0"}


@pytest.mark.parametrize("n", [3, 5, 9])
@pytest.mark.parametrize("everyone", [True, False])
def test_what_a_decision_costs_after_a_crash(n: int, everyone: bool) -> None:
    """The first owner has crashed: the second one prepares, and processes that suspect tell it so."""
    rounds = Rounds(n, everyone, crashed=(0,))
    rounds.propose()
    rounds.suspect(0)
    steps = rounds.run()
    prepared = (n - 2) + (n - 1) + (n - 2)  # News, Prepare, Promise
    repeated = n - 2  # Prepare again, to those whose News came
    again = n - 2  # and promises to that
    decided = (n - 1) + ((n - 2) * (n - 1) if everyone else (n - 2) + (n - 1))
    assert rounds.messages <= prepared + repeated + again + decided
    assert steps <= (4 if everyone else 5)
    assert rounds.decisions() == {"value 1"}


# -- steps -------------------------------------------------------------------------------------------------


def sent(part: Consensus, src: int, message: ConsensusMessage) -> list[tuple[int, Message]]:
    out = Outbox()
    part.receive(src, message, out)
    return out.sent


def test_the_first_owner_proposes_at_once_and_has_saved_what_it_accepts() -> None:
    part, out = Consensus(0, 3), Outbox()
    part.propose(1, "a", out)
    assert out.sent == [(EVERYONE, Propose(1, 0, "a"))]
    assert out.saved
    assert part.accepted == {1: (0, "a")}


def test_others_wait_and_an_owner_without_a_value_does_too() -> None:
    part, out = Consensus(1, 3), Outbox()
    part.propose(1, "a", out)
    assert out.sent == []
    owner = Consensus(0, 3)
    assert sent(owner, 1, News(1, 0)) == []
    assert state_without(owner) == state_without(Consensus(0, 3))


def state_without(part: Consensus) -> object:
    return freeze(part)


def test_a_later_owner_takes_the_value_of_the_highest_ballot() -> None:
    part = Consensus(1, 5)
    out = Outbox()
    part.propose(7, "mine", out)
    part.on_suspect(0, out)
    assert out.sent == [(EVERYONE, Prepare(7, 1))]
    assert sent(part, 2, News(7, 4)) == []  # ballot 4 is process 4's
    out = Outbox()
    part.on_suspect(4, out)
    part.on_suspect(0, out)
    assert out.sent == [(EVERYONE, Prepare(7, 6))]
    assert sent(part, 2, Promise(7, 6, 0, "old")) == []
    assert sent(part, 3, Promise(7, 1, 3, "late")) == []  # to a ballot that is over
    assert sent(part, 3, Promise(7, 6, 4, "newer")) == [(EVERYONE, Propose(7, 6, "newer"))]
    assert sent(part, 4, Promise(7, 6, 5, "too late")) == []


def test_a_promise_is_kept_and_who_comes_too_late_is_told() -> None:
    part = Consensus(2, 3, everyone=False)
    assert sent(part, 0, Propose(1, 0, "a")) == [(0, Accept(1, 0))]
    assert part.decided(1)  # the owner and we: two of three
    part = Consensus(4, 5, everyone=False)
    assert sent(part, 0, Propose(1, 0, "a")) == [(0, Accept(1, 0))]
    assert sent(part, 1, Prepare(1, 1)) == [(1, Promise(1, 1, 0, "a"))]
    assert sent(part, 0, Propose(1, 0, "a")) == [(0, News(1, 1))]
    assert sent(part, 1, Propose(1, 1, "a")) == [(1, Accept(1, 1))]
    assert sent(part, 2, Decide(1, "a")) == []
    assert sent(part, 3, Prepare(1, 3)) == [(3, Decide(1, "a"))]
    assert sent(part, 3, News(1, 3)) == [(3, Decide(1, "a"))]


def test_a_decision_is_passed_on_if_the_one_it_came_from_is_suspected() -> None:
    part = Consensus(3, 5)
    assert sent(part, 2, Decide(1, "a")) == []
    for peer, expected in ((1, []), (2, [(EVERYONE, Decide(1, "a"))]), (2, [])):
        out = Outbox()
        part.on_suspect(peer, out)
        assert out.sent == expected
    assert sent(part, 2, Decide(2, "b")) == [(EVERYONE, Decide(2, "b"))]


IMPOSSIBLE = [
    (2, Prepare(1, 1)),  # another's ballot
    (0, Prepare(1, 0)),  # nobody prepares the first ballot
    (1, Propose(1, 0, "a")),
    (0, Promise(1, 0, -1, None)),
    (0, Promise(1, 3, -1, None)),  # a ballot of ours that we never began
    (2, Accept(1, 3)),
    (2, Accept(1, 1)),
    (0, ConsensusMessage(1)),
]


@pytest.mark.parametrize(("src", "message"), IMPOSSIBLE)
def test_messages_that_cannot_be(src: int, message: ConsensusMessage) -> None:
    node = Decider(3 % 3, 3, False) if src else Decider(1, 3, False)
    before = state_of(node)
    with pytest.raises(UnexpectedMessage):
        node.receive(src, message, Outbox())
    assert state_of(node) == before


# -- many instances --------------------------------------------------------------------------------------------


def test_instances_do_not_touch_each_other_and_can_be_forgotten() -> None:
    parts = [Consensus(me, 3) for me in range(3)]
    for instance in range(50):
        queue: list[tuple[int, int, Message]] = []
        for part in parts:
            out = Outbox()
            part.propose(instance, (instance, part.me), out)
            queue += [(part.me, other, msg) for _, msg in out.sent for other in range(3) if other != part.me]
        while queue:
            src, dst, msg = queue.pop(0)
            out = Outbox()
            assert isinstance(msg, ConsensusMessage)
            parts[dst].receive(src, msg, out)
            queue += [(dst, other, more) for _, more in out.sent for other in range(3) if other != dst]
    empty = freeze(Consensus(1, 3))
    for part in parts:
        assert [part.decision(instance) for instance in range(50)] == [(instance, 0) for instance in range(50)]
        assert not part.ballots
        part.forget(30)
        assert sorted(part.decisions) == list(range(30, 50))
        assert sent(part, (part.me + 1) % 3, News(29, 7)) == []
        part.forget(50)
        part.forget(10)
        part.low = 0
    assert freeze(parts[1]) == empty


def test_what_is_durable_and_what_is_not() -> None:
    node = Decider(1, 3, True)
    node.request((0,), Outbox())
    node.receive(0, Propose(8, 0, ("x", 1)), Outbox())
    node.receive(2, Prepare(9, 2), Outbox())
    node.on_suspect(2, Outbox())
    fresh = Decider(1, 3, True)
    restore_durable(fresh, durable_state(node))
    assert fresh.consensus.decisions == {8: ("x", 1)}
    assert fresh.consensus.ballots == node.consensus.ballots != {}
    assert fresh.consensus.proposals == {}
    assert fresh.consensus.suspects == set()


def test_a_copy_of_a_node_has_its_own_instances() -> None:
    node = Decider(0, 3, True)
    node.request((0,), Outbox())
    copy = copy_of(node)
    copy.consensus.votes[INSTANCE].add(1)
    assert node.consensus.votes[INSTANCE] == {0}


@pytest.mark.parametrize("value", [0, 1 << 80, "text", None, (), (1, ("a", (2, None))), 1.5, True])
def test_any_plain_value_travels(value: object) -> None:
    vocabulary = Vocabulary(Decider)
    for message in (Propose(1, 0, value), Promise(2, 1, 0, value), Decide(3, value)):
        frame = vocabulary.decode_frame(encode_frame(Data(1, 2, "lock", vocabulary.encode(message)))[4:])
        assert isinstance(frame, Data)
        assert vocabulary.message(frame.body) == message
