"""What a program and a node say to each other: one JSON object a line, both ways.

A program asks:

    {"do": "acquire", "id": 1, "mode": "group", "name": "jukebox", "group": "disc-7", "k": 0, "timeout": 2.5}
    {"do": "release", "id": 1}
    {"do": "status", "id": 2, "top": 20, "find": "invoices"}
    {"do": "ping", "id": 3, "timeout": 3.0}
    {"do": "members", "id": 4, "name": "d", "role": "voter"}

and the node answers {"id": 1, "fence": 17} or {"id": 1, "error": "LockTimeout", "text": "..."}. A status comes in
several lines, each with a part of it; all but the last one say "more". A ping says how long the program waits for an
answer; the answer, how long the node surely is a member. `members` asks for the members, and may change the role of one
of them. `read`, `write`, `fresh`, `confirm` and `watch` are about
notes (`congenial.net.board`).

What a program holds is released when its connection ends. When a lock is lost, the node sends
{"id": 1, "error": "LockLost", ...} unasked. When what it holds gets another fence, which happens to semaphores, the
node sends {"id": -2, "held": 1, "fence": 18}.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from congenial.kernel.errors import ConfigError, CongenialError, IllegalStep
from congenial.net.errors import (
    ClusterDegraded,
    LockLost,
    LockTimeout,
    NotHeld,
    ProtocolError,
    TimeoutTooLong,
    WouldDeadlock,
)

LONGEST_LINE = 1 << 20
REFUSED = -1  # the id of an answer with which the node ends the connection
RENUMBERED = -2  # of one that says which fence something has now; programs of earlier releases pass over it
ERRORS: dict[str, type[CongenialError]] = {
    kind.__name__: kind
    for kind in (
        LockTimeout,
        ClusterDegraded,
        NotHeld,
        LockLost,
        ProtocolError,
        ConfigError,
        WouldDeadlock,
        TimeoutTooLong,
        IllegalStep,
        CongenialError,
    )
}


class Ask(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a program asks of the node."""

    do: Literal["acquire", "release", "status", "ping", "read", "write", "fresh", "confirm", "watch", "members"]
    id: int
    mode: Literal["exclusive", "shared", "group", "semaphore"] = "exclusive"
    name: str = ""
    group: str = ""
    k: int = 1
    timeout: float | None = None
    top: int = 1000
    find: str = ""  # of a status, as what follows (`congenial.net.survey.Question`)
    by: str = ""
    shown: list[str] = []
    watch: bool = False
    owner: int = 0  # which task or thread of the program asks: if it waits for itself, it is told
    here: bool = False  # acquire only if no other member has to be asked
    raw: bool = False  # name and group stand for bytes, each written as the character of that number
    fence: int = 0  # of a note, as what follows
    turn: int = 0
    value: bytes = b""
    role: str = ""  # that the member `name` is to have

    def names(self) -> tuple[str, str]:
        if not self.raw:
            return self.name, self.group
        try:
            name, group = [
                text.encode("latin-1").decode("utf-8", "surrogateescape") for text in (self.name, self.group)
            ]
        except UnicodeEncodeError as error:
            raise ProtocolError(f"a raw name has characters that are not bytes: {error}") from None
        return name, group


class Answer(msgspec.Struct, omit_defaults=True):
    id: int
    fence: int = 0
    lock: str = ""
    held: int = 0  # the id with which it was acquired, if it has another fence now
    error: str = ""
    text: str = ""
    status: dict[str, Any] | None = None
    more: bool = False
    turn: int = 0  # of a note, as what follows
    value: bytes = b""
    kept: bool = True
    lease: float | None = None  # seconds for which the node is surely a member; None: forever
    drift: float = 0.001  # how differently clocks may run, as the cluster says: seconds in a second
    me: str = ""  # the node, in this life
    there: list[str] = []
    members: list[tuple[str, str, bool, bool]] = []  # name, address, voter, present
