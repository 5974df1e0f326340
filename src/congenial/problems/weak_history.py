"""Histories of weak mutual exclusion, judged by the paper's own properties (Romano & Rodrigues 2009, sections 2 and 3).

A history is a trace, of the simulator, the checker or the network: the paper's try is `request`, crit `enter`, issue
`issue`, outcome `answer`, exit `exit`, ejected `eject`, crash `crash`, and invoke and response together are `execute`.
The application is in its remainder section as soon as it has left; `rest` says when that is so for all.

- Well-formedness: every process asks, enters, issues operations one at a time, and leaves or is ejected.
- 1CS: all replicas execute the same operations in one order, each once, with the results of a single copy.
- WME3: an executed operation was issued before. An answered one was executed, with that result, by the process's own
  replica. A failed one is executed by nobody. If its process crashed, or still waits, it may have been executed or not.
- WME1 and WME2: there is an order of all sections, one after the other, that agrees with each process's own order, with
  that of the operations, and with real time: a process that asked after another's section was over comes later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from congenial.kernel.judge import Operation, name_of
from congenial.kernel.trace import (
    ANSWER,
    CRASH,
    EJECT,
    ENTER,
    EXECUTE,
    EXIT,
    ISSUE,
    RECOVER,
    REQUEST,
    REST,
    RESTORE,
    Event,
)
from congenial.problems.weak import Resource

AWAY: Final = "down"
OUT: Final = "outside"
ASKING: Final = "waiting"
IN: Final = "inside"
ISSUING: Final = "issuing"

FROM: Final = {
    REQUEST: (OUT,),
    ENTER: (ASKING,),
    ISSUE: (IN,),
    ANSWER: (ISSUING,),
    EXIT: (IN,),
    EJECT: (IN, ISSUING),
    EXECUTE: (OUT, ASKING, IN, ISSUING),
    RESTORE: (OUT, ASKING, IN, ISSUING),
    REST: (OUT, ASKING),
    CRASH: (OUT, ASKING, IN, ISSUING),
    RECOVER: (AWAY,),
}
TO: Final = {
    REQUEST: ASKING,
    ENTER: IN,
    ISSUE: ISSUING,
    ANSWER: IN,
    EXIT: OUT,
    EJECT: OUT,
    CRASH: AWAY,
    RECOVER: OUT,
}


def faults_in(events: Sequence[Event], resource: Resource | None = None) -> list[str]:
    """All that is wrong with a history, each with the property that it breaks; a fresh `resource` gives the results."""
    history = History()
    for event in events:
        history.add(event)
    history.judge_order()
    if resource is not None:
        history.judge_results(resource)
    return history.faults


def unfinished(events: Sequence[Event]) -> list[str]:
    """What is missing at the end of a run: nothing, if starvation freedom, release progress and operation progress hold
    and a majority was up."""
    history = History()
    for event in events:
        history.add(event)
    left = []
    for process in sorted(history.states):
        state = history.states[process]
        if state == ASKING:
            left.append(f"starvation freedom: process {process} waits forever")
        elif state == ISSUING:
            left.append(f"operation progress: process {process} is never answered")
        if process in history.leaving and state != AWAY and history.rests:
            left.append(f"release progress: process {process} has left, but not for all")
    return left


class History:
    """A history that grows: `add` its events; `fault` says what is wrong so far."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.states: dict[int, str] = {}
        self.rests = False  # does leaving take a while, in this history?
        self.leaving: set[int] = set()
        # sections are numbered in the order of entries
        self.fences: set[int] = set()
        self.current: dict[int, int] = {}  # the section of each process, or its last one
        self.asked: dict[int, int] = {}  # by process: the node of the moment it asked
        # operations
        self.numbers: dict[int, int] = {}  # the last one of each process
        self.issued: dict[Operation, tuple[int, object]] = {}  # section, operation
        self.failed: set[Operation] = set()
        self.log: list[tuple[Operation, object]] = []  # with results
        self.places: dict[Operation, int] = {}
        self.executed: dict[int, int] = {}  # how much of the log each replica has
        # what comes before what: nodes are moments (even) and sections (odd)
        self.moments = 1
        self.sections = 0
        self.before: list[tuple[int, int]] = []
        self.turned = False  # does some operation come before one of an earlier section?
        self.judged = 0  # how much of the log was there when the order was judged

    def fault(self) -> str:
        """The first thing that is wrong so far, or nothing. To ask after each event costs little: everything that
        comes before something else is also earlier, but for operations; so only they can leave no order."""
        if self.turned and not self.faults and self.judged < len(self.log):
            self.judge_order()
        return self.faults[0] if self.faults else ""

    def add(self, event: Event) -> None:
        kind, process = event.event, event.node
        if kind not in FROM:
            return
        state = self.states.get(process, OUT)
        if state not in FROM[kind]:
            self._fault("well-formedness", event, f"it is {state}")
            return
        self.states[process] = TO.get(kind, state)
        if kind == REQUEST:
            self.asked[process] = 2 * (self.moments - 1)
        elif kind == ENTER:
            self._enter(event)
        elif kind == ISSUE:
            self._issue(event)
        elif kind == EXECUTE:
            self._execute(event)
        elif kind == RESTORE:
            self._restore(event)
        elif kind == ANSWER:
            self._answer(event)
        elif kind == REST:
            self.rests = True
            if process not in self.leaving:
                self._fault("well-formedness", event, "it has not left")
            self.leaving.discard(process)
        elif kind != RECOVER:
            self._end(event, state)

    def _fault(self, law: str, event: Event, why: str) -> None:
        self.faults.append(f"{law}: {str(event).strip()}, but {why}")

    # -- sections --------------------------------------------------------------------------------------

    def _enter(self, event: Event) -> None:
        process = event.node
        section = 2 * self.sections + 1
        self.sections += 1
        if event.fence and event.fence in self.fences:
            self._fault("well-formedness", event, f"there was a section {event.fence} before")
        self.fences.add(event.fence)
        self.before.append((self.asked[process], section))
        if process in self.current:
            self.before.append((self.current[process], section))
        self.current[process] = section

    def _end(self, event: Event, state: str) -> None:
        process = event.node
        if event.event == CRASH:
            self.executed.pop(process, None)  # its replica is lost with it
        if state not in (IN, ISSUING):
            return
        moment = 2 * self.moments
        self.moments += 1
        self.before.append((moment - 2, moment))
        self.before.append((self.current[process], moment))
        if event.event == EXIT:
            self.leaving.add(process)
        elif event.event == EJECT and state == ISSUING:
            operation = (process, self.numbers[process])
            self.failed.add(operation)
            if operation in self.places:
                self._fault("WME3", event, f"its {name_of(operation)}, pending, has been executed")

    def judge_order(self) -> None:
        """WME1 and WME2: is there an order?"""
        self.judged = len(self.log)
        followers: dict[int, list[int]] = {}
        waits: dict[int, int] = {}
        for one, other in self.before:
            followers.setdefault(one, []).append(other)
            waits[other] = waits.get(other, 0) + 1
            waits.setdefault(one, 0)
        free = [node for node in waits if waits[node] == 0]
        while free:
            node = free.pop()
            del waits[node]
            for other in followers.get(node, []):
                waits[other] -= 1
                if waits[other] == 0:
                    free.append(other)
        stuck = sorted([node for node in waits if node % 2])
        if stuck:
            entries = ", ".join([str(node // 2 + 1) for node in stuck[:6]])
            self.faults.append(
                "WME1, WME2: no order of the sections is that of their operations and of real time (entries no. "
                f"{entries} of the history)"
            )

    # -- operations ------------------------------------------------------------------------------------

    def _issue(self, event: Event) -> None:
        process = event.node
        if event.id <= self.numbers.get(process, 0):
            self._fault("well-formedness", event, "that number was used before")
        self.numbers[process] = event.id
        self.issued[(process, event.id)] = (self.current[process], event.operation)

    def _execute(self, event: Event) -> None:
        process, operation = event.node, (event.peer, event.id)
        place = self.executed.get(process, 0)
        self.executed[process] = place + 1
        if operation not in self.issued:
            self._fault("WME3", event, "nobody has issued it")
        elif self.issued[operation][1] != event.operation:
            self._fault("WME3", event, f"what was issued is {self.issued[operation][1]}")
        if operation in self.failed:
            self._fault("WME3", event, "it has failed")
        if place == len(self.log):
            if operation in self.places:
                self._fault("1CS", event, "it was executed before")
                return
            self.places[operation] = place
            self.log.append((operation, event.result))
            if place > 0:
                self._follow(self.log[place - 1][0], operation)
        elif self.log[place][0] != operation:
            self._fault("1CS", event, f"another replica has executed {name_of(self.log[place][0])} in its place")
        elif self.log[place][1] != event.result:
            self._fault("1CS", event, f"another replica has the result {self.log[place][1]}")

    def _follow(self, first: Operation, second: Operation) -> None:
        """An operation is executed right after another one: so are their sections."""
        if first in self.issued and second in self.issued:
            one, other = self.issued[first][0], self.issued[second][0]
            if one != other:
                self.before.append((one, other))
                self.turned = self.turned or other < one

    def _restore(self, event: Event) -> None:
        if event.id > len(self.log):
            self._fault("1CS", event, f"only {len(self.log)} have been executed")
        self.executed[event.node] = min(event.id, len(self.log))

    def _answer(self, event: Event) -> None:
        process = event.node
        operation = (process, event.id)
        place = self.places.get(operation, len(self.log))
        if event.id != self.numbers[process]:
            self._fault("well-formedness", event, f"it waits for the outcome of {self.numbers[process]}")
        elif place >= self.executed.get(process, 0):
            self._fault("WME3", event, "its replica has not executed that")
        elif self.log[place][1] != event.result:
            self._fault("WME3", event, f"the result is {self.log[place][1]}")

    def judge_results(self, resource: Resource) -> None:
        """1CS: the results are those of one copy, executing the same operations one after the other."""
        for operation, result in self.log:
            if operation in self.issued:
                expected = resource.apply(self.issued[operation][1])
                if expected != result:
                    self.faults.append(
                        f"1CS: {name_of(operation)} has the result {result}; a single copy says {expected}"
                    )
                    return
