"""The conformance suite: what every algorithm of this package must pass, for your own as well.

    import pytest
    from congenial.testing import conformance

    @pytest.mark.parametrize("case", conformance("path/to/file.py:MyNode"), ids=str)  # or the class itself
    def test_my_algorithm(case):
        case.run()

The cases: simulations under several loads; all interleavings of small systems; random schedules of larger ones; all
processes inside together where the problem promises it (if the spec says that the algorithm does not keep that promise,
that must be true, too); copies of nodes, which must behave as the nodes do; and messages, which must all be declared. A
case that fails raises AssertionError, with the run that shows what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.checker.rules import Rules
from congenial.checker.stepper import Action, Stepper
from congenial.checker.walk import Walk
from congenial.kernel.inputs import algorithm_options, whole
from congenial.kernel.message import messages_of, nested_messages
from congenial.kernel.node import Node
from congenial.kernel.problem import Groups
from congenial.kernel.state import node_from, state_of
from congenial.kernel.trace import DELIVER, REQUEST, Event
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import find_algorithm
from congenial.systems.streams import stream
from congenial.systems.system import System

STATES = 20_000  # within which a small system is explored
LOADS: dict[str, dict[str, Any]] = {
    "light load": {"think": 500, "hold": 1, "requests": 5},
    "heavy load": {"think": 0, "hold": 5, "requests": 10},
    "hasty processes": {"think": 5, "hold": 0, "requests": 10, "delay": "lognormal:5,1.5"},
    "a burst": {"load": "burst"},
    "turns": {"load": "turns", "requests": 2},
}
SYSTEMS = ((2, 1), (2, 2), (3, 1))  # processes, requests of each
SYSTEMS_OF_SEVERAL = (
    (2, 1),
    (3, 1),
    (3, 2),
)  # where several may be inside; with fewer none waits
SHOWN = 60  # events of a counterexample, the last ones


@dataclass(frozen=True)
class Case:
    """One test. `run` raises AssertionError if it fails; otherwise it returns what was seen, in words."""

    name: str
    test: Callable[[], str] = field(repr=False, compare=False)

    def run(self) -> str:
        return self.test()

    def __str__(self) -> str:
        return self.name


def conformance(
    algorithm: str | type[Node], *, options: Mapping[str, str] | None = None, states: int = STATES, runs: int = 40
) -> list[Case]:
    """All cases for an algorithm: a catalogue name, 'path/to/file.py:ClassName', or a class. `options` are those of its
    `Spec`; `states` bounds each exploration, and `runs` is the number of random schedules in a case."""
    whole(states, "states", 1)
    whole(runs, "runs", 1)
    return Suite(find_algorithm(algorithm), algorithm_options(options), states, runs).cases()


class Suite:
    def __init__(self, algorithm: type[Node], options: dict[str, str], states: int, runs: int) -> None:
        self.algorithm = algorithm
        self.options = options
        self.states = states
        self.runs = runs
        system = System(algorithm, 2, options)
        self.orders = ["fifo"] if system.spec.fifo else ["any", "fifo"]
        self.groups = 2 if system.problem.groups else 1
        self.concurrent_entry = system.problem.concurrent_entry
        self.keeps_concurrent_entry = system.spec.concurrent_entry
        self.capacity = system.problem.capacity
        self.systems = SYSTEMS_OF_SEVERAL if self.capacity > 1 else SYSTEMS

    def cases(self) -> list[Case]:
        found: list[Case] = []
        for order in self.orders:
            channels = "fifo channels" if order == "fifo" else "channels in any order"
            for load in LOADS:
                found.append(Case(f"simulation, {load}, {channels}", self._simulation(load, order)))
            for nodes, requests in self.systems:
                name = (
                    f"all runs of {nodes} processes, {requests} request{'' if requests == 1 else 's'} each, {channels}"
                )
                found.append(Case(name, self._exploration(nodes, requests, order)))
            found.append(Case(f"random schedules, {channels}", self._fuzz(order)))
            found.append(Case(f"copies behave alike, {channels}", self._copies(order)))
            found.append(Case(f"all messages are declared, {channels}", self._messages(order)))
            if self.concurrent_entry:
                together = "everybody" if self.keeps_concurrent_entry else "not always everybody"
                found.append(Case(f"{together} inside together, {channels}", self._together(order)))
        return found

    # -- the cases -----------------------------------------------------------------------------------------

    def _simulation(self, load: str, order: str) -> Callable[[], str]:
        """Everything is served, nothing is violated, and messages cost what the spec says."""

        def test() -> str:
            entries = 0
            for seed, nodes in enumerate((1, 2, 3, 7)):
                groups = 3 if self.groups > 1 else 1
                parameters: dict[str, Any] = {
                    "nodes": nodes,
                    "groups": groups,
                    "fifo": order == "fifo",
                    "options": self.options,
                }
                system = Scenario(self.algorithm, **parameters).system()  # as the simulator will make it
                result = simulate(self.algorithm, seed=seed, **parameters, **LOADS[load])
                where = f"{nodes} processes, seed {seed}"
                assert result.ok, f"{where}: {result.verdict()}"
                assert result.entries == result.requests, f"{where}: {result.entries} of {result.requests} got in"
                law = system.spec.messages
                if law is not None:
                    least, most = law.least_for(system.sizes), law.most_for(system.sizes)
                    cost = result.messages_per_entry
                    says = f"{where}: {cost:.4g} messages per entry; the spec says {law} ({least:g} .. {most:g})"
                    assert least - 1e-9 <= cost <= most + 1e-9, says
                entries += result.entries
            return f"{entries} entries"

        return test

    def _exploration(self, nodes: int, requests: int, order: str) -> Callable[[], str]:
        """Every interleaving; also for concurrent entry, and for the bounds in the spec."""

        def test() -> str:
            result = check(
                self.algorithm,
                nodes=nodes,
                requests=requests,
                groups=self.groups,
                order=order,
                limit=self.states,
                options=self.options,
            )
            found = result.counterexample
            assert found is None, told(result.verdict(), found.events)
            if (nodes, requests) == self.systems[0]:
                assert result.complete, f"{nodes} processes have more than {self.states} states: {result.verdict()}"
            return f"{result.states} states{', all there are' if result.complete else ', not all'}"

        return test

    def _fuzz(self, order: str) -> Callable[[], str]:
        def test() -> str:
            steps = 0
            for nodes, requests in ((4, 3), (7, 2)):
                result = fuzz(
                    self.algorithm,
                    nodes=nodes,
                    requests=requests,
                    groups=self.groups,
                    runs=self.runs,
                    order=order,
                    options=self.options,
                )
                found = result.counterexample
                assert found is None, told(f"{nodes} processes: {result.verdict()}", found.events)
                steps += result.steps
            return f"{steps} steps"

        return test

    def _copies(self, order: str) -> Callable[[], str]:
        """A node that is made from its state before each of its steps does what the node itself would have done."""

        def test() -> str:
            steps = 0
            system = System(self.algorithm, 4, self.options)
            for seed in range(4):
                actions = self._random_run(system, order, seed)
                first, second = Stepper(system, order == "fifo"), Stepper(system, order == "fifo")
                for action in actions:
                    state = state_of(second.nodes[action.node])
                    copy = node_from(state)
                    assert state_of(copy) == state, f"a copy of process {action.node} differs from it: {state}"
                    assert hash(state_of(copy)) == hash(state), f"equal states of process {action.node} hash unequally"
                    second.processes[action.node].node = copy
                    first.take(action)
                    second.take(action)
                    after = state_of(first.nodes[action.node])
                    same = after == state_of(second.nodes[action.node]) and first.events == second.events
                    what = f"a copy of process {action.node} behaves differently; does it keep state out of sight?"
                    assert same, told(what, first.events)
                steps += len(actions)
            return f"{steps} steps"

        return test

    def _messages(self, order: str) -> Callable[[], str]:
        """Every message that is sent is of a class that the node, or what it is made of, declares."""

        def test() -> str:
            system = System(self.algorithm, 4, self.options)
            declared = messages_of(system.algorithm, *system.inner)
            seen: set[type] = set()
            for seed in range(4):
                stepper = Stepper(system, order == "fifo")
                for action in self._random_run(system, order, seed):
                    stepper.take(action)
                    for packet in stepper.packets:
                        seen.update(type(message) for message in nested_messages(packet.msg))
            names = sorted({kind.__name__ for kind in seen if kind not in declared})
            what = f"{self.algorithm.__name__} sends {', '.join(names)}, but does not declare it"
            assert not names, f"{what}: add it to `messages` of the class that sends it"
            return f"{len(seen)} kinds of messages"

        return test

    def _random_run(self, system: System, order: str, seed: int) -> list[Action]:
        menus: list[list[Groups]] = [[(group,) for group in range(self.groups)]] * system.n
        rules = Rules(requests=3, menus=menus, fifo=order == "fifo", patient=system.spec.patient)
        walk = Walk(Stepper(system, order == "fifo"), rules, stream(seed, 0), seed % 2 == 1, 20_000)
        walk.run()
        assert not walk.fault, told(f"{walk.fault}: {walk.text}", walk.stepper.events)
        return walk.actions

    def _together(self, order: str) -> Callable[[], str]:
        """All ask for one group and none leaves: all get in, or as many as may be inside together. If the spec says
        otherwise, that must be true, too."""

        def test() -> str:
            nodes = 6
            most = min(self.capacity, nodes) or nodes
            kept_out = 0
            for seed in range(10):
                stepper = self._none_leaves(nodes, order, seed)
                inside = len(stepper.holders())
                asked = f"all {nodes} ask{' for one group' if self.groups > 1 else ''}"
                what = f"{asked} and nobody leaves, but only {inside} get in (seed {seed})"
                assert inside == most or not self.keeps_concurrent_entry, told(what, stepper.events)
                kept_out += most - inside
            what = "its spec says that it lacks concurrent entry, but everybody always got in"
            assert self.keeps_concurrent_entry or kept_out, what
            return f"{most} together" if self.keeps_concurrent_entry else f"{kept_out} kept out, as its spec says"

        return test

    def _none_leaves(self, nodes: int, order: str, seed: int) -> Stepper:
        """A random run in which all processes ask for one group and none leaves, until nothing more can happen."""
        rng = stream(seed, 0)
        stepper = Stepper(System(self.algorithm, nodes, self.options), order == "fifo")
        outside = list(range(nodes))
        while outside or stepper.deliverable():
            packets = stepper.deliverable()
            turn = rng.randrange(len(outside) + len(packets))
            if turn < len(outside):
                stepper.take(Action(REQUEST, outside.pop(turn), groups=(0,)))
            else:
                packet = packets[turn - len(outside)]
                stepper.take(Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number)))
        return stepper


def told(what: str, events: Sequence[Event]) -> str:
    """What is wrong, and the run that shows it."""
    lines = [str(event) for event in events[-SHOWN:]]
    omitted = [f"  ... {len(events) - SHOWN} events before"] if len(events) > SHOWN else []
    return "\n".join([what, *omitted, *[f"  {line}" for line in lines]])
