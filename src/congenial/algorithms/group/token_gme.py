"""TokenGME: Suzuki and Kasami's token, with secondary tokens that admit a whole group.

There is one primary token, and as many secondary ones as needed. Each belongs to one group and one session, and its
holder may enter for that group. Requests are numbered and sent to all. The holder of the primary token sends secondary
tokens to all that ask for its group, and queues all other requests. When it is not using the token and the queue is not
empty it begins a new session: it selects a group, sends the primary token to a process that waits for that group, and
secondary ones to the others that do. A holder of a secondary token keeps it, and enters without a message, until it
knows of a request for another group. Then, as soon as it is not using the token, it gives it back by a RELEASE to all.
The tokens of a session become safe to use when those of the session before have been given back: each says how many to
wait for.

Mittal & Mohan 2007, section 3; rebuilt from sections 3.2 and 3.3, since the figures with the formal text are lost. Our
decisions: the first token is of no group and of session 0; an idle primary holder that wants another group begins the
session itself; of those selected, the process that has waited longest gets the primary token. The queue tells its next
holder of requests that have not reached it yet. A token that is known to be safe says that there is nothing to wait
for, which replaces the paper's `safe`. The fence is the session's number.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Option, Spec
from congenial.parts.selection import build_selection, select_group
from congenial.problems.group import GROUP

SPEC = Spec(
    name="token-gme",
    title="TokenGME",
    problem=GROUP,
    reference="Mittal & Mohan 2007, section 3",
    fences=True,
    messages=Law("0", "2*n-1"),
    size="4n",
    waiting=Law("0", "2"),
    sync_delay=Law("1"),
    concurrency="n",
    options=(
        Option(
            "selection",
            "priority",
            "which group is next: priority or fifo",
            build_selection,
            choices=("priority", "fifo"),
        ),
    ),
)

NONE: Final = 0
SECONDARY: Final = 1
PRIMARY: Final = 2

NO_GROUP: Final = -1


@dataclass(frozen=True)
class Request(Message):
    number: int
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Release(Message):
    """A secondary token is given back."""

    session: int


@dataclass(frozen=True)
class Secondary(Message):
    """A token that allows to enter."""

    session: int
    group: int
    awaited: int  # releases of the previous session after which the token is safe    oldNoOfTokens
    fulfilled: tuple[int, ...]


@dataclass(frozen=True)
class Primary(Message):
    """The token that allows to enter, to issue secondary ones and to begin the next session."""

    session: int
    group: int
    awaited: int
    issued: int  # secondary tokens of this session                                   noOfTokensIssued
    fulfilled: tuple[int, ...]
    queue: tuple[int, ...]
    wanted: tuple[Groups, ...] = field(metadata={"type": tuple[Groups, ...]})  # the groups of those in the queue
    ages: tuple[int, ...]  # sessions begun since each was queued


@mypyc_attr(allow_interpreted_subclasses=True)
class TokenGME(Node):
    """Process 0 holds the primary token first."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Request, Release, Secondary, Primary)

    def __init__(self, me: int, n: int, selection: str = "priority") -> None:
        super().__init__(me, n)
        self.selection = selection
        self.requested = [0] * n  # number of the latest request known of each        request[j].number
        self.wanted: list[Groups] = [()] * n  # and what it asks for                  request[j].type
        self.latest = 0  # the latest session of which I have received releases       session
        self.releases = 0  # and how many                                             noOfReleaseMessages
        # my token
        self.holding = PRIMARY if me == 0 else NONE
        self.session = 0
        self.group = NO_GROUP
        self.awaited = 0  # releases to wait for; 0 when the token is safe
        self.fulfilled = [0] * n if me == 0 else []  # requests answered with a token
        # a primary token
        self.issued = 0
        self.queue: list[int] = []
        self.ages: list[int] = []

    # -- the application -------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.group in groups[:1]:  # a token that I hold without using it is safe
            self.enter(out, self.session, self.group)
        else:
            self._ask(groups[:1], out)

    def release(self, out: Out) -> None:
        self.leave()
        if self.holding == PRIMARY:
            if self.queue:
                self._begin_session(out)
        elif self._knows_conflict():
            self._give_back(out)

    def _ask(self, groups: Groups, out: Out) -> None:
        self.requested[self.me] += 1
        self.wanted[self.me] = groups
        out.broadcast(Request(self.requested[self.me], groups))
        if self.holding == PRIMARY:
            self._enqueue(self.me)
            self._begin_session(out)
        elif self.holding == SECONDARY:
            self._give_back(out)

    # -- messages --------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Request):
            self._on_request(src, msg, out)
        elif isinstance(msg, Release):
            self._on_release(msg.session, out)
        elif isinstance(msg, Secondary) and self.phase == WAITING and self.holding == NONE:
            self._on_secondary(msg, out)
        elif isinstance(msg, Primary) and self.phase == WAITING and self.holding == NONE:
            self._on_primary(msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_request(self, src: int, msg: Request, out: Out) -> None:
        if msg.number <= self.requested[src]:  # an old request, or one known from the token's queue
            return
        self.requested[src] = msg.number
        self.wanted[src] = msg.groups
        if self.holding == NONE or not self._is_pending(src):
            return
        if self.holding == PRIMARY:
            self._admit_or_enqueue(src, out)
            if self.queue and self._is_idle():
                self._begin_session(out)
        elif self.group not in msg.groups and self._is_idle():
            self._give_back(out)

    def _on_release(self, session: int, out: Out) -> None:
        if session > self.latest:
            self.latest = session
            self.releases = 1
        elif session == self.latest:
            self.releases += 1
        if self.awaited:
            self._enter_if_safe(out)

    def _on_secondary(self, token: Secondary, out: Out) -> None:
        self.holding = SECONDARY
        self.session = token.session
        self.group = token.group
        self.awaited = token.awaited
        self.fulfilled = list(token.fulfilled)
        self._enter_if_safe(out)

    def _on_primary(self, token: Primary, out: Out) -> None:
        self.holding = PRIMARY
        self.session = token.session
        self.group = token.group
        self.awaited = token.awaited
        self.issued = token.issued
        self.fulfilled = list(token.fulfilled)
        self.queue = list(token.queue)
        self.ages = list(token.ages)
        for process, groups in zip(token.queue, token.wanted, strict=True):
            self.requested[process] = self._pending_number(process)
            self.wanted[process] = groups
        queued = set(token.queue)
        for process in range(self.n):
            if process not in queued and self._is_pending(process):
                self._admit_or_enqueue(process, out)
        self._enter_if_safe(out)

    # -- a token ---------------------------------------------------------------------------------------

    def _is_pending(self, process: int) -> bool:
        """True if a process waits for a token, as far as I and my token know."""
        return self.requested[process] > self.fulfilled[process]

    def _pending_number(self, process: int) -> int:
        """The number of a request that is known to be pending."""
        return self.fulfilled[process] + 1

    def _is_idle(self) -> bool:
        """True if my token is unused. It is in use from its arrival, even while it is not safe yet (section 3.2)."""
        return self.phase == IDLE

    def _knows_conflict(self) -> bool:
        for process in range(self.n):  # noqa: SIM110 (compiles better than a generator)
            if self._is_pending(process) and self.group not in self.wanted[process]:
                return True
        return False

    def _enter_if_safe(self, out: Out) -> None:
        """Condition (2) of section 3.2: all tokens of the previous session are back, as far as is known."""
        all_back = self.latest == self.session - 1 and self.releases == self.awaited
        if self.awaited == 0 or all_back or self.latest >= self.session:
            self.awaited = 0
            self.enter(out, self.session, self.group)

    def _give_back(self, out: Out) -> None:
        """Release a secondary token; I count my own release, as all others do."""
        session = self.session
        self._forget_token()
        out.broadcast(Release(session))
        self._on_release(session, out)

    def _forget_token(self) -> None:
        self.holding = NONE
        self.session = 0
        self.group = NO_GROUP
        self.awaited = 0
        self.issued = 0
        self.fulfilled = []
        self.queue = []
        self.ages = []

    # -- the primary token -----------------------------------------------------------------------------

    def _admit_or_enqueue(self, process: int, out: Out) -> None:
        if self._admits(process):
            self._fulfil(process)
            self._issue(process, out)
        else:
            self._enqueue(process)

    def _admits(self, process: int) -> bool:
        """True if a process may join the present session."""
        return self.group in self.wanted[process]

    def _enqueue(self, process: int) -> None:
        self.queue.append(process)
        self.ages.append(0)

    def _fulfil(self, process: int) -> None:
        self.fulfilled[process] = self.requested[process]

    def _issue(self, process: int, out: Out) -> None:
        self.issued += 1
        out.send(process, Secondary(self.session, self.group, self.awaited, tuple(self.fulfilled)))

    def _begin_session(self, out: Out) -> None:
        group = select_group(self.selection, [self.wanted[process] for process in self.queue], self.ages)
        admitted = [process for process in self.queue if group in self.wanted[process]]
        stay = [at for at, process in enumerate(self.queue) if group not in self.wanted[process]]
        self.ages = [self.ages[at] + 1 for at in stay]
        self.queue = [self.queue[at] for at in stay]
        self.group = group
        self.session += 1
        self.awaited = self.issued
        self.issued = 0
        heir = self.me if self.me in admitted else admitted[0]
        for process in admitted:
            self._fulfil(process)
        for process in admitted:
            if process != heir:
                self._issue(process, out)
        if heir == self.me:
            self._enter_if_safe(out)
        else:
            out.send(heir, self._primary())
            self._forget_token()

    def _primary(self) -> Primary:
        return Primary(
            self.session,
            self.group,
            self.awaited,
            self.issued,
            tuple(self.fulfilled),
            tuple(self.queue),
            tuple([self.wanted[process] for process in self.queue]),
            tuple(self.ages),
        )


@mypyc_attr(allow_interpreted_subclasses=True)
class TokenGMEFifo(TokenGME):
    """TokenGME with the scheme it is compared to in section 4.2: the oldest request's group is next."""

    spec: ClassVar[Spec] = replace(
        SPEC,
        name="token-gme-fifo",
        title="TokenGME, FIFO",
        reference="Mittal & Mohan 2007, section 4.2",
        options=(
            Option(
                "selection",
                "fifo",
                "which group is next: priority or fifo",
                build_selection,
                choices=("priority", "fifo"),
            ),
        ),
    )
