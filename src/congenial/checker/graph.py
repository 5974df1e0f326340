"""The graph of explored states: cycles in it that a run can follow for ever, and the costs of runs.

The graph comes as flat arrays: the edges of state i are those from firsts[i] to firsts[i+1].
"""

from __future__ import annotations

from typing import final

from librt.vecs import vec
from mypy_extensions import i64

from congenial.checker.events import (
    ARGUMENT,
    DELIVER,
    EVENT_MASK,
    IDENTITY_MASK,
    LEAVE,
    RECOVER,
    SENT_SHIFT,
    TIMER,
)


@final
class StateGraph:
    def __init__(
        self, count: i64, firsts: vec[i64], targets: vec[i64], labels: vec[i64], timers_wait: bool = False
    ) -> None:
        self.count = count
        self.firsts = firsts
        self.targets = targets
        self.labels = labels
        self.timers_wait = timers_wait  # timers run out in some states only (`Rules.patient`, `Rules.quiet`)

    def cycles(self) -> list[list[int]]:
        """The strongly connected components that have a cycle (Tarjan 1972, without recursion)."""
        count = self.count
        number = vec[i64]([0] * count)
        low = vec[i64]([0] * count)
        on_stack = vec[i64]([0] * count)
        edge = vec[i64]([0] * count)
        stack: list[int] = []
        found: list[list[int]] = []
        counter: i64 = 0
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
                        edge[state] = self.firsts[state]
                        stack.append(state)
                        on_stack[state] = 1
                    deeper = False
                    while edge[state] < self.firsts[state + 1]:
                        target = self.targets[edge[state]]
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

    def _close(self, state: i64, stack: list[int], on_stack: vec[i64], found: list[list[int]]) -> None:
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
        return any([self.targets[edge] == state for edge in range(self.firsts[state], self.firsts[state + 1])])

    def is_fair(self, component: list[int]) -> bool:
        """Can a fair schedule stay in this component for ever?

        Fairness is about what must not be put off for ever: a message under way, a timer that is set, a holder that
        leaves, a crashed process that recovers. If it can happen in all states of the component, it must happen on one
        of its edges. Where timers wait, the same holds for a timer that can run out whenever any timer can.
        """
        members = set(component)
        always: set[int] | None = None
        timers: set[int] | None = None
        taken: set[int] = set()
        for state in component:
            possible: set[int] = set()
            set_timers: set[int] = set()
            for position in range(self.firsts[state], self.firsts[state + 1]):
                identity: i64 = self.labels[position] & IDENTITY_MASK
                kind = identity & EVENT_MASK & ~ARGUMENT
                if kind == DELIVER or kind == LEAVE or kind == TIMER or kind == RECOVER:
                    possible.add(identity)
                    if kind == TIMER:
                        set_timers.add(identity)
                    if self.targets[position] in members:
                        taken.add(identity)
            always = possible if always is None else always & possible
            if set_timers:
                timers = set_timers if timers is None else timers & set_timers
        if self.timers_wait and timers is not None and timers - taken:
            return False
        return always is not None and not (always - taken)

    def messages(self) -> tuple[vec[i64], vec[i64]]:
        """For each state the fewest and the most messages sent on a path to it. The graph must have no cycle."""
        fewest = vec[i64]([-1] * self.count)
        most = vec[i64]([-1] * self.count)
        incoming = vec[i64]([0] * self.count)
        for target in self.targets:
            incoming[target] += 1
        fewest[0] = 0
        most[0] = 0
        ready: list[int] = [0]
        while ready:
            state = ready.pop()
            for position in range(self.firsts[state], self.firsts[state + 1]):
                target = self.targets[position]
                sent = self.labels[position] >> SENT_SHIFT
                if fewest[target] < 0 or fewest[state] + sent < fewest[target]:
                    fewest[target] = fewest[state] + sent
                most[target] = max(most[target], most[state] + sent)
                incoming[target] -= 1
                if incoming[target] == 0:
                    ready.append(target)
        return fewest, most
