"""The explorer: all reachable states of a world, breadth first, so that the first counterexample is a shortest one.

The states themselves are kept only while they wait to be expanded; the table of states keeps fingerprints.

Reduction: some messages are delivered immediately, as soon as they can be, and the other orders are not tried. These
are the messages whose early delivery makes no difference in the end (see `congenial.checker.movers`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.checker.edges import Edges
from congenial.checker.events import (
    CRASHES,
    DELIVER,
    DUPLICATES,
    HEADER,
    LOSE,
    LOSSES,
    MOST_FAULTS,
    PROCESS_SHIFT,
    SENT_SHIFT,
    SUSPECT,
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
from congenial.checker.frontier import Frontier, State
from congenial.checker.movers import Movers
from congenial.checker.moves import AT_REST, STAYING, Moves
from congenial.checker.state_table import StateTable
from congenial.checker.step_table import COUNT_BITS, MOST_CHOICES
from congenial.checker.successors import Steps, Successors
from congenial.checker.symmetry import Symmetry
from congenial.checker.world import World
from congenial.kernel.judge import is_kept_out
from congenial.kernel.node import WAITING

UNSAFE: Final = MOST_FAULTS << CRASHES | MOST_FAULTS << LOSSES | MOST_FAULTS << DUPLICATES
MOST_EARLY: Final = 1000  # immediate deliveries in a row; messages that never come to rest are then explored one by one


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
        self.successors = Successors(world)
        self.moves = Moves(world, self.successors)  # of the state at hand
        self.terminal: list[int] = []  # states in which nothing can happen, or only requests
        self.edges = Edges()
        self._steps = Steps()  # from the state at hand
        self._labels = vec[i64]()  # the numbers of the labels of steps; -1: not known yet
        # deliveries made immediately since the last move, and messages sent in it and in them
        self.early_count: i64 = 0
        self.sent_count: i64 = 0

    @property
    def count(self) -> int:
        """How many states were seen."""
        return self.table.count

    # -- exploring -------------------------------------------------------------------------------------

    def run(self, stop_at_first: bool = True) -> None:
        """Explore until done, at the limit, or at the first fault."""
        level = Frontier()
        following = Frontier()
        start = self.world.initial()
        self.table.find(self.successors.fingerprint(start), -1)
        level.add(start)
        index: i64 = 0
        while not level.is_empty:
            while not level.is_empty:
                self.edges.begin()
                self._expand(level.take(), index, following)
                index += 1
                if self.faults and stop_at_first:
                    return
                if self.table.count >= self.limit:
                    return
                if index & 0x3FFF == 0 and self.progress is not None:
                    self.progress(self.table.count, self.table.count - index)
            level.clear()
            level, following = following, level
            if not level.is_empty:
                self.depth += 1
        self.edges.begin()
        self.complete = True

    def _expand(self, state: State, index: i64, following: Frontier) -> None:
        self.moves.find(state)
        rest = self.moves.rest(state)
        if rest == AT_REST:
            self.terminal.append(index)
        if rest == AT_REST or (rest == STAYING and self.judges_entry):
            self._judge_rest(state, index, rest)
        if self.movers is None and self.symmetry is None:
            self._take_all(state, index, following)
            return
        i: i64 = 0
        while i < self.moves.count:
            self._take_reduced(state, index, i, following)
            i += 1

    def _take_all(self, state: State, index: i64, following: Frontier) -> None:
        """Take all moves. Their fingerprints are looked up together: that waits for memory once, not once for each."""
        moves = self.moves
        steps = self._steps
        steps.count = 0
        i: i64 = 0
        while i < moves.count:
            self._list_steps(state, index, i)
            i += 1
        self.table.fetch(steps.fingerprints, steps.count)
        i = 0
        while i < steps.count:
            move = steps.moves[i]
            number = steps.numbers[i]
            process = moves.processes[move]
            event = moves.events[move]
            target = self.table.find(steps.fingerprints[i], index)
            if self.table.is_new:
                after = self.successors.after(state, process, event, moves.positions[move], number, steps.headers[i])
                if self.world.believes:
                    wrong = self.successors.contradiction(after)
                    if wrong:
                        first = self.successors.numbers(state, process, event) >> COUNT_BITS
                        self.faults.append(Fault(SAFETY, wrong, index, move, number - first))
                following.add(after)
            self.edges.add(target, self._label(process, event, number))
            i += 1

    def _list_steps(self, state: State, index: i64, move: i64) -> None:
        """List the steps of a move, up to the first in which something goes wrong."""
        process = self.moves.processes[move]
        event = self.moves.events[move]
        position = self.moves.positions[move]
        before = self.table.fingerprints[index]
        found = self.successors.numbers(state, process, event)
        number = found >> COUNT_BITS
        end = number + (found & MOST_CHOICES)
        while number < end:
            self.transitions += 1
            header = state[0]
            if self.world.table.special[number] != 0 or event >= SUSPECT:
                wrong = self.successors.wrong(state, process, number)
                if wrong:
                    self._fail(wrong, index, move, number - (found >> COUNT_BITS), 0)
                    return
                header = self.successors.header(state, process, event, number)
            fingerprint = self.successors.fingerprint_after(before, state, event, position, number, header)
            self._steps.add(move, number, header, fingerprint)
            number += 1

    def _take_reduced(self, state: State, index: i64, move: i64, following: Frontier) -> None:
        """Take a move, and then what is delivered immediately; find the state that stands for all that differ
        in names."""
        process = self.moves.processes[move]
        event = self.moves.events[move]
        table = self.world.table
        found = self.successors.numbers(state, process, event)
        number = found >> COUNT_BITS
        end = number + (found & MOST_CHOICES)
        while number < end:
            self.transitions += 1
            self.early_count = 0
            self.sent_count = table.sent_firsts[number + 1] - table.sent_firsts[number]
            wrong = self.successors.wrong(state, process, number)
            if not wrong:
                after = self.successors.taken(state, process, event, self.moves.positions[move], number)
                if self.movers is not None:
                    self.movers.observe(found >> COUNT_BITS)
                    after, wrong = self._settle(after)
            if wrong:
                self._fail(wrong, index, move, number - (found >> COUNT_BITS), self.early_count)
                return
            if self.symmetry is not None:
                after = self.symmetry.canonical(after)
            target = self.table.find(self.successors.fingerprint(after), index)
            if self.table.is_new:
                wrong = self.successors.contradiction(after) if self.world.believes else ""
                if wrong:
                    self.faults.append(Fault(SAFETY, wrong, index, move, number - (found >> COUNT_BITS)))
                following.add(after)
            label = event | process << PROCESS_SHIFT | self.sent_count << SENT_SHIFT
            self.edges.add(target, self.edges.number_of(label))
            number += 1

    def _fail(self, wrong: str, index: i64, move: i64, choice: i64, early: i64) -> None:
        kind = ILLEGAL if self.successors.is_illegal else SAFETY
        self.faults.append(Fault(kind, wrong, index, move, choice, early))

    def _label(self, process: i64, event: i64, number: i64) -> i64:
        """The number of the label of a step."""
        while number >= i64(len(self._labels)):
            self._labels = append(self._labels, i64(-1))
        if event < LOSE and self._labels[number] >= 0:
            return self._labels[number]
        table = self.world.table
        sent = table.sent_firsts[number + 1] - table.sent_firsts[number]
        label = self.edges.number_of(event | process << PROCESS_SHIFT | sent << SENT_SHIFT)
        if event < LOSE:  # a loss, or the delivery of a message that stays under way, is the same step for others
            self._labels[number] = label
        return label

    # -- immediate deliveries --------------------------------------------------------------------------

    def _settle(self, state: State) -> tuple[State, str]:
        """The state after all deliveries that are made immediately, and what goes wrong in the last one, if
        anything."""
        movers = self.movers
        assert movers is not None
        table = self.world.table
        while self.early_count < MOST_EARLY:
            position = self.early_position(state)
            if position < 0:
                break
            packet = state[position]
            process = self.world.destinations[packet]
            number = self.world.numbers(state[HEADER + process], DELIVER | packet) >> COUNT_BITS
            movers.observe(number)
            self.early_count += 1
            self.sent_count += table.sent_firsts[number + 1] - table.sent_firsts[number]
            wrong = self.successors.wrong(state, process, number)
            if wrong:
                return state, wrong
            state = self.successors.taken(state, process, DELIVER | packet, position, number)
        return state, ""

    def fails(self, state: State, move: i64, number: i64) -> bool:
        """True if something is wrong with a step, or with the immediate deliveries after it."""
        process = self.moves.processes[move]
        if self.successors.wrong(state, process, number):
            return True
        if self.movers is None:
            return False
        event = self.moves.events[move]
        self.early_count = 0
        after = self.successors.taken(state, process, event, self.moves.positions[move], number)
        return bool(self._settle(after)[1])

    def early_position(self, state: State) -> i64:
        """Where in a state a packet stands that is delivered immediately, or -1."""
        world = self.world
        left = world.budgets[state[0]] & UNSAFE
        position = HEADER + self.n
        end: i64 = len(state)
        previous: i64 = -1
        while position < end:
            packet = state[position]
            key = world.order_keys[packet]
            if key != previous and self._is_early(state, packet, left):
                return position
            previous = key
            position += 1
        return -1

    def _is_early(self, state: State, packet: i64, left: i64) -> bool:
        """True if a packet is delivered immediately, where such faults may still happen."""
        world = self.world
        movers = self.movers
        assert movers is not None
        process = world.destinations[packet]
        if left != 0 and (world.rules.victim < 0 or world.rules.victim == process):
            return False
        local = state[HEADER + process]
        return world.ups[local] != 0 and movers.is_early(local, packet)

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
        missing = self.world.ledgers[self.world.ledger_numbers[state[0]]].missing(up) if 2 * len(up) > self.n else ""
        if missing:
            self.faults.append(Fault(LEFT_BEHIND, left_behind_text(missing), index))
