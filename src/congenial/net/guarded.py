"""A replicated object as one process sees it: its replica, and the local tasks that want to issue operations.

    ledger = cluster.guarded("ledger", Ledger())        # at every member
    async with ledger as section:
        balance = await section.issue(("pay", "ann", 5))

`Ledger` is a deterministic state machine with a method `apply(operation)`. Who is inside issues operations, one after
the other; every member's replica executes them, all in the same order. `issue` returns the result, and a majority
has the operation then; or it raises `LockLost`: the others took this process for dead, and the operation is executed
nowhere, ever (Romano & Rodrigues 2009). So a body is not interrupted when it loses its section, as a lock's is: that
could keep from it the outcome of an operation that was executed. It is told by the next `issue`.

A guarded object is a door (`congenial.net.door`) with another node behind it (`congenial.net.replica`). In the paper
crashes are for good, and so they are here. A member that only was away has missed nothing: links keep what it is to be
sent. Given up for good are, by everyone who knows,
- who was started again, with memory or without: its replica is gone, and so is what it was sent;
- who is away and `FULL` messages behind: it is `Barred`, and learns that when it is back;
- who has said that it is `Gone`.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from congenial.kernel import trace as tr
from congenial.kernel.errors import ConfigError, CongenialError, ContractError
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE
from congenial.kernel.out import Outbox
from congenial.kernel.trace import Event
from congenial.net.door import Door, Want
from congenial.net.errors import ClusterDegraded, LockLost, NotHeld, ProtocolError
from congenial.net.held import Held
from congenial.net.link import FULL
from congenial.net.names import first_holder
from congenial.net.replica import Barred, Gone, Machine, Raised, Replica, Replicated
from congenial.net.roster import ORIGINAL

if TYPE_CHECKING:
    from congenial.net.host import Host
    from congenial.net.locks import Lock

LONGEST_OPERATION: Final = 4096  # bytes
PAUSE = 0.01  # seconds, before looking again whether a link has drained
IN_DOUBT: Final = "the operation under way may be executed or not"


class Section(Held):
    """The right to issue operations. As with any lock, `lost` can be awaited, and `on_lost` calls back."""

    __slots__ = ()

    async def issue(self, operation: Any) -> Any:
        """Have all replicas execute an operation; its result, or `LockLost`, and then it is never executed.

        An operation is made of numbers, strings, None, and tuples of such. Who is cancelled while it waits does not
        learn the outcome.
        """
        return await cast(Guard, self._door).issue(self, operation)


class Guarded:
    """An object, ready to be worked on: `async with`, or `acquire` and `Section.release`. Tasks may share it."""

    def __init__(self, guard: Guard, lock: Lock) -> None:
        self.name = lock.name
        self._guard = guard
        self._lock = lock
        self._sections: list[tuple[asyncio.Task[Any] | None, Section]] = []

    @property
    def replica(self) -> Any:
        """The object as it is here; look, but do not touch. It may be behind."""
        return cast(Replica, self._guard.node.replica).machine

    async def acquire(self) -> Section:
        return cast(Section, await self._lock.acquire())

    async def __aenter__(self) -> Section:
        section = await self.acquire()
        self._sections.append((asyncio.current_task(), section))
        return section

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = asyncio.current_task()
        place = max([at for at, (whose, _) in enumerate(self._sections) if whose is task])
        _, section = self._sections.pop(place)
        if section.held:
            section.release()


class Guard(Door):
    node: Replicated

    def __init__(self, host: Host, key: str, name: str, machine: Machine) -> None:
        offset = first_holder(key, host.n)
        try:
            node = Replicated((host.me - offset) % host.n, host.n, Replica(machine))
        except ContractError as error:
            raise ConfigError(f"the object to be guarded as {name!r} cannot be copied: {error}") from None
        super().__init__(host, key, name, node, offset)
        self.grouped = False
        self.kind = type(machine)
        self.outcome: asyncio.Future[Any] | None = None  # of the operation under way, if anybody waits for it
        self.leaving = False  # as soon as the operation under way is settled
        self.executed = 0
        self.history: list[Event] | None = None  # all that happens here, for who wants to judge it

    # -- what tasks do ---------------------------------------------------------------------------------

    def enter_now(self, want: Want) -> Held | None:
        return None if self.error is not None else super().enter_now(want)

    def could_enter_now(self, want: Want) -> bool:
        return self.error is None and not self.queue and self.host.serving and self.node.could_enter()

    async def issue(self, section: Section, operation: Any) -> Any:
        plain = as_plain(operation)
        while section in self.inside and (self.outcome is not None or self._is_crowded()):
            if self.outcome is not None:
                await asyncio.wait([self.outcome])
            else:
                await asyncio.sleep(PAUSE)
        section.check()
        outcome = self.outcome = self.host.loop.create_future()
        outcome.add_done_callback(asyncio.Future.exception)  # perhaps nobody else asks for it
        self._note(tr.ISSUE, id=self.node.issued + 1, operation=plain)
        out = Outbox()
        self.node.issue(plain, out)
        self.finish(out)
        self.host.flush()
        result = await asyncio.shield(outcome)
        if isinstance(result, Raised):
            raise ContractError(
                f"{self.kind.__name__}.apply({plain!r}) raised {result.error} (at every replica alike): "
                "an operation that cannot be done should return a result that says so"
            )
        return deepcopy(result)  # what it shares with the replica must not be touched

    def _is_crowded(self) -> bool:
        return any([link.full and not link.away for link in self.host.links])

    def _admit(self, want: Want) -> Held:
        section = Section(self, want, self.fence)
        self.inside.add(section)
        self.entries += 1
        return section

    def _settle(self, result: object, error: CongenialError | None = None) -> None:
        """Tell who waits for the operation under way."""
        outcome, self.outcome = self.outcome, None
        if outcome is not None and not outcome.done():
            if error is not None:
                outcome.set_exception(error)
            else:
                outcome.set_result(result)

    # -- what the node does ----------------------------------------------------------------------------

    def _ask(self, group: int) -> bool:
        self._note(tr.REQUEST, groups=(0,))
        return super()._ask(group)

    def _enter(self, session: int) -> None:
        self._note(tr.ENTER, group=0, fence=session)
        super()._enter(session)

    def _leave(self) -> None:
        if self.node.pending is not None:  # who issued it was cancelled
            self.leaving = True
            self._settle(None, NotHeld(f"{self.name!r} was released; {IN_DOUBT}"))
            return
        self._note(tr.EXIT)
        super()._leave()

    def receive(self, src: int, message: Message) -> None:
        if self.error is not None:
            return
        peer = (src + self.offset) % self.host.n
        if isinstance(message, Gone):
            self._give_up(peer)
        elif isinstance(message, Barred):
            who = self.host.members[peer]
            self.fail(ClusterDegraded(f"the replica of {self.name!r} here is too far behind: {who!r} has given it up"))
        else:
            super().receive(src, message)

    def recover(self) -> None:
        """Who was started again has no replica any more, and has promised it knows not what."""
        if self.host.roster.past != ORIGINAL:
            self.fail(
                ConfigError(
                    f"{self.host.name!r} was started again, and its replica of {self.name!r} is gone: it takes no part "
                    "any more until the whole cluster is restarted"
                )
            )
            return
        for link in self.host.links:
            if self._has_restarted(link.peer):
                self._give_up(link.peer)

    def suspect(self, peer: int, away: bool) -> None:
        if self.error is None and peer not in self.barred:
            if self._has_restarted(peer):
                self._give_up(peer)
            else:
                super().suspect(peer, away)

    def finish(self, out: Outbox) -> None:
        self.executed += len(out.executed)
        for issuer, number, operation, result in out.executed:
            self._note(tr.EXECUTE, peer=issuer, id=number, operation=operation, result=result)
        if out.answered is not None:
            self._note(tr.ANSWER, id=out.answered[0], result=out.answered[1])
            self._settle(out.answered[1])
        if out.ejected:
            self._note(tr.EJECT)
        super().finish(out)
        if self.leaving and self.node.phase == INSIDE and self.node.pending is None:
            self.leaving = False
            self._leave()
        for link in self.host.links:
            if link.full and link.away and link.peer not in self.barred:
                link.send(self.key, self.host.vocabulary.encode(Barred()))
                self._give_up(link.peer)

    def _lose_all(self, why: str) -> None:
        self.leaving = False
        self._settle(None, LockLost(f"{self.name!r} was lost before the operation was executed, {why}"))
        super()._lose_all(why)

    # -- the end ---------------------------------------------------------------------------------------

    def _has_restarted(self, peer: int) -> bool:
        roster = self.host.roster
        return roster.incarnations[peer] not in (0, roster.founded[peer])

    def _give_up(self, peer: int) -> None:
        """It takes no part any more, and is sent nothing."""
        if peer in self.barred or self.error is not None:
            return
        self.barred.add(peer)
        out = Outbox()
        self.node.give_up((peer - self.offset) % self.host.n, out)
        self.finish(out)
        if self.host.n - len(self.barred) < self.node.majority:
            gone = tuple([self.host.members[at] for at in sorted(self.barred)])
            self.fail(ClusterDegraded(f"too few replicas of {self.name!r} are left: {', '.join(gone)} are gone", gone))

    def fail(self, error: CongenialError) -> None:
        """Take no part any more, and say so."""
        if self.error is None:
            self._settle(None, error)  # it may be executed by others: that is no `LockLost`
            super().fail(error)
            if not self.host.closing:
                tell_gone(self.host, self.key)

    # -- being looked at -------------------------------------------------------------------------------

    def _note(self, kind: str, **fields: Any) -> None:
        if self.history is not None:
            self.history.append(Event(self.host.now(), kind, self.node.me, **fields))

    @property
    def label(self) -> str:
        return f"{self.name} (guarded)"

    @property
    def waiting(self) -> bool:
        return False  # for a group: nobody shares it

    def status(self) -> dict[str, object]:
        trouble = "" if self.error is None else str(self.error)
        return {**super().status(), "operations": self.executed, "trouble": trouble}


class Unclaimed:
    """What was sent to replicas that the program here has not named yet. It waits; when it is too much, the replica is
    gone before it has begun."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.messages: dict[str, list[tuple[int, Message]]] = {}
        self.too_late: set[str] = set()

    def keep(self, key: str, peer: int, message: Message) -> None:
        if self.host.roster.past != ORIGINAL or key in self.too_late:
            return
        waiting = self.messages.setdefault(key, [])
        waiting.append((peer, message))
        if len(waiting) >= FULL:
            del self.messages[key]
            self.too_late.add(key)
            tell_gone(self.host, key)

    def claim(self, guard: Guard) -> None:
        if guard.key in self.too_late:
            guard.fail(
                ConfigError(f"{guard.name!r} was named too late here: name it at every member when it has joined")
            )
        for peer, message in self.messages.pop(guard.key, []):
            try:
                guard.receive((peer - guard.offset) % self.host.n, message)
            except ProtocolError as error:
                guard.fail(error)


def tell_gone(host: Host, key: str) -> None:
    for link in host.links:
        link.send(key, host.vocabulary.encode(Gone()))


def guard_of(host: Host, key: str, name: str, machine: Machine) -> Guard:
    """The guarded object with this key, made on first use."""
    guard = host.doors.get(key)
    if guard is None:
        guard = host.doors[key] = Guard(host, key, name, machine)
        if host.opened.is_set():
            host._bring_up(guard)
        host.unclaimed.claim(guard)
        host.flush()
    assert isinstance(guard, Guard)
    if guard.kind is not type(machine):
        raise ConfigError(f"{name!r} guards a {guard.kind.__name__}, not a {type(machine).__name__}")
    if guard.error is not None:
        raise guard.error
    return guard


def as_plain(operation: Any) -> Any:
    """An operation as it arrives everywhere; `ContractError` if it cannot travel."""
    plain = _plain(operation)
    try:
        size = len(msgspec.msgpack.encode(plain))
    except OverflowError:  # large numbers travel in another form
        size = len(repr(plain))
    except UnicodeEncodeError as error:
        raise ContractError(f"an operation holds a string that cannot be sent: {error}") from None
    if size > LONGEST_OPERATION:
        raise ContractError(f"an operation of {size} bytes is too long; {LONGEST_OPERATION} are allowed")
    return plain


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, str, float):
        return value
    if isinstance(value, (tuple, list)):
        return tuple([_plain(member) for member in value])
    raise ContractError(
        f"an operation holds a {type(value).__name__}: it is made of numbers, strings, None, and tuples of such"
    )
