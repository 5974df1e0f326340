"""The graph of explored states: cycles in it that a run can follow forever, and the costs of runs.

Most graphs have no cycle, which is quick to see.
"""

from __future__ import annotations

from typing import final

from librt.vecs import append, pop, vec
from mypy_extensions import i32, i64, u8

from congenial.checker.edges import Edges
from congenial.checker.events import (
    ARGUMENT,
    DELIVER,
    EVENT_MASK,
    IDENTITY_MASK,
    LEAVE,
    RECOVER,
    SENT_SHIFT,
    TIMER,
    TRUST,
)


@final
class StateGraph:
    def __init__(self, edges: Edges, timers_wait: bool = False, lasting: bool = False) -> None:
        self.edges = edges
        self.count: i64 = edges.states
        self.lasting = lasting  # suspicions may outlast timers (`Rules.lasting`)
        self.timers_wait = timers_wait  # timers run out in some states only (`Rules.patient`, `Rules.quiet`)

    def cycles(self) -> list[list[int]]:
        """The strongly connected components that have a cycle (Tarjan 1972, without recursion)."""
        if self._is_acyclic():
            return []
        count = self.count
        number = vec[i32]([i32(0)] * count)
        low = vec[i32]([i32(0)] * count)
        on_stack = vec[u8]([u8(0)] * count)
        edge = vec[i64]([i64(0)] * count)
        stack: list[int] = []
        found: list[list[int]] = []
        counter: i32 = 0
        root: i64 = 0
        while root < count:
            if number[root] == 0:
                path: list[int] = [root]
                while path:
                    state: i64 = path[-1]
                    if number[state] == 0:
                        counter += 1
                        number[state] = counter
                        low[state] = counter
                        edge[state] = self.edges.first(state)
                        stack.append(state)
                        on_stack[state] = 1
                    deeper = False
                    while edge[state] < self.edges.first(state + 1):
                        target = self.edges.target(edge[state])
                        edge[state] += 1
                        if number[target] == 0:
                            path.append(target)
                            deeper = True
                            break
                        if on_stack[target] != 0:
                            low[state] = min(low[state], number[target])
                    if deeper:
                        continue
                    path.pop()
                    if path:
                        low[path[-1]] = min(low[path[-1]], low[state])
                    if low[state] == number[state]:
                        self._close(state, stack, on_stack, found)
            root += 1
        return found

    def _is_acyclic(self) -> bool:
        """True if all states can be sorted so that every edge leads to a later one."""
        incoming = self._incoming()
        ready = vec[i32]()
        state: i64 = 0
        while state < self.count:
            if incoming[state] == 0:
                ready = append(ready, i32(state))
            state += 1
        sorted_: i64 = 0
        while len(ready) > 0:
            ready, last = pop(ready)
            sorted_ += 1
            edge = self.edges.first(i64(last))
            end = self.edges.first(i64(last) + 1)
            while edge < end:
                target = self.edges.target(edge)
                incoming[target] -= 1
                if incoming[target] == 0:
                    ready = append(ready, i32(target))
                edge += 1
        return sorted_ == self.count

    def _incoming(self) -> vec[i32]:
        """How many edges lead to each state."""
        incoming = vec[i32]([i32(0)] * self.count)
        edge: i64 = 0
        while edge < self.edges.count:
            incoming[self.edges.target(edge)] += 1
            edge += 1
        return incoming

    def _close(self, state: i64, stack: list[int], on_stack: vec[u8], found: list[list[int]]) -> None:
        component: list[int] = []
        while True:
            member = stack.pop()
            on_stack[member] = 0
            component.append(member)
            if member == state:
                break
        if len(component) > 1 or self._loops(state):
            found.append(sorted(component))

    def _loops(self, state: i64) -> bool:
        return any(
            [self.edges.target(edge) == state for edge in range(self.edges.first(state), self.edges.first(state + 1))]
        )

    def is_fair(self, component: list[int]) -> bool:
        """True if a fair schedule can stay in this component forever.

        Fairness is about what must not be put off forever: a message under way, a timer that is set, a holder that
        leaves, a crashed process that recovers, the end of a cut. If it can happen in all states of the component, it
        must happen on one of its edges. Where timers wait, the same holds for a timer that can run out whenever any
        timer can.
        """
        members = set(component)
        always: set[int] | None = None
        timers: set[int] | None = None
        taken: set[int] = set()
        for state in component:
            possible: set[int] = set()
            set_timers: set[int] = set()
            for position in range(self.edges.first(state), self.edges.first(state + 1)):
                identity: i64 = self.edges.label(position) & IDENTITY_MASK
                kind = identity & EVENT_MASK & ~ARGUMENT
                ends_cut = kind == TRUST and self.lasting
                if kind == DELIVER or kind == LEAVE or kind == TIMER or kind == RECOVER or ends_cut:
                    possible.add(identity)
                    if kind == TIMER:
                        set_timers.add(identity)
                    if self.edges.target(position) in members:
                        taken.add(identity)
            always = possible if always is None else always & possible
            if set_timers:
                timers = set_timers if timers is None else timers & set_timers
        if self.timers_wait and timers is not None and timers - taken:
            return False
        return always is not None and not (always - taken)

    def messages(self) -> tuple[vec[i32], vec[i32]]:
        """For each state the fewest and the most messages sent on a path to it. The graph must have no cycle."""
        fewest = vec[i32]([i32(-1)] * self.count)
        most = vec[i32]([i32(-1)] * self.count)
        incoming = self._incoming()
        fewest[0] = 0
        most[0] = 0
        ready = vec[i32]([i32(0)])
        while len(ready) > 0:
            ready, last = pop(ready)
            state = i64(last)
            edge = self.edges.first(state)
            while edge < self.edges.first(state + 1):
                target = self.edges.target(edge)
                sent = i32(self.edges.label(edge) >> SENT_SHIFT)
                if fewest[target] < 0 or fewest[state] + sent < fewest[target]:
                    fewest[target] = fewest[state] + sent
                most[target] = max(most[target], most[state] + sent)
                incoming[target] -= 1
                if incoming[target] == 0:
                    ready = append(ready, i32(target))
                edge += 1
        return fewest, most
