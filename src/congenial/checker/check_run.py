"""One check, exploration by exploration.

Three explorations: all runs within the rules (safety, deadlock, starvation, illegal steps, concurrent entry, the cost
of runs); for problems that let several in, all runs in which all processes ask, for one group, and none leaves (all
must get in, or as many as may be inside together, unless the algorithm's spec says otherwise); and, for the bound on
waiting, all runs in which a single process asks.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from congenial.checker.counterexample import Counterexample, counterexample
from congenial.checker.explore import Explorer
from congenial.checker.faults import BOUND, DEADLOCK, STARVATION, Fault
from congenial.checker.graph import StateGraph
from congenial.checker.graph_faults import Costs, broken_law, costs_of, starvation
from congenial.checker.movers import Debt, Movers
from congenial.checker.result import CheckResult
from congenial.checker.rules import Rules
from congenial.checker.symmetry import Symmetry
from congenial.checker.world import World
from congenial.kernel.errors import ConfigError
from congenial.kernel.garbage import fewer_collections
from congenial.systems.system import System

SMALL = 1_000_000  # states, up to which a system is explored whole
FIRST_LIMIT = 1000  # states explored before a reduction is verified for the first time

Progress = Callable[[int, int], None]
"""Called now and then with the number of states seen, and of those still to be expanded."""


class CheckRun:
    def __init__(
        self, system: System, rules: Rules, reduce: bool | None, symmetry: bool, limit: int, progress: Progress | None
    ) -> None:
        self.system = system
        self.rules = rules
        self.limit = limit
        self.progress = progress
        self.plain = not rules.faults and not rules.operations
        believes = system.node(0).has_beliefs()  # what is left out could hold a contradiction
        unfit = believes or rules.operations > 0 or rules.timers_wait or rules.vanishing
        self.reduce = reduce is not False and not unfit
        self.whole_first = reduce is None
        self.symmetry = symmetry
        if symmetry and system.spec.symmetry is None:
            raise ConfigError(f"{system.name} does not say which of its processes are interchangeable (Spec.symmetry)")
        self.complete = True  # until something had to be left undecided
        self.deadlocks = 0
        self.violations = 0
        self.starvation = 0
        self.counterexample: Counterexample | None = None
        self.costs: Costs | None = None

    def result(self, with_side_cases: bool = True) -> CheckResult:
        """The verdict. The side cases, concurrent entry and waiting alone, do not depend on what is asked for."""
        start = process_time()
        explorer = self._explore(self.rules)
        if explorer.faults and self.symmetry:  # states were renamed on the way, so there is no run to show
            self.symmetry = False
            explorer = self._explore(self.rules)
        seconds = process_time() - start
        if explorer.faults:
            self._report(explorer, explorer.faults[0])
        elif explorer.complete:
            self._judge_graph(explorer)
        if with_side_cases and self.counterexample is None and not self.rules.faults and explorer.complete:
            self._check_concurrent_entry()
            self._check_waiting()
        return CheckResult(
            algorithm=self.system.name,
            nodes=self.system.n,
            requests=self.rules.requests,
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
            least_messages=None if self.costs is None else self.costs.least,
            most_messages=None if self.costs is None else self.costs.most,
            counterexample=self.counterexample,
            fifo=self.rules.fifo,
        )

    # -- exploring -------------------------------------------------------------------------------------

    def _explore(self, rules: Rules, reduce: bool | None = None) -> Explorer:
        """Explore, reduced if that is allowed, with the reduction verified."""
        world = World(self.system, rules)
        if not (self.reduce if reduce is None else reduce):
            return self._run(world, self.limit, None)
        if self.whole_first:
            explorer = self._run(world, min(SMALL, self.limit), None)
            if explorer.complete or explorer.faults:
                return explorer
        exceptions: set[Debt] = set()
        limit = min(FIRST_LIMIT, self.limit)
        while True:
            movers = Movers(world, exceptions)
            explorer = self._run(world, limit, movers)
            if explorer.faults:
                return explorer  # what was found is a real run, whatever was left out
            failures = movers.failures(explorer.symmetry)
            exceptions |= failures
            if not failures:
                if explorer.complete or limit == self.limit:
                    return explorer
                limit = min(8 * limit, self.limit)

    def _run(self, world: World, limit: int, movers: Movers | None) -> Explorer:
        rule = self.system.spec.symmetry if self.symmetry and world.rules is self.rules else None
        symmetry = None if rule is None else Symmetry(world, rule)
        explorer = Explorer(world, limit, movers, symmetry, self.progress)
        with fewer_collections():
            explorer.run()
        if symmetry is not None:
            difference = symmetry.failure()
            if difference:
                raise ConfigError(f"{self.system.name} is not symmetric here: {difference}; check without symmetry")
        return explorer

    # -- judging ---------------------------------------------------------------------------------------

    def _judge_graph(self, explorer: Explorer) -> None:
        graph = self._graph(explorer)
        cycles = graph.cycles()
        if cycles and (explorer.movers is not None or self.symmetry):  # to tell what is fair takes all steps
            self.symmetry = False
            explorer = self._explore(self.rules, reduce=False)
            if explorer.faults:
                self._report(explorer, explorer.faults[0])
            if not explorer.complete:
                self.complete = False
                return
            graph = self._graph(explorer)
            cycles = graph.cycles()
        fault = starvation(explorer, graph, cycles)
        if fault is None and not cycles and self.plain:
            self.costs = costs_of(explorer, graph)
            if self.costs is not None:
                fault = broken_law(self.costs, self.system)
        if fault is not None:
            self._report(explorer, fault)

    def _graph(self, explorer: Explorer) -> StateGraph:
        return StateGraph(explorer.edges, self.rules.timers_wait, self.rules.lasting)

    def _check_concurrent_entry(self) -> None:
        if not self.system.concurrent_entry:
            return
        together = Rules(
            requests=1,
            menus=[[(0,)]] * self.system.n,
            fifo=self.rules.fifo,
            leaving=False,
            patient=self.rules.patient,
            quiet=self.rules.quiet,
        )
        explorer = self._explore(together, reduce=False)
        for fault in explorer.faults:
            self._report(explorer, fault)
        self.complete = self.complete and (explorer.complete or bool(explorer.faults))

    def _check_waiting(self) -> None:
        """With one process asking, and no other: the longest chain of messages from its request to its entry."""
        law = self.system.spec.waiting
        if law is None or self.counterexample is not None:
            return
        most = law.most_for(self.system.sizes)
        for process in range(self.system.n):
            alone = Rules(
                requests=1,
                menus=self.rules.menus,
                fifo=self.rules.fifo,
                leaving=False,
                askers=[process],
                count_hops=True,
                patient=self.rules.timers_wait,
            )
            explorer = self._explore(alone, reduce=False)
            if not explorer.complete:
                self.complete = False
                return
            entries = [step for _, steps in explorer.world.known_steps() for step in steps if step.entered]
            hops = max([step.hops for step in entries], default=0)
            if hops > most:
                text = f"process {process} waits for {hops} messages, one after the other; its spec says {law}"
                self._report(explorer, Fault(BOUND, text, explorer.terminal[0]))
                return

    def _report(self, explorer: Explorer, fault: Fault) -> None:
        if fault.kind == DEADLOCK:
            self.deadlocks += 1
        elif fault.kind == STARVATION:
            self.starvation += 1
        else:
            self.violations += 1
        if self.counterexample is None:
            self.counterexample = counterexample(explorer, fault)
