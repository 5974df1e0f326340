"""A replicated object as one process sees it: its replica, and the local tasks that want to issue operations.

    ledger = cluster.guarded("ledger", Ledger())        # at every member
    async with ledger as section:
        balance = await section.issue(("pay", "ann", 5))

`Ledger` is a deterministic state machine with a method `apply(operation)`. A task that is inside issues operations, one
after the other. Every member's replica executes them, all in the same order. `issue` returns the result, and all
members, or a majority, have the operation then. Or it raises `LockLost`: the others believed that this process had
crashed, and the operation is never executed anywhere (Romano & Rodrigues 2009). So a body is not interrupted when it
loses its section, as the body of a lock is: that could hide the outcome of an operation that was executed. The next
`issue` raises instead.

A guarded object is a door (`congenial.net.door`) with another node behind it. In clusters that follow views that is a
`ViewGuard` (`congenial.net.view_guard`), whose members come back after crashes. Elsewhere it is a `Guard`, with
`congenial.net.replica` behind it. There, as in the paper, crashes are permanent. A member that was only away has missed
nothing: links keep the messages for it. The others exclude a member permanently if
- it was restarted, with memory or without: its replica is gone, and so is what it was sent;
- it is away and its link is full: it is `Barred`, and learns that when it is back;
- it has said that it is `Gone`.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from types import TracebackType
from typing import Any, Final, TypeVar, cast

from congenial.kernel.effects import Answer, Effect, Eject, Execute
from congenial.kernel.errors import ConfigError, CongenialError, ContractError
from congenial.kernel.message import Message
from congenial.kernel.shell import Issued
from congenial.kernel.trace import ANSWER, EJECT, ENTER, EXECUTE, EXIT, ISSUE, REQUEST, Event
from congenial.net.codec import Vocabulary
from congenial.net.door import ALONE_WANT, Door
from congenial.net.entrance import Tally, Want
from congenial.net.errors import ClusterDegraded, LockLost, NotHeld
from congenial.net.held import Held, current_task
from congenial.net.membership import Membership
from congenial.net.numbering import Numbering
from congenial.net.operations import as_plain
from congenial.net.replica import Barred, GivenUp, Gone, Machine, Raised, Replica, Replicated
from congenial.net.roster import ORIGINAL
from congenial.net.seat import Seat
from congenial.problems.weak import WEAK

PAUSE = 0.01  # seconds, before looking again whether a link has drained
S = TypeVar("S")

IN_DOUBT: Final = "the operation under way may or may not be executed"


class Section(Held):
    """The right to issue operations. As with any lock, `lost` can be awaited, and `on_lost` calls back.

    >>> import asyncio
    >>> from congenial.problems.weak import Counter
    >>> async def add() -> None:
    ...     async with join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         async with cluster.guarded("total", Counter()) as section:
    ...             print(await section.issue(5), await section.issue(7))
    >>> asyncio.run(add())
    5 12
    """

    __slots__ = ()

    async def issue(self, operation: Any) -> Any:
        """Have all replicas execute an operation, and return its result. After `LockLost` it is never executed.

        An operation is made of numbers, strings, None, and tuples of such. A task that is cancelled while it waits does
        not learn the outcome.
        """
        return await cast(Issuing, self._door).issue(self, operation)

    def __exit__(self, *exception: object) -> None:
        if self.held:  # if it is lost, the last `issue` has said so
            self.release()


class Guarded:
    """A replicated object that tasks can work on: with `async with`, or with `acquire` and `Section.release`.

    >>> import asyncio
    >>> from congenial.problems.weak import Counter
    >>> async def add() -> None:
    ...     async with join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         total = cluster.guarded("total", Counter())
    ...         async with total as section:
    ...             await section.issue(5)
    ...         print(total.replica.total)
    >>> asyncio.run(add())
    5
    """

    def __init__(self, guard: Issuing, timeout: float | None) -> None:
        self.name = guard.name
        self._guard = guard
        self._timeout = timeout
        self._sections: list[tuple[asyncio.Task[Any] | None, Section]] = []

    @property
    def replica(self) -> Any:
        """The object as it is here, to be read only. It may be behind."""
        return self._guard.machine()

    @property
    def behind(self) -> int | None:
        """How many operations that others may have executed this replica lacks, as far as this member knows. None if it
        does not know: while it is not in the cluster, or has just joined."""
        return self._guard.behind()

    async def acquire(self) -> Section:
        """Enter, or raise `LockTimeout` when the timeout is over."""
        return cast(Section, await self._guard.acquire(ALONE_WANT, self._timeout))

    async def __aenter__(self) -> Section:
        section = await self.acquire()
        self._sections.append((asyncio.current_task(), section))
        return section

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        section = latest(self._sections)
        if section.held:
            section.release()


def latest(sections: list[tuple[asyncio.Task[Any] | None, S]]) -> S:
    """Take what the current task has entered last from a list."""
    task = current_task()
    place = max([at for at, (whose, _) in enumerate(sections) if whose is task], default=-1)
    return sections.pop(place)[1]


class Issuing(Door):
    """What guarded objects have in common, whatever the node behind them."""

    def begin_issuing(self, machine: Machine | None) -> None:
        self.kind = type(machine)
        self.outcome: asyncio.Future[Any] | None = None  # of the operation under way, if a task waits for it
        self.leaving = False  # as soon as the operation under way is settled
        self.executed = 0
        self.history: list[Event] | None = None  # all that happens here, for tests that judge it

    def machine(self) -> Any:
        """The user's object."""
        raise NotImplementedError

    def behind(self) -> int | None:
        """As `Guarded.behind`."""
        return None

    def issued(self) -> int:
        """How many operations."""
        raise NotImplementedError

    # -- what tasks do ---------------------------------------------------------------------------------

    def could_enter_now(self, want: Want) -> bool:
        return not self.queue and self.membership.serving and not self.lease.over() and self.node.could_enter()

    def settle(self, held: Held) -> None:
        """A section is not lost by the clock: its operations are executed by a majority, or never."""

    def has_run_out(self, held: Held) -> bool:
        return False

    async def issue(self, section: Section, operation: Any) -> Any:
        plain = as_plain(operation)
        while section in self.inside and (self.outcome is not None or self._is_crowded()):
            if self.outcome is not None:
                await asyncio.wait([self.outcome])
            else:
                await asyncio.sleep(PAUSE)
        section.check()
        outcome = self.outcome = self.membership.loop.create_future()
        outcome.add_done_callback(asyncio.Future.exception)  # perhaps no task asks for it
        self._note(ISSUE, id=self.issued() + 1, operation=plain)
        with self.membership.turn:
            self._happen(self.seat, Issued(plain))
            self.pump()
        result = await asyncio.shield(outcome)
        if isinstance(result, Raised):
            raise ContractError(
                f"{self.kind.__name__}.apply({plain!r}) raised {result.error} (at every replica alike): "
                "an operation that cannot be done should return a result that says so"
            )
        return deepcopy(result)  # what it shares with the replica must not be changed

    def _is_crowded(self) -> bool:
        return any([link.full and not link.away for link in self.membership.links])

    def _new_held(self, want: Want) -> Held:
        return Section(self, want.label, self.fence)

    def _settle(self, result: object, error: CongenialError | None = None) -> None:
        """Tell the task that waits for the operation under way."""
        outcome, self.outcome = self.outcome, None
        if outcome is not None and not outcome.done():
            if error is not None:
                outcome.set_exception(error)
            else:
                outcome.set_result(result)

    # -- what the node does ----------------------------------------------------------------------------

    def pump(self) -> None:
        if self.leaving:
            if self.seat.process.pending:
                return
            self._leave()
        super().pump()

    def _ask(self, group: int) -> None:
        self._note(REQUEST, groups=(0,))
        super()._ask(group)

    def _leave(self) -> None:
        self.leaving = self.seat.process.pending
        if self.leaving:  # the task that has issued it was cancelled
            self._settle(None, NotHeld(f"{self.name!r} was released; {IN_DOUBT}"))
        else:
            self._note(EXIT)
            super()._leave()

    def on_effect(self, seat: Seat, effect: Effect) -> None:
        if isinstance(effect, Execute):
            self.executed += 1
            self._note(EXECUTE, peer=effect.issuer, id=effect.number, operation=effect.operation, result=effect.result)
        elif isinstance(effect, Answer):
            self._note(ANSWER, id=effect.number, result=effect.result)
            self._settle(effect.result)
        else:
            if isinstance(effect, Eject):
                self._note(EJECT)
            super().on_effect(seat, effect)

    def _enter(self, session: int) -> None:
        super()._enter(session)
        self._note(ENTER, group=0, fence=self.fence)

    def _lose_all(self, why: str) -> None:
        self.leaving = False
        self._settle(None, LockLost(f"{self.name!r} was lost before the operation was executed, {why}"))
        super()._lose_all(why)

    # -- status ----------------------------------------------------------------------------------------

    def _note(self, kind: str, **fields: Any) -> None:
        if self.history is not None:
            self.history.append(Event(self.membership.now(), kind, self.seat.node.me, **fields))

    @property
    def label(self) -> str:
        return f"{self.name} (guarded)"

    def nudge_due(self, now: float) -> bool:
        return False  # nobody shares it


class Guard(Issuing):
    """An object whose replicas are those of the members with which the cluster was founded."""

    node: Replicated

    def __init__(
        self, membership: Membership, vocabulary: Vocabulary, tally: Tally, key: str, name: str, machine: Machine
    ) -> None:
        numbering = Numbering.of(key, membership.n)
        try:
            node = Replicated(numbering.process(membership.me), membership.n, Replica(machine))
        except ContractError as error:
            raise ConfigError(f"the object to be guarded as {name!r} cannot be copied: {error}") from None
        super().__init__(membership, vocabulary, tally, key, name, node, WEAK, numbering)
        self.lease = membership.lease
        self.begin_issuing(machine)

    def machine(self) -> Any:
        return cast(Replica, self.node.replica).machine

    def issued(self) -> int:
        return self.node.issued

    # -- what the node does ----------------------------------------------------------------------------

    def pump(self) -> None:
        for link in self.membership.links:
            if link.full and link.away and link.peer not in self.barred and self.error is None:
                link.send(self.key, self.vocabulary.encode(Barred()))
                self._give_up(link.peer)
        super().pump()

    def receive(self, peer: int, message: Message) -> None:
        if isinstance(message, Gone):
            self._give_up(peer)
        elif isinstance(message, Barred):
            who = self.membership.name_of(peer)
            self.fail(ClusterDegraded(f"the replica of {self.name!r} here is too far behind: {who!r} has given it up"))
        else:
            super().receive(peer, message)

    def recover(self) -> None:
        """A member that was restarted has lost its replica, and does not know what it has promised."""
        if self.membership.roster.past != ORIGINAL:
            self.fail(
                ConfigError(
                    f"{self.membership.name!r} was restarted, and its replica of {self.name!r} is gone: it cannot "
                    "take part until the whole cluster is restarted"
                )
            )
            return
        for link in self.membership.links:
            if self._has_restarted(link.peer):
                self._give_up(link.peer)

    def suspect(self, peer: int, away: bool) -> None:
        if self.error is None and peer not in self.barred:
            if self._has_restarted(peer):
                self._give_up(peer)
            else:
                super().suspect(peer, away)

    # -- the end ---------------------------------------------------------------------------------------

    def _has_restarted(self, peer: int) -> bool:
        roster = self.membership.roster
        return roster.known(peer) not in (0, roster.founded[peer])

    def _give_up(self, peer: int) -> None:
        """The peer no longer takes part, and is sent nothing."""
        if peer in self.barred or self.error is not None:
            return
        self.barred = self.barred | {peer}
        self._happen(self.seat, GivenUp(self.numbering.process(peer)))
        self.pump()
        if self.membership.n - len(self.barred) < self.node.majority:
            gone = tuple([self.membership.name_of(at) for at in sorted(self.barred)])
            self.fail(ClusterDegraded(f"too few replicas of {self.name!r} are left: {', '.join(gone)} are gone", gone))

    def fail(self, error: CongenialError) -> None:
        """Stop taking part, and tell the others."""
        if self.error is None:
            self._settle(None, error)  # it may be executed by others: that is no `LockLost`
            super().fail(error)
            if not self.membership.closing:
                send_gone(self.membership, self.vocabulary, self.key)

    # -- status ----------------------------------------------------------------------------------------

    def status(self) -> dict[str, object]:
        trouble = "" if self.error is None else str(self.error)
        return {**super().status(), "operations": self.executed, "trouble": trouble}


def send_gone(membership: Membership, vocabulary: Vocabulary, key: str) -> None:
    for link in membership.links:
        link.send(key, vocabulary.encode(Gone()))
