"""One process of a cluster: its links to the others, and the nodes of all its locks.

A step of a node is carried out whole: what it wants to be durable is saved, then its messages go out. Everything that
one event causes for one peer leaves in one write, after everything that it saves was put on disk in another.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import socket
import ssl
from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from congenial.kernel.effects import EVERYONE
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox
from congenial.kernel.state import durable_state, restore_durable
from congenial.net import link as link_module
from congenial.net.codec import (
    Bye,
    Frame,
    Hello,
    Known,
    Nudge,
    Query,
    Remind,
    Report,
    SeatData,
    Seats,
    View,
    Vocabulary,
)
from congenial.net.config import ClusterConfig, address
from congenial.net.door import ALONE, LAST_NUDGE, Door, Want
from congenial.net.errors import ClusterDegraded, ProtocolError
from congenial.net.guarded import Unclaimed
from congenial.net.hall import Hall, disagreement
from congenial.net.link import Connection, Link
from congenial.net.logs import log
from congenial.net.names import LONGEST_KEY, first_holder, is_guarded, shown
from congenial.net.replica import Replicated
from congenial.net.roster import FENCE_BITS, FORGETFUL, ORIGINAL, RECOVERED, Roster, new_incarnation
from congenial.net.storage import DirectoryStorage, Storage
from congenial.transform.epochs import Epochs

MOST_STRANGERS = 64  # connections that have not said yet who they are
REMINDED = 1000  # locks that are told of at a time
LINGER = 1.0  # seconds in which the last messages may be acknowledged when leaving
BUCKETS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # of waiting times, in seconds


class Host:
    def __init__(self, name: str, config: ClusterConfig, storage: Storage | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.now: Callable[[], float] = self.loop.time
        self.name = name
        self.config = config
        self.members = config.members
        self.n = len(self.members)
        self.me = config.index(name)
        self.alone = Want(ALONE, False, None)  # what every exclusive lock wants
        self.system = config.system()
        semaphores = config.semaphore_system(1)
        self.vocabulary = Vocabulary(
            self.system.algorithm, *self.system.inner, beside=(semaphores.algorithm, *semaphores.inner, Replicated)
        )
        self.storage = storage or (DirectoryStorage(config.state.format(name=name)) if config.state else Storage())
        self.called_tls: ssl.SSLContext | None = None
        self.calling_tls: ssl.SSLContext | None = None
        if config.tls is not None:
            self.called_tls, self.calling_tls = config.tls.contexts(name)

        self.rejoins = self.system.algorithm.rejoins and semaphores.algorithm.rejoins  # who was restarted may come back
        self.roster = self._roster()
        self.unreminded = {peer for peer in range(self.n) if peer != self.me}  # who have not told which locks they know
        self.fence_base = 0
        self.crowded = False  # a link is full
        self.serving = False  # the cluster is open, and the links have room: locks may be asked for
        self.closing = False
        self.started_at = self.now()

        self.links = [Link(self, peer, other) for peer, other in enumerate(self.members) if peer != self.me]
        self.link_to: list[Link | None] = [None] * self.n
        for link in self.links:
            self.link_to[link.peer] = link
        self.doors: dict[str, Door] = {}
        self.halls: dict[str, Hall] = {}
        self.unclaimed = Unclaimed(self)
        self.told_k: dict[str, tuple[str, int]] = {}  # of semaphores that have not been used here: who said what
        self.connections: set[Connection] = set()
        self.unwritten: list[Link] = []  # links with something to write at the end of this event
        self.server: asyncio.Server | None = None
        self.tasks: list[asyncio.Task[None]] = []
        self.opened = asyncio.Event()
        self.queries: dict[int, asyncio.Future[bytes]] = {}
        self.waits = [0] * (len(BUCKETS) + 1)
        self.waits_total = 0.0
        self.ticked_at = self.now()
        self.hurry = 0  # entries since the loop last had a turn to look at the network

    def _roster(self) -> Roster:
        last = self.storage.load("incarnation")
        incarnation = new_incarnation(last if isinstance(last, int) else 0)
        self.storage.save("incarnation", incarnation)
        self.storage.sync()
        stored: Any = self.storage.load("founded") if self.rejoins else None
        if stored is None:
            return Roster(self.n, self.me, incarnation, self.rejoins)
        members, founded, past = stored
        if members != self.members:
            raise ConfigError(
                f"the state of node {self.name!r} is of a cluster of {', '.join(members)}; "
                f"this has {', '.join(self.members)}"
            )
        return Roster(self.n, self.me, incarnation, True, founded, RECOVERED if past == ORIGINAL else past)

    # -- life ------------------------------------------------------------------------------------------

    async def start(self, listener: socket.socket | None = None) -> None:
        """Listen and call; returns at once. `opened` is set when everyone is there."""
        if self.n > 1:
            where = address(self.config.nodes[self.name])
            try:
                if listener is None:
                    self.server = await self.loop.create_server(
                        lambda: Connection(self), *where, reuse_address=True, **self._tls(self.called_tls)
                    )
                else:
                    self.server = await self.loop.create_server(
                        lambda: Connection(self), sock=listener, **self._tls(self.called_tls)
                    )
            except OSError as error:
                raise ConfigError(
                    f"node {self.name!r} cannot listen on {self.config.nodes[self.name]}: {error.strerror or error}"
                ) from error
        for link in self.links:
            if link.peer > self.me:
                self.tasks.append(asyncio.create_task(self._call(link), name=f"congenial calls {link.name}"))
        self.tasks.append(asyncio.create_task(self._tick(), name="congenial ticks"))
        self._check_open()

    def _tls(self, context: ssl.SSLContext | None) -> dict[str, Any]:
        return {} if context is None else {"ssl": context, "ssl_handshake_timeout": link_module.HANDSHAKE}

    async def close(self) -> None:
        """Leave: what was sent still arrives, the others are told, nothing is left behind."""
        if self.closing:
            return
        self.closing = True
        self.serving = False
        for door in self.all_doors():
            for held in list(door.inside):
                held.release()
            for waiter in list(door.queue):
                if not waiter.future.done():
                    waiter.future.set_exception(ClusterDegraded(f"{self.name!r} is leaving the cluster"))
            door.stop_timers()
        self.flush()
        deadline = self.now() + LINGER
        while any(link.kept and link.connection for link in self.links) and self.now() < deadline:
            await asyncio.sleep(0.005)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.server is not None:
            self.server.close()
        endings = [connection.closed for connection in self.connections]
        for connection in list(self.connections):
            connection.refuse("leaves the cluster", leaving=True)
        if endings:
            await asyncio.wait(endings, timeout=LINGER)
        await asyncio.sleep(0)  # transports close in the loop's next round
        self.storage.close()

    async def _call(self, link: Link) -> None:
        """Keep a connection to a peer with a larger number."""
        timing = self.config.timing
        pause = timing.reconnect
        where = address(self.config.nodes[link.name])
        name = link.name if self.calling_tls else None
        while not self.closing:
            try:
                async with asyncio.timeout(timing.suspect_after):  # wait_for could swallow our cancellation
                    _, connection = await self.loop.create_connection(
                        lambda: Connection(self, link), *where, server_hostname=name, **self._tls(self.calling_tls)
                    )
                await connection.closed
                if connection.greeted:
                    pause = timing.reconnect
            except (OSError, ssl.SSLError, TimeoutError) as error:
                reason = f"cannot be reached at {self.config.nodes[link.name]}: {error or type(error).__name__}"
                if isinstance(error, ssl.SSLError) and link.refusal != reason:
                    log(logging.WARNING, "connection.failed", node=self.name, peer=link.name, reason=reason)
                    link.refusal = reason
            await asyncio.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, timing.reconnect_most)

    async def _tick(self) -> None:
        """All that happens by the clock."""
        timing = self.config.timing
        period = min(timing.heartbeat / 2, 0.1)
        beat_at = 0.0
        while True:
            await asyncio.sleep(period)
            now = self.now()
            late = now - self.ticked_at - period
            if late > timing.heartbeat:  # it is we who were away: what was not heard meanwhile proves nothing
                for link in self.links:
                    link.heard_at += late
            self.ticked_at = now
            beat = now - beat_at >= timing.heartbeat
            if beat:
                beat_at = now
            for link in self.links:
                if link.connection is not None and (beat or link.told < link.received):
                    link.acknowledge()
                if link.heard:
                    link.heard = False
                    link.heard_at = now
                elif now - link.heard_at > link.patience.allowed:
                    self._silent(link)
            self._fail_hopeless(now)
            self._nudge(now)
            self.flush()

    # -- the driver of nodes ---------------------------------------------------------------------------

    def door(self, key: str, name: str) -> Door:
        """The lock with this key, made on first use."""
        door = self.doors.get(key)
        if door is None:
            return self._make_door(key, name)
        door.name = name
        return door

    def _make_door(self, key: str, name: str) -> Door:
        offset = first_holder(key, self.n)
        node = self.system.node((self.me - offset) % self.n)
        door = Door(self, key, name, node, offset)
        self.doors[key] = door
        if self.opened.is_set():
            self._bring_up(door)
        return door

    def _bring_up(self, door: Door | Hall) -> None:
        """Tell the nodes of a new door what they are to know of the past and of the present."""
        door.recover()
        for link in self.links:
            if link.away:
                door.suspect(link.peer, True)

    def recover(self, node: Node, key: str, out: Outbox) -> None:
        """Tell a new node what it was in an earlier life."""
        saved = self.storage.load(key) if type(node).durable else None
        if saved is not None:
            restore_durable(node, saved)
            node.on_recover(out)
        elif self.roster.past == FORGETFUL:
            node.on_amnesia(out)
        elif self.roster.past == RECOVERED:  # it has saved nothing because it had nothing to save
            node.on_recover(out)

    def hall(self, key: str, name: str, k: int) -> Hall:
        """The semaphore with this key, made on first use."""
        hall = self.halls.get(key)
        if hall is None:
            who, told = self.told_k.get(key, ("", k))
            if told != k:
                raise disagreement(name, k, who, told)
            hall = self._make_hall(key, name, k)
            for link in self.links:
                link.post(Seats(key, k))
        elif hall.k != k:
            raise ConfigError(
                f"semaphore {name!r} lets in {hall.k} at a time, not {k}: everyone must give the same number"
            )
        hall.name = name
        return hall

    def _make_hall(self, key: str, name: str, k: int) -> Hall:
        hall = self.halls[key] = Hall(self, key, name, k)
        if self.opened.is_set():
            self._bring_up(hall)
        return hall

    def all_doors(self) -> list[Door | Hall]:
        return [*self.doors.values(), *self.halls.values()]

    def send_from_seat(self, hall: Hall, seat: int, peer: int | None, dst: int, message: Message) -> None:
        """To a seat of a peer; without a peer, to everyone."""
        body = self.vocabulary.encode(message)
        for link in self.links:
            if peer is None or link.peer == peer:
                link.send_seated(hall.key, hall.k, seat, dst, body)
        self._check_crowd()

    def _check_crowd(self) -> None:
        if not self.crowded and any([link.full and not self._is_done_without(link) for link in self.links]):
            self.crowded = True
            self.serving = False

    def _is_done_without(self, link: Link) -> bool:
        """Whether work goes on although the peer is away; it is then sent little."""
        return link.away and self.rejoins

    def carry(self, door: Door, out: Outbox) -> None:
        """Save, then send, then set timers."""
        if out.saved:
            self.storage.save(f"lock {door.key}", durable_state(door.node))
        for dst, message in out.sent:
            body = self.vocabulary.encode(message)
            if dst == EVERYONE:
                for link in self.links:
                    if link.peer not in door.barred:
                        link.send(door.key, body)
            else:
                to = self.link_to[(dst + door.offset) % self.n]
                assert to is not None, "a node sends to itself"
                if to.peer not in door.barred:
                    to.send(door.key, body)
        if out.sent:
            self._check_crowd()
        for timer in out.timers_cancelled:
            if timer in door.timers:
                door.timers.pop(timer).cancel()
        for timer, delay in out.timers_set:
            if timer in door.timers:
                door.timers.pop(timer).cancel()
            seconds = delay * self.config.timing.timer_unit
            door.timers[timer] = self.loop.call_later(seconds, self._on_timer, door, timer)

    def _on_timer(self, door: Door, timer: int) -> None:
        del door.timers[timer]
        out = Outbox()
        door.node.on_timer(timer, out)
        door.finish(out)
        self.flush()

    def deliver(self, link: Link, key: str, body: Any) -> None:
        """A message for a lock has arrived; if it makes no sense, nothing happens but a `ProtocolError`."""
        self._open_for_messages()
        message = self.vocabulary.message(body)
        door = self.doors.get(key)
        new = door is None
        if door is None:
            if len(key) > LONGEST_KEY:
                raise ProtocolError(f"a lock's key of {len(key)} characters is too long")
            if is_guarded(key):
                self.unclaimed.keep(key, link.peer, message)
                return
            door = self._make_door(key, shown(key))
        try:
            door.receive((link.peer - door.offset) % self.n, message)
        except ProtocolError:
            if new:
                del self.doors[key]
            raise

    def deliver_to_seats(self, link: Link, data: SeatData[Any]) -> None:
        """The same for a message to the seats before a semaphore."""
        self._open_for_messages()
        message = self.vocabulary.message(data.body)
        hall = self.halls.get(data.lock)
        new = hall is None
        if hall is None:
            if len(data.lock) > LONGEST_KEY:
                raise ProtocolError(f"a lock's key of {len(data.lock)} characters is too long")
            try:
                hall = self._make_hall(data.lock, shown(data.lock[1:]), data.k)
            except ConfigError as error:
                raise ProtocolError(str(error)) from None
        if data.k != hall.k:
            hall.hear_k(link.name, data.k)
            link.post(Seats(data.lock, hall.k))
            return
        try:
            hall.receive(link.peer, data.src, data.dst, message)
        except ProtocolError:
            if new:
                del self.halls[data.lock]
            raise

    def _open_for_messages(self) -> None:
        if not self.opened.is_set():
            if not self.roster.assume_founded():
                raise ProtocolError("sent a message before the cluster was complete")
            self._check_open()

    def flush(self) -> None:
        """Save what is to be saved; then send what is to be sent."""
        try:
            self.storage.sync()
        except OSError as error:
            self._give_up(f"{self.name!r} cannot save its state: {error.strerror or error}")
            raise
        unwritten = self.unwritten
        if unwritten:
            self.unwritten = []
            for link in unwritten:
                link.flush()

    def _give_up(self, reason: str) -> None:
        """Fall silent: what cannot be remembered must not be promised."""
        log(logging.CRITICAL, "node.failed", node=self.name, reason=reason)
        self.serving = False
        self.closing = True
        self.unwritten = []
        for task in self.tasks:
            task.cancel()
        if self.server is not None:
            self.server.close()
        for connection in list(self.connections):
            connection.abort()
        for door in self.all_doors():
            door.stop_timers()
            door.fail(ClusterDegraded(reason))

    def waited(self, seconds: float) -> None:
        self.waits_total += seconds
        self.waits[bisect_left(BUCKETS, seconds)] += 1

    def check_room(self) -> None:
        """Go on once the links have drained."""
        if all([link.roomy or self._is_done_without(link) for link in self.links]):
            self.crowded = False
            self._check_open()

    def _check_open(self) -> None:
        if self.roster.open and not self.closing and not self.crowded:
            if not self.opened.is_set():
                self._open()
            if not self.serving:
                self.serving = True
                for door in self.all_doors():
                    door.pump()

    def _open(self) -> None:
        roster = self.roster
        self.fence_base = roster.birth << FENCE_BITS
        if self.rejoins:
            self._save_founded()
        self.opened.set()
        log(logging.INFO, "cluster.open", node=self.name, members=",".join(self.members), past=roster.past)
        for link in self.links:
            link.post(View(roster.founded, True))
            self._ask_to_be_reminded(link)
        for door in self.all_doors():
            self._bring_up(door)
        self.flush()

    # -- peers -----------------------------------------------------------------------------------------

    @property
    def incarnation(self) -> int:
        return self.roster.incarnations[self.me]

    def hello(self, link: Link) -> Hello:
        known = self.roster.incarnations
        return Hello(
            self.config.cluster, self.name, link.name, self.members, self.vocabulary.schema,
            known[self.me], known[link.peer], link.received, self.roster.founded if self.rejoins else (),
        )  # fmt: skip

    def recognise(self, hello: Hello, certified: tuple[str, ...] | None, link: Link | None) -> Link:
        """The link that a connection belongs to, from its first frame; `ProtocolError` if it has no business here."""
        strangers = len([connection for connection in self.connections if not connection.greeted])
        if link is None and strangers > MOST_STRANGERS:
            raise ProtocolError("too many connections at once")
        if hello.cluster != self.config.cluster:
            raise ProtocolError(f"belongs to cluster {hello.cluster!r}; this is {self.config.cluster!r}")
        if hello.receiver != self.name:
            raise ProtocolError(f"looks for node {hello.receiver!r}; this is {self.name!r}")
        if hello.members != self.members:
            raise ProtocolError(f"has members {', '.join(hello.members)}; this cluster has {', '.join(self.members)}")
        if hello.sender not in self.members or (link is None and hello.sender >= self.name):
            raise ProtocolError(f"{hello.sender!r} must not call {self.name!r}")
        if link is not None and hello.sender != link.name:
            raise ProtocolError(f"is {hello.sender!r}, where {link.name!r} was called")
        if certified is not None and hello.sender not in certified:
            raise ProtocolError(f"calls itself {hello.sender!r}, but its certificate is for {', '.join(certified)}")
        if hello.schema != self.vocabulary.schema:
            raise ProtocolError(f"does not run {self.system.name}, or runs another version of it")
        peer = self.members.index(hello.sender)
        link = self.link_to[peer]
        assert link is not None
        known = self.roster.incarnations[peer]
        if self.rejoins and hello.founded:
            self._hear_founded(hello.founded)
        if not self.roster.recognise(peer, hello.incarnation):
            if self.rejoins:
                raise ProtocolError(f"{hello.sender!r} says that it is in no life")
            link.refusal = "it was started again without its state; restart the whole cluster"
            self._suspect(link, "restarted")
            raise ProtocolError(f"{hello.sender!r} was started again without its state; restart the whole cluster")
        if known and known != hello.incarnation:  # what it was told is gone, and what it knew
            if self.roster.open:
                self._suspect(link, "restarted")  # if only for a moment
            link.forget()
        if link.gap:
            raise ProtocolError(f"{hello.sender!r} was away for so long that it has missed too much: restart it")
        link.refusal = ""
        return link

    def _hear_founded(self, founded: tuple[int, ...]) -> None:
        if len(founded) != self.n or not self.roster.hear_founded(founded):
            raise ProtocolError(
                "remembers another beginning of the cluster: one of us has the state directory of another cluster"
            )
        self._check_open()

    def attached(self, link: Link) -> None:
        """There is a connection to the peer."""
        log(logging.DEBUG, "link.up", node=self.name, peer=link.name, resent=len(link.kept))
        if self.roster.open:
            link.post(View(self.roster.founded, True))
        elif self.roster.pinned:
            link.post(View(self.roster.view, False))
        for hall in self.halls.values():
            link.post(Seats(hall.key, hall.k))
        self._ask_to_be_reminded(link)

    def _ask_to_be_reminded(self, link: Link) -> None:
        if self.opened.is_set() and self.roster.past == FORGETFUL and link.peer in self.unreminded:
            link.post(Remind())

    def _remind(self, link: Link) -> None:
        """Tell which locks there are, in use or on disk."""
        known = {(key, 0) for key in self.doors} | {(key, hall.k) for key, hall in self.halls.items()}
        for stored in self.storage.stored():
            kind, _, key = stored.partition(" ")
            if kind == "lock":
                known.add((key, 0))
            elif kind == "seat":
                _, _, k, key = key.split(" ", 3)
                known.add((key, int(k)))
        locks = sorted(known)
        for start in range(0, len(locks) + 1, REMINDED):
            link.post(Known(tuple(locks[start : start + REMINDED]), start + REMINDED > len(locks)))

    def _on_known(self, link: Link, frame: Known) -> None:
        if not self.opened.is_set() or self.roster.past != FORGETFUL:
            return
        for key, k in frame.locks:
            if len(key) > LONGEST_KEY:
                raise ProtocolError(f"a lock's key of {len(key)} characters is too long")
            if k == 0 and key not in self.doors:
                self._make_door(key, shown(key))
            elif k and key not in self.halls:
                self._make_hall(key, shown(key[1:]), k)
        if frame.last:
            self.unreminded.discard(link.peer)
            if not self.unreminded:
                self.roster.past = RECOVERED
                self._save_founded()
                log(logging.INFO, "node.reminded", node=self.name, locks=len(self.all_doors()))
        self.flush()

    def _save_founded(self) -> None:
        self.storage.save("founded", (self.members, self.roster.founded, self.roster.past))

    def met(self, link: Link) -> None:
        """The peer and we know each other."""
        if not self.roster.met[link.peer] and self.roster.meet(link.peer):
            for other in self.links:
                other.post(View(self.roster.view, False))
            self._check_open()

    def heard_again(self, link: Link) -> None:
        """A peer that was away gives a sign of life."""
        link.away = False
        link.heard_at = self.now()
        if link.misjudged:
            link.misjudged = False
            link.patience.was_wrong()
        log(logging.INFO, "peer.back", node=self.name, peer=link.name)
        self._tell_nodes(link, suspect=False)

    def on_control(self, link: Link, frame: Frame) -> None:
        if isinstance(frame, View):
            if frame.founded and self.rejoins:
                self._hear_founded(frame.incarnations)
            elif len(frame.incarnations) != self.n or not self.roster.hear_view(link.peer, frame.incarnations):
                raise ProtocolError("met others than we did: a node was started again; restart the whole cluster")
            self._check_open()
        elif isinstance(frame, Nudge):
            door = self.doors.get(frame.lock)
            if door is not None:
                door.nudged(int.from_bytes(frame.group, "big"))
        elif isinstance(frame, Seats):
            hall = self.halls.get(frame.lock)
            if hall is None and len(frame.lock) <= LONGEST_KEY:
                self.told_k[frame.lock] = (link.name, frame.k)
            elif hall is not None:
                hall.hear_k(link.name, frame.k)
        elif isinstance(frame, Remind):
            self._remind(link)
        elif isinstance(frame, Known):
            self._on_known(link, frame)
        elif isinstance(frame, Query):
            link.post(Report(frame.number, json.dumps(self.status()).encode()))
        elif isinstance(frame, Report):
            answer = self.queries.get(frame.number)
            if answer is not None and not answer.done():
                answer.set_result(frame.status)
        elif isinstance(frame, Bye):
            connection = link.connection
            if frame.leaving:
                link.refusal = "it has left the cluster"
                self._suspect(link, "left")
            else:
                self.on_refused(link, frame.reason)
            if connection is not None:
                connection.abort()
        else:
            raise ProtocolError(f"sent {type(frame).__name__} twice")

    def on_refused(self, link: Link, reason: str) -> None:
        """The peer does not want to talk to us."""
        if link.refusal != reason:
            link.refusal = reason
            log(logging.WARNING, "link.refused", node=self.name, peer=link.name, reason=reason)

    def _silent(self, link: Link) -> None:
        if link.connection is not None:
            link.connection.abort()
        if self.roster.open:
            self._suspect(link, "silent")

    def _suspect(self, link: Link, why: str) -> None:
        if not link.away:
            link.away = True
            link.misjudged = why == "silent"
            log(
                logging.INFO if why == "left" else logging.WARNING, "peer.away", node=self.name, peer=link.name, why=why
            )
            self._tell_nodes(link, suspect=True)

    def _tell_nodes(self, link: Link, suspect: bool) -> None:
        link.changed_at = self.now()
        if self.opened.is_set():
            for door in self.all_doors():
                door.suspect(link.peer, suspect)
            self.flush()
        if self.crowded:
            self.check_room()

    def _fail_hopeless(self, now: float) -> None:
        """Waiting for somebody who is away may be waiting for ever: say so, once it has lasted a while. (Where a
        majority is enough they are served when it is back; only those who set a time are told, when that is over.)"""
        patience = self.config.timing.suspect_after
        if self.roster.open and self.rejoins:
            return
        if self.roster.open:
            since = min([link.changed_at for link in self.links if link.away], default=now)
        else:
            since = self.started_at + self.config.timing.gather - patience
        trouble = self.trouble()
        if not trouble or now - since < patience:
            return
        for door in self.all_doors():
            for waiter in list(door.queue):
                if now - waiter.since >= patience and not waiter.future.done():
                    waiter.future.set_exception(self.degraded(door.name))

    def trouble(self) -> list[Link]:
        """The peers because of whom locks may not be had; none if all is well enough."""
        if not self.roster.open:
            absent = self.roster.absent()
            return [link for link in self.links if link.peer in absent]
        away = [link for link in self.links if link.away]
        return [] if self.rejoins and 2 * (self.n - len(away)) > self.n else away

    def degraded(self, lock: str) -> ClusterDegraded:
        away = self.trouble()
        told = "; ".join([f"{link.name!r} is away{f' ({link.refusal})' if link.refusal else ''}" for link in away])
        return ClusterDegraded(f"lock {lock!r} cannot be had now: {told}", tuple([link.name for link in away]))

    def _nudge(self, now: float) -> None:
        if not self.system.problem.groups:
            return  # nobody shares, so nobody needs to be told
        for door in self.doors.values():
            if door.waiting and now - door.asked_at >= door.nudge_after:
                door.nudge_after += min(door.nudge_after, LAST_NUDGE)
                group = door.asked_number.to_bytes(door.asked_number.bit_length() // 8 + 1, "big")
                for link in self.links:
                    link.post(Nudge(door.key, group))

    # -- being looked at -------------------------------------------------------------------------------

    async def ask_everyone(self, patience: float = 1.0) -> dict[str, dict[str, Any] | None]:
        """The status of every member, by name; None for those that do not answer."""
        asked: dict[str, asyncio.Future[bytes]] = {}
        for link in self.links:
            number = random.getrandbits(62)
            self.queries[number] = asked[link.name] = self.loop.create_future()
            link.post(Query(number))
        self.flush()
        if asked:
            await asyncio.wait(asked.values(), timeout=patience)
        self.queries.clear()
        told: dict[str, dict[str, Any] | None] = {self.name: self.status()}
        for name, answer in asked.items():
            told[name] = json.loads(answer.result()) if answer.done() else None
        return {name: told[name] for name in self.members}

    def status(self) -> dict[str, Any]:
        now = self.now()
        return {
            "name": self.name,
            "cluster": self.config.cluster,
            "algorithm": self.system.name,
            "open": self.roster.open,
            "past": self.roster.past,
            "abstains": self.abstentions(),
            "links": {
                link.name: {
                    "state": "away" if link.away else "up" if link.connection is not None else "down",
                    "refusal": link.refusal,
                    "silent_for": round(now - link.heard_at, 3),
                    "patience": round(link.patience.allowed, 3),
                    "sent": link.sent,
                    "received": link.received,
                    "unacknowledged": link.sent - link.acked,
                    "connections": link.connections,
                    "resent": link.resent,
                }
                for link in self.links
            },
            "locks": {door.label: door.status() for door in self.all_doors()},
            "entries": sum([door.entries for door in self.all_doors()]),
            "sessions": sum([door.sessions for door in self.all_doors()]),
            "messages": self.messages_sent(),
            "waits": sum(self.waits),
            "waits_total": round(self.waits_total, 6),
        }

    def abstentions(self) -> int:
        """In how many locks this process has no vote yet, since it has lost its memory."""
        nodes = [door.node for door in self.doors.values()]
        for hall in self.halls.values():
            nodes += hall.nodes
        return sum([isinstance(node, Epochs) and node.abstains() for node in nodes])

    def messages_sent(self) -> dict[str, int]:
        """By the name of their kind."""
        counts: dict[str, int] = {}
        for kind, form in self.vocabulary.forms.items():
            counts[kind.__name__] = counts.get(kind.__name__, 0) + form.sent
        return counts
