"""The explorer: all reachable states of a world, breadth first, so that the first counterexample is a shortest one.

The states themselves are kept only while they wait to be expanded; the table of states keeps fingerprints.

Reduction: some messages are delivered at once, as soon as they can be, and the other orders are not tried. These are
the messages whose early delivery makes no difference in the end (see `congenial.checker.movers`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.checker.events import (
    ARGUMENT,
    CRASH,
    CRASHES,
    DELIVER,
    DUPLICATES,
    HEADER,
    LEDGER,
    LOSE,
    LOSSES,
    PROCESS_SHIFT,
    REPEAT,
    SENT_SHIFT,
    SUSPECT,
    SUSPICIONS,
)
from congenial.checker.faults import (
    CONCURRENT_ENTRY,
    DEADLOCK,
    ILLEGAL,
    LEFT_BEHIND,
    SAFETY,
    Fault,
    deadlock_text,
    kept_out_text,
    left_behind_text,
)
from congenial.checker.movers import Movers
from congenial.checker.moves import AT_REST, STAYING, Moves, State
from congenial.checker.process_state import Step
from congenial.checker.state_table import StateTable
from congenial.checker.symmetry import Symmetry
from congenial.checker.world import World
from congenial.kernel.judge import entry_fault, is_kept_out
from congenial.kernel.node import WAITING

MOST_EARLY: Final = 1000  # deliveries at once in a row; messages that never come to rest are then explored one by one


@final
class Explorer:
    def __init__(
        self,
        world: World,
        limit: int,
        movers: Movers | None = None,
        symmetry: Symmetry | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.world = world
        self.n: i64 = world.n
        self.movers = movers
        self.symmetry = symmetry
        self.limit: i64 = limit
        self.progress = progress
        self.judges_entry = world.system.concurrent_entry and not world.rules.faults
        # a process that is up has its replica still, unless it has recovered and the algorithm does not take it back
        rejoins = world.system.algorithm.rejoins
        self.judges_replicas = world.operations > 0 and (rejoins or not (world.rules.crashes and world.rules.recovery))
        self.faults: list[Fault] = []
        self.depth = 0
        self.complete = False
        self.transitions: i64 = 0
        self.table = StateTable()
        self.moves = Moves(world)  # of the state at hand
        self.terminal: list[int] = []  # states in which nothing can happen, or only requests
        # edges of state i: those from firsts[i] to firsts[i+1]
        self.firsts = vec[i64]()
        self.targets = vec[i64]()
        self.labels = vec[i64]()
        self.is_illegal = False  # is the last fault that `wrong` found an illegal step?
        # deliveries made at once, and messages sent in them, since the last move
        self.early_count: i64 = 0
        self.sent_count: i64 = 0

    @property
    def count(self) -> int:
        """How many states were seen."""
        return self.table.count

    # -- exploring -------------------------------------------------------------------------------------

    def run(self, stop_at_first: bool = True) -> None:
        """Explore until done, at the limit, or at the first fault."""
        start = self.world.initial()
        self.table.find(start, -1, 0)
        level = [start]
        index: i64 = 0
        while level:
            following: list[State] = []
            for state in level:
                self.firsts = append(self.firsts, i64(len(self.targets)))
                self._expand(state, index, following)
                index += 1
                if self.faults and stop_at_first:
                    return
                if self.table.count >= self.limit:
                    return
                if index & 0x3FFF == 0 and self.progress is not None:
                    self.progress(self.table.count, self.table.count - index)
            level = following
            if following:
                self.depth += 1
        self.firsts = append(self.firsts, i64(len(self.targets)))
        self.complete = True

    def _expand(self, state: State, index: i64, following: list[State]) -> None:
        self.moves.find(state)
        rest = self.moves.rest(state)
        if rest == AT_REST:
            self.terminal.append(index)
        if rest == AT_REST or (rest == STAYING and self.judges_entry):
            self._judge_rest(state, index, rest)
        i: i64 = 0
        while i < self.moves.count:
            self._take(state, index, i, following)
            i += 1

    def _take(self, state: State, index: i64, move: i64, following: list[State]) -> None:
        process = self.moves.processes[move]
        event = self.moves.events[move]
        position = self.moves.positions[move]
        choice: i64 = 0
        for step in self.steps(state, process, event):
            self.transitions += 1
            self.early_count = 0
            self.sent_count = 0
            wrong = self.wrong(state, process, step)
            if not wrong:
                after = self.after(state, process, event, position, step)
                if self.movers is not None:
                    self.movers.observe(state[HEADER + process], event)
                    after, wrong = self.settle(after, MOST_EARLY)
            if wrong:
                kind = ILLEGAL if self.is_illegal else SAFETY
                self.faults.append(Fault(kind, wrong, index, move, choice, self.early_count))
                return
            if self.symmetry is not None:
                after = self.symmetry.canonical(after)
            target = self.table.find(after, index, move << 8 | choice)
            if self.table.is_new:
                following.append(after)
            self.targets = append(self.targets, target)
            label = event | process << PROCESS_SHIFT
            self.labels = append(self.labels, label | (self.sent_count + i64(len(step.packets))) << SENT_SHIFT)
            choice += 1

    def settle(self, state: State, most: i64) -> tuple[State, str]:
        """The state after all deliveries that are made at once, and what goes wrong in the last one, if anything."""
        movers = self.movers
        assert movers is not None
        while self.early_count < most:
            position = self.early_position(state)
            if position < 0:
                break
            packet: i64 = state[position]
            process = self.world.destinations[packet]
            local: i64 = state[HEADER + process]
            step = self.world.steps(local, DELIVER | packet)[0]
            movers.observe(local, DELIVER | packet)
            self.early_count += 1
            self.sent_count += i64(len(step.packets))
            wrong = self.wrong(state, process, step)
            if wrong:
                return state, wrong
            state = self.after(state, process, DELIVER | packet, position, step)
        return state, ""

    def early_position(self, state: State) -> i64:
        """Where in a state a packet stands that is delivered at once, or -1."""
        world = self.world
        movers = self.movers
        assert movers is not None
        position = HEADER + self.n
        end: i64 = len(state)
        previous: i64 = -1
        while position < end:
            packet: i64 = state[position]
            key = world.order_keys[packet]
            if key != previous and movers.is_early(state[HEADER + world.destinations[packet]], packet):
                return position
            previous = key
            position += 1
        return -1

    def _judge_rest(self, state: State, index: i64, rest: i64) -> None:
        """Judge a state in which nothing can happen, at least as long as none leaves."""
        world = self.world
        locals_ = [state[HEADER + p] for p in range(self.n)]
        waiting = [p for p in range(self.n) if world.phases[locals_[p]] == WAITING or world.pendings[locals_[p]]]
        if not waiting:
            if rest == AT_REST and self.judges_replicas:
                self._judge_replicas(state, index, locals_)
            return
        held = [int(world.groups[local]) for local in locals_ if world.groups[local] >= 0]
        if rest == AT_REST and (world.rules.leaving or not held):
            self.faults.append(Fault(DEADLOCK, deadlock_text(waiting), index))
        elif self.judges_entry and is_kept_out(
            world.system.problem, held, [world.states[locals_[p]].wants for p in waiting]
        ):
            self.faults.append(Fault(CONCURRENT_ENTRY, kept_out_text(world.system.problem, waiting), index))

    def _judge_replicas(self, state: State, index: i64, locals_: list[int]) -> None:
        """Every replica must have executed every operation in the end, as long as a majority is up."""
        up = [p for p in range(self.n) if self.world.ups[locals_[p]]]
        missing = self.world.ledgers[state[LEDGER]].missing(up) if 2 * len(up) > self.n else ""
        if missing:
            self.faults.append(Fault(LEFT_BEHIND, left_behind_text(missing), index))

    # -- steps -----------------------------------------------------------------------------------------

    def steps(self, state: State, process: i64, event: i64) -> list[Step]:
        """The step on an event, or one for each way to choose in it."""
        kind = event & ~ARGUMENT
        local: i64 = state[HEADER + process]
        if kind == LOSE:
            return [Step(local)]
        return self.world.steps(local, DELIVER | event & ARGUMENT if kind == REPEAT else event)

    def after(self, state: State, process: i64, event: i64, position: i64, step: Step) -> State:
        """The state after a step on an event; `position` is where the packet stood, if it was one."""
        kind = event & ~ARGUMENT
        following = list(state)
        following[HEADER + process] = step.after
        if position >= 0 and kind != REPEAT:
            del following[position]
        if kind == CRASH:
            following[0] -= 1 << CRASHES
        elif kind == LOSE:
            if self.world.ups[state[HEADER + process]] != 0 and not self.moves.may_vanish(state, event & ARGUMENT):
                following[0] -= 1 << LOSSES
        elif kind == REPEAT:
            following[0] -= 1 << DUPLICATES
        elif kind == SUSPECT and self.world.ups[state[HEADER + (event & ARGUMENT)]] != 0:
            following[0] -= 1 << SUSPICIONS
        for packet in step.packets:
            self._insert(following, packet)
        if step.entered and step.fence and not self._superseded(state, step):
            following[1] = step.fence
            following[2] = step.group
        if self.world.operations:
            following[LEDGER] = self.world.book(state[LEDGER], process, step)[0]
        return tuple(following)

    def _superseded(self, state: State, step: Step) -> bool:
        """Has a process entered in a later era than this step's?"""
        problem = self.world.system.problem
        return problem.era(step.fence) < problem.era(state[1])

    def _insert(self, following: list[int], packet: i64) -> None:
        """Put a packet behind those with the same or a smaller key."""
        world = self.world
        key = world.order_keys[packet]
        i: i64 = len(following)
        while i > HEADER + self.n and world.order_keys[following[i - 1]] > key:
            i -= 1
        following.insert(i, packet)

    # -- judging ---------------------------------------------------------------------------------------

    def wrong(self, state: State, process: i64, step: Step) -> str:
        """What is wrong with a step, or nothing."""
        self.is_illegal = step.is_illegal
        if step.error:
            return step.error
        if self.world.operations:
            fault = self.world.book(state[LEDGER], process, step)[1]
            if fault:
                return fault
        if not step.entered or self._superseded(state, step):
            return ""
        era = self.world.system.problem.era(step.fence)
        current = -1
        holders: list[int] = []
        for p in range(self.n):
            group: int = self.world.groups[state[HEADER + p]]
            if p != process and group >= 0 and self.world.eras[state[HEADER + p]] == era:
                current = group
                holders.append(p)
        return entry_fault(
            self.world.system.problem, process, holders, current, state[1], state[2], step.group, step.fence
        )
