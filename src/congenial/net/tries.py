"""Tries: a task asks for a lock once, and learns within a round trip or two if it cannot acquire it now.

A node cannot take a request back, and its home does not tell it that others are inside. So a try asks outside of the
algorithm. The process asks for the lock as always, and then asks the home what became of the request (`Try`). If the
lock was granted, the grant is on its way before any answer. If not, the home passes the question on to all that it has
let in (`Probe`). Each of them that is inside says so (`Tried`). One that is not has given back what it kept, and the
process will be let in. When as many are inside as there may be, the try has failed. The request remains: when it is
granted, the process enters and leaves immediately.

A question may get lost, or become pointless because the members change. It is asked again until there is an answer.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from congenial.net.held import Held
from congenial.net.link import Link
from congenial.net.membership import Membership
from congenial.net.wire import Probe, Tried, Try

FIRST_PAUSE = 0.02  # seconds before a question is asked again; doubles, up to
LAST_PAUSE = 0.5


class Triable(Protocol):
    """A lock that can be tried."""

    key: str

    def home(self) -> int:
        """The member that is the home."""

    def holders(self, asker: int) -> set[int]:
        """At the home: the members that it has let in, which may keep another one waiting."""

    def most(self) -> int:
        """How many may be inside while another one waits: that many must answer."""

    def occupied(self) -> int:
        """How many are inside here."""

    def refuse(self, future: asyncio.Future[Held]) -> None:
        """A try has failed."""


class Attempt:
    """The tasks that try a lock at a time."""

    __slots__ = ("inside", "tasks")

    def __init__(self) -> None:
        self.tasks: list[asyncio.Future[Held]] = []
        self.inside: dict[int, int] = {}  # how many are inside, by the members that have answered


class Locks(Protocol):
    def view_number(self) -> int: ...

    def triable(self, key: str) -> Triable | None:
        """The lock with this key, if it is known here."""

    def is_settled(self) -> bool:
        """As the home of locks, does this member let others in?"""


class Tries:
    def __init__(self, membership: Membership, locks: Locks) -> None:
        self.membership = membership
        self.locks = locks
        self.attempts: dict[Triable, Attempt] = {}
        membership.handlers |= {Try: self._on_try, Probe: self._on_probe, Tried: self._on_tried}

    def add(self, lock: Triable, future: asyncio.Future[Held]) -> None:
        """A task of this member tries a lock, which it has asked for."""
        attempt = self.attempts.setdefault(lock, Attempt())
        attempt.tasks.append(future)
        if len(attempt.tasks) == 1:
            self.begin(lock)

    def under_way(self, lock: Triable) -> Attempt | None:
        """The attempt of which some task still waits for the outcome."""
        attempt = self.attempts.get(lock)
        if attempt is not None and all([task.done() for task in attempt.tasks]):
            del self.attempts[lock]
            return None
        return attempt

    def begin(self, lock: Triable, pause: float = FIRST_PAUSE) -> None:
        """Ask, and ask again until there is an answer."""
        attempt = self.under_way(lock)
        if attempt is None:
            return
        self.membership.loop.call_later(pause, self._again, lock, pause)
        attempt.inside.clear()
        with self.membership.turn:
            link = self.membership.link_to.get(lock.home())
            if link is None:
                self._ask_around(self.membership.me, lock)
            else:
                link.post(Try(lock.key, self.locks.view_number()))

    def _again(self, lock: Triable, pause: float) -> None:
        if not self.membership.closing:
            self.begin(lock, min(2 * pause, LAST_PAUSE))

    def _find(self, key: str, view: int) -> Triable | None:
        return self.locks.triable(key) if view == self.locks.view_number() else None

    # -- at the home -----------------------------------------------------------------------------------

    def _on_try(self, link: Link, frame: Try) -> None:
        lock = self._find(frame.lock, frame.view)
        if lock is not None:
            self._ask_around(link.peer, lock)

    def _ask_around(self, asker: int, lock: Triable) -> None:
        if not self.locks.is_settled():
            return
        for member in sorted(lock.holders(asker)):
            link = self.membership.link_to.get(member)
            if link is None:
                self._answer(asker, lock, lock.most())
            else:
                link.post(Probe(lock.key, self.locks.view_number(), asker, lock.most()))

    # -- at those that were let in ---------------------------------------------------------------------

    def _on_probe(self, link: Link, frame: Probe) -> None:
        lock = self._find(frame.lock, frame.view)
        if lock is not None and (frame.asker in self.membership.link_to or frame.asker == self.membership.me):
            self._answer(frame.asker, lock, frame.most)

    def _answer(self, asker: int, lock: Triable, most: int) -> None:
        inside = lock.occupied()
        if inside:
            link = self.membership.link_to.get(asker)
            if link is None:
                self._count(lock, asker, inside, most)
            else:
                link.post(Tried(lock.key, self.locks.view_number(), inside, most))

    # -- at the one that tries -------------------------------------------------------------------------

    def _on_tried(self, link: Link, frame: Tried) -> None:
        lock = self._find(frame.lock, frame.view)
        if lock is not None:
            self._count(lock, link.peer, frame.inside, frame.most)

    def _count(self, lock: Triable, member: int, inside: int, most: int) -> None:
        attempt = self.under_way(lock)
        if attempt is not None:
            attempt.inside[member] = inside
            if sum(attempt.inside.values()) >= most:
                del self.attempts[lock]
                for task in attempt.tasks:
                    lock.refuse(task)
