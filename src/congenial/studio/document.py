"""The run document: the events of a recording in columns, as a page reads them.

    n, title, problem, groups, about, verdict, ok, timed, ...       what the run is
    names, groupNames, second       of what was seen from outside: what processes and groups are called, and how long a
               second on the page is
    kinds      the kinds of events, as the trace names them
    t, kind, node, peer, ref        one number for each event
    messages   [[class, {field: value}], ...]      what was sent, once each
    values     other values of events

What `ref` is depends on the kind: of a send, the message; of a deliver or drop, the event that sent it (-1: unknown);
of a timer, its number; of an enter, a value [group, fence]; of a request, its groups; of a cut or heal, the sides; of
an issue, execute or answer, a value {id, operation, result}; of any other, -1.

Everything else (messages under way, who waits and who is inside) follows from this, and the page works it out. What
the states of processes are is in another document (`states.py`), which takes longer to make and to read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from congenial.kernel import trace
from congenial.kernel.trace import KINDS, Event
from congenial.studio.recording import Recording
from congenial.systems.system import System

FORMAT = 1
KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


def run_document(recording: Recording, columns: Columns | None = None) -> dict[str, object]:
    """What a page is given to show a run. `columns`: its events, if they are in columns already."""
    system = recording.system
    if columns is None:
        columns = Columns()
        columns.add_all(recording.events)
    symmetry = system.spec.symmetry
    return {
        "format": FORMAT,
        "n": system.n,
        "algorithm": system.name,
        "title": recording.seen.title if recording.seen else title_of(system),
        "problem": system.problem.name,
        "groups": system.problem.groups,
        "reference": "" if recording.seen else system.spec.reference,
        "about": recording.about,
        "verdict": recording.verdict,
        "ok": recording.ok,
        "timed": recording.timed,
        "cutShort": recording.cut_short,
        "pointers": symmetry.processes if symmetry is not None else (),  # variables that hold numbers of processes
        "names": recording.seen.names if recording.seen else (),
        "groupNames": recording.seen.groups if recording.seen else (),
        "second": recording.seen.second if recording.seen else 0,
        "kinds": KINDS,
        **columns.after(0, 0, 0),
    }


def title_of(system: System) -> str:
    return system.spec.title if system.spec.problem is not None else system.name


class Columns:
    """Events, column by column."""

    def __init__(self) -> None:
        self.t: list[float] = []
        self.kind: list[int] = []
        self.node: list[int] = []
        self.peer: list[int] = []
        self.ref: list[int] = []
        self.messages: list[list[object]] = []
        self.values: list[object] = []
        self.known_messages: dict[str, int] = {}
        self.known_values: dict[str, int] = {}
        self.sendings: dict[int, int] = {}  # from a message's number to the event that sent it

    def add_all(self, events: Sequence[Event]) -> None:
        """Add those that are not there yet."""
        for place in range(len(self.t), len(events)):
            self.add(events[place])

    def after(self, events: int, messages: int, values: int) -> dict[str, object]:
        """All columns without so many of their first entries."""
        return {
            "t": self.t[events:],
            "kind": self.kind[events:],
            "node": self.node[events:],
            "peer": self.peer[events:],
            "ref": self.ref[events:],
            "messages": self.messages[messages:],
            "values": self.values[values:],
        }

    def add(self, event: Event) -> None:
        self.t.append(round(event.t, 6))
        self.kind.append(KIND_NUMBERS[event.event])
        self.node.append(event.node)
        self.peer.append(event.peer)
        self.ref.append(self._ref(event))

    def _ref(self, event: Event) -> int:
        kind = event.event
        if kind == trace.SEND:
            self.sendings[event.id] = len(self.ref)
            return self._message(event)
        if kind in (trace.DELIVER, trace.DROP):
            return self.sendings.get(event.id, -1)
        if kind == trace.TIMER:
            return event.timer
        if kind == trace.ENTER:
            return self._value([event.group, event.fence])
        if kind == trace.REQUEST:
            return self._value(event.groups)
        if kind in (trace.CUT, trace.HEAL):
            return self._value((event.fields or {}).get("sides", []))
        if kind in (trace.ISSUE, trace.EXECUTE, trace.ANSWER, trace.RESTORE):
            return self._value({"id": event.id, "operation": event.operation, "result": event.result})
        return -1

    def _message(self, event: Event) -> int:
        key = f"{event.message} {json.dumps(event.fields)}"
        number = self.known_messages.get(key)
        if number is None:
            number = self.known_messages[key] = len(self.messages)
            self.messages.append([event.message, event.fields])
        return number

    def _value(self, value: Any) -> int:
        key = json.dumps(value)
        number = self.known_values.get(key)
        if number is None:
            number = self.known_values[key] = len(self.values)
            self.values.append(value)
        return number
