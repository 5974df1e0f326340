"""TQGmx: one main token that moves, subtokens that admit others of its group, and quorums that know where it is.

The holder of the main token may enter, and hands subtokens to others that ask for its group. It announces itself to its
quorum. A process that wants to enter asks its own quorum. The two quorums have a member in common, which passes the
request on to the holder, or keeps it while it knows of no holder. A subtoken is given back to its issuer when its
process leaves. When a request for another group waits, the holder tells its quorum that it leaves. The members confirm,
so that no request is still on its way to it. When it also has all subtokens back and is not inside itself, it passes
the main token, with all requests that wait, to the process of the first. That process enters, and admits all others
that ask for the same group.

An entry costs at most 5q+1 messages: q to ask, q to pass the request on, one token, and for the main token q each to
announce oneself, to leave and to confirm; a subtoken costs two instead. Nobody else asking, it takes five hops: ask,
pass on, leave, confirm, token. In a busy system the leave is confirmed early; then a session ends with two hops, a
subtoken back and the main token on.

Kakugawa, Kamei & Masuzawa 2008. We had its abstract, which claims O(q) messages in the worst case, a few lines of a
preprint, and the description of a public implementation, but not the text of the algorithm. These sources say that
there are two kinds of tokens, that a process asks a quorum, that the holder tells a quorum that it holds the main
token, and that members pass requests on to a holder that they know. The rest is ours, and the authors' algorithm may
differ: that leaving is confirmed; that the main token carries the requests that wait and the number of the latest
request of each process that got a token (a request may arrive by several members, and late); that requests are served
in the order in which they reach the holder; that a session admits others until the leave is confirmed; the constants in
the laws; and fences, which are the session's number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.loopback import QueuedLoopback
from congenial.parts.quorums.constructions import CONSTRUCTIONS, build_quorums
from congenial.parts.quorums.system import Quorums
from congenial.problems.group import GROUP

Asked: TypeAlias = tuple[int, int, int]
"""A request: its process, its number there, and its group."""

SPEC = Spec(
    name="tqgmx",
    title="TQGmx",
    problem=GROUP,
    reference="Kakugawa, Kamei & Masuzawa 2008",
    fifo=True,
    fences=True,
    messages=Law("0", "5*q+1"),
    size="4n+1",
    waiting=Law("0", "5"),
    sync_delay=Law("1", "2"),
    concurrency="n",
    options=(
        Option(
            "quorums", "auto", "plane, grid, majority, singleton or auto", build_quorums, choices=tuple(CONSTRUCTIONS)
        ),
    ),
)

NOBODY: Final = -1
NO_GROUP: Final = -1


@dataclass(frozen=True)
class Request(Message):
    number: int
    group: int


@dataclass(frozen=True)
class Forward(Message):
    """A member passes a request on to the holder of the main token."""

    process: int
    number: int
    group: int


@dataclass(frozen=True)
class Acquired(Message):
    """I hold the main token: pass requests on to me."""


@dataclass(frozen=True)
class Leave(Message):
    """Stop passing requests on to me."""


@dataclass(frozen=True)
class Left(Message):
    """You have all requests that I passed on."""


@dataclass(frozen=True)
class Main(Message):
    """The token that allows to enter and to issue subtokens."""

    session: int  # the latest
    served: tuple[int, ...]
    queue: tuple[Asked, ...] = field(metadata={"type": tuple[Asked, ...]})


@dataclass(frozen=True)
class Sub(Message):
    """A token that allows to enter once."""

    session: int
    group: int


@dataclass(frozen=True)
class Return(Message):
    """A subtoken is given back."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TQGmx(QueuedLoopback):
    """Process 0 holds the main token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Forward, Acquired, Leave, Left, Main, Sub, Return)

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n)
        self.quorum = quorums.of(me)
        # in the role of a requester
        self.number = 0  # of my latest request
        self.issuer = NOBODY  # the process that my subtoken came from
        # in the role of a quorum member
        self.holder = 0 if me in quorums.of(0) else NOBODY  # of the main token, if I know it
        self.kept: list[Asked] = []  # requests that wait for a holder
        # the main token
        self.holding = me == 0
        self.announced = me == 0  # my quorum passes requests on to me
        self.unconfirmed = 0  # members that have not confirmed my leave
        self.session = 0
        self.group = NO_GROUP
        self.issued = 0  # subtokens that are not back
        self.served = [0] * n if me == 0 else []  # number of the latest request of each that got a token
        self.queue: list[Asked] = []
        self.seen = [0] * n if me == 0 else []  # number of the latest request of each that is served or in the queue

    # -- the requester ---------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.number += 1
        if self.holding:
            self._serve((self.me, self.number, groups[0]), out)
        else:
            self._tell_quorum(Request(self.number, groups[0]), out)
        self._hear_myself(out)

    def release(self, out: Out) -> None:
        self.leave()
        if self.issuer != NOBODY:
            out.send(self.issuer, Return())
            self.issuer = NOBODY
        else:
            self._proceed(out)
        self._hear_myself(out)

    def _on_sub(self, src: int, token: Sub, out: Out) -> None:
        self.issuer = src
        self.enter(out, token.session, token.group)

    # -- a member of quorums ---------------------------------------------------------------------------

    def _on_request(self, src: int, msg: Request, out: Out) -> None:
        if self.holder != NOBODY:
            self._tell(self.holder, Forward(src, msg.number, msg.group), out)
        else:  # an earlier request that I still keep is over
            self.kept = [asked for asked in self.kept if asked[0] != src]
            self.kept.append((src, msg.number, msg.group))

    def _on_acquired(self, src: int, out: Out) -> None:
        self.holder = src
        for process, number, group in self.kept:
            self._tell(src, Forward(process, number, group), out)
        self.kept = []

    def _on_leave(self, src: int, out: Out) -> None:
        self.holder = NOBODY
        self._tell(src, Left(), out)

    # -- the main token --------------------------------------------------------------------------------

    def _serve(self, asked: Asked, out: Out) -> None:
        process, number, group = asked
        if number <= self.seen[process]:  # another member was faster
            return
        self.seen[process] = number
        if group == self.group and (not self.queue or self.unconfirmed):
            self._admit(asked, out)
        else:
            self.queue.append(asked)
            self._proceed(out)

    def _admit(self, asked: Asked, out: Out) -> None:
        process = asked[0]
        self.served[process] = asked[1]
        if process == self.me:
            self.enter(out, self.session, self.group)
        else:
            self.issued += 1
            out.send(process, Sub(self.session, self.group))

    def _proceed(self, out: Out) -> None:
        """Do what the requests that wait allow to be done now."""
        if not self.queue:
            return
        if self.announced and not self._is_mine_next():
            self.announced = False
            self.unconfirmed = len(self.quorum)
            self._tell_quorum(Leave(), out)
        elif not self.unconfirmed and not self.issued and self.phase != INSIDE:
            self._begin_session(out)

    def _is_mine_next(self) -> bool:
        """True if I will be in the next session. Then the main token stays."""
        group = self.queue[0][2]
        return any(asked[0] == self.me and asked[2] == group for asked in self.queue)

    def _begin_session(self, out: Out) -> None:
        if not self._is_mine_next():
            out.send(self.queue[0][0], Main(self.session, tuple(self.served), tuple(self.queue)))
            self._forget_token()
            return
        self.session += 1
        self.group = self.queue[0][2]
        admitted = [asked for asked in self.queue if asked[2] == self.group]
        self.queue = [asked for asked in self.queue if asked[2] != self.group]
        for asked in admitted:
            self._admit(asked, out)
        if not self.announced:
            self.announced = True
            self._tell_quorum(Acquired(), out)
        self._proceed(out)

    def _on_main(self, token: Main, out: Out) -> None:
        self.holding = True
        self.session = token.session
        self.served = list(token.served)
        self.queue = list(token.queue)
        self.seen = list(token.served)
        for process, number, _ in self.queue:
            self.seen[process] = number
        self._begin_session(out)

    def _forget_token(self) -> None:
        self.holding = False
        self.session = 0
        self.group = NO_GROUP
        self.served = []
        self.queue = []
        self.seen = []

    # -- messages --------------------------------------------------------------------------------------

    def _tell_quorum(self, msg: Message, out: Out) -> None:
        for member in self.quorum:
            self._tell(member, msg, out)

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg, out)
        elif isinstance(msg, Acquired) and self.holder == NOBODY:
            self._on_acquired(src, out)
        elif isinstance(msg, Leave) and self.holder == src:
            self._on_leave(src, out)
        elif isinstance(msg, Forward) and self.holding:
            self._serve((msg.process, msg.number, msg.group), out)
        elif isinstance(msg, Left) and self.unconfirmed:
            self.unconfirmed -= 1
            self._proceed(out)
        elif isinstance(msg, Return) and self.issued:
            self.issued -= 1
            self._proceed(out)
        elif isinstance(msg, Sub) and self.phase == WAITING and not self.holding:
            self._on_sub(src, msg, out)
        elif isinstance(msg, Main) and self.phase == WAITING and not self.holding:
            self._on_main(msg, out)
        else:
            raise self.unexpected(src, msg)
