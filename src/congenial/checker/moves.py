"""The moves of a state: all that can happen in it."""

from __future__ import annotations

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
    LEAVE,
    LOSE,
    LOSSES,
    RECOVER,
    REPEAT,
    SUSPECT,
    SUSPICIONS,
    TIMER,
    TRUST,
)
from congenial.checker.frontier import State
from congenial.checker.successors import Successors
from congenial.checker.world import World

MOVING: Final = 0
STAYING: Final = 1  # nothing can happen until a process leaves
AT_REST: Final = 2  # nothing can happen
MOST_LATE: Final = 2  # messages that wait for the end of a cut while timers run out; otherwise there were ever more


@final
class Moves:
    """The moves of one state at a time: of each the process, the event, and where the packet stands in the state, if it
    is about one."""

    def __init__(self, world: World, successors: Successors) -> None:
        self.world = world
        self.successors = successors
        self.n: i64 = world.n
        self.count: i64 = 0
        self.processes = vec[i64]([i64(0)] * 256)
        self.events = vec[i64]([i64(0)] * 256)
        self.positions = vec[i64]([i64(0)] * 256)
        self._timers_wait = world.rules.patient or world.rules.quiet

    def find(self, state: State) -> None:
        """All that can happen in a state, process by process."""
        world = self.world
        self.count = 0
        victim: i64 = world.rules.victim
        left = world.budgets[state[0]]
        p: i64 = 0
        while p < self.n:
            budget = left if victim < 0 or p == victim else 0
            self._list_own(p, state[HEADER + p], False)
            self._list_deliveries(state, p, budget)
            if world.budget != 0 and world.ups[state[HEADER + p]] != 0:
                self._list_faults(state, p, budget)
            p += 1
        if self._timers_wait and self._time_passes(state):
            p = 0
            while p < self.n:
                self._list_own(p, state[HEADER + p], True)
                p += 1

    def _list_own(self, p: i64, local: i64, timers: bool) -> None:
        """What a process can do by itself; where timers wait, either the timers or the rest."""
        position = self.world.own_firsts[local]
        end = self.world.own_firsts[local + 1]
        while position < end:
            event = self.world.own[position]
            if not self._timers_wait or (event & ~ARGUMENT == TIMER) == timers:
                self._add(p, event, -1)
            position += 1

    def _time_passes(self, state: State) -> bool:
        """True if there is nothing that timers wait for. A process may be down for longer than any timer runs; messages
        to it are lost by then. A cut may last as long; messages wait for its end."""
        quiet = self.world.rules.quiet
        lasting = self.world.rules.lasting
        i: i64 = 0
        while i < self.count:
            kind = self.events[i] & ~ARGUMENT
            if lasting and (kind == TRUST or (kind == DELIVER and self._may_be_late(state, i))):
                i += 1
                continue
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

    def _may_be_late(self, state: State, move: i64) -> bool:
        """True if the receiver of a message does not hear the sender, and few others wait for the same reason."""
        world = self.world
        process = self.processes[move]
        suspects = world.states[state[HEADER + process]].suspects
        if world.sources[self.events[move] & ARGUMENT] not in suspects:
            return False
        late: i64 = 0
        position = HEADER + self.n
        end: i64 = len(state)
        while position < end:
            packet = state[position]
            if world.destinations[packet] == process and world.sources[packet] in suspects:
                late += 1
            position += 1
        return late <= MOST_LATE

    def _list_deliveries(self, state: State, p: i64, budget: i64) -> None:
        """Messages to a process may arrive, get lost or arrive twice; if it is down, they may get lost, or wait."""
        world = self.world
        up = world.ups[state[HEADER + p]] != 0
        position = HEADER + self.n
        end: i64 = len(state)
        previous: i64 = -1
        while position < end:
            packet = state[position]
            key = world.order_keys[packet]
            # of equal packets, or of a FIFO channel's, only the first
            if key != previous and world.destinations[packet] == p:
                if up:
                    self._add(p, DELIVER | packet, position)
                if not up or budget >> LOSSES & 255 > 0 or self.successors.may_vanish(state, packet):
                    self._add(p, LOSE | packet, position)
                if up and budget >> DUPLICATES & 255 > 0:
                    self._add(p, REPEAT | packet, position)
            previous = key
            position += 1

    def _list_faults(self, state: State, p: i64, budget: i64) -> None:
        world = self.world
        suspects = world.states[state[HEADER + p]].suspects
        if budget >> CRASHES & 255 > 0:
            self._add(p, CRASH, -1)
        peer: i64 = 0
        while peer < self.n:
            if peer != p:
                up = world.ups[state[HEADER + peer]] != 0
                if peer in suspects:
                    if up:
                        self._add(p, TRUST | peer, -1)
                elif (not up and world.detects) or (up and budget >> SUSPICIONS & 255 > 0):
                    self._add(p, SUSPECT | peer, -1)
            peer += 1

    def _add(self, process: i64, event: i64, position: i64) -> None:
        i = self.count
        if i == i64(len(self.processes)):
            self.processes = append(self.processes, process)
            self.events = append(self.events, event)
            self.positions = append(self.positions, position)
        else:
            self.processes[i] = process
            self.events[i] = event
            self.positions[i] = position
        self.count = i + 1

    def rest(self, state: State) -> i64:
        """How much a state is at rest. Requests, operations and faults do not have to happen, so they do not count."""
        found: i64 = AT_REST
        i: i64 = 0
        while i < self.count:
            kind = self.events[i] & ~ARGUMENT
            if kind == LEAVE:
                found = STAYING
            elif kind == LOSE:
                if self._is_void(state, i):
                    return MOVING
            elif kind != ASK and kind != ISSUE and kind != CRASH and kind != REPEAT:
                return MOVING
            i += 1
        return found

    def _is_void(self, state: State, move: i64) -> bool:
        """True if a move takes away a message to a process that is down."""
        down = self.world.ups[state[HEADER + self.processes[move]]] == 0
        return down and self.events[move] & ~ARGUMENT == LOSE
