"""The explorer: all reachable states of a world, breadth first, so that the first counterexample is a shortest one.

Of a state only its fingerprint (64 bits) is kept, with the step that led to it first; the states themselves are kept
while they wait to be expanded. Two states with one fingerprint would be taken for one: among ten million states that
happens with a chance of about three in a million.

Reduction. Some messages are delivered at once, as soon as they can be, and the other orders are not tried: those
whose early delivery makes no difference in the end (see `movers`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.checker.events import (
    ARGUMENT,
    ASK,
    CRASH,
    CRASHES,
    DELIVER,
    DUPLICATES,
    HEADER,
    ISSUE,
    LEDGER,
    LOSE,
    LOSSES,
    PROCESS_SHIFT,
    RECOVER,
    REPEAT,
    SENT_SHIFT,
    SUSPECT,
    SUSPICIONS,
    TIMER,
    TRUST,
)
from congenial.checker.faults import DEADLOCK, ILLEGAL, SAFETY, Fault, deadlock_text
from congenial.checker.movers import Movers
from congenial.checker.symmetry import Symmetry
from congenial.checker.world import Step, World
from congenial.kernel.judge import entry_fault
from congenial.kernel.node import WAITING

State = tuple[int, ...]

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
        self.faults: list[Fault] = []
        self.depth = 0
        self.complete = False
        self.transitions: i64 = 0
        # states, by index in the order of discovery
        self.count: i64 = 0
        self.fingerprints = vec[i64]()
        self.parents = vec[i64]()
        self.vias = vec[i64]()  # the move that led here first: position << 8 | choice
        self.terminal: list[int] = []  # states in which nothing can happen, or only requests
        # edges of state i: those from firsts[i] to firsts[i+1]
        self.firsts = vec[i64]()
        self.targets = vec[i64]()
        self.labels = vec[i64]()
        # a hash table from fingerprint to index + 1
        self.slots = vec[i64]([0] * 1024)
        self.slot_mask: i64 = 1023
        self.is_new = False
        self.is_illegal = False
        # deliveries made at once, and messages sent in them, since the last move
        self.early_count: i64 = 0
        self.sent_count: i64 = 0
        # the moves of the state at hand
        self.move_count: i64 = 0
        self.move_process = vec[i64]([0] * 1024)
        self.move_event = vec[i64]([0] * 1024)
        self.move_position = vec[i64]([0] * 1024)  # where the packet stands in the state

    # -- exploring -------------------------------------------------------------------------------------

    def run(self, stop_at_first: bool = True) -> None:
        """Explore until done, at the limit, or at the first fault."""
        start = self.world.initial()
        self._find(start, -1, 0)
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
                if self.count >= self.limit:
                    return
                if index & 0x3FFF == 0 and self.progress is not None:
                    self.progress(self.count, self.count - index)
            level = following
            if following:
                self.depth += 1
        self.firsts = append(self.firsts, i64(len(self.targets)))
        self.complete = True

    def _expand(self, state: State, index: i64, following: list[State]) -> None:
        self.list_moves(state)
        if self._only_requests(state):
            self.terminal.append(index)
            self._judge_rest(state, index)
        i: i64 = 0
        while i < self.move_count:
            self._take(state, index, i, following)
            i += 1

    def _take(self, state: State, index: i64, move: i64, following: list[State]) -> None:
        process = self.move_process[move]
        event = self.move_event[move]
        position = self.move_position[move]
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
            target = self._find(after, index, move << 8 | choice)
            if self.is_new:
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

    def _only_requests(self, state: State) -> bool:
        """Can nothing happen that must: nothing but requests and faults?"""
        i: i64 = 0
        while i < self.move_count:
            kind = self.move_event[i] & ~ARGUMENT
            may = kind == ASK or kind == ISSUE or kind == CRASH or kind == REPEAT
            if not may and (kind != LOSE or self._is_void(state, i)):
                return False
            i += 1
        return True

    def _is_void(self, state: State, move: i64) -> bool:
        """Does a move take away a message to a process that is down?"""
        down = self.world.ups[state[HEADER + self.move_process[move]]] == 0
        return down and self.move_event[move] & ~ARGUMENT == LOSE

    def _judge_rest(self, state: State, index: i64) -> None:
        phases, pendings = self.world.phases, self.world.pendings
        locals_ = [state[HEADER + p] for p in range(self.n)]
        waiting = [p for p in range(self.n) if phases[locals_[p]] == WAITING or pendings[locals_[p]]]
        if waiting and (self.world.rules.leaving or self._has_room(state)):
            self.faults.append(Fault(DEADLOCK, deadlock_text(waiting), index))

    def _has_room(self, state: State) -> bool:
        """Would the problem let one more in, for the group of those inside?"""
        groups = [int(self.world.groups[state[HEADER + p]]) for p in range(self.n)]
        held = [group for group in groups if group >= 0]
        return not held or self.world.system.problem.admits(len(held), held[0], held[0])

    # -- moves -----------------------------------------------------------------------------------------

    def list_moves(self, state: State) -> None:
        """All that can happen in a state, process by process."""
        world = self.world
        n = self.n
        self.move_count = 0
        victim = world.rules.victim
        timers_wait = world.rules.patient or world.rules.quiet
        p: i64 = 0
        while p < n:
            budget: i64 = state[0] if victim < 0 or p == victim else 0
            local: i64 = state[HEADER + p]
            for event in world.own_events[local]:
                if event & ~ARGUMENT != TIMER or not timers_wait:
                    self._add_move(p, event, -1)
            self._list_deliveries(state, p, budget)
            if world.budget != 0 and world.ups[local] != 0:
                self._list_faults(state, p, budget)
            p += 1
        if timers_wait and self._time_passes(state):
            p = 0
            while p < n:
                for event in world.own_events[state[HEADER + p]]:
                    if event & ~ARGUMENT == TIMER:
                        self._add_move(p, event, -1)
                p += 1

    def _time_passes(self, state: State) -> bool:
        """Is there nothing that timers wait for? A process may be down for longer than any of them; messages to it
        are lost by then."""
        quiet = self.world.rules.quiet
        i: i64 = 0
        while i < self.move_count:
            kind = self.move_event[i] & ~ARGUMENT
            if kind == DELIVER or self._is_void(state, i):
                return False
            if (
                not quiet
                and kind != RECOVER
                and kind != ASK
                and kind != ISSUE
                and kind != CRASH
                and kind != LOSE
                and kind != REPEAT
            ):
                return False
            i += 1
        return True

    def _list_deliveries(self, state: State, p: i64, budget: i64) -> None:
        """Messages to a process may arrive, or meet with a mishap; to one that is down they may get lost, or wait."""
        world = self.world
        up = world.ups[state[HEADER + p]] != 0
        position = HEADER + self.n
        end: i64 = len(state)
        previous: i64 = -1
        while position < end:
            packet: i64 = state[position]
            key = world.order_keys[packet]
            # of equal packets, or of a FIFO channel's, only the first
            if key != previous and world.destinations[packet] == p:
                if up:
                    self._add_move(p, DELIVER | packet, position)
                if not up or budget >> LOSSES & 255 > 0 or self._may_vanish(state, packet):
                    self._add_move(p, LOSE | packet, position)
                if up and budget >> DUPLICATES & 255 > 0:
                    self._add_move(p, REPEAT | packet, position)
            previous = key
            position += 1

    def _may_vanish(self, state: State, packet: i64) -> bool:
        """Can the sender have crashed before the message had left?"""
        world = self.world
        return world.rules.vanishing and world.ups[state[HEADER + world.sources[packet]]] == 0

    def _list_faults(self, state: State, p: i64, budget: i64) -> None:
        world = self.world
        suspects = world.states[state[HEADER + p]].suspects
        if budget >> CRASHES & 255 > 0:
            self._add_move(p, CRASH, -1)
        peer: i64 = 0
        while peer < self.n:
            if peer != p:
                up = world.ups[state[HEADER + peer]] != 0
                if peer in suspects:
                    if up:
                        self._add_move(p, TRUST | peer, -1)
                elif (not up and world.detects) or (up and budget >> SUSPICIONS & 255 > 0):
                    self._add_move(p, SUSPECT | peer, -1)
            peer += 1

    def _add_move(self, process: i64, event: i64, position: i64) -> None:
        i = self.move_count
        if i == i64(len(self.move_process)):
            self.move_process = append(self.move_process, process)
            self.move_event = append(self.move_event, event)
            self.move_position = append(self.move_position, position)
        else:
            self.move_process[i] = process
            self.move_event[i] = event
            self.move_position[i] = position
        self.move_count = i + 1

    def steps(self, state: State, process: i64, event: i64) -> list[Step]:
        """What an event comes to: one step, or one for each way to choose in it."""
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
            if self.world.ups[state[HEADER + process]] != 0 and not self._may_vanish(state, event & ARGUMENT):
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
        """Has somebody entered in a later era than this step's?"""
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

    # -- the table of states ---------------------------------------------------------------------------

    def _find(self, state: State, parent: i64, via: i64) -> i64:
        """The index of a state; `is_new` says whether it was not known."""
        fingerprint: i64 = hash(state)
        mask = self.slot_mask
        slot = (fingerprint ^ (fingerprint >> 29)) & mask
        while True:
            entry = self.slots[slot]
            if entry == 0:
                break
            if self.fingerprints[entry - 1] == fingerprint:
                self.is_new = False
                return entry - 1
            slot = (slot + 1) & mask
        index = self.count
        self.slots[slot] = index + 1
        self.count = index + 1
        self.fingerprints = append(self.fingerprints, fingerprint)
        self.parents = append(self.parents, parent)
        self.vias = append(self.vias, via)
        self.is_new = True
        if self.count * 3 > mask * 2:
            self._grow()
        return index

    def _grow(self) -> None:
        size = (self.slot_mask + 1) * 4
        mask = size - 1
        slots = vec[i64]([0] * size)
        index: i64 = 0
        while index < self.count:
            fingerprint = self.fingerprints[index]
            slot = (fingerprint ^ (fingerprint >> 29)) & mask
            while slots[slot] != 0:
                slot = (slot + 1) & mask
            slots[slot] = index + 1
            index += 1
        self.slots = slots
        self.slot_mask = mask
