"""`check`: everything the explorer can tell about an algorithm, as one verdict.

Three explorations: all runs within the bounds (safety, deadlock, starvation, illegal steps, the cost of runs); for
problems that let several in, all runs in which everybody asks, for one group, and nobody leaves (concurrent entry:
everyone must get in, or as many as may be inside together, unless the algorithm's spec says that this is not so); and,
for the bound on waiting, all runs in which a single process asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from time import process_time

from congenial.checker.explore import DEADLOCK, MOST_EARLY, Explorer, Found, State
from congenial.checker.graph import Graph
from congenial.checker.movers import Movers, Situation
from congenial.checker.stepper import Action, Stepper
from congenial.checker.symmetry import Symmetry
from congenial.checker.world import (
    ARGUMENT,
    ASK,
    CRASH,
    DELIVER,
    HEADER,
    ISSUE,
    LEAVE,
    LOSE,
    RECOVER,
    REPEAT,
    SUSPECT,
    TIMER,
    TRUST,
    Bounds,
    World,
)
from congenial.kernel import trace as tr
from congenial.kernel.errors import ConfigError, IllegalStep, SafetyViolation
from congenial.kernel.node import WAITING, Node
from congenial.kernel.problem import Groups
from congenial.kernel.trace import Event
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System

STARVATION = "starvation"
CONCURRENT_ENTRY = "concurrent entry"
BOUND = "bound"
SMALL = 1_000_000  # states, up to which a system is explored whole
MOST_EXCEPTIONS = 16
FIRST_LIMIT = 1000  # states explored before a reduction is verified for the first time

Progress = Callable[[int, int], None]
"""Called now and then with the number of states seen, and of those still to be expanded."""


@dataclass(frozen=True)
class Counterexample:
    """A run that ends in a fault: which kind, what is wrong, and the steps that lead there."""

    kind: str
    text: str
    actions: tuple[Action, ...]
    events: tuple[Event, ...]

    def as_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "text": self.text, "events": [event.as_dict() for event in self.events]}


@dataclass(frozen=True)
class CheckResult:
    """What was found. `violations` counts illegal steps and broken bounds, too; `complete` means that all states within
    the bounds were seen, so that nothing else can be found there."""

    algorithm: str
    nodes: int
    requests: int
    states: int
    transitions: int
    depth: int
    complete: bool
    reduced: bool
    violations: int
    deadlocks: int
    starvation: int
    seconds: float
    states_per_second: float
    least_messages: float | None
    most_messages: float | None
    """Per entry, over all complete runs."""
    counterexample: Counterexample | None
    fifo: bool = False

    @property
    def ok(self) -> bool:
        return self.counterexample is None

    def as_dict(self) -> dict[str, object]:
        data = asdict(self)
        if self.counterexample is not None:
            data["counterexample"] = self.counterexample.as_dict()
        return data

    def without_events(self) -> CheckResult:
        """Small enough to be sent to another process."""
        if self.counterexample is None:
            return self
        return replace(self, counterexample=replace(self.counterexample, actions=(), events=()))

    def verdict(self) -> str:
        if self.counterexample is not None:
            return f"{self.counterexample.kind.upper()}: {self.counterexample.text}"
        if self.complete:
            but = ", but for interleavings that make no difference" if self.reduced else ""
            return f"nothing wrong: every state within the bounds was seen{but}"
        return f"nothing wrong so far: the limit was reached after {self.states} states, not all were seen"


def check(
    algorithm: str | type[Node],
    *,
    nodes: int = 3,
    requests: int = 2,
    groups: int = 1,
    wants: str = "",
    order: str = "",
    crashes: int = 0,
    losses: int = 0,
    duplicates: int = 0,
    suspicions: int = 0,
    timers: str = "",
    recovery: bool = True,
    operations: int = 0,
    reduce: bool | None = None,
    symmetry: bool = False,
    limit: int = 10_000_000,
    jobs: int = 1,
    options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> CheckResult:
    """Explore all runs of a small system. Unless `reduce` says otherwise the reduction is used only where the system
    turns out to be large: verifying it takes longer than exploring a small one whole. With several `jobs` the runs are
    split into cases (see `check.cases`), and `states` counts a state once in every case in which it occurs. Without
    `recovery` who has crashed stays away; with it it comes back in the end, before timers run out or after. Under weak
    exclusion who is inside may issue up to `operations` operations in each stay.

    >>> check("ricart-agrawala", nodes=2, requests=1).ok
    True
    """
    system = System(find_algorithm(algorithm), nodes, options)
    faults = (crashes, losses, duplicates, suspicions)
    bounds = make_bounds(system, requests, groups, wants, order, faults, timers, recovery, operations)
    at_least(1, limit, "limit")
    if at_least(1, jobs, "jobs") > 1:
        from congenial.checker.cases import check_cases

        return check_cases(system, bounds, reduce, symmetry, limit, jobs, progress)
    return Inquiry(system, bounds, reduce, symmetry, limit, progress).result()


class Inquiry:
    """One check, exploration by exploration."""

    def __init__(
        self, system: System, bounds: Bounds, reduce: bool | None, symmetry: bool, limit: int, progress: Progress | None
    ) -> None:
        self.system = system
        self.bounds = bounds
        self.limit = limit
        self.progress = progress
        self.faultless = not (bounds.crashes or bounds.losses or bounds.duplicates or bounds.suspicions)
        plain = self.faultless and not bounds.operations
        self.reduce = reduce is not False and plain and not (bounds.patient or bounds.quiet)
        self.whole_first = reduce is None
        self.symmetry = symmetry
        if symmetry and system.spec.symmetry is None:
            raise ConfigError(f"{system.name} does not say which of its processes are interchangeable (Spec.symmetry)")
        self.complete = True  # until something had to be left undecided
        self.deadlocks = 0
        self.violations = 0
        self.starvation = 0
        self.counterexample: Counterexample | None = None
        self.costs: tuple[float, float] | None = None

    def result(self, with_side_cases: bool = True) -> CheckResult:
        """The verdict; the side cases, concurrent entry and waiting alone, do not depend on who asks for what."""
        start = process_time()
        explorer = self.explore(self.bounds)
        if explorer.faults and self.symmetry:  # with states renamed on the way there is no run to tell of
            self.symmetry = False
            explorer = self.explore(self.bounds)
        seconds = process_time() - start
        if explorer.faults:
            self._report(explorer, explorer.faults[0])
        elif explorer.complete:
            self._judge_graph(explorer)
        if with_side_cases and self.counterexample is None and self.faultless and explorer.complete:
            self._concurrent_entry()
            self._judge_waiting()
        return CheckResult(
            algorithm=self.system.name,
            nodes=self.system.n,
            requests=self.bounds.requests,
            states=int(explorer.count),
            transitions=int(explorer.transitions),
            depth=explorer.depth,
            complete=explorer.complete and self.complete,
            reduced=explorer.movers is not None,
            violations=self.violations,
            deadlocks=self.deadlocks,
            starvation=self.starvation,
            seconds=seconds,
            states_per_second=int(explorer.count) / seconds if seconds > 0 else 0.0,
            least_messages=None if self.costs is None else self.costs[0],
            most_messages=None if self.costs is None else self.costs[1],
            counterexample=self.counterexample,
            fifo=self.bounds.fifo,
        )

    def explore(self, bounds: Bounds, reduce: bool | None = None) -> Explorer:
        """Explore, reduced if that may be, with the reduction verified."""
        world = World(self.system, bounds)
        if not (self.reduce if reduce is None else reduce):
            return self._run(world, self.limit, None)
        if self.whole_first:
            explorer = self._run(world, min(SMALL, self.limit), None)
            if explorer.complete or explorer.faults:
                return explorer
        exceptions: set[Situation] = set()
        limit = min(FIRST_LIMIT, self.limit)
        while True:
            movers = Movers(world, exceptions)
            explorer = self._run(world, limit, movers)
            if explorer.faults:
                return explorer  # what was found is a real run, whatever was left out
            failure = movers.failure()
            if failure is not None:
                exceptions.add(failure)
                if self.whole_first and len(exceptions) > MOST_EXCEPTIONS:
                    return self._run(world, self.limit, None)  # hardly anything left to gain
            elif explorer.complete or limit == self.limit:
                return explorer
            else:
                limit = min(8 * limit, self.limit)

    def _run(self, world: World, limit: int, movers: Movers | None) -> Explorer:
        rule = self.system.spec.symmetry if self.symmetry and world.bounds is self.bounds else None
        symmetry = None if rule is None else Symmetry(world, rule)
        explorer = Explorer(world, limit, movers, symmetry, self.progress)
        explorer.run()
        if symmetry is not None:
            difference = symmetry.failure()
            if difference:
                raise ConfigError(f"{self.system.name} is not symmetric here: {difference}; leave --symmetry out")
        return explorer

    # -- judging ---------------------------------------------------------------------------------------

    def _judge_graph(self, explorer: Explorer) -> None:
        graph = self._graph(explorer)
        cycles = graph.cycles()
        partial = explorer.movers is not None or self.symmetry
        if cycles and partial:  # what is fair can only be told with all steps in sight
            self.symmetry = False
            explorer = self.explore(self.bounds, reduce=False)
            if explorer.faults:
                self._report(explorer, explorer.faults[0])
            if not explorer.complete:
                self.complete = False
                return
            graph = self._graph(explorer)
            cycles = graph.cycles()
        for component in cycles:
            waiting = waiters(explorer.world, path_to(explorer, component[0])[1])
            if waiting and graph.is_fair(component):
                who = ", ".join([str(process) for process in waiting])
                text = f"a fair schedule can go on for ever from here while these wait: {who}"
                self._report(explorer, Found(STARVATION, text, component[0], -1, 0, 0))
                return
        if not cycles and self.faultless and not self.bounds.operations:
            self._judge_costs(explorer, graph)

    def _graph(self, explorer: Explorer) -> Graph:
        waits = self.bounds.patient or self.bounds.quiet
        return Graph(explorer.count, explorer.firsts, explorer.targets, explorer.labels, waits)

    def _judge_costs(self, explorer: Explorer, graph: Graph) -> None:
        """The dearest and the cheapest complete run, against the law of the spec."""
        fewest, most = graph.messages()
        entries = self.system.n * self.bounds.requests
        ends = [index for index in explorer.terminal if self._all_served(explorer, index)]
        if not ends:
            return
        self.costs = (min([fewest[i] for i in ends]) / entries, max([most[i] for i in ends]) / entries)
        law = self.system.spec.messages
        if law is None:
            return
        least, dearest = law.least_for(self.system.sizes), law.most_for(self.system.sizes)
        if self.costs[1] > dearest:
            cost, run = self.costs[1], max(ends, key=lambda end: int(most[end]))
        elif self.costs[0] < least:
            cost, run = self.costs[0], min(ends, key=lambda end: int(fewest[end]))
        else:
            return
        text = f"a run costs {cost:.4g} messages per entry; its spec says {law} ({least:g} .. {dearest:g})"
        self._report(explorer, Found(BOUND, text, run, -1, 0, 0))

    def _all_served(self, explorer: Explorer, index: int) -> bool:
        """Has everybody asked as often as allowed? Then nothing can happen any more."""
        return int(explorer.firsts[index + 1] - explorer.firsts[index]) == 0

    def _concurrent_entry(self) -> None:
        if not (self.system.problem.concurrent_entry and self.system.spec.concurrent_entry):
            return
        together = Bounds(requests=1, menus=[[(0,)]] * self.system.n, fifo=self.bounds.fifo, leaving=False)
        together.patient = self.bounds.patient
        explorer = self.explore(together, reduce=False)
        for found in explorer.faults:
            kind = CONCURRENT_ENTRY if found.kind == DEADLOCK else found.kind
            text = found.text if found.kind != DEADLOCK else f"{self._everybody()}, nobody leaves, and {found.text}"
            self._report(explorer, Found(kind, text, found.index, found.move, found.choice, found.early))
        self.complete = self.complete and (explorer.complete or bool(explorer.faults))

    def _everybody(self) -> str:
        if self.system.problem.groups:
            return "all ask for one group"
        return f"all ask, fewer than k = {self.system.problem.capacity} are inside"

    def _judge_waiting(self) -> None:
        """With one process asking, and nobody else: the longest chain of messages from its request to its entry."""
        law = self.system.spec.waiting
        if law is None or self.counterexample is not None:
            return
        most = law.most_for(self.system.sizes)
        for process in range(self.system.n):
            alone = Bounds(1, self.bounds.menus, self.bounds.fifo, leaving=False, askers=[process], count_hops=True)
            alone.patient = self.bounds.patient or self.bounds.quiet
            explorer = self.explore(alone, reduce=False)
            if not explorer.complete:
                self.complete = False
                return
            entries = [step for _, steps in explorer.world.known_steps() for step in steps if step.entered]
            hops = max([step.hops for step in entries], default=0)
            if hops > most:
                text = f"process {process} waits for {hops} messages, one after the other; its spec says {law}"
                self._report(explorer, Found(BOUND, text, explorer.terminal[0], -1, 0, 0))
                return

    def _report(self, explorer: Explorer, found: Found) -> None:
        if found.kind == DEADLOCK:
            self.deadlocks += 1
        elif found.kind == STARVATION:
            self.starvation += 1
        else:
            self.violations += 1
        if self.counterexample is None:
            actions, events = run_to(explorer, found)
            self.counterexample = Counterexample(found.kind, found.text, tuple(actions), tuple(events))


# -- from indices to runs ------------------------------------------------------------------------------

Taken = tuple[State, int, int, int, tuple[int, ...]]
"""A state, and what was done in it: process, event, position of the packet, choices."""


def path_to(explorer: Explorer, index: int) -> tuple[list[Taken], State]:
    """How a state was reached first, and the state itself."""
    vias: list[int] = []
    at = index
    while int(explorer.parents[at]) >= 0:
        vias.append(int(explorer.vias[at]))
        at = int(explorer.parents[at])
    state = explorer.world.initial()
    taken: list[Taken] = []
    for via in reversed(vias):
        state = _walk(explorer, state, via >> 8, via & 255, -1, taken)
    return taken, state


def _walk(explorer: Explorer, state: State, move: int, choice: int, early: int, taken: list[Taken]) -> State:
    """Make a move, and then the deliveries that are made at once: all, or `early` of them."""
    explorer.list_moves(state)
    process = int(explorer.move_process[move])
    event = int(explorer.move_event[move])
    position = int(explorer.move_position[move])
    step = explorer.steps(state, process, event)[choice]
    taken.append((state, process, event, position, step.choices))
    if step.error:
        return state
    state = explorer.after(state, process, event, position, step)
    for _ in range(MOST_EARLY if explorer.movers is not None else 0):
        position = int(explorer.early_position(state)) if early != 0 else -1
        if position < 0:
            break
        packet = state[position]
        process = int(explorer.world.destinations[packet])
        step = explorer.world.steps(state[HEADER + process], DELIVER | packet)[0]
        taken.append((state, process, DELIVER | packet, position, ()))
        early -= 1
        if step.error:
            break
        state = explorer.after(state, process, DELIVER | packet, position, step)
    return state


def run_to(explorer: Explorer, found: Found) -> tuple[list[Action], list[Event]]:
    """The run that ends in a fault: the steps that a `Stepper` takes, and what happens in them."""
    taken, state = path_to(explorer, int(found.index))
    if found.move >= 0:
        _walk(explorer, state, int(found.move), int(found.choice), int(found.early), taken)
    world = explorer.world
    stepper = Stepper(world.system, world.fifo)
    actions: list[Action] = []
    for _, process, event, _, choices in taken:
        action = _action(world, stepper, process, event, choices)
        actions.append(action)
        try:
            stepper.take(action)
        except (SafetyViolation, IllegalStep):
            break
    return actions, stepper.events


KINDS = {
    LEAVE: tr.EXIT,
    ISSUE: tr.ISSUE,
    TIMER: tr.TIMER,
    SUSPECT: tr.SUSPECT,
    TRUST: tr.TRUST,
    RECOVER: tr.RECOVER,
    CRASH: tr.CRASH,
}


def _action(world: World, stepper: Stepper, process: int, event: int, choices: tuple[int, ...]) -> Action:
    kind, argument = event & ~ARGUMENT, event & ARGUMENT
    if kind == ASK:
        return Action(tr.REQUEST, process, groups=world.menus[process][argument], choices=choices)
    if kind == TIMER:
        return Action(tr.TIMER, process, timer=argument, choices=choices)
    if kind in (SUSPECT, TRUST):
        return Action(KINDS[kind], process, peer=argument, choices=choices)
    if kind in KINDS:
        return Action(KINDS[kind], process, choices=choices)
    source, message = int(world.sources[argument]), world.messages[argument]
    number = next(
        int(packet.number)
        for packet in stepper.packets
        if packet.src == source and packet.dst == process and packet.msg == message
    )
    name = tr.DROP if kind == LOSE else tr.DELIVER
    return Action(name, process, source, number, again=kind == REPEAT, choices=choices)


def waiters(world: World, state: State) -> list[int]:
    return [process for process in range(world.system.n) if world.phases[state[HEADER + process]] == WAITING]


# -- options as users write them ---------------------------------------------------------------------------


def make_bounds(
    system: System,
    requests: int,
    groups: int,
    wants: str,
    order: str,
    faults: tuple[int, int, int, int],
    timers: str = "",
    recovery: bool = True,
    operations: int = 0,
) -> Bounds:
    """Bounds from options; `faults` are the budgets of crashes, losses, duplicates and suspicions."""
    crashes, losses, duplicates, suspicions = faults
    return Bounds(
        requests=at_least(1, requests, "requests"),
        menus=parse_wants(wants, system.n, groups),
        fifo=parse_order(order, system),
        crashes=at_least(0, crashes, "crashes"),
        losses=at_least(0, losses, "losses"),
        duplicates=at_least(0, duplicates, "duplicates"),
        suspicions=at_least(0, suspicions, "suspicions"),
        patient=parse_timers(timers, system) == "patient",
        quiet=timers == "quiet",
        recovery=recovery,
        operations=system.operations(operations),
    )


def at_least(least: int, value: int, name: str) -> int:
    if value < least:
        raise ConfigError(f"--{name} must be at least {least}, not {value}")
    return value


def parse_wants(text: str, nodes: int, groups: int) -> list[list[Groups]]:
    """What each process may ask for. '0;1;0,1': process 0 group 0, process 1 group 1, process 2 either, as the checker
    likes (it tries both); '0|1' asks for any one of the two. Without a text everyone may ask for any of the groups."""
    at_least(1, groups, "groups")
    if not text:
        return [[(group,) for group in range(groups)]] * nodes
    menus: list[list[Groups]] = []
    try:
        for process in text.split(";"):
            menus.append([tuple(sorted({int(group) for group in ask.split("|")})) for ask in process.split(",")])
    except ValueError:
        raise ConfigError(f"--wants {text!r} is not like '0;1;0,1': groups by process, separated by ';'") from None
    if len(menus) != nodes or any(group < 0 for menu in menus for ask in menu for group in ask):
        raise ConfigError(f"--wants {text!r} should name groups (0, 1, ...) for each of the {nodes} processes")
    return menus


def parse_order(text: str, system: System) -> bool:
    if text not in ("", "any", "fifo"):
        raise ConfigError(f"--order must be any or fifo, not {text!r}")
    return text == "fifo" if text else system.spec.fifo


def parse_timers(text: str, system: System) -> str:
    if text not in ("", "free", "quiet", "patient"):
        raise ConfigError(
            "--timers must be free (any time), quiet (when no message is under way) or patient (when nothing else can "
            f"happen), not {text!r}"
        )
    return text or ("patient" if system.spec.patient else "free")
