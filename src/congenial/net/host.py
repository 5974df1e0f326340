"""One process of a cluster: puts the layers together, starts and ends them, and tells how they are."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.net import forks
from congenial.net.absence import why_no_locks
from congenial.net.board import Board
from congenial.net.checked import for_node
from congenial.net.claims import Claims
from congenial.net.codec import Vocabulary
from congenial.net.config import ClusterConfig
from congenial.net.errors import ClusterDegraded
from congenial.net.journal import Owner
from congenial.net.link import Link
from congenial.net.logs import log
from congenial.net.membership import Entry, Membership
from congenial.net.replica import Replicated
from congenial.net.reports import Reports
from congenial.net.seeking import keep_seeking, seek
from congenial.net.spans import Spans
from congenial.net.storage import DirectoryStorage, Storage
from congenial.net.table import LockTable
from congenial.net.turn import Turn
from congenial.net.view_guard import OBJECTS
from congenial.net.viewed import ViewedLocks
from congenial.parts.notes import Notes


class Host:
    """With seeds, `find_members` comes first."""

    def __init__(self, name: str, config: ClusterConfig, place: str = "", storage: Storage | None = None) -> None:
        self.name = name
        self.config = config
        self.place = place or config.called_at(name)  # where the others can call this process
        self.system = config.system()
        semaphores = config.semaphore_system(1)
        self.vocabulary = Vocabulary(
            self.system.algorithm,
            *self.system.inner,
            beside=(semaphores.algorithm, *semaphores.inner, Replicated, Notes, OBJECTS, OBJECTS.algorithm),
        )
        for system in (self.system, semaphores):
            system.node(0)  # if it is not as nodes must be, say so now
        self.closed = False
        self.storage = storage or self._open_storage(semaphores.name)
        self.rejoins = self.system.algorithm.rejoins and semaphores.algorithm.rejoins
        if not config.seeds:
            self._put_together(Entry(self.place, config.members, dict(config.nodes)))

    async def find_members(self) -> None:
        """Learn from the seeds what the cluster is, unless this process knows it from before."""
        try:
            founders: Any = self.storage.load("founders")
            if founders is not None:
                entry = Entry(self.place, tuple(founders), {})
            else:
                told = await seek(self.name, self.config, self.vocabulary.schema)
                entry = Entry(self.place, told.founders, dict(told.members), told.founded)
        except BaseException:
            self.storage.abandon()
            raise
        self._put_together(entry)

    def _open_storage(self, semaphores: str) -> Storage:
        config = self.config
        if not config.state:
            return Storage()
        owner = Owner(self.name, config.cluster, config.members, self.system.name, semaphores)
        return DirectoryStorage(for_node(config.state, self.name), owner)

    def _put_together(self, entry: Entry) -> None:
        try:
            self._make_layers(entry)
        except OSError as error:
            self.storage.abandon()
            where = for_node(self.config.state, self.name)
            raise ConfigError(f"cannot keep state in {where}: {error.strerror or error}") from error
        except BaseException:
            self.storage.abandon()
            raise

    def _make_layers(self, entry: Entry) -> None:
        self.turn = Turn(self.storage)
        self.turn.soon = asyncio.get_running_loop().call_soon
        self.turn.on_failure = self._give_up
        self.membership = Membership(
            self.name, self.config, entry, self.turn, self.vocabulary, self.system.name, self.rejoins
        )
        table = ViewedLocks if self.config.elastic else LockTable
        self.locks = table(self.membership, self.vocabulary, self.system)
        self.board = Board(self.membership, self.vocabulary, self.locks.agreement)
        self.locks.on_new_view = self.board.follow
        self.claims = Claims(self.membership)
        if self.config.spans:
            self.locks.tally.observer = Spans(self.name, self.config)
        self.reports = Reports(self.membership, self.locks, self._head, self._watched)
        self.membership.on_end = self._fail_all
        self.forked: ConfigError | None = None  # in a forked child: why it must not use this
        forks.watch(self)

    # -- life ------------------------------------------------------------------------------------------

    def start(self, listeners: list[socket.socket]) -> None:
        """Answer calls on these sockets, and call; returns immediately. The membership's `opened` is set when everyone
        is there."""
        self.membership.start(listeners)
        asking = asyncio.create_task(self.board.keep_asking(), name="congenial asks for notes")
        self.membership.tasks.append(asking)
        if self.config.seeds:
            seeking = asyncio.create_task(keep_seeking(self.membership, self.vocabulary.schema), name="congenial seeks")
            self.membership.tasks.append(seeking)

    def renew_certificates(self) -> None:
        """Read the certificates again, for new connections. If they are wrong: `ConfigError`, and nothing changes."""
        if self.config.tls is not None:
            called, calling = self.config.tls.contexts(self.name)
            self.membership.porter.tls = called
            self.membership.dialer.options["ssl"] = calling
            log(logging.INFO, "certificates.read", node=self.name)

    async def close(self, for_good: bool = False) -> None:
        """Leave: what was sent still arrives, the others are told, nothing is left behind. With `for_good` the others
        agree first to go on without this process, which then has no vote that they could need."""
        if self.closed or self.forked is not None:
            return
        self.closed = True
        self.reports.close()
        try:
            if not self.membership.closing:
                self.membership.stop()
                with self.turn:
                    for entrance in self.locks.entrances():
                        entrance.close()
            if not self.membership.ended:
                await self.locks.leave(for_good)
            await self.membership.leave()
            self.storage.close()
        except OSError as error:
            log(logging.ERROR, "node.failed", node=self.name, reason=self._cannot_save(error))
        finally:
            self.turn.silent = True  # whatever still happens here is of no consequence
            self.storage.abandon()
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
        """What cannot be remembered must not be promised."""
        self.membership.end(self._cannot_save(error))

    def _fail_all(self, reason: str) -> None:
        """This process has stopped: nothing is held, nothing can be acquired, and its directory is free."""
        self.turn.silent = True
        failure = ClusterDegraded(reason)
        for entrance in self.locks.entrances():
            entrance.fail(failure)
        self.storage.abandon()

    def _cannot_save(self, error: OSError) -> str:
        return (
            f"{self.name!r} cannot save its state and has stopped: {error.strerror or error}; "
            "restart it when that is fixed"
        )

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
            **self.locks.about(),
            "notes": self.board.summary(),
            "claims": self.claims.count,
            "links": {link.name: self._status_of(link) for link in self.membership.links},
            "messages": self.messages_sent(),
            "waits": tally.waits.count,
            "waits_total": round(tally.waits.total, 6),
        }

    def _watched(self) -> dict[str, Any]:
        """What a page that watches the cluster asks besides."""
        tally = self.locks.tally
        return {
            "not_ready": why_no_locks(self.membership, self.locks.is_settled()),
            "timeouts": tally.timeouts,
            "losses": tally.losses,
            "wait_counts": list(tally.waits.counts),
        }

    def _status_of(self, link: Link) -> dict[str, Any]:
        return {
            "state": "away" if link.away else "up" if link.connection is not None else "down",
            "refusal": link.refusal,
            "release": link.release,
            "silent_for": round(self.membership.now() - link.heard_at, 3),
            "patience": round(link.patience.allowed, 3),
            "sent": link.sent,
            "bytes_sent": link.bytes_sent,
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
