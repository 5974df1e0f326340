"""DRS_GME: one token, a captain that admits its group, and requests only to processes that may have the token.

A process that receives the token begins a session as its captain. It sends a START to every process that waits for its
group. These enter as followers and report when they have left (COMPLETE). While the captain is inside it admits all
that ask for its group ("smooth admission"). Once it has left it does so only as long as no process waits for another
group. When all have left, the token goes to the first entry in its queue; all that wait for one group share an entry.
If nobody waits the token stays, idle.

Requests go to the request set: the processes that may have the token. It begins as all processes, and is emptied when
the token arrives. A process that passes the token on puts the captains to come into its request set. Others enter it
when their requests arrive, and a process that is waiting then sends its own request in return. So of any two processes
one asks the other, and a request finds the token.

Swaroop & Singh 2007, sections III to V, and the pseudocode of its appendix, with these changes (see the errata):

- Session numbers grow when a session begins. As printed they grow only when an idle holder enters; a process that has
  passed on a token with that number refuses it.
- Followers are remembered with their requests. A follower's next request may overtake its COMPLETE. As printed it is
  then counted twice, and removed once.
- A process that gives the idle token away is not requesting then, and a captain whose own request comes first keeps the
  token.
- The token knows the latest request of each process that was served or queued. Requests have copies, and a late copy
  would otherwise bring the token, or a START, to a process that has not asked.
- A request that arrives before the token does is remembered until then. It may have reached no other process in time.
- A late copy that reaches the holder is answered with the request that brought it the token, unless the sender has been
  sent that one. Otherwise the two can lose sight of each other, as in Singhal's algorithm: the sender of the late copy
  may have emptied its request set, and the holder is not in it. Every request still goes to each process at most once.

For faults see `drs_gme_faults`; the numbers in START and COMPLETE are for those. The fence is the session's number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.parts.peers import Peers
from congenial.problems.group import GROUP

SPEC = Spec(
    name="drs-gme",
    title="DRS_GME",
    problem=GROUP,
    reference="Swaroop & Singh 2007",
    fences=True,
    messages=Law("0", "n+1"),
    size="3n+1 + min(n,m)",
    waiting=Law("0", "2"),
    sync_delay=Law("1", "2"),
    concurrency="n",
)

NONE: Final = -1  # no session


Queue: TypeAlias = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
"""Groups; for each the processes that wait for it, with the numbers of their requests."""


@dataclass(frozen=True)
class Request(Message):
    number: int
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Token(Message):
    session: int  # the one that its receiver begins
    known: tuple[int, ...]  # the latest request of each process that was served or queued
    queue: Queue = field(metadata={"type": Queue})


@dataclass(frozen=True)
class Start(Message):
    """Enter, as my follower."""

    number: int  # of the request that is granted
    session: int
    group: int


@dataclass(frozen=True)
class Complete(Message):
    number: int  # of the request with which I was inside


@mypyc_attr(allow_interpreted_subclasses=True)
class DrsGme(Node):
    """Process 0 holds the token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Token, Start, Complete)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.number = 0  # of my latest request                                              SN_i[i]
        self.groups: Groups = ()  # that I asked for
        self.peers = Peers(n, me != 0)  # the processes that may have the token              RS_i
        self.told = Peers(n, me == 0)  # those that know of the request that brought me the token
        self.brought = 0  # the number of that request
        self.heard: dict[int, tuple[int, Groups]] = {}  # the latest requests of others, while I am not the holder
        self.captain = NONE  # of the session in which I am a follower                       captain_i
        self.session = 0  # the latest that I have begun
        self.holding = me == 0  # the token; the attributes below are in use only then
        self.group = NONE  # of the session; none: the token is idle                         token.type
        self.followers: dict[int, int] = {}  # processes admitted, with their requests       follower_i
        self.queue: list[tuple[int, list[tuple[int, int]]]] = []  # in the order of arrival  token.queue
        self.known = [0] * n if me == 0 else []

    # -- asking, entering and leaving ----------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.number += 1
        self.groups = self._wanted(groups)
        if self.holding:
            self._take_up(self.me, self.number, self.groups, out)
        else:
            self._ask(out)

    def _wanted(self, groups: Groups) -> Groups:
        return groups[:1]

    def _ask(self, out: Out) -> None:
        self.peers.send(Request(self.number, self.groups), out)

    def could_enter(self) -> bool:
        return self.holding and self.group == NONE

    def release(self, out: Out) -> None:
        self.leave()
        if not self.holding:
            out.send(self.captain, Complete(self.number))
            self.captain = NONE
        else:
            self._end_if_all_left(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            if self.holding:
                self._take_up(src, msg.number, msg.groups, out)
            else:
                self._note(src, msg.number, msg.groups, out)
        elif isinstance(msg, Token):
            self._on_token(src, msg, out)
        elif isinstance(msg, Start):
            self._on_start(src, msg, out)
        elif isinstance(msg, Complete):
            self._on_complete(src, msg, out)
        else:
            raise self.unexpected(src, msg)

    def _note(self, src: int, number: int, groups: Groups, out: Out) -> None:
        """A request has arrived, and the token is elsewhere."""
        if src not in self.heard or self.heard[src][0] < number:
            self.heard[src] = (number, groups)
        if not self.peers.has(src):
            self.peers.add(src)
            if self.phase == WAITING:
                out.send(src, Request(self.number, self.groups))

    def _on_start(self, src: int, msg: Start, out: Out) -> None:
        if self.holding or self.phase != WAITING or msg.number != self.number or msg.group not in self.groups:
            raise self.unexpected(src, msg)
        self._follow(src, msg, out)

    def _follow(self, captain: int, msg: Start, out: Out) -> None:
        self.captain = captain
        self.enter(out, msg.session, msg.group)

    # -- the holder of the token ---------------------------------------------------------------------------

    def _on_token(self, src: int, token: Token, out: Out) -> None:
        mine = (self.me, self.number)
        if self.holding or self.phase != WAITING or not token.queue or token.queue[0][1][0] != mine:
            raise self.unexpected(src, token)
        self._hold(token, out)

    def _hold(self, token: Token, out: Out) -> None:
        self.holding = True
        self.session = token.session
        self.known = list(token.known)
        self.queue = [(group, list(members)) for group, members in token.queue]
        self.told = self.peers
        self.brought = self.number
        self.peers = Peers(self.n, False)
        self._begin(out)
        for process in sorted(self.heard):
            number, groups = self.heard[process]
            self._take_up(process, number, groups, out)
        self.heard = {}

    def _begin(self, out: Out) -> None:
        """Begin a session with the first entry of the queue."""
        self.group, members = self.queue[0]
        self._drop({process for process, _ in members})
        for process, number in members:
            self._let_in(process, number, out)

    def _let_in(self, process: int, number: int, out: Out) -> None:
        if process == self.me:
            self.enter(out, self.session, self.group)
        else:
            self.followers[process] = number
            out.send(process, Start(number, self.session, self.group))

    def _take_up(self, process: int, number: int, groups: Groups, out: Out) -> None:
        """A request has arrived at the holder of the token."""
        if number <= self.known[process]:
            self._on_known(process, number, out)
            return
        self.known[process] = number
        if self._admits(groups):
            self._let_in(process, number, out)
        else:
            self._put(process, number, groups)
            if self.group == NONE:
                self._next_session(out)

    def _admits(self, groups: Groups) -> bool:
        return self.group in groups and (self.phase == INSIDE or not self.queue)

    def _on_known(self, process: int, number: int, out: Out) -> None:
        if not self.told.has(process) and not self._is_queued(process):
            self.told.add(process)
            out.send(process, Request(self.brought, self.groups))

    def _on_complete(self, src: int, msg: Complete, out: Out) -> None:
        if self.holding and msg.number > self.known[src]:
            raise self.unexpected(src, msg)
        if self.followers.get(src, 0) == msg.number:  # otherwise its next request has overtaken it, and was granted
            del self.followers[src]
            self._end_if_all_left(out)

    def _end_if_all_left(self, out: Out) -> None:
        if self.phase != INSIDE and not self.followers:
            self._next_session(out)

    def _next_session(self, out: Out) -> None:
        self.group = NONE
        if not self.queue:
            return
        captain = self.queue[0][1][0][0]
        if captain == self.me:
            self.session += 1
            self._begin(out)
        else:
            self._pass_token(captain, out)

    def _pass_token(self, captain: int, out: Out) -> None:
        for process in self._future_captains():
            if process != self.me:
                self.peers.add(process)
        queue = tuple([(group, tuple(members)) for group, members in self.queue])
        token = Token(self.session + 1, tuple(self.known), queue)
        self.holding = False
        self.queue = []
        self.known = []
        self._send_token(captain, token, out)

    def _send_token(self, captain: int, token: Token, out: Out) -> None:
        out.send(captain, token)

    # -- its queue -----------------------------------------------------------------------------------------

    def _put(self, process: int, number: int, groups: Groups) -> None:
        for wanted in groups:
            for group, members in self.queue:
                if group == wanted:
                    members.append((process, number))
                    break
            else:
                self.queue.append((wanted, [(process, number)]))

    def _drop(self, processes: set[int]) -> None:
        kept = [(group, [one for one in members if one[0] not in processes]) for group, members in self.queue]
        self.queue = [entry for entry in kept if entry[1]]

    def _is_queued(self, process: int) -> bool:
        return len([1 for _, members in self.queue for one in members if one[0] == process]) > 0

    def _future_captains(self) -> list[int]:
        return [members[0][0] for _, members in self.queue]
