"""Guarded objects in views: every run of small systems, many random ones, mutants, and single steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cluster import Cluster

from congenial.checker.bounds import Bounds
from congenial.checker.check_run import CheckRun
from congenial.checker.fuzz import fuzz, run_once
from congenial.checker.rules import Rules
from congenial.kernel.errors import ConfigError
from congenial.kernel.node import IDLE, INSIDE, Node
from congenial.kernel.out import Out
from congenial.parts.bearing import NOBODY, Bearer, Have, bearer_in
from congenial.parts.replica import Entry, Replica
from congenial.parts.views import REJOIN
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System
from congenial.transform.object_in_views import Chosen, Go, Operation, Prepared, Snapshot

REPLICAS = "home-gme+replicas"
InViews: Any = find_algorithm(REPLICAS)


class Short(Replica):
    """Forgets soon what it has executed, and sends its state in small pieces. They are not too small, since every new
    view begins to send them again."""

    longest_log = 1
    piece_size = 100


def made_with(object_class: type[Any], **more: Any) -> type[Node]:
    """Nodes whose objects are of this class."""
    return type(object_class.__name__, (InViews,), {"lock_class": object_class, "__module__": __name__, **more})


Object: Any = InViews.lock_class


class ShortObject(Object):  # type: ignore[misc]
    replica_class = Short


def forget_all(node: Any, out: Out) -> None:
    node.on_amnesia(out)


Shortly = made_with(ShortObject)
Forgetful = made_with(ShortObject, durable=(), on_recover=forget_all)


# -- every run of small systems --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "faults", "states"),
    [
        (2, {"suspicions": 1}, 6122),
        (2, {"crashes": 1, "victim": 1}, 9360),
        (2, {"crashes": 1, "victim": 1, "recovery": False}, 970),
        (3, {"crashes": 1, "victim": 0, "askers": [0], "recovery": False}, 18366),
        (3, {"crashes": 1, "victim": 1, "askers": [0], "recovery": False}, 9777),
    ],
)
def test_small_systems_are_exhausted(nodes: int, faults: dict[str, Any], states: int) -> None:
    """Where two processes guard an object, process 0 is the only voter: its crash takes a majority."""
    rules = Rules(1, [[(0,)]] * nodes, fifo=True, patient=True, operations=1, **faults)
    result = CheckRun(System(InViews, nodes), rules, False, False, 100_000, None).result(False)
    assert result.ok, result.verdict()
    assert result.complete
    assert result.states == states


@pytest.mark.parametrize(
    "faults",
    [
        {"crashes": 1, "victim": 0, "askers": [0]},
        {"crashes": 1, "victim": 1, "askers": [0]},
        {"suspicions": 1, "victim": 0, "askers": [0]},
        {"suspicions": 1, "victim": 1, "askers": [0, 1]},
    ],
)
def test_the_first_runs_of_three_processes(faults: dict[str, Any]) -> None:
    """With a limit: there are more than 150,000 states each, of which so many were seen once."""
    rules = Rules(1, [[(0,)]] * 3, fifo=True, patient=True, operations=1, **faults)
    result = CheckRun(System(InViews, 3), rules, False, False, 8_000, None).result(False)
    assert result.ok, result.verdict()


# -- many runs -------------------------------------------------------------------------------------------------------

FAULTS: dict[str, dict[str, Any]] = {
    "a crash for good": {"crash": ("1@300",)},
    "a crash and a recovery": {"crash": ("1@300-600",)},
    "a crash too short to be noticed": {"crash": ("0@200-205", "1@400-401")},
    "false suspicions": {"suspect": ("0.001/40",)},
    "crashes and false suspicions": {"suspect": ("0.0005/40",), "crash": ("2@200-300", "4@600")},
}


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("algorithm", [REPLICAS, Shortly, Forgetful])
def test_all_that_are_alive_are_served(algorithm: str | type[Node], faults: str) -> None:
    for seed in range(3):
        result = simulate(algorithm, nodes=5, requests=10, operations=2, detection=20.0, seed=seed, **FAULTS[faults])
        assert result.ok, result.verdict()


@pytest.mark.parametrize("algorithm", [Shortly, Forgetful])
@pytest.mark.parametrize(
    ("nodes", "visitors", "crashes", "suspicions"), [(3, 0, 1, 2), (3, 0, 0, 4), (5, 0, 2, 3), (5, 2, 1, 2)]
)
def test_random_schedules(algorithm: type[Node], nodes: int, visitors: int, crashes: int, suspicions: int) -> None:
    result = fuzz(
        algorithm,
        nodes=nodes,
        runs=40,
        requests=2,
        operations=2,
        crashes=crashes,
        suspicions=suspicions,
        timers="patient",
        options={"visitors": str(visitors)},
    )
    assert result.ok, result.verdict()


@pytest.mark.deep
def test_whatever_crashes_replicas_never_differ() -> None:
    """If a majority crashes, work may stop forever; but nothing wrong is done. Both happen here."""
    system = System(Shortly, 3)
    rules = Bounds(requests=3, operations=2, crashes=4, suspicions=2, timers="patient").rules(system)
    faults = [run_once(system, rules, seed).fault for seed in range(200)]
    assert set(faults) == {"", "deadlock"}


@pytest.mark.deep
def test_replicas_are_replaced_by_snapshots_and_by_what_they_lack() -> None:
    """The runs above do what they are meant for."""
    system = System(Shortly, 3)
    rules = Bounds(requests=3, operations=2, crashes=1, suspicions=2, timers="patient").rules(system)
    sent: set[str] = set()
    ejected = 0
    for seed in range(60):
        events = run_once(system, rules, seed).stepper.events
        sent |= {str(event.fields["body"]["message"]) for event in events if event.message == "InView"}  # type: ignore[index,call-overload]
        ejected += len([event for event in events if event.event == "eject"])
    assert {"Snapshot", "Piece", "Lacking"} <= sent
    assert ejected


# -- mutants ---------------------------------------------------------------------------------------------------------


class MajorityIsEnough(ShortObject):
    """An operation is executed when a majority has it, and others enter that do not."""

    def _on_kept(self, src: int, position: int, out: Out) -> None:
        super()._on_kept(src, position, out)
        if self.pending is not None and 2 * len(self.kept) > len(self.members):
            self.replica.confirm(position)
            self._execute(out)


class ExecutesAtOnce(ShortObject):
    """Members execute an operation as soon as they have it."""

    def _on_operation(self, src: int, msg: Any, out: Out) -> None:
        super()._on_operation(src, msg, out)
        self.replica.confirm(msg.position)
        self._execute(out)


class ChoosesEarly(ShortObject):
    """The home does not wait until all members have told what they have."""

    def _on_have(self, src: int, msg: Have, out: Out) -> None:
        super()._on_have(src, msg, out)
        if self.chosen is None and 2 * len(self.haves) > len(self.members):
            self._choose(out)


class TakesWhatThereIs(ShortObject):
    """The home takes the latest replica that it knows of, though others may have more."""

    def _on_have(self, src: int, msg: Have, out: Out) -> None:
        super()._on_have(src, msg, out)
        if self.chosen is None and self._has_heard_all():
            self._choose(out)


class ForgetsTheTail(ShortObject):
    """An operation that only some members have is not given to the others."""

    def _on_chosen(self, msg: Chosen, out: Out) -> None:
        super()._on_chosen(replace(msg, tail=()), out)


class BelievesItIsWhole(ShortObject):
    """A process that was restarted goes on with the first state."""

    def restart(self, out: Out) -> None:
        super().restart(out)
        self.replica.whole = True
        self.prepared = self.view


class FailsTooEarly(ShortObject):
    """A process that is taken for dead does not wait for the outcome of its operation."""

    def lose(self, out: Out) -> None:
        self.sent = (-1, 0)
        super().lose(out)


class KeepsWhatItHad(ShortObject):
    """A member that was away goes on with its own replica."""

    def _on_chosen(self, msg: Chosen, out: Out) -> None:
        super()._on_chosen(replace(msg, floor=-1), out)


class SkipsItsOwn(ShortObject):
    """A process that is sent a snapshot does not look for its own operation in it."""

    def _learn_outcome(self, incoming: Snapshot, out: Out) -> None:
        pass


class DropsWhatComes(ShortObject):
    """A process that is sent a state does not keep what is issued meanwhile."""

    def _on_operation(self, src: int, msg: Any, out: Out) -> None:
        whole = self.replica.whole
        super()._on_operation(src, msg, out)
        if not whole:
            self.replica.queue = {}


@pytest.mark.parametrize(
    ("mutant", "nodes", "crashes", "suspicions"),
    [
        (MajorityIsEnough, 3, 0, 2),
        (ExecutesAtOnce, 3, 1, 3),
        (ChoosesEarly, 3, 1, 3),
        (TakesWhatThereIs, 4, 3, 3),
        (ForgetsTheTail, 3, 1, 3),
        (BelievesItIsWhole, 3, 2, 0),
        (FailsTooEarly, 3, 0, 3),
        (KeepsWhatItHad, 3, 0, 3),
        (SkipsItsOwn, 3, 0, 4),
        (DropsWhatComes, 4, 2, 2),
    ],
)
def test_mutants_are_found(mutant: type[Any], nodes: int, crashes: int, suspicions: int) -> None:
    system = System(made_with(mutant), nodes)
    bounds = Bounds(requests=3, operations=2, crashes=crashes, suspicions=suspicions, timers="patient")
    rules = bounds.rules(system)
    for seed in range(1500):
        walk = run_once(system, rules, seed)
        if walk.fault and (walk.fault != "deadlock" or crashes < 2):  # if a majority crashes, work may stop
            return
    raise AssertionError("nobody has noticed")


# -- single steps ----------------------------------------------------------------------------------------------------


def entered(cluster: Cluster, node: int) -> None:
    cluster.do(node, "request", (0,))
    cluster.settle()
    assert cluster.nodes[node].phase == INSIDE


def lines(cluster: Cluster) -> list[list[object]]:
    return [node.replica.lines for node in cluster.nodes]


def test_an_operation_takes_one_round_trip_and_is_executed_by_all() -> None:
    cluster = Cluster(REPLICAS, 3)
    entered(cluster, 1)
    cluster.told.clear()
    cluster.do(1, "issue", "x")
    cluster.settle()
    assert lines(cluster) == [["x"]] * 3
    assert cluster.told == ["InView"] * 6


def test_a_process_that_was_taken_for_dead_learns_that_its_operation_was_executed() -> None:
    cluster = Cluster(REPLICAS, 3)
    entered(cluster, 1)
    cluster.do(1, "issue", "x")
    cluster.under_way = [packet for packet in cluster.under_way if packet[1] != 0]
    src, dst, message = cluster.under_way.pop()
    cluster.do(dst, "receive", src, message)  # 2 has it
    cluster.under_way.clear()
    cluster.lose(1)
    assert lines(cluster) == [["x"], [], ["x"]]
    cluster.find(1)
    assert cluster.nodes[1].phase == INSIDE, "it does not know yet"
    cluster.do(1, "on_timer", REJOIN)
    cluster.settle()
    assert cluster.nodes[1].phase == IDLE
    assert lines(cluster) == [["x"]] * 3
    assert cluster.nodes[1].object.pending is None


def test_a_process_that_was_taken_for_dead_learns_that_its_operation_has_failed() -> None:
    cluster = Cluster(REPLICAS, 3)
    entered(cluster, 1)
    cluster.do(1, "issue", "x")
    cluster.under_way.clear()
    cluster.lose(1)
    entered(cluster, 2)
    cluster.do(2, "issue", "y")
    cluster.settle()
    cluster.find(1)
    cluster.do(1, "on_timer", REJOIN)
    cluster.settle()
    assert cluster.nodes[1].phase == IDLE
    assert lines(cluster) == [["y"]] * 3


def test_the_holder_goes_on_in_the_next_view_with_what_it_has_issued() -> None:
    cluster = Cluster(REPLICAS, 3)
    entered(cluster, 1)
    cluster.do(1, "issue", "x")
    cluster.under_way.clear()
    cluster.lose(0)
    assert [node.replica.lines for node in cluster.nodes[1:]] == [["x"]] * 2
    cluster.do(1, "issue", "y")
    cluster.settle()
    assert [node.replica.lines for node in cluster.nodes[1:]] == [["x", "y"]] * 2


class Quiet(Out):
    """Listens to nothing."""

    def send(self, dst: int, msg: Any) -> None:
        pass

    def execute(self, issuer: int, number: int, operation: object, result: object) -> None:
        pass


def in_view_1(me: int) -> Any:
    """An object that has just come to view 1, in which all three are members and process 0 is the home."""
    node: Any = System(InViews, 3).node(me)
    node.object.move(1, (0, 1, 2), 0, 0, Quiet())
    return node.object


def test_what_arrives_before_all_begin_is_not_executed_by_beginning() -> None:
    """Process 2 knows that it may begin before process 1 does, and issues an operation that arrives there first."""
    thing = in_view_1(1)
    thing._on_own(0, Chosen(0, False, 0, 0, 0, 0, ()), Quiet())
    thing._on_own(2, Operation(1, (1, 2, 1, "x")), Quiet())
    thing._on_own(0, Go(), Quiet())
    assert thing.begun
    assert thing.replica.applied == 0
    assert thing.replica.top() == 1


def test_operations_begin_when_all_members_are_prepared() -> None:
    home = in_view_1(0)
    for process in (1, 2):
        home._on_own(process, Have(0, True, 0, 0, (), ((1, 1),), True), Quiet())
    assert home.chosen is not None
    home._on_own(1, Prepared(True), Quiet())
    assert not home.begun
    home._on_own(2, Prepared(False), Quiet())
    assert home.begun, "two of three voters have whole replicas: the third need not be waited for"


def test_the_home_knows_that_nothing_happened_in_a_view_that_has_not_begun() -> None:
    home = in_view_1(0)
    for process in (1, 2):
        home._on_own(process, Have(0, True, 0, 0, (), ((1, 1),), True), Quiet())
    assert (home.prepared, home._have().idle) == (1, ((1, 1),))
    for process in (1, 2):
        home._on_own(process, Prepared(True), Quiet())
    assert home._have().idle == ()


def test_too_few_whole_replicas_are_waited_for() -> None:
    home = in_view_1(0)
    home._on_own(1, Have(-1, False, 0, 0, (), ((1, 1),), True), Quiet())
    home._on_own(2, Have(-1, False, 0, 0, (), ((1, 1),), True), Quiet())
    for process in (1, 2):
        home._on_own(process, Prepared(False), Quiet())
    assert not home.begun
    home._on_own(2, Prepared(True), Quiet())
    assert home.begun


def test_what_is_left_is_salvaged_only_if_no_voter_is_away() -> None:
    home = in_view_1(0)
    home.prepared, home.replica.whole = -1, False
    for process in (0, 1, 2):
        home._on_own(process, Have(-1, False, -1, 0, (), ((1, 1),), True), Quiet())
    assert home.chosen is None
    home.voters = (0, 1, 2, 3)
    home.salvage(Quiet())
    assert home.chosen is None
    home.voters = (0, 1, 2)
    home.salvage(Quiet())
    assert (home.chosen.first, home.chosen.age) == (True, 1)


def have(prepared: int, *idle: tuple[int, int], whole: bool = True, position: int = 0, age: int = 0) -> Have:
    return Have(prepared, whole, age, position, (), idle, True)


@pytest.mark.parametrize(
    ("haves", "bearer"),
    [
        ([have(4), have(4, position=1), have(-1, whole=False)], (1, 4, True)),
        ([have(2), have(-1, whole=False)], (0, 2, False)),  # 3 and 4: who knows?
        ([have(2, (3, 4)), have(-1, whole=False)], (0, 2, True)),
        ([have(2), have(-1, (4, 4), whole=False), have(1, (3, 3))], (0, 2, True)),
        ([have(2, (3, 4)), have(4, position=0), have(2, position=1)], (2, 2, True)),  # view 4 never began
        ([have(-1, (0, 4), whole=False)], (NOBODY, -1, True)),  # nothing has ever happened
        ([have(-1, (1, 4), whole=False)], (NOBODY, -1, False)),
        ([have(3, (4, 4), position=7), have(4, age=4)], (0, 3, True)),  # view 4 had given something up, and did nothing
    ],
)
def test_who_has_what_is_needed(haves: list[Have], bearer: tuple[int, int, bool]) -> None:
    found: Bearer = bearer_in(5, dict(enumerate(haves)))
    assert (found.process, found.floor, found.sure) == bearer


def test_a_replica_keeps_a_short_log() -> None:
    replica = Replica()
    system: Any = System(InViews, 1).node(0)
    replica.name(system.replica)
    replica.begin(0)
    for position in range(1, 3001):
        entry: Entry = (0, 0, position, position)
        replica.store(position, entry)
        replica.confirm(position)
        replica.execute()
    assert len(replica.log) <= 2 * Replica.longest_log
    assert replica.log_since(0, 0) is None
    assert replica.log_since(0, 2998) == ((0, 0, 2999, 2999), (0, 0, 3000, 3000))
    assert replica.log_since(1, 2998) is None, "of another history"


def test_only_locks_with_a_home_and_groups_can_guard_replicas() -> None:
    with pytest.raises(ConfigError, match="maekawa cannot guard replicas: it has no home, or knows no groups"):
        find_algorithm("maekawa+replicas")
