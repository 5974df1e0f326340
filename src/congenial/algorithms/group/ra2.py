"""RA2: Ricart and Agrawala's algorithm with leaders, which invite all that wait for their group.

Requests are made, and agreed to, as in RA1. A process to which everyone has agreed enters as a leader. While it is
inside it invites all that ask for its group. An invited process enters at once, as a follower, even if older requests
for other groups wait. Those must then wait for the followers too: every reply names the followers that its sender has
invited and does not know to have left, and a follower that leaves tells all others. That RELEASE also counts as the
replies it owes. A request that is over is stale: it is neither answered nor invited. A leader cannot see by itself
which requests for its group other leaders have served. So replies carry a vector that says, for every process, up to
which number its requests are over, as far as the sender knew when it was last inside.

Joung 2002, rebuilt from the description in Mittal & Mohan 2007, sections 1.1 and 4.3; the original was not available.
Ours are the use of RELEASE as a reply and of INVITE as the leader's reply, and that only replies carry the vector. The
count comes out as published: a leader costs at most 2(n-1) messages and n-1 invitations, a follower 2(n-1) and n-1
releases. Added: sessions are numbered, for the fence. A leader has had a reply from every leader of the session before,
so all leaders of a session compute the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.vectors import Vector, build_compression
from congenial.problems.group import GROUP

SPEC = Spec(
    name="ra2",
    title="RA2",
    problem=GROUP,
    reference="Joung 2002; Mittal & Mohan 2007, sections 1.1 and 4.3",
    fences=True,
    messages=Law("n-1", "3*(n-1)"),
    size="3n",
    waiting=Law("2"),
    sync_delay=Law("1"),
    concurrency="n",
    options=(
        Option(
            "vectors",
            "compressed",
            "what replies carry: full or compressed vectors",
            build_compression,
            choices=("full", "compressed"),
        ),
    ),
)

NO_GROUP: Final = -1


@dataclass(frozen=True)
class Request(Message):
    number: int
    group: int


@dataclass(frozen=True)
class Reply(Message):
    number: int  # of the request that is agreed to
    mine: int  # up to this number, the sender's requests are over
    over: tuple[int, ...]  # and those of all, by its vector
    session: int  # the latest session known to the sender
    group: int  # and its group
    followers: tuple[int, ...]  # processes that the sender has invited to it, and
    invited: tuple[int, ...]  # the numbers of their requests


@dataclass(frozen=True)
class Invite(Message):
    number: int  # of the request that is fulfilled
    session: int


@dataclass(frozen=True)
class Release(Message):
    """A follower has left."""

    number: int  # of its request
    agreed: int  # the receiver's request that is agreed to by this; 0: none


@mypyc_attr(allow_interpreted_subclasses=True)
class RA2(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Reply, Invite, Release)

    def __init__(self, me: int, n: int, vectors: bool = True) -> None:
        super().__init__(me, n)
        self.number = 0  # of my latest request
        self.group = 0  # and its group
        self.highest = 0  # number seen in any request
        self.missing = 0  # replies I still wait for
        self.awaited: dict[int, int] = {}  # followers of other groups I wait for, and the numbers of their requests
        self.leading = False  # am I inside as a leader?
        self.session = 0  # the latest session I know of
        self.current = NO_GROUP  # and its group
        self.followers: dict[int, int] = {}  # processes that I have invited to it and that have not left yet
        self.requested = [0] * n  # the latest request known of each process
        self.wanted = [0] * n  # and its group
        self.deferred = [False] * n  # do I owe it a reply?
        self.over = Vector(n, vectors)  # up to which number each process's requests are over

    # -- the application -------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.highest += 1
        self.number = self.highest
        self.group = groups[0]
        self.missing = self.n - 1
        if self.current != self.group:
            self.awaited = dict(self.followers)
        out.broadcast(Request(self.number, self.group))
        self._lead_if_agreed(out)

    def release(self, out: Out) -> None:
        self.leave()
        self.over.raise_to(self.me, self.number)
        self.over.publish()
        plain = Release(self.number, 0)
        for process in range(self.n):
            owed = self.deferred[process] and self._is_pending(process)
            self.deferred[process] = False
            if self.leading and owed:
                self._agree(process, out)
            elif not self.leading and process != self.me:
                out.send(process, Release(self.number, self.requested[process]) if owed else plain)
        self.leading = False

    # -- messages --------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg.number, msg.group, out)
        elif isinstance(msg, Release):
            self._learn_over(src, msg.number)
            self._count(msg.agreed, out)
        elif isinstance(msg, Reply):
            self._on_reply(src, msg, out)
        elif isinstance(msg, Invite):
            if self.phase == WAITING and msg.number == self.number:  # otherwise I have been inside already
                self._learn_session(msg.session, self.group)
                self._enter(out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, group: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        if number <= self.over.values[src]:
            return  # stale: it was that of a follower that has left
        self._learn_over(src, number - 1)
        self.requested[src] = number
        self.wanted[src] = group
        self.deferred[src] = self.phase != IDLE and group != self.group and self._mine_is_older(src, number)
        if self.leading and group == self.group:
            self._invite(src, out)
        elif not self.deferred[src]:
            self._agree(src, out)
        self._lead_if_agreed(out)

    def _on_reply(self, src: int, msg: Reply, out: Out) -> None:
        self._learn_over(src, msg.mine)
        self._learn_session(msg.session, msg.group)
        if self.phase == WAITING and msg.number == self.number:
            self.over.merge(msg.over, self.wanted, self.group)
            if msg.group != self.group:
                for follower, number in zip(msg.followers, msg.invited, strict=True):
                    self._await(follower, number)
        self._count(msg.number, out)

    def _await(self, follower: int, number: int) -> None:
        if number > max(self.over.values[follower], self.awaited.get(follower, 0)):
            self.awaited[follower] = number

    def _count(self, agreed: int, out: Out) -> None:
        """Count one more agreement, if it is to the request I wait with."""
        if self.phase == WAITING:
            if agreed == self.number:
                self.missing -= 1
            self._lead_if_agreed(out)

    # -- leaders and followers -------------------------------------------------------------------------

    def _lead_if_agreed(self, out: Out) -> None:
        if self.phase != WAITING or self.missing or self.awaited:
            return
        self.leading = True
        if self.current != self.group:
            self._learn_session(self.session + 1, self.group)
        self._enter(out)
        for process in range(self.n):
            if self.wanted[process] == self.group and process != self.me and self._is_pending(process):
                self._invite(process, out)

    def _enter(self, out: Out) -> None:
        self.missing = 0
        self.awaited = {}
        self.enter(out, self.session, self.group)

    def _learn_session(self, session: int, group: int) -> None:
        if session > self.session:
            self.session = session
            self.current = group
            self.followers = {}  # a later session has begun, so they have left

    def _invite(self, process: int, out: Out) -> None:
        self.followers[process] = self.requested[process]
        out.send(process, Invite(self.requested[process], self.session))

    def _agree(self, process: int, out: Out) -> None:
        names = sorted(self.followers)
        numbers = [self.followers[name] for name in names]
        out.send(
            process,
            Reply(
                self.requested[process],
                self.over.values[self.me],
                self.over.pack(process),
                self.session,
                self.current,
                tuple(names),
                tuple(numbers),
            ),
        )

    def _mine_is_older(self, src: int, number: int) -> bool:
        return self.number < number or (self.number == number and self.me < src)

    # -- what is over ----------------------------------------------------------------------------------

    def _is_pending(self, process: int) -> bool:
        return self.requested[process] > self.over.values[process]

    def _learn_over(self, process: int, number: int) -> None:
        """The requests of a process up to a number are over."""
        self.over.raise_to(process, number)
        if self.followers.get(process, number + 1) <= number:
            del self.followers[process]
        if self.awaited.get(process, number + 1) <= number:
            del self.awaited[process]
