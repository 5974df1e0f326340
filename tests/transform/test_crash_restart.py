"""Crash and restart: Mittal & Mohan 2007, section 5.3, sentence by sentence; then many runs; then what must not be left
out, and what it does not survive."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from cluster import Cluster

from congenial.algorithms.group.token_gme import Request
from congenial.checker.bounds import Bounds
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz, run_once
from congenial.checker.stepper import Stepper
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node
from congenial.kernel.out import Out, Outbox
from congenial.kernel.state import state_of
from congenial.kernel.trace import Trace
from congenial.net.codec import Vocabulary
from congenial.net.frames import FrameReader, encode_frame
from congenial.net.wire import Data
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS, SOUND, find_algorithm
from congenial.systems.system import System
from congenial.testing import Case, conformance
from congenial.transform.crash_restart import TAG_BITS, Done, Leave, Notify, Restart, Resume, Start
from congenial.transform.instances import Inside

Restarted: Any = find_algorithm("suzuki-kasami+restart")
Permitted: Any = find_algorithm("ricart-agrawala+restart")
Grouped: Any = find_algorithm("token-gme+restart")

NAMED = ("token-gme", "suzuki-kasami", "ricart-agrawala", "raymond-tree", "maekawa", "drs-gme")
TAG = 1 << TAG_BITS


def sent(out: Outbox) -> list[tuple[int, Message]]:
    return list(out.sent)


# -- section 5.3.2, sentence by sentence -------------------------------------------------------------------


def test_a_process_that_detects_a_crash_notifies_the_smallest_in_its_view() -> None:
    """'it sends a NOTIFY message to the process that has the smallest identifier among all operational processes in its
    view. The NOTIFY message is piggybacked with the set of all processes that have failed so far in its view'"""
    cluster = Cluster("token-gme+restart", 4)
    assert sent(cluster.do(3, "on_suspect", 2)) == [(0, Notify((2,)))]
    assert sent(cluster.do(3, "on_suspect", 0)) == [(1, Notify((0, 2)))]


def test_the_coordinator_waits_until_all_agree() -> None:
    cluster = Cluster("token-gme+restart", 4)
    cluster.do(0, "on_suspect", 3)
    assert sent(cluster.do(0, "receive", 1, Notify((3,)))) == []
    out = cluster.do(0, "receive", 2, Notify((3,)))
    assert sent(out) == [(1, Restart((3,))), (2, Restart((3,)))]
    assert cluster.nodes[0].members == (0, 1, 2)


def test_views_that_differ_are_no_agreement() -> None:
    cluster = Cluster("token-gme+restart", 4)
    cluster.do(0, "receive", 1, Notify((2, 3)))
    assert sent(cluster.do(0, "on_suspect", 3)) == []
    assert sent(cluster.do(0, "receive", 1, Notify((3,)))) == [], "overtaken by a later one"
    out = cluster.do(0, "on_suspect", 2)
    assert sent(out) == [(1, Restart((2, 3)))]


def test_a_process_that_restarts_aborts_the_instance_and_says_what_it_waits_for() -> None:
    """'the execution of the new instance is suspended'; 'In case the process has a pending request at the time of
    restarting, it piggybacks the pending request on the DONE message'"""
    cluster = Cluster("token-gme+restart", 3)
    cluster.do(1, "request", (7,))
    cluster.do(1, "on_suspect", 2)
    out = cluster.do(1, "receive", 0, Restart((2,)))
    assert sent(out) == [(0, Done(1, (7,)))]
    node = cluster.nodes[1]
    assert (node.instance, node.members, node.running, node.inner.n) == (1, (0, 1), False, 2)


def test_a_process_that_is_inside_restarts_when_it_has_left() -> None:
    """'it defers the processing of the RESTART message until it has left the critical section'"""
    cluster = Cluster("suzuki-kasami+restart", 3)
    cluster.do(0, "request", (0,))
    cluster.do(1, "request", (0,))
    cluster.lose(2)
    assert [node.instance for node in cluster.nodes[:2]] == [0, 1]
    cluster.do(0, "release")
    cluster.settle()
    assert cluster.fences == {1: TAG + 1}, "served as an old request"
    cluster.do(1, "release")
    cluster.settle()
    assert [(node.instance, node.running) for node in cluster.nodes[:2]] == [(1, True), (1, True)]
    cluster.do(1, "request", (0,))
    cluster.settle()
    assert cluster.fences == {1: 2 * TAG + 1}


def test_a_request_made_meanwhile_waits_for_resume() -> None:
    cluster = Cluster("suzuki-kasami+restart", 3)
    cluster.do(1, "on_suspect", 2)
    cluster.do(1, "receive", 0, Restart((2,)))
    assert sent(cluster.do(1, "request", (0,))) == []
    out = cluster.do(1, "receive", 0, Resume(1))
    assert [type(message) for _, message in out.sent] == [Inside]


def test_a_message_of_the_new_instance_is_as_good_as_resume() -> None:
    cluster = Cluster("ricart-agrawala+restart", 3)
    cluster.lose(2)
    for node in cluster.nodes[:2]:
        node.running = False
    cluster.nodes[1].running = True
    request = sent(cluster.do(1, "request", (0,)))[0][1]
    assert not cluster.nodes[0].running
    cluster.settle()
    assert cluster.nodes[0].running
    assert isinstance(request, Inside)
    assert set(cluster.fences) == {1}


def test_messages_of_earlier_instances_are_ignored() -> None:
    """'Such messages should be ignored on arrival.'"""
    cluster = Cluster("ricart-agrawala+restart", 3)
    early = sent(cluster.do(1, "request", (0,)))[0][1]
    cluster.under_way = []
    cluster.lose(2)
    before = state_of(cluster.nodes[0])
    for late in (early, Start(0, 0, 0, (), ()), Leave(0), Resume(0), Done(0, ()), Restart(())):
        assert sent(cluster.do(0, "receive", 1, late)) == []
    assert state_of(cluster.nodes[0]) == before


def batches(done: dict[int, tuple[int, ...]], algorithm: str) -> list[tuple[int, Start]]:
    """What the coordinator tells the processes that wait, and which of them; process 5 has crashed."""
    cluster = Cluster(f"{algorithm}+restart", 6)
    for process in range(1, 5):
        cluster.do(0, "receive", process, Notify((5,)))
    cluster.do(0, "on_suspect", 5)
    for process in range(1, 5):
        out = cluster.do(0, "receive", process, Done(1, done.get(process, ())))
    return [(dst, message) for dst, message in out.sent if isinstance(message, Start)]


def test_old_requests_are_served_group_by_group() -> None:
    """'Q1, Q2, ..., Qr be the partition of Q based on the type of request'; the last tell the coordinator."""
    assert batches({1: (8,), 2: (7,), 3: (8,), 4: (7,)}, "token-gme") == [
        (1, Start(1, 0, 8, (), (2, 4))),
        (3, Start(1, 0, 8, (), (2, 4))),
        (2, Start(1, 1, 7, (1, 3), (0,))),
        (4, Start(1, 1, 7, (1, 3), (0,))),
    ]


def test_old_requests_for_mutual_exclusion_are_served_one_by_one() -> None:
    told = batches({1: (0,), 3: (0,)}, "suzuki-kasami")
    assert told == [(1, Start(1, 0, 0, (), (3,))), (3, Start(1, 1, 0, (1,), (0,)))]


def test_old_requests_for_a_semaphore_are_served_k_at_a_time() -> None:
    told = batches({1: (0,), 2: (0,), 3: (0,)}, "srimani-reddy")
    assert [(dst, message.batch) for dst, message in told] == [(1, 0), (2, 0), (3, 1)]


def test_a_request_for_any_of_several_groups_joins_what_suits_it() -> None:
    told = batches({1: (8,), 2: (7, 8), 3: (7,), 4: (6, 7)}, "token-gme-types")
    assert [(dst, message.batch, message.group) for dst, message in told] == [
        (1, 0, 8),
        (2, 0, 8),
        (3, 1, 7),
        (4, 1, 7),
    ]


def test_a_batch_enters_when_all_of_the_one_before_have_left() -> None:
    """'A process in Qi+1 enters its critical section after it has received a LEAVE message from all processes in
    Qi.' A LEAVE may be faster than START."""
    cluster = Cluster("token-gme+restart", 6)
    node = cluster.nodes[4]
    cluster.do(4, "request", (7,))
    cluster.do(4, "on_suspect", 5)
    cluster.do(4, "receive", 0, Restart((5,)))
    cluster.do(4, "receive", 1, Leave(1))
    cluster.do(4, "receive", 0, Start(1, 1, 7, (1, 3), (0,)))
    assert node.phase == WAITING
    cluster.do(4, "receive", 3, Leave(1))
    assert node.phase == INSIDE
    assert cluster.fences == {4: TAG + 2}
    assert sent(cluster.do(4, "release")) == [(0, Leave(1))]


def test_a_crash_during_a_restart_leads_to_another_by_the_next_coordinator() -> None:
    """'if a process fails before the three phases of a restart operation have finished, then a new coordinator is
    elected, if required, which then initiates a new restart operation'"""
    cluster = Cluster("suzuki-kasami+restart", 4)
    cluster.do(0, "request", (0,))
    cluster.do(2, "request", (0,))
    cluster.lose(3)
    assert [node.instance for node in cluster.nodes[:3]] == [0, 1, 1], "0 is the coordinator, and inside"
    cluster.lose(0)
    cluster.fences.pop(0)
    assert [node.instance for node in cluster.nodes[1:3]] == [2, 2]
    assert cluster.fences == {2: 3 * TAG + 1}


def test_a_restart_overtaken_by_another_crash_is_not_taken_part_in() -> None:
    cluster = Cluster("suzuki-kasami+restart", 4)
    cluster.do(1, "on_suspect", 3)
    cluster.do(1, "on_suspect", 2)
    assert sent(cluster.do(1, "receive", 0, Restart((3,)))) == []
    assert cluster.nodes[1].instance == 0


def test_the_last_one_is_alone() -> None:
    cluster = Cluster("maekawa+restart", 3)
    for process in range(3):
        cluster.do(process, "request", (0,))
    cluster.settle()
    cluster.lose(0)
    cluster.lose(1)
    assert set(cluster.fences) >= {2}
    cluster.do(2, "release")
    cluster.do(2, "request", (0,))
    assert cluster.nodes[2].phase == INSIDE


@pytest.mark.parametrize(
    ("src", "message"),
    [
        (0, Restart((2,))),  # I have not agreed to that
        (1, Done(1, ())),  # I have not asked
        (0, Start(1, 0, 0, (), (0,))),
        (0, Leave(1)),
        (0, Resume(1)),
        (0, Inside(1, Leave(1))),
        (0, Message()),
    ],
)
def test_what_cannot_be_is_refused(src: int, message: Message) -> None:
    node = System(find_algorithm("suzuki-kasami+restart"), 3).node(0 if src else 1)
    before = state_of(node)
    with pytest.raises(UnexpectedMessage):
        node.receive(src, message, Outbox())
    assert state_of(node) == before


def test_its_messages_travel() -> None:
    vocabulary = Vocabulary(Grouped)
    inner = Request(3, (1, 2))
    for message in (Notify((1, 2)), Start(2, 1, 7, (0, 3), (4,)), Done(1, ()), Inside(1, inner), Resume(4)):
        (frame,) = FrameReader(vocabulary.decode_frame).feed(
            encode_frame(Data(1, 2, "lock", vocabulary.encode(message)))
        )
        assert isinstance(frame, Data)
        assert vocabulary.message(frame.body) == message


def test_without_crashes_it_does_what_the_algorithm_does() -> None:
    """'if no process fails during an execution then the performance [...] is identical' (section 5.3.5)"""
    plain = simulate("token-gme", nodes=7, groups=3, requests=20, seed=4)
    wrapped = simulate("token-gme+restart", nodes=7, groups=3, requests=20, seed=4)
    assert wrapped.messages == plain.messages
    assert wrapped.waiting_time_mean == plain.waiting_time_mean


@pytest.mark.parametrize("case", conformance("suzuki-kasami+restart"), ids=str)
def test_conformance(case: Case) -> None:
    case.run()


# -- section 5.3.3: the lemma about tags -------------------------------------------------------------------


def tag(node: Any) -> tuple[int, bool]:
    return (node.instance, node.running)


@pytest.mark.parametrize("algorithm", ["token-gme", "raymond-tree"])
def test_those_inside_together_have_one_tag(algorithm: str) -> None:
    """Lemma 13, and (13): a tag never decreases; (14): it does not change while a process is inside. A tag may go from
    suspended to running in the step in which its process enters."""
    system = System(find_algorithm(f"{algorithm}+restart"), 5)
    groups = 2 if system.problem.groups else 1
    rules = Bounds(requests=6, groups=groups, crashes=3, recovery=False).rules(system)
    together = restarts = 0
    for seed in range(40):
        stepper = Stepper(system, rules.fifo)
        for action in run_once(system, rules, seed).actions:
            tags = [tag(node) for node in stepper.nodes]
            held = set(stepper.holders())
            stepper.take(action)
            for process, node in enumerate(stepper.nodes):
                assert tag(node) >= tags[process]
                if process in held and process in stepper.holders():
                    assert tag(node) == tags[process]
            inside = {tag(stepper.nodes[process]) for process in stepper.holders()}
            assert len(inside) <= 1
            together += len(stepper.holders()) > 1
        restarts += max([tag(node)[0] for node in stepper.nodes])
    assert restarts >= 20
    assert together > 0 or not system.problem.groups


# -- section 5.3.4: the cost -------------------------------------------------------------------------------

CRASHES: dict[str, tuple[str, ...]] = {
    "one": ("3@400",),
    "the coordinator": ("0@400", "1@700"),
    "during a restart": ("3@400", "0@421", "4@424", "1@432"),
    "together": ("2@400", "0@400", "5@400"),
    "all but one": ("0@100", "1@200", "2@300", "4@500", "5@600"),
}


def run(algorithm: str, crashes: str, seed: int, n: int = 6) -> tuple[int, Counter[str], int]:
    """Simulate; return how many requests were made, how many messages of each kind sent, and old requests served."""
    trace = Trace()
    parameters: dict[str, Any] = {"nodes": n, "groups": 3, "requests": 15, "detection": 20.0, "hold": 4.0}
    engine = Scenario(f"{algorithm}+restart", crash=CRASHES[crashes], **parameters).engine(seed, trace)
    engine.run()
    asked = len([event for event in trace.events if event.event == "request"])
    fences = [event.fence for event in trace.events if event.event == "enter"]
    old = len([fence for fence in fences if (fence >> TAG_BITS) % 2 == 1])
    return asked, Counter({kind.name: int(kind.count) for kind in engine.meter.kinds.values()}), old


@pytest.mark.parametrize("crashes", CRASHES)
def test_a_restart_takes_at_most_5_messages_per_other_process(crashes: str) -> None:
    """'at most 5(n-1) messages: n-1 NOTIFY, n-1 RESTART, n-1 DONE, n-1 START and n-1 RESUME'; 'for each request
    satisfied as old request [...] n-1 LEAVE messages'; in total at most (2n-1)r + 5(n-1)f."""
    n, f = 6, len(CRASHES[crashes])
    served = 0
    for seed in range(6):
        asked, messages, old = run("token-gme", crashes, seed)
        for kind in ("Notify", "Restart", "Done", "Start", "Resume"):
            assert messages[kind] <= (n - 1) * f
        assert messages["Start"] <= old
        assert messages["Leave"] <= (n - 1) * old
        assert messages.total() <= (2 * n - 1) * asked + 5 * (n - 1) * f
        served += old
    assert served > 0


def test_what_one_restart_costs_to_the_message() -> None:
    cluster = Cluster("token-gme+restart", 6)
    cluster.do(5, "request", (9,))
    cluster.settle()
    for process in range(1, 5):
        cluster.do(process, "request", (process % 2,))
    cluster.settle()
    cluster.told = []
    cluster.lose(5)
    while cluster.fences.keys() - {5}:
        cluster.do(min(cluster.fences.keys() - {5}), "release")
        cluster.settle()
    each = dict.fromkeys(("Notify", "Restart", "Done", "Start", "Resume"), 4)
    assert Counter(cluster.told) == {**each, "Leave": 2 * 2 + 2}


# -- many runs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("crashes", CRASHES)
@pytest.mark.parametrize("algorithm", NAMED)
def test_all_who_are_left_are_served(algorithm: str, crashes: str) -> None:
    for seed in range(2):
        result = simulate(
            f"{algorithm}+restart",
            nodes=6,
            groups=3,
            requests=15,
            detection=20.0,
            hold=4.0,
            seed=seed,
            crash=CRASHES[crashes],
        )
        assert result.ok, result.verdict()
        assert result.entries >= 15 * (6 - len(CRASHES[crashes]))


@pytest.mark.parametrize("algorithm", NAMED)
def test_every_run_with_a_crash_is_explored(algorithm: str) -> None:
    result = check(f"{algorithm}+restart", nodes=3, requests=1, crashes=1, recovery=False, limit=15_000)
    assert result.ok, result.verdict()
    assert result.complete or result.states >= 15_000


@pytest.mark.parametrize("algorithm", NAMED)
def test_runs_with_two_crashes_are_explored(algorithm: str) -> None:
    result = check(f"{algorithm}+restart", nodes=3, requests=1, crashes=2, recovery=False, limit=8_000)
    assert result.ok, result.verdict()


@pytest.mark.parametrize("algorithm", SOUND)
def test_random_schedules_of_every_algorithm_with_crashes_of_all_but_one(algorithm: str) -> None:
    result = fuzz(
        f"{algorithm}+restart", nodes=5, requests=5, groups=2, runs=12, crashes=4, recovery=False, seed=len(algorithm)
    )
    assert result.ok, result.verdict()


@pytest.mark.parametrize("algorithm", NAMED)
def test_random_schedules_with_crashes_of_all_but_one(algorithm: str) -> None:
    result = fuzz(f"{algorithm}+restart", nodes=6, requests=8, groups=3, runs=60, crashes=5, recovery=False)
    assert result.ok, result.verdict()


# -- what must not be left out -----------------------------------------------------------------------------


class Hasty(Restarted):  # type: ignore[misc]
    """The coordinator does not wait for the others' DONE."""

    def _on_done(self, src: int, msg: Done, out: Out) -> None:
        if src == self.me:
            self._resume_all(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Resume) and msg.instance > self.instance:
            return  # before RESTART
        super().receive(src, msg, out)


class Disturbed(Restarted):  # type: ignore[misc]
    """Restarts although it is inside."""

    def _on_restart(self, src: int, msg: Restart, out: Out) -> None:
        if msg.failed == self.failed:
            self._restart(out)


class Haunted(Permitted):  # type: ignore[misc]
    """Takes messages of an old instance for those of the current one."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Inside):
            msg = Inside(self.instance, msg.body)
        super().receive(src, msg, out)


class Restless(Restarted):  # type: ignore[misc]
    """The new instance is not suspended."""

    def _restart(self, out: Out) -> None:
        super()._restart(out)
        self.running = True
        if self.phase == WAITING and self.turn is None:
            self.inner.request(self.wants, self.inner_out(out))


class Forgetful(Restarted):  # type: ignore[misc]
    """Old requests are not told."""

    def _on_done(self, src: int, msg: Done, out: Out) -> None:
        super()._on_done(src, Done(msg.instance, ()), out)

    def _resume(self, out: Out) -> None:
        self.running = True


class Deaf(Permitted):  # type: ignore[misc]
    """Ignores messages of the new instance until RESUME comes."""

    def _on_inside(self, src: int, msg: Inside, out: Out) -> None:
        if self.running:
            super()._on_inside(src, msg, out)


class Crowded(Restarted):  # type: ignore[misc]
    """All old requests are served at the same time."""

    def _on_start(self, msg: Start, out: Out) -> None:
        super()._on_start(Start(msg.instance, msg.batch, msg.group, (), msg.after), out)


class Impatient(Grouped):  # type: ignore[misc]
    """Enters when one of the batch before has left."""

    def _take_turn(self, out: Out) -> None:
        turn = self.turn
        if turn is not None and self.phase == WAITING and (self.left or not turn.before):
            self._admit_old(turn, out)


class Early(Restarted):  # type: ignore[misc]
    """The coordinator resumes before the last batch has left."""

    def _serve_old(self, out: Out) -> None:
        super()._serve_old(out)
        self._resume_all(out)


class Alone(Restarted):  # type: ignore[misc]
    """The coordinator does not ask whether the others agree, and they do as they are told."""

    def on_suspect(self, peer: int, out: Out) -> None:
        super().on_suspect(peer, out)
        if self.coordinator() == self.me:
            self.agreeing = {process for process in range(self.n) if process not in self.failed}
            self._restart_all(out)

    def _on_restart(self, src: int, msg: Restart, out: Out) -> None:
        self.failed = msg.failed
        super()._on_restart(src, msg, out)


KILLED: dict[Any, str] = {
    Hasty: "safety",
    Disturbed: "illegal step",
    Haunted: "illegal step",
    Restless: "illegal step",
    Forgetful: "deadlock",
    Deaf: "deadlock",
    Crowded: "safety",
    Early: "safety",
    Alone: "illegal step",
}


@pytest.mark.parametrize("mutant", KILLED)
def test_mutants_are_killed(mutant: type[Node]) -> None:
    crashes = 2 if mutant is Alone else 1
    found = check(mutant, nodes=3, requests=1, crashes=crashes, recovery=False, limit=40_000).counterexample
    assert found is not None
    assert found.kind == KILLED[mutant], found.text


def test_a_mutant_that_enters_after_the_first_leave_is_killed() -> None:
    result = fuzz(Impatient, nodes=5, requests=6, groups=2, runs=300, crashes=3, recovery=False)
    assert result.verdict().startswith("SAFETY"), result.verdict()


# -- what it does not survive ------------------------------------------------------------------------------


def test_suspecting_a_process_that_is_alive_lets_two_in() -> None:
    found = check("suzuki-kasami+restart", nodes=2, requests=1, suspicions=1).counterexample
    assert found is not None
    assert (found.kind, found.text) == ("safety", "process 1 enters while process 0 is inside")


def test_a_process_that_recovers_is_never_served_but_harms_nobody() -> None:
    found = check("suzuki-kasami+restart", nodes=2, requests=1, crashes=1).counterexample
    assert found is not None
    assert found.kind == "deadlock"
    cluster = Cluster("suzuki-kasami+restart", 3)
    cluster.lose(0)
    cluster.nodes[0] = cluster.system.node(0)
    cluster.do(0, "on_recover")
    cluster.do(0, "request", (0,))
    cluster.do(0, "receive", 1, Notify((2,)))
    cluster.do(0, "on_suspect", 2)
    cluster.do(1, "request", (0,))
    cluster.settle()
    assert set(cluster.fences) == {1}
    assert cluster.nodes[2].phase == IDLE


def test_the_transform_is_not_in_the_catalogue_itself() -> None:
    """It makes an algorithm of every one in it, with its name and claims."""
    for name, algorithm in ALGORITHMS.items():
        spec = find_algorithm(f"{name}+restart").spec
        assert spec.name == f"{name}+restart"
        assert (spec.messages, spec.fifo) == (algorithm.spec.messages, algorithm.spec.fifo)
        assert len(spec.flaws) == 2
