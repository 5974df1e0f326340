"""Locks that have failed: where others wait for them, they are told.

If the node of a lock breaks, or gets a message that makes no sense, its lock fails at this member until the next view
(`Entrance.fail`). Tasks that wait for it elsewhere would wait until then as well: this member may be the home, which no
longer answers, or the holder. So all members are told (`Failed`), and the lock fails wherever tasks wait for it, or
others are known to. Holders elsewhere keep it.

A frame may get lost with its connection, so it is sent again on the next one. It is also the answer to a message for a
lock that has failed here.
"""

from __future__ import annotations

from congenial.kernel.errors import CongenialError
from congenial.net.entrance import Entrance
from congenial.net.errors import ClusterDegraded
from congenial.net.link import Link
from congenial.net.membership import Membership
from congenial.net.tries import Locks
from congenial.net.wire import Failed


class Failures:
    def __init__(self, membership: Membership, locks: Locks) -> None:
        self.membership = membership
        self.locks = locks
        self.failed: dict[str, Failed] = {}  # in this view, by key
        membership.handlers[Failed] = self._on_failed

    def add(self, lock: Entrance, error: CongenialError) -> None:
        """A lock has failed here."""
        self._spread(Failed(lock.key, self.locks.view_number(), self.membership.name, str(error)))

    def tell(self, peer: int, key: str) -> None:
        """A peer does not know it yet."""
        failed, link = self.failed.get(key), self.membership.link_to.get(peer)
        if failed is not None and link is not None:
            link.post(failed)

    def on_connected(self, link: Link) -> None:
        for failed in self.failed.values():
            link.post(failed)

    def forget(self) -> None:
        """There is a new view, in which all locks may be used."""
        self.failed.clear()

    def _spread(self, failed: Failed) -> None:
        self.failed[failed.lock] = failed
        with self.membership.turn:
            for link in self.membership.links:
                link.post(failed)

    def _on_failed(self, link: Link, failed: Failed) -> None:
        lock = self.locks.triable(failed.lock) if failed.view == self.locks.view_number() else None
        if not isinstance(lock, Entrance) or lock.error is not None or not lock.is_concerned():
            return
        why = f"lock {lock.name!r} has failed at {failed.who!r}, and cannot be acquired until the members change"
        error = ClusterDegraded(f"{why}: {failed.reason}", (failed.who,))
        if lock.inside:
            lock.queue.fail(error)
        else:
            lock.fail(error)
            self._spread(failed)
