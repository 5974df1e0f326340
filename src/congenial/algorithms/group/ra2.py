"""RA2: Ricart and Agrawala's algorithm with leaders, which invite all that wait for their group.

Requests are made, and agreed to, as in RA1. A process to which everyone has agreed enters as a leader. While it is
inside it invites all that ask for its group. An invited process enters immediately, as a follower, even if older
requests for other groups wait. Those must then wait for the followers, too, even for followers that agreed before they
were invited. So every process keeps two vectors:

- VSN counts the requests of each process that it knows of. It travels with REQUEST and makes the priority: a request
  made in knowledge of another one is younger.
- VF counts the entries of each process that it knows of. A leader counts an entry for each process that it invites. VF
  travels with REPLY and shows which replies are out of date: if any process knows of more entries of q than q itself
  has told, then q was invited after its reply. To enter, one waits until q tells that it has left, unless q wants the
  same group.

A follower that leaves tells all others: with the reply it owes, or else with RELEASE.

From Joung, who describes RA2 in outline on his page about the problem ("The Congenial Talking Philosophers in Complete
Networks"): the two vectors, what they count and what each is for, and that processes inside capture others. The stored
copies of that page break off before its list of RA2's steps, so these were not read. From Mittal & Mohan 2007, sections
1.1, 4 and 4.3: leaders and followers, the cost, and that vectors are compressed, by Singhal and Kshemkalyani's scheme,
which needs FIFO channels. The text of Joung 2002 was not available. So this much is guessed: which messages carry which
vector (the sizes that Mittal & Mohan measured fit one vector, with REQUEST: see docs/reproductions/token-gme.md); that
requests which do not know of each other are ordered by how many requests they know of, then by process (by process
alone, three of them can defer each other in a circle); that a request known to be served is not answered; that INVITE
serves as the leader's reply and REPLY as a follower's release. The cost comes out as published: a leader sends at most
2(n-1) messages and n-1 invitations, a follower 2(n-1) and n-1 releases. Added: sessions are numbered, for the fence. A
leader has had a reply from every leader of the session before, so all leaders of a session compute the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.vectors import Clock, Vector, build_compression
from congenial.problems.group import GROUP

SPEC = Spec(
    name="ra2",
    title="RA2",
    problem=GROUP,
    reference="Joung 2002; Mittal & Mohan 2007, sections 1.1 and 4.3",
    fifo=True,
    fences=True,
    messages=Law("n-1", "3*(n-1)"),
    size="n+4",
    waiting=Law("2"),
    sync_delay=Law("1"),
    concurrency="n",
    options=(
        Option(
            "vectors",
            "compressed",
            "how vectors are sent: in full, or compressed to what has changed",
            build_compression,
            choices=("full", "compressed"),
        ),
    ),
)

NO_GROUP: Final = -1


@dataclass(frozen=True)
class Request(Message):
    number: int
    rank: int  # how many requests its process knew of, with this one: the sum of its VSN
    group: int
    vsn: tuple[int, ...]


@dataclass(frozen=True)
class Reply(Message):
    number: int  # of the request that is agreed to
    session: int  # the latest session known to the sender
    group: int  # and its group
    entries: int  # of the sender, all over
    vf: tuple[int, ...]


@dataclass(frozen=True)
class Invite(Message):
    number: int  # of the request that is fulfilled
    session: int


@dataclass(frozen=True)
class Release(Message):
    """A follower has left."""

    entries: int  # of the sender, all over


@mypyc_attr(allow_interpreted_subclasses=True)
class RA2(Node):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Reply, Invite, Release)

    def __init__(self, me: int, n: int, vectors: bool = True) -> None:
        super().__init__(me, n)
        self.number = 0  # of my latest request
        self.rank = 0  # its priority
        self.group = 0  # and its group
        self.missing = 0  # replies I still wait for
        self.awaited: set[int] = set()  # when there are none: processes whose replies are out of date
        self.leading = False  # am I inside as a leader?
        self.session = 0  # the latest session I know of
        self.current = NO_GROUP  # and its group
        self.requested = [0] * n  # the latest request received from each process
        self.wanted = [0] * n  # and its group
        self.deferred = [False] * n  # do I owe it a reply?
        self.told = [0] * n  # the entries that each process has told me of itself
        self.vsn = Clock(n, vectors)  # the requests of each process that I know of
        self.vf = Vector(n, vectors)  # the entries of each process that I know of

    # -- the application -------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.number = self.vsn.count(self.me)
        self.rank = sum(self.vsn.values)
        self.group = groups[0]
        self.missing = self.n - 1
        # all get every request, so that the same entries are new to all
        out.broadcast(Request(self.number, self.rank, self.group, self.vsn.pack(self.me)))
        self._lead_if_agreed(out)

    def release(self, out: Out) -> None:
        self.leave()
        plain = Release(self.number)
        for process in range(self.n):
            owed = self.deferred[process] and self._is_pending(process)
            self.deferred[process] = False
            if owed:
                self._agree(process, out)
            elif not self.leading and process != self.me:
                out.send(process, plain)
        self.leading = False

    # -- messages --------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self.vsn.hear(src, msg.number, msg.vsn)
            self._on_request(src, msg.number, msg.rank, msg.group, out)
        elif isinstance(msg, Release):
            self._learn_entries(src, msg.entries, out)
        elif isinstance(msg, Reply):
            self._on_reply(src, msg, out)
        elif isinstance(msg, Invite):
            if self.phase == WAITING and msg.number == self.number:  # otherwise I have been inside already
                self._learn_session(msg.session, self.group)
                self._enter(out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, number: int, rank: int, group: int, out: Out) -> None:
        self.requested[src] = number
        self.wanted[src] = group
        self._learn_entries(src, number - 1, out)
        self.deferred[src] = group != self.group and self._goes_first(rank, src)
        if self.leading and group == self.group:
            self._invite(src, out)
        elif not self.deferred[src] and self._is_pending(src):  # otherwise somebody has invited it
            self._agree(src, out)

    def _on_reply(self, src: int, msg: Reply, out: Out) -> None:
        self.vf.merge(msg.vf)
        self._learn_session(msg.session, msg.group)
        self._learn_entries(src, msg.entries, out)
        if self.phase == WAITING and msg.number == self.number:
            self.missing -= 1
            self._lead_if_agreed(out)

    # -- leaders and followers -------------------------------------------------------------------------

    def _lead_if_agreed(self, out: Out) -> None:
        if self.missing:
            return
        for process in range(self.n):
            if process != self.me and self._is_out_of_date(process):
                self.awaited.add(process)
        if not self.awaited:
            self._lead(out)

    def _lead(self, out: Out) -> None:
        self.leading = True
        if self.current != self.group:
            self._learn_session(self.session + 1, self.group)
        self._enter(out)
        for process in range(self.n):
            if self.wanted[process] == self.group and process != self.me and self._is_pending(process):
                self._invite(process, out)

    def _enter(self, out: Out) -> None:
        self.awaited = set()
        self.vf.raise_to(self.me, self.number)
        self.enter(out, self.session, self.group)

    def _invite(self, process: int, out: Out) -> None:
        self.vf.raise_to(process, self.requested[process])
        out.send(process, Invite(self.requested[process], self.session))

    def _agree(self, process: int, out: Out) -> None:
        entries = self.number - 1 if self.phase == WAITING else self.number  # others may know of my entry before I do
        packed = self.vf.pack(process)
        out.send(process, Reply(self.requested[process], self.session, self.current, entries, packed))

    # -- what is known ---------------------------------------------------------------------------------

    def _goes_first(self, rank: int, src: int) -> bool:
        """Am I inside, or is my request older than that of another process?"""
        older = self.rank < rank or (self.rank == rank and self.me < src)
        return self.phase == INSIDE or (self.phase == WAITING and older)

    def _is_pending(self, process: int) -> bool:
        return self.requested[process] > self.vf.values[process]

    def _is_out_of_date(self, process: int) -> bool:
        """True if, as far as is known, the process was invited to another group after it last told of its entries."""
        entries = self.vf.values[process]
        same = self.wanted[process] == self.group and self.requested[process] >= entries
        return entries > self.told[process] and not same

    def _learn_entries(self, process: int, entries: int, out: Out) -> None:
        """A process tells of its own entries."""
        if entries > self.told[process]:
            self.told[process] = entries
            self.vf.raise_to(process, entries)
        if process in self.awaited and not self._is_out_of_date(process):
            self.awaited.remove(process)
            if not self.awaited:
                self._lead(out)

    def _learn_session(self, session: int, group: int) -> None:
        if session > self.session:
            self.session = session
            self.current = group
