"""A replicated object and its lock at one process of a cluster whose members change.

The process that holds the lock issues operations, one after the other. It sends each to all members of the view, which
keep it. When all have acknowledged it, no later view can lose it: the process executes it and tells the others, which
execute it, too. A process that enters after another one has left has all of its operations.

When the view changes, the members tell the home what they have. The home chooses the state with which the object goes
on (`congenial.parts.bearing`), and tells all members, which get prepared: an operation that only some of them have is
either part of that state, or is never executed. When all are prepared, and enough replicas are whole, the home lets
operations be issued. Members whose replicas are not whole (new ones, those that were restarted, those that were away)
ask one that is for the operations that they lack, or for its whole state, piece by piece. They keep what is issued
meanwhile. Nobody waits for them, unless so few replicas are whole that their voters are no majority.

A process that is no longer a member while it waits for the outcome of an operation learns it when it is back. Until
then it is inside for its application, but has lost the lock (`lost`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, INSIDE
from congenial.kernel.out import Out
from congenial.parts.bearing import NEVER, NOBODY, Attendance, Have, bearer_in
from congenial.parts.replica import Entries, Entry, Last, Replica
from congenial.problems.weak import Resource
from congenial.transform.lock_in_views import InView, LockInViews

ENTRIES_AT_A_TIME: Final = 16  # in one message
FIRST: Final = -1  # instead of the number of a piece


@dataclass(frozen=True)
class Tell(Message):
    """From the home: say what you have."""


@dataclass(frozen=True)
class Chosen(Message):
    """From the home: go on with this state, which the source has; or, if it is the `first`, all."""

    source: int
    first: bool
    floor: int  # whole replicas that were prepared in this view or later have it, too,
    kin: int  # if they are of this age; but for the last operation
    age: int  # of the history from now on
    position: int
    tail: Entries = field(metadata={"type": Entries})


@dataclass(frozen=True)
class Prepared(Message):
    """To the home: I am prepared. With `whole`, my replica is whole."""

    whole: bool


@dataclass(frozen=True)
class Go(Message):
    """From the home: operations may be issued."""


@dataclass(frozen=True)
class Want(Message):
    """Send me what comes after this position of this history; or, of what you have begun to send, this piece."""

    age: int
    position: int
    piece: int


@dataclass(frozen=True)
class Lacking(Message):
    """Operations after a position, the first `executed` of which were executed; with `all`, there are no others."""

    age: int
    position: int
    entries: Entries = field(metadata={"type": Entries})
    executed: int
    all: bool


@dataclass(frozen=True)
class Snapshot(Message):
    """A state will be sent in so many pieces; and what comes after it."""

    age: int
    position: int
    last: Last = field(metadata={"type": Last})
    tail: Entries = field(metadata={"type": Entries})
    pieces: int


@dataclass(frozen=True)
class Piece(Message):
    number: int
    data: bytes


@dataclass(frozen=True)
class Operation(Message):
    position: int
    entry: Entry = field(metadata={"type": Entry})


@dataclass(frozen=True)
class Kept(Message):
    """I have the operation at this position."""

    position: int


@dataclass(frozen=True)
class Done(Message):
    """All members have it."""

    position: int


OF_REPLICAS = (Tell, Have, Chosen, Prepared, Go, Want, Lacking, Snapshot, Piece, Operation, Kept, Done)


@mypyc_attr(allow_interpreted_subclasses=True)
class ObjectInViews(LockInViews):
    """Its owner sets `voters` before each `move`. A process that begins in a running view calls `enroll`."""

    messages: ClassVar[Messages] = (*LockInViews.messages, *OF_REPLICAS)
    replica_class: ClassVar[type[Replica]] = Replica

    def __init__(self, me: int, n: int, settings: tuple[tuple[str, str], ...]) -> None:
        super().__init__(me, n, settings)
        self.replica = type(self).replica_class()
        self.voters: tuple[int, ...] = ()
        self.asks_all = False  # does the home ask members to tell what they have, as they may not know the object?
        self.prepared = NEVER  # the last view in which I was
        self.attendance = Attendance()  # views in which I know that nothing happened
        # my operation
        self.issued = 0
        self.pending: tuple[int, Any] | None = None  # its number, and the operation
        self.sent: tuple[int, int] = (NEVER, 0)  # the view in which it was sent, and its position
        self.kept: set[int] = set()  # the members that have it
        self.lost = False  # is the lock lost, while the outcome is open?
        # this view
        self.begun = False  # may operations be issued?
        self.source = NOBODY  # the member whose state is the right one,
        self.base = 0  # how many operations that has,
        self.age = 0  # and of which history they are
        self.wanting: list[tuple[int, Want]] = []  # asked before I was prepared
        self.outgoing: dict[int, list[bytes]] = {}  # the pieces of what others are sent
        self.incoming: Snapshot | None = None  # what I am sent,
        self.pieces: list[bytes] = []  # and what of it has arrived
        # at the home
        self.haves: dict[int, Have] = {}
        self.chosen: Chosen | None = None
        self.ready: set[int] = set()  # the members that are prepared,
        self.whole: set[int] = set()  # and those of them whose replica is whole

    # -- from view to view -----------------------------------------------------------------------------

    def found(self) -> None:
        """The cluster begins, with equal replicas."""
        self.prepared = self.attendance.noted = self.view
        self.replica.begin(self.view)
        self.begun = True

    def restart(self, out: Out) -> None:
        """This process was restarted: its replica is gone."""
        self.prepared = NEVER
        self.attendance = Attendance()
        self.replica.begin(self.replica.age)
        self.replica.whole = False
        out.restore(0)

    def has_issued(self, count: int) -> None:
        self.issued = count

    def move(self, view: int, members: tuple[int, ...], home: int, since: int, out: Out) -> None:
        self.begun = False
        self.source = NOBODY
        self.base = 0
        self.wanting = []
        self.outgoing = {}
        self.incoming = None
        self.pieces = []
        self.kept = set()
        self.haves = {}
        self.chosen = None
        self.ready = set()
        self.whole = set()
        self.attendance.attend(since, view)
        super().move(view, members, home, since, out)
        self.enroll(out)

    def enroll(self, out: Out) -> None:
        """Tell the home of this view what I have; or, if I am the home, ask all to do so."""
        if self.inner is None:
            return
        if self.is_home() and self.asks_all:
            self._to_others(Tell(), out)
        self._to(self.process(0), self._have(), out)

    def name(self, machine: Resource, out: Out) -> None:
        """The process uses the object from now on."""
        self.replica.name(machine)
        if self.prepared == self.view and self.source != NOBODY:
            self._to(self.source, Want(self.replica.age, 0, FIRST), out)
        elif self.prepared != self.view:
            self.enroll(out)

    def _have(self) -> Have:
        replica = self.replica
        tail = replica.tail() if replica.whole else ()
        return Have(
            self.prepared,
            replica.whole,
            replica.age,
            replica.applied + len(tail),
            tail,
            tuple(self.attendance.idle),
            replica.machine is not None,
        )

    def _on_have(self, src: int, msg: Have, out: Out) -> None:
        self.haves[src] = msg
        if self.chosen is None and self._has_heard_all() and bearer_in(self.view, self.haves).sure:
            self._choose(out)

    def _has_heard_all(self) -> bool:
        return len(self.haves) == len(self.members) and len(self._named()) > 0

    def _named(self) -> list[int]:
        """The members that use the object."""
        return [process for process in sorted(self.haves) if self.haves[process].named]

    def is_at_a_loss(self) -> bool:
        """At the home: does no member have what is needed, though no voter is away?"""
        return self.chosen is None and self._has_heard_all() and set(self.voters) <= set(self.members)

    def salvage(self, out: Out) -> None:
        """At the home: go on with what is left. Operations may be lost."""
        if self.is_at_a_loss():
            self._choose(out)

    def _choose(self, out: Out) -> None:
        bearer = bearer_in(self.view, self.haves)
        chosen = Chosen(self._named()[0], True, NEVER, self.view, self.view, 0, ())
        if bearer.process != NOBODY:
            have = self.haves[bearer.process]
            age = have.age if bearer.sure else self.view
            chosen = Chosen(bearer.process, False, bearer.floor, have.age, age, have.position, have.tail)
        self.chosen = chosen
        self._to_others(chosen, out)
        self._on_chosen(chosen, out)

    def _on_chosen(self, msg: Chosen, out: Out) -> None:
        replica = self.replica
        if self.prepared == self.view:
            return
        was = self.prepared
        self.prepared = self.view
        if not self.is_home():  # which knows whether operations have begun
            self.attendance.prepare(self.view)
        self.source = msg.source
        self.base = msg.position
        self.age = msg.age
        if msg.first:
            replica.begin(msg.age)
            out.restore(0)
        elif replica.whole and was >= msg.floor and replica.age == msg.kin:
            replica.age = msg.age
        else:
            replica.whole = False
            replica.drop_queue()
        for entry in msg.tail:
            replica.store(msg.position, entry)
        wanting = self.wanting
        self.wanting = []
        for process, want in wanting:
            self._on_want(process, want, out)
        self._to(self.process(0), Prepared(replica.whole), out)
        if not replica.whole and replica.machine is not None:
            self._to(msg.source, Want(replica.age, replica.applied, FIRST), out)

    def _on_prepared(self, src: int, msg: Prepared, out: Out) -> None:
        self.ready.add(src)
        if msg.whole:
            self.whole.add(src)
        if not self.begun and len(self.ready) == len(self.members) and self._enough():
            self._to_others(Go(), out)
            self._on_go(out)

    def _enough(self) -> bool:
        """True if the voters with whole replicas are a majority. Otherwise all that can be must be whole."""
        voters = [process for process in self.voters if process in self.whole]
        return 2 * len(voters) > len(self.voters) or self.whole.issuperset(self._named())

    def _on_go(self, out: Out) -> None:
        self.begun = True
        self.attendance.idle = []
        self.replica.confirm(self.base)
        self._go_on(out)

    def _go_on(self, out: Out) -> None:
        """Execute what can be. If this process is whole in a view that has begun, it knows what became of its pending
        operation, and may ask for the lock."""
        self._execute(out)
        if not self.begun or not self.replica.whole:
            return
        if self.lost:
            self.lose(out)
        elif self.pending is not None and self.sent[0] != self.view:
            self._send_pending(out)
        self._ask(out)

    def is_up_to_date(self) -> bool:
        return self.begun and self.replica.whole

    def is_sending(self) -> bool:
        """True if another process waits for a state that I have."""
        return len(self.outgoing) > 0 or len(self.wanting) > 0

    def behind(self) -> int:
        """How many operations this replica lacks that others may have executed; -1 if it does not know."""
        if self.inner is None or self.prepared != self.view:
            return -1
        top = max([self.base, self.replica.applied if self.replica.whole else 0, *sorted(self.replica.queue)])
        return top - (self.replica.applied if self.replica.whole or self.replica.age == self.age else 0)

    # -- the application -------------------------------------------------------------------------------

    def holds(self) -> bool:
        return super().holds() and not self.lost

    def lose(self, out: Out) -> None:
        """If the outcome of an operation is open, this process must learn it first."""
        settled = self.begun and self.replica.whole
        if self.pending is not None and self.sent[0] != NEVER and not settled:
            self.lost = True
            return
        self.pending = None  # it has failed
        self.lost = False
        super().lose(out)

    def _ask(self, out: Out) -> None:
        if self.begun and self.replica.whole and self.inner is not None and self.inner.phase == IDLE:
            super()._ask(out)

    def issue(self, operation: object, out: Out) -> None:
        if self.phase != INSIDE or self.pending is not None:
            why = "is not inside" if self.phase != INSIDE else "waits for the outcome of another"
            raise ContractError(f"process {self.me} issues an operation, but {why}")
        self.issued += 1
        self.pending = (self.issued, operation)
        self.sent = (NEVER, 0)
        if self.begun and self.replica.whole:
            self._send_pending(out)

    def _send_pending(self, out: Out) -> None:
        """All that was issued before is safe: its issuers have left."""
        assert self.pending is not None
        self.replica.confirm(self.replica.top())
        self._execute(out)
        number, operation = self.pending
        position = self.replica.applied + 1
        entry: Entry = (self.view, self.me, number, operation)
        self.sent = (self.view, position)
        self.kept = set()
        self.replica.store(position, entry)
        self._to_others(Operation(position, entry), out)
        self._on_kept(self.me, position, out)

    def _on_operation(self, src: int, msg: Operation, out: Out) -> None:
        self.replica.store(msg.position, msg.entry)
        self._execute(out)
        self._to(src, Kept(msg.position), out)

    def _on_kept(self, src: int, position: int, out: Out) -> None:
        if self.pending is None or self.sent != (self.view, position):
            return
        self.kept.add(src)
        if len(self.kept) == len(self.members):
            self._to_others(Done(position), out)
            self.replica.confirm(position)
            self._execute(out)

    def _execute(self, out: Out) -> None:
        replica = self.replica
        while replica.is_due():
            entry, result = replica.execute()
            self._note(entry, result, out)

    def _note(self, entry: Entry, result: object, out: Out) -> None:
        """An operation was executed here."""
        view, issuer, number, operation = entry
        out.execute(issuer, number, operation, result)
        if issuer == self.me and self.pending is not None and number == self.pending[0] and view == self.sent[0]:
            self.pending = None
            out.answer(number, result)
            if self.lost:
                self.lose(out)

    # -- state transfer --------------------------------------------------------------------------------

    def _on_want(self, src: int, msg: Want, out: Out) -> None:
        replica = self.replica
        if self.prepared != self.view or not replica.whole:
            self.wanting.append((src, msg))
            return
        if msg.piece != FIRST:
            self._send_piece(src, msg.piece, out)
            return
        entries = replica.log_since(msg.age, msg.position)
        if entries is None:
            self.outgoing[src] = replica.pieces()
            count = len(self.outgoing[src])
            last = replica.last_of_all()
            self._to(src, Snapshot(replica.age, replica.applied, last, replica.tail(), count), out)
            return
        some = entries[:ENTRIES_AT_A_TIME]
        if len(some) < len(entries):
            self._to(src, Lacking(replica.age, msg.position, some, len(some), False), out)
        else:
            self._to(src, Lacking(replica.age, msg.position, some + replica.tail(), len(some), True), out)

    def _send_piece(self, dst: int, number: int, out: Out) -> None:
        pieces = self.outgoing.get(dst, [])
        if 0 <= number < len(pieces):
            self._to(dst, Piece(number, pieces[number]), out)
            if number + 1 == len(pieces):
                del self.outgoing[dst]

    def _on_lacking(self, src: int, msg: Lacking, out: Out) -> None:
        replica = self.replica
        if replica.whole or msg.position != replica.applied:
            return
        replica.age = msg.age
        replica.whole = True  # for what is executed here
        for at, entry in enumerate(msg.entries):
            replica.queue[msg.position + 1 + at] = entry
        replica.confirm(msg.position + msg.executed)
        self._execute(out)
        replica.whole = False
        if msg.all:
            self._be_whole(out)
        else:
            self._to(src, Want(replica.age, replica.applied, FIRST), out)

    def _on_snapshot(self, src: int, msg: Snapshot, out: Out) -> None:
        if not self.replica.whole:
            self.incoming = msg
            self.pieces = []
            self._to(src, Want(msg.age, msg.position, 0), out)

    def _on_piece(self, src: int, msg: Piece, out: Out) -> None:
        incoming = self.incoming
        if incoming is None or msg.number != len(self.pieces):
            return
        self.pieces.append(msg.data)
        if len(self.pieces) < incoming.pieces:
            self._to(src, Want(incoming.age, incoming.position, len(self.pieces)), out)
            return
        replica = self.replica
        self._learn_outcome(incoming, out)
        replica.restore(incoming.age, incoming.position, incoming.last, b"".join(self.pieces))
        for at, entry in enumerate(incoming.tail):
            replica.queue[incoming.position + 1 + at] = entry
        out.restore(incoming.position)
        self.incoming = None
        self.pieces = []
        self._be_whole(out)

    def _learn_outcome(self, incoming: Snapshot, out: Out) -> None:
        """If the operation that I wait for is among those that I skip, execute it myself: I have all before it."""
        replica = self.replica
        if self.pending is None or (self.me, *self.sent) not in incoming.last:
            return
        assert replica.machine is not None
        number, operation = self.pending
        replica.applied += 1
        self._note((self.sent[0], self.me, number, operation), replica.machine.apply(operation), out)

    def _be_whole(self, out: Out) -> None:
        self.replica.catch_up()
        if self.begun:
            self._go_on(out)
        self._to(self.process(0), Prepared(True), out)

    # -- messages --------------------------------------------------------------------------------------

    def _to(self, dst: int, body: Message, out: Out) -> None:
        if dst == self.me:
            self._on_own(self.me, body, out)
        else:
            out.send(dst, InView(self.view, body))

    def _to_others(self, body: Message, out: Out) -> None:
        for member in self.members:
            if member != self.me:
                out.send(member, InView(self.view, body))

    def _on_body(self, src: int, body: Message, out: Out) -> None:
        if not isinstance(body, OF_REPLICAS):
            super()._on_body(src, body, out)
        elif self.inner is not None:
            self._on_own(src, body, out)

    def _on_own(self, src: int, body: Message, out: Out) -> None:
        if isinstance(body, Operation):
            self._on_operation(src, body, out)
        elif isinstance(body, Kept):
            self._on_kept(src, body.position, out)
        elif isinstance(body, Done):
            self.replica.confirm(body.position)
            self._execute(out)
        elif isinstance(body, Tell):
            self._to(src, self._have(), out)
        elif isinstance(body, Have):
            self._on_have(src, body, out)
        elif isinstance(body, Chosen):
            self._on_chosen(body, out)
        elif isinstance(body, Prepared):
            self._on_prepared(src, body, out)
        elif isinstance(body, Go):
            self._on_go(out)
        elif isinstance(body, Want):
            self._on_want(src, body, out)
        elif isinstance(body, Lacking):
            self._on_lacking(src, body, out)
        elif isinstance(body, Snapshot):
            self._on_snapshot(src, body, out)
        elif isinstance(body, Piece):
            self._on_piece(src, body, out)
        else:
            raise self.unexpected(src, body)
