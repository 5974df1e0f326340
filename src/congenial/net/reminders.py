"""How a member that has lost its memory learns which locks there are.

It may have made promises in any of them, and must not be taken for new there. It asks every other member for the locks
that it knows. When all have answered, it knows of every lock in which anybody could hold it to a promise.
"""

from __future__ import annotations

import logging
from typing import Protocol

from congenial.net.link import Link
from congenial.net.logs import log
from congenial.net.membership import Membership
from congenial.net.wire import Known, Remind

AT_A_TIME = 1000  # locks in one frame


class KnownLocks(Protocol):
    """The table of locks, as far as it is needed here. A semaphore comes with how many it lets in, a lock with 0."""

    def known(self) -> set[tuple[str, int]]: ...

    def learn(self, key: str, k: int) -> None: ...


class Reminders:
    def __init__(self, membership: Membership, locks: KnownLocks) -> None:
        self.membership = membership
        self.locks = locks
        self.unanswered = {link.peer for link in membership.links}  # peers that have not told all locks they know

    # -- asking ----------------------------------------------------------------------------------------

    def ask_everyone(self) -> None:
        for link in self.membership.links:
            self.ask(link)

    def ask(self, link: Link) -> None:
        if self._asking() and link.peer in self.unanswered:
            link.post(Remind())

    def on_known(self, link: Link, known: Known) -> None:
        if not self._asking():
            return
        for key, k in known.locks:
            self.locks.learn(key, k)
        if known.last:
            self.unanswered.discard(link.peer)
            if not self.unanswered:
                self.membership.remember()
                log(logging.INFO, "node.reminded", node=self.membership.name, locks=len(self.locks.known()))

    def _asking(self) -> bool:
        return self.membership.opened.is_set() and self.membership.forgetful

    # -- answering -------------------------------------------------------------------------------------

    def on_remind(self, link: Link, remind: Remind) -> None:
        """Tell which locks there are, in use or on disk."""
        known = self.locks.known()
        for stored in self.membership.storage.stored():
            kind, _, key = stored.partition(" ")
            if kind == "lock":
                known.add((key, 0))
            elif kind == "seat":
                _, _, k, key = key.split(" ", 3)
                known.add((key, int(k)))
        locks = sorted(known)
        for start in range(0, len(locks) + 1, AT_A_TIME):
            link.post(Known(tuple(locks[start : start + AT_A_TIME]), start + AT_A_TIME > len(locks)))
