"""One process of a cluster: puts the layers together, starts and ends them, and tells how they are."""

from __future__ import annotations

import logging
import socket
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.net import forks
from congenial.net.checked import for_node
from congenial.net.codec import Vocabulary
from congenial.net.config import ClusterConfig
from congenial.net.errors import ClusterDegraded
from congenial.net.link import Link
from congenial.net.logs import log
from congenial.net.membership import Membership
from congenial.net.replica import Replicated
from congenial.net.reports import Reports
from congenial.net.storage import DirectoryStorage, Storage
from congenial.net.table import LockTable
from congenial.net.turn import Turn


class Host:
    def __init__(self, name: str, config: ClusterConfig, storage: Storage | None = None) -> None:
        self.name = name
        self.config = config
        self.system = config.system()
        semaphores = config.semaphore_system(1)
        self.vocabulary = Vocabulary(
            self.system.algorithm, *self.system.inner, beside=(semaphores.algorithm, *semaphores.inner, Replicated)
        )
        self.storage = storage or (DirectoryStorage(for_node(config.state, name)) if config.state else Storage())
        self.turn = Turn(self.storage)
        self.turn.on_failure = self._give_up
        rejoins = self.system.algorithm.rejoins and semaphores.algorithm.rejoins
        self.membership = Membership(name, config, self.turn, self.vocabulary, self.system.name, rejoins)
        self.locks = LockTable(self.membership, self.vocabulary, self.system)
        self.reports = Reports(self.membership, self.locks, self._head)
        self.membership.on_end = self._fail_all
        self.forked: ConfigError | None = None  # in a forked child: why it must not use this
        forks.watch(self)

    # -- life ------------------------------------------------------------------------------------------

    async def start(self, listener: socket.socket | None = None) -> None:
        """Listen and call; returns immediately. The membership's `opened` is set when everyone is there."""
        await self.membership.start(listener)

    async def close(self) -> None:
        """Leave: what was sent still arrives, the others are told, nothing is left behind."""
        if self.membership.closing:
            return
        self.membership.stop()
        self.reports.close()
        with self.turn:
            for entrance in self.locks.entrances():
                entrance.close()
        await self.membership.leave()
        self.storage.close()
        forks.unwatch(self)

    def on_fork(self) -> None:
        """This is a forked child, and only its parent is a member. Nothing that the child does may touch it."""
        self.forked = ConfigError(forks.only_the_parent(self.name))
        self.turn.silent = True
        self.turn.unwritten.clear()
        self.membership.on_fork()
        self.storage.abandon()
        for entrance in self.locks.entrances():
            entrance.abandon(self.forked)

    def _give_up(self, error: OSError) -> None:
        """Fall silent: what cannot be remembered must not be promised."""
        reason = f"{self.name!r} cannot save its state: {error.strerror or error}"
        log(logging.CRITICAL, "node.failed", node=self.name, reason=reason)
        self.membership.fall_silent()
        self._fail_all(reason)

    def _fail_all(self, reason: str) -> None:
        """This process takes part no more: nothing is held, and nothing can be acquired."""
        self.turn.silent = True
        for entrance in self.locks.entrances():
            entrance.fail(ClusterDegraded(reason))

    # -- status ----------------------------------------------------------------------------------------

    def _head(self) -> dict[str, Any]:
        """How this process is, without its locks."""
        tally, roster = self.locks.tally, self.membership.roster
        return {
            "name": self.name,
            "cluster": self.config.cluster,
            "algorithm": self.system.name,
            "open": roster.open,
            "past": roster.past,
            "links": {link.name: self._status_of(link) for link in self.membership.links},
            "messages": self.messages_sent(),
            "waits": sum(tally.waits),
            "waits_total": round(tally.waits_total, 6),
        }

    def _status_of(self, link: Link) -> dict[str, Any]:
        return {
            "state": "away" if link.away else "up" if link.connection is not None else "down",
            "refusal": link.refusal,
            "silent_for": round(self.membership.now() - link.heard_at, 3),
            "patience": round(link.patience.allowed, 3),
            "sent": link.sent,
            "received": link.received,
            "unacknowledged": link.sent - link.acked,
            "connections": link.connections,
            "resent": link.resent,
        }

    def messages_sent(self) -> dict[str, int]:
        """By the name of their kind."""
        counts: dict[str, int] = {}
        for kind, form in self.vocabulary.forms.items():
            counts[kind.__name__] = counts.get(kind.__name__, 0) + form.sent
        return counts
