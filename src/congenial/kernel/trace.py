"""The trace: one schema of events for the simulator, the checker and the network.

A trace is a list of events in the order in which they happened. `congenial.trace_files` stores it as NDJSON: one
JSON object per line.

Every event has a time `t`, an `event` (one of `KINDS`) and the `node` where it happened. A `send` or `deliver` also has
the other end (`peer`, absent for a broadcast), the message's number (`id`, which links a delivery to its sending), its
class (`message`) and its `fields`; a message inside a field has `message` and `fields` again. A `request` has its
`groups`, an `enter` its `group` and `fence`, a `timer` its number (`timer`). The first event, `begin`, has the system
(algorithm, nodes, ...) as `fields`. A `cut` or `heal` of the network has the `sides` in its `fields`: the processes of
each. A step in which the node chose (`Out.choose`) has its `choices`.

Under weak exclusion a process that is inside may `issue` operations on a replicated resource. Such an event has the
`operation` and its number among the process's operations (`id`). A replica's `execute` has the issuing process as
`peer`, number, operation and `result`; the `answer` to the issuing process has number and result. A `restore` says that
a replica has been replaced by one that has executed the first operations, and how many (`id`). A `rest` says that a
section that was left before is over for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, field_values
from congenial.kernel.problem import Groups

BEGIN: Final = "begin"
REQUEST: Final = "request"
ENTER: Final = "enter"
EXIT: Final = "exit"
EJECT: Final = "eject"
ISSUE: Final = "issue"
EXECUTE: Final = "execute"
ANSWER: Final = "answer"
RESTORE: Final = "restore"
REST: Final = "rest"
SEND: Final = "send"
DELIVER: Final = "deliver"
DROP: Final = "drop"
TIMER: Final = "timer"
CRASH: Final = "crash"
RECOVER: Final = "recover"
PAUSE: Final = "pause"
RESUME: Final = "resume"
SUSPECT: Final = "suspect"
TRUST: Final = "trust"
CUT: Final = "cut"
HEAL: Final = "heal"
KINDS: Final = (
    BEGIN, REQUEST, ENTER, EXIT, EJECT, SEND, DELIVER, DROP, TIMER, CRASH, RECOVER, PAUSE, RESUME, SUSPECT, TRUST,
    CUT, HEAL, ISSUE, EXECUTE, ANSWER, RESTORE, REST,
)  # fmt: skip

MESSAGE_KEYS: Final = {"message", "fields"}

TOLD: Final = {
    EXIT: "leaves",
    EJECT: "IS EJECTED",
    REST: "has left for all",
    CRASH: "CRASHES",
    RECOVER: "recovers",
    PAUSE: "stops",
    RESUME: "goes on",
}


@dataclass(frozen=True)
class Event:
    """One line of a trace.

    >>> print(str(Event(2.5, "enter", 3, group=1, fence=7)).strip())
    2.500  3 ENTERS group 1
    """

    t: float
    event: str
    node: int
    peer: int = -1
    id: int = -1
    message: str = ""
    fields: dict[str, object] | None = None
    groups: Groups = ()
    group: int = -1
    fence: int = 0
    timer: int = -1
    choices: tuple[int, ...] = ()
    operation: Any = None
    result: Any = None

    def as_dict(self) -> dict[str, object]:
        """The event as a dict, without the fields that do not apply to it."""
        line: dict[str, object] = {"t": round(self.t, 9), "event": self.event, "node": self.node}
        if self.peer >= 0:
            line["peer"] = self.peer
        if self.event == BEGIN or (self.event in (CUT, HEAL) and self.fields is not None):
            line["fields"] = self.fields
        if self.message:
            line["id"] = self.id
            line["message"] = self.message
            line["fields"] = self.fields
        if self.event == REQUEST:
            line["groups"] = list(self.groups)
        if self.event == ENTER:
            line["group"] = self.group
            line["fence"] = self.fence
        if self.event in (ISSUE, EXECUTE, ANSWER):
            line["id"] = self.id
            if self.event != ANSWER:
                line["operation"] = self.operation
            if self.event != ISSUE:
                line["result"] = self.result
        if self.event == RESTORE:
            line["id"] = self.id
        if self.event == TIMER:
            line["timer"] = self.timer
        if self.choices:
            line["choices"] = list(self.choices)
        return line

    def __str__(self) -> str:
        """The event in words."""
        what = ", ".join([f"{name}={spelled(value)}" for name, value in (self.fields or {}).items()])
        message = f"{self.message}({what})"
        when = f"{self.t:10.3f}  {self.node}"
        if self.event == BEGIN:
            return f"{self.t:10.3f}  {what}"
        if self.event == SEND:
            return f"{when} sends {message} to {'everyone' if self.peer < 0 else self.peer}"
        if self.event == DELIVER:
            return f"{when} receives {message} from {self.peer}"
        if self.event == DROP:
            return f"{when} never receives {message} from {self.peer}"
        if self.event == REQUEST:
            return f"{when} asks to enter" + (f" {list(self.groups)}" if self.groups != (0,) else "")
        if self.event == ENTER:
            return f"{when} ENTERS" + (f" group {self.group}" if self.group else "")
        if self.event == TIMER:
            return f"{when} timer {self.timer} runs out"
        if self.event == ISSUE:
            return f"{when} issues operation {self.id}: {self.operation}"
        if self.event == EXECUTE:
            return f"{when} executes operation {self.id} of {self.peer}: {self.operation}, with result {self.result}"
        if self.event == ANSWER:
            return f"{when} is answered {self.result} to operation {self.id}"
        if self.event == RESTORE:
            return f"{when} has a replica with {self.id} operations"
        if self.event in (SUSPECT, TRUST):
            return f"{when} {self.event}s {self.peer}"
        if self.event in (CUT, HEAL):
            return f"{self.t:10.3f}  {self._partition()}"
        return f"{when} {TOLD.get(self.event, self.event)}"

    def _partition(self) -> str:
        what = "the network splits" if self.event == CUT else "the split ends"
        sides: Any = (self.fields or {}).get("sides")
        if not isinstance(sides, (list, tuple)):
            return what
        return f"{what}: {' | '.join([', '.join([str(process) for process in side]) for side in sides])}"


@mypyc_attr(allow_interpreted_subclasses=True)
class Trace:
    """A trace kept in memory: all of it, or the last `keep` events."""

    def __init__(self, keep: int = 0) -> None:
        self.events: list[Event] = []
        self.keep = keep

    def record(self, event: Event) -> None:
        self.events.append(event)
        if self.keep and len(self.events) >= 2 * self.keep:
            del self.events[: -self.keep]

    def close(self) -> None:
        """Nothing more will be recorded."""


def spelled(value: object) -> str:
    """A field's value in words; messages in it look as they do in code."""
    if isinstance(value, dict) and value.keys() == MESSAGE_KEYS:
        fields = value["fields"]
        return f"{value['message']}({', '.join([f'{name}={spelled(field)}' for name, field in fields.items()])})"
    if isinstance(value, (tuple, list)) and any([isinstance(member, (dict, tuple, list)) for member in value]):
        members = ", ".join([spelled(member) for member in value])
        if isinstance(value, list):
            return f"[{members}]"
        return f"({members},)" if len(value) == 1 else f"({members})"
    return str(value)


def message_event(
    t: float, event: str, node: int, peer: int, number: int, message: Message, choices: tuple[int, ...] = ()
) -> Event:
    """An event about a message."""
    return Event(t, event, node, peer, number, type(message).__name__, field_values(message), choices=choices)
