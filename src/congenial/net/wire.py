"""What travels between members, in bytes.

A connection carries frames (`congenial.net.frames`). They are the structures below, in msgpack. A lock's own messages
travel inside `Data`, `LockData` and `SeatData`; `congenial.net.codec` encodes them.
Anything that does not decode to exactly the declared types is refused with a `ProtocolError`.

Releases that differ may be mixed while a cluster is upgraded. `frames.VERSION` is that of the frames' format. `SPEAKS`
says which versions of what is said in them a member understands: two members talk if they have one in common, and then
speak the latest such one (`Link.speaks`). So a release may

- add fields with defaults at the end of a frame: earlier releases do not read them. A frame with a proof is the
  exception, because its receiver must be able to write it as it was sent: what is new in it belongs in `also`;
- add frames that may be ignored: a member ignores frames that it does not know, from peers with a later protocol;
- raise the last number of `SPEAKS`, and send to a peer only what both understand. The first number is raised when
  protocols that old are no longer supported, at the earliest one release later.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

SPEAKS = (1, 1)  # the earliest and the latest version of the protocol that this release understands


class Frame(msgspec.Struct, array_like=True, gc=False):
    """Base of all frames."""


class Challenge(Frame, tag=13):
    """Each side's first frame: a random number, which makes every proof on this connection a new one. The side that was
    called adds a proof, so that a caller tells nothing to a process that listens in a member's place."""

    nonce: bytes
    proof: bytes = b""  # `congenial.net.handshake`


class Hello(Frame, tag=1):
    """Each side's second frame: sender and receiver, and how far they have got."""

    cluster: str
    sender: str
    receiver: str
    members: tuple[str, ...]  # that founded the cluster
    schema: str  # of the messages that the locks exchange
    incarnation: int  # tells this life of the sender from earlier ones
    expected: int  # the receiver's incarnation as the sender knows it, or 0
    received: int  # messages of the receiver that do not have to be sent again
    founded: tuple[int, ...]  # the incarnations with which the cluster was founded, if the sender knows
    proof: bytes = b""
    dropped: int = 0  # messages to the receiver that cannot be sent again: the first so many
    address: str = ""  # where the sender can be called
    speaks: tuple[int, int] = (1, 1)
    release: str = ""  # of the sender, for people
    also: dict[str, str] = {}  # what later releases say beyond that


class Seek(Frame, tag=26):
    """Instead of a `Hello`, from a process that wants to enter the cluster and does not know its members yet."""

    cluster: str
    sender: str
    schema: str
    proof: bytes = b""
    speaks: tuple[int, int] = (1, 1)
    release: str = ""
    also: dict[str, str] = {}  # what later releases say beyond that


class Welcome(Frame, tag=27):
    """The answer to `Seek`: how the cluster began, and its present members. The connection ends then."""

    founders: tuple[str, ...]
    founded: tuple[int, ...]
    members: tuple[tuple[str, str], ...]  # names and addresses
    proof: bytes = b""
    also: dict[str, str] = {}


class View(Frame, tag=2):
    """The sender has met everyone. These are the members' incarnations, or those with which the cluster was founded."""

    incarnations: tuple[int, ...]
    founded: bool


Body = TypeVar("Body")


class Data(Frame, Generic[Body], tag=3):
    """The `number`-th message from this sender to this receiver."""

    number: int
    received: int
    lock: str
    body: Body  # bytes where it is sent; one of the wire types of the algorithm's messages where it is received


class Ack(Frame, tag=4):
    """All messages up to `received` have arrived."""

    received: int


class Beat(Frame, tag=14):
    """A sign of life, sent at this time of the sender's clock. It is answered immediately."""

    sent: float


class Echo(Frame, tag=15):
    """The answer to a `Beat`: how long its sender may be silent before it is suspected, in seconds."""

    sent: float  # as in the beat
    allowed: float
    view: int = -1  # in which the sender of the beat gets a lease for as long (`congenial.net.view_lease`)


class Nudge(Frame, tag=5):
    """The sender waits for `lock`, for this group. Members that are inside for another should admit no more tasks."""

    lock: str
    group: bytes


class Query(Frame, tag=6):
    """A question for a page of the receiver's status: of one lock, by its key, or with so many of the busiest ones
    (`congenial.net.survey.Question`)."""

    number: int
    lock: str | None = None
    top: int = 0
    page: int = 0
    find: str = ""
    by: str = ""
    names: tuple[str, ...] = ()
    watch: bool = False


class Report(Frame, tag=7):
    """The answer to a `Query`: one of several pages, as JSON. The first one has all but the locks."""

    number: int
    page: int
    pages: int
    status: bytes


class SeatData(Frame, Generic[Body], tag=9):
    """As `Data`, from one of the sender's k seats of a semaphore to one of the receiver's, or to all of them (-1)."""

    number: int
    received: int
    lock: str
    k: int
    src: int
    dst: int
    body: Body


class LockData(Frame, Generic[Body], tag=30):
    """As `Data`, for a lock that follows views (`congenial.transform.lock_in_views`): what most frames are."""

    number: int
    received: int
    lock: str
    view: int
    fence: int  # of `Inherited`; 0 for `InView`
    body: Body


class Seats(Frame, tag=10):
    """At the sender, this semaphore admits k tasks. Where locks follow views: in this view, of which the sender is the
    home."""

    lock: str
    k: int
    view: int = -1


class Remind(Frame, tag=11):
    """The sender has lost its memory, and asks which locks there are."""


class Known(Frame, tag=12):
    """The locks that the sender knows: a semaphore with how many tasks it admits, any other lock with 0."""

    locks: tuple[tuple[str, int], ...]
    last: bool  # the last of these frames


class Notice(Frame, Generic[Body], tag=16):
    """A message about notes (`congenial.net.board`). It does no harm if it gets lost."""

    body: Body


class Claimed(Frame, tag=22):
    """Another process has claimed the receiver's name, and was refused by the sender."""

    incarnation: int


class Try(Frame, tag=23):
    """To the home of a lock, from a member that has asked for it: must I wait for a task that is inside?"""

    lock: str
    view: int


class Probe(Frame, tag=24):
    """From the home to a member that it has let in: tell the asker how many of your tasks are inside, if any are."""

    lock: str
    view: int
    asker: int
    most: int  # so many may be inside while others wait


class Tried(Frame, tag=25):
    """So many tasks are inside here. When `most` are, of all members, the receiver must wait."""

    lock: str
    view: int
    inside: int
    most: int


class Failed(Frame, tag=31):
    """In this view, a lock has failed at a member, and why. A task that waits for it may wait for that member."""

    lock: str
    view: int
    who: str
    reason: str


class Bye(Frame, tag=8):
    """The last frame before the sender closes the connection, and why."""

    reason: str
    leaving: bool  # the sender leaves the cluster
    known: int = 0  # if another process has the receiver's name: that one's incarnation


class Unknown(Frame, tag=0):
    """In the place of a frame that this release does not know. It is never sent."""

    kind: int
