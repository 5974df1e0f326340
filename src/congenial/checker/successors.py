"""From a state of the whole system to the next: what a step changes, what is wrong with it, and the fingerprints."""

from __future__ import annotations

from typing import final

from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.checker.events import (
    ARGUMENT,
    CRASH,
    CRASHES,
    DELIVER,
    DUPLICATES,
    HEADER,
    LOSE,
    LOSSES,
    REPEAT,
    SUSPECT,
    SUSPICIONS,
)
from congenial.checker.fingerprints import FACTOR, MASK
from congenial.checker.frontier import State
from congenial.checker.process_state import Step
from congenial.checker.world import World
from congenial.kernel.judge import entry_fault


@final
class Successors:
    """Steps are named by their numbers in the world's table; `position` is where in the state the packet stands, if the
    event is about one."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.n: i64 = world.n
        self.is_illegal = False  # is the last fault that `wrong` found an illegal step?
        self._powers = vec[i64]([i64(1)])  # of `FACTOR`

    def numbers(self, state: State, process: i64, event: i64) -> i64:
        """The steps on an event: `World.numbers`."""
        kind = event & ~ARGUMENT
        if kind == LOSE:
            event = LOSE
        elif kind == REPEAT:
            event = DELIVER | event & ARGUMENT
        return self.world.numbers(state[HEADER + process], event)

    def may_vanish(self, state: State, packet: i64) -> bool:
        """True if the sender can have crashed before the message had left."""
        world = self.world
        return world.rules.vanishing and world.ups[state[HEADER + world.sources[packet]]] == 0

    # -- judging ---------------------------------------------------------------------------------------

    def wrong(self, state: State, process: i64, number: i64) -> str:
        """What is wrong with a step, or nothing."""
        world = self.world
        step = world.table.steps[number]
        self.is_illegal = step.is_illegal
        if step.error:
            return step.error
        if world.operations:
            fault = world.book(world.ledger_numbers[state[0]], number)[1]
            if fault:
                return fault
        if not step.entered or self._superseded(state, step):
            return ""
        era = world.system.problem.era(step.fence)
        current = -1
        holders: list[int] = []
        for p in range(self.n):
            group: int = world.groups[state[HEADER + p]]
            if p != process and group >= 0 and world.eras[state[HEADER + p]] == era:
                current = group
                holders.append(p)
        last_fence, last_group = world.fences[state[0]], world.fence_groups[state[0]]
        return entry_fault(
            world.system.problem, process, holders, current, last_fence, last_group, step.group, step.fence
        )

    def contradiction(self, state: State) -> str:
        """What two processes must not both believe, and do."""
        world = self.world
        p: i64 = 0
        while p < self.n:
            q: i64 = p + 1
            while q < self.n:
                found = world.contradiction(state[HEADER + p], state[HEADER + q])
                if found:
                    return f"processes {p} and {q}: {found}"
                q += 1
            p += 1
        return ""

    def _superseded(self, state: State, step: Step) -> bool:
        """True if a process has entered in a later era than this step's."""
        problem = self.world.system.problem
        return problem.era(step.fence) < problem.era(self.world.fences[state[0]])

    # -- states ----------------------------------------------------------------------------------------

    def header(self, state: State, process: i64, event: i64, number: i64) -> i64:
        """The header after a step."""
        world = self.world
        kind = event & ~ARGUMENT
        step = world.table.steps[number]
        before = state[0]
        budget = world.budgets[before]
        if kind == CRASH:
            budget -= 1 << CRASHES
        elif kind == LOSE:
            if world.ups[state[HEADER + process]] != 0 and not self.may_vanish(state, event & ARGUMENT):
                budget -= 1 << LOSSES
        elif kind == REPEAT:
            budget -= 1 << DUPLICATES
        elif kind == SUSPECT and world.ups[state[HEADER + (event & ARGUMENT)]] != 0:
            budget -= 1 << SUSPICIONS
        fence, group = world.fences[before], world.fence_groups[before]
        if step.entered and (step.fence or fence) and not self._superseded(state, step):
            fence, group = max(fence, step.fence), step.group  # as the judge keeps them, if there are any fences
        ledger = world.ledger_numbers[before]
        if world.operations:
            ledger = world.book(ledger, number)[0]
        return world.intern_header(budget, fence, group, ledger)

    def taken(self, state: State, process: i64, event: i64, position: i64, number: i64) -> State:
        """The state after a step."""
        return self.after(state, process, event, position, number, self.header(state, process, event, number))

    def after(self, state: State, process: i64, event: i64, position: i64, number: i64, header: i64) -> State:
        """The state after a step, with its header."""
        world = self.world
        table = world.table
        first = table.sent_firsts[number]
        last = table.sent_firsts[number + 1]
        size: i64 = len(state)
        gone = size if position < 0 or event & ~ARGUMENT == REPEAT else position
        made = vec[i64]([i64(0)] * (size + last - first - (1 if gone < size else 0)))
        i: i64 = 0
        while i < gone:
            made[i] = state[i]
            i += 1
        end = gone
        i += 1
        while i < size:
            made[end] = state[i]
            end += 1
            i += 1
        made[0] = header
        made[HEADER + process] = table.afters[number]
        while first < last:  # behind those with the same or a smaller key
            packet = table.sent[first]
            key = world.order_keys[packet]
            i = end
            while i > HEADER + self.n and world.order_keys[made[i - 1]] > key:
                made[i] = made[i - 1]
                i -= 1
            made[i] = packet
            end += 1
            first += 1
        return made

    # -- fingerprints ----------------------------------------------------------------------------------

    def fingerprint(self, state: State) -> i64:
        world = self.world
        found = world.header_marks[state[0]]
        p: i64 = 0
        while p < self.n:
            found += world.state_marks[state[HEADER + p]]
            p += 1
        depth: i64 = 0
        previous: i64 = -1
        i = HEADER + self.n
        while i < i64(len(state)):
            packet = state[i]
            key = world.order_keys[packet]
            depth = depth + 1 if world.fifo and key == previous else 0
            found += self._mark(packet, depth)
            previous = key
            i += 1
        return found & MASK

    def fingerprint_after(
        self, fingerprint: i64, state: State, event: i64, position: i64, number: i64, header: i64
    ) -> i64:
        """The fingerprint of the state after a step, from that of the state before it."""
        world = self.world
        found = fingerprint + world.table.changes[number]
        if header != state[0]:
            found += world.header_marks[header] - world.header_marks[state[0]]
        gone = position >= 0 and event & ~ARGUMENT != REPEAT
        if world.fifo:
            found += self._change_of_channels(state, position if gone else -1, number)
        elif gone:
            found -= world.packet_marks[state[position]]
        return found & MASK

    def _change_of_channels(self, state: State, position: i64, number: i64) -> i64:
        """What the first packet of a channel, at `position`, and the packets that a step sends change."""
        world = self.world
        table = world.table
        size: i64 = len(state)
        change: i64 = 0
        gone_key: i64 = -1
        if position >= 0:
            gone_key = world.order_keys[state[position]]
            change = -world.packet_marks[state[position]]
            depth: i64 = 1
            i = position + 1
            while i < size and world.order_keys[state[i]] == gone_key:
                change += self._mark(state[i], depth - 1) - self._mark(state[i], depth)
                depth += 1
                i += 1
        first = table.sent_firsts[number]
        last = table.sent_firsts[number + 1]
        sent = first
        while sent < last:
            key = world.order_keys[table.sent[sent]]
            ahead: i64 = -1 if key == gone_key else 0
            i = HEADER + self.n
            while i < size:
                if world.order_keys[state[i]] == key:
                    ahead += 1
                i += 1
            i = first
            while i < sent:
                if world.order_keys[table.sent[i]] == key:
                    ahead += 1
                i += 1
            change += self._mark(table.sent[sent], ahead)
            sent += 1
        return change

    def _mark(self, packet: i64, depth: i64) -> i64:
        """What a packet adds to a fingerprint, with so many ahead of it on its FIFO channel."""
        while depth >= i64(len(self._powers)):
            self._powers = append(self._powers, self._powers[depth - 1] * FACTOR & MASK)
        return self.world.packet_marks[packet] * self._powers[depth] & MASK


@final
class Steps:
    """Steps from one state: of each its move, its number, and the header and the fingerprint of the state after it."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.moves = vec[i64]()
        self.numbers = vec[i64]()
        self.headers = vec[i64]()
        self.fingerprints = vec[i64]()

    def add(self, move: i64, number: i64, header: i64, fingerprint: i64) -> None:
        i = self.count
        if i == i64(len(self.moves)):
            self.moves = append(self.moves, move)
            self.numbers = append(self.numbers, number)
            self.headers = append(self.headers, header)
            self.fingerprints = append(self.fingerprints, fingerprint)
        else:
            self.moves[i] = move
            self.numbers[i] = number
            self.headers[i] = header
            self.fingerprints[i] = fingerprint
        self.count = i + 1
