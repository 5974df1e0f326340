"""This process as a member of its cluster: which other members are there, and the links to them.

The membership greets peers and recognises them, agrees with them on the founding of the cluster (`Roster`), knows which
of them are suspected to have crashed (`Suspicion`), and says when locks may be asked for (`serving`). Processes that
have not founded the cluster may enter it later (`congenial.net.seeking`). There is a link to each process that matters.

The layer above hears of all that through `Listener`, and gets frames through the handlers that it has registered.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, Protocol

from congenial.kernel.errors import ConfigError
from congenial.net import forks
from congenial.net.addresses import address
from congenial.net.config import ClusterConfig
from congenial.net.connection import Connection
from congenial.net.dialer import Dialer
from congenial.net.errors import NameInUse, ProtocolError
from congenial.net.greeting import EXPECTED_SERIAL, SERIAL, Greeting, serial_in
from congenial.net.lease import Lease
from congenial.net.link import Link, LockReceiver
from congenial.net.logs import Seldom, log
from congenial.net.names import process_number
from congenial.net.porter import Porter
from congenial.net.roster import (
    FORGETFUL,
    ORIGINAL,
    RECOVERED,
    UNKNOWN,
    Roster,
    fence_base,
    last_of_tick,
    new_incarnation,
)
from congenial.net.secret import secret_of
from congenial.net.storage import Storage
from congenial.net.suspicion import LEFT, RESTARTED, Suspicion
from congenial.net.turn import Turn
from congenial.net.wire import SPEAKS, Beat, Bye, Claimed, Echo, Frame, Hello, Seek, View, Welcome

ANOTHER_BEGINNING = "remembers another beginning of the cluster: one of us has the state directory of another cluster"
CALLS_AGAIN = 4  # times `reconnect` after a connection broke, at most, if the peer is still there
IN_USE = "another process"  # how the refusal of a name begins that another process has
HAS_LEFT = "it has left the cluster"  # in the place of a refusal
LINGER = 1.0  # seconds in which the last messages may be acknowledged when leaving
STRANGER = 60.0  # seconds after which a process that is no member is forgotten, if it is not connected

Handler = Callable[[Link, Any], None]


class Listener(Protocol):
    """What the membership calls in the layer above."""

    def on_open(self) -> None:
        """The cluster is founded: nodes may take steps from now on."""

    def on_serving(self) -> None:
        """Locks may be asked for, from now on or again."""

    def on_connected(self, link: Link) -> None:
        """There is a new connection to a peer."""

    def on_suspicion(self, peer: int, away: bool) -> None:
        """A peer of an open cluster is suspected, or trusted again."""

    def on_lapse(self, lease: Lease) -> None:
        """The others may have gone on without this process: what it held by this lease is lost."""

    def grant(self, link: Link) -> int:
        """A peer has given a sign of life. The view in which it gets a lease; -1 if in none."""

    def on_echo(self, link: Link, echo: Echo) -> None:
        """A peer has answered a sign of life."""

    def on_missed(self, link: Link) -> None:
        """Messages from a peer were lost."""

    def on_tick(self, now: float) -> None:
        """Time has passed."""


class Dialect(Protocol):
    """How frames are read, and which messages the locks exchange."""

    schema: str

    def decode_frame(self, raw: bytes | memoryview) -> Frame: ...


class Entry(NamedTuple):
    """How a process comes to its cluster."""

    address: str  # where the others can call it
    founders: tuple[str, ...]  # of the cluster
    places: dict[str, str]  # where members are that are known from the beginning, by name
    founded: tuple[int, ...] = ()  # the incarnations of the founders, if it enters a cluster that is there


class Membership:
    def __init__(
        self,
        name: str,
        config: ClusterConfig,
        entry: Entry,
        turn: Turn,
        dialect: Dialect,
        algorithm: str,
        rejoins: bool,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.now: Callable[[], float] = self.loop.time
        self.name = name
        self.config = config
        self.timing = config.timing
        self.address = entry.address
        self.founders = entry.founders
        self.n = len(self.founders)
        self.me = process_number(name, self.founders)
        self.elastic = config.elastic  # members may come and go
        self.turn = turn
        self.storage: Storage = turn.storage
        self.decode_frame = dialect.decode_frame
        told = self.address if config.seeds else ""  # where founders are, the others know
        self.greeting = Greeting(name, config, self.founders, told, dialect.schema, algorithm)
        self.rejoins = rejoins  # a restarted member may rejoin
        self.resumes = False  # so may one that has missed messages, without being restarted
        self.listener: Listener | None = None
        self.handlers: dict[type[Frame], Handler] = {View: self._on_view}
        self.news = Seldom(self.now)
        self.secret = secret_of(config)

        self.highest = 0  # incarnation or fence that this member remembers, if it has a state directory
        self.roster = self._load_roster(entry.founded)
        self.fence_base = 0
        self.opened = asyncio.Event()
        self.decided = asyncio.Event()  # opened, or permanently ended
        self.crowded = False  # a link is full
        self.serving = False  # the cluster is open, and the links have room: locks may be asked for
        self.closing = False
        self.ended = ""  # why this process has stopped, if that is permanent
        self.over = asyncio.Event()  # it does not
        self.electorate: Callable[[], Collection[int]] = lambda: range(self.n)  # members of which a majority is needed
        self.forgetful_voters: Callable[[], Collection[int]] = (
            tuple  # those of them that are there, but remember nothing
        )
        self.on_end: Callable[[str], None] | None = None
        self.took_part = False  # a peer has accepted this incarnation
        self.started_at = self.now()
        self.is_member: Callable[[], bool] = lambda: True
        self.present: Collection[int] = ()  # the members
        self.needed: Collection[int] = ()  # the members, and voters that are away: links to them are never dropped
        self.calls: dict[int, asyncio.Task[None]] = {}  # by peer
        self.started = False
        self.links: list[Link] = []
        self.link_to: dict[int, Link] = {}  # by process
        self.strangers = 0  # links that were dropped
        self.lock_receiver: LockReceiver | None = None  # of all links
        self.lease = Lease(self.n, 2 * self.timing.heartbeat, self.timing.suspect_after, self.timing.drift)
        self.suspicion = Suspicion(name, self.links, config.timing, self.now, self._on_suspicion)
        self.connections: dict[Connection, None] = {}  # oldest first
        called_tls, calling_tls = config.tls.contexts(name) if config.tls is not None else (None, None)
        self.porter = Porter(name, called_tls, lambda: Connection(self, self.loop), self.news)
        self.dialer = Dialer(name, config, calling_tls, self._may_call, lambda link: Connection(self, self.loop, link))
        self.tasks: list[asyncio.Task[None]] = []
        for other in sorted(entry.places):
            if other != name:
                self._add_link(other, entry.places[other])

    def _load_roster(self, founded: tuple[int, ...]) -> Roster:
        highest = self.storage.load("incarnation")
        incarnation = new_incarnation(highest if isinstance(highest, int) else 0)
        self.remember_number(incarnation)
        self.storage.sync()
        stored: Any = self.storage.load("founded") if self.rejoins else None
        if stored is None:
            return Roster(self.n, self.me, incarnation, self.rejoins, founded, FORGETFUL if founded else UNKNOWN)
        founded, past = stored
        return Roster(self.n, self.me, incarnation, True, founded, RECOVERED if past == ORIGINAL else past)

    # -- links -----------------------------------------------------------------------------------------

    def name_of(self, process: int) -> str:
        if process == self.me:
            return self.name
        link = self.link_to.get(process)
        if link is not None:
            return link.name
        return self.founders[process] if process < self.n else f"process {process}"

    def find(self, name: str) -> Link:
        """The link to the process with this name; `ProtocolError` if there cannot be one."""
        peer = process_number(name, self.founders)
        link = self.link_to.get(peer)
        if link is None:
            if not self.elastic:
                raise ProtocolError(f"{name!r} is not a node of this cluster")
            link = self._add_link(name, "")
        if link.name != name:
            raise ProtocolError(f"{name!r} cannot be told from {link.name!r}: give the new process another name")
        return link

    def _add_link(self, name: str, place: str) -> Link:
        peer = process_number(name, self.founders)
        link = Link(self, self.turn, peer, name, self.now, self.timing.suspect_after, self.strangers)
        link.lock_receiver = self.lock_receiver
        link.know_place(place)
        settled = self.opened.is_set() and self.is_member()
        link.away = bool(self.config.seeds) and not settled  # a process that enters hears nobody at first
        self.links.append(link)
        self.links.sort(key=lambda link: link.peer)
        self.link_to[peer] = link
        if self.started:
            self._keep_calling(link)
        return link

    def _keep_calling(self, link: Link) -> None:
        if self.elastic or link.peer > self.me:
            calling = asyncio.create_task(self.dialer.keep_calling(link), name=f"congenial calls {link.name}")
            self.calls[link.peer] = calling
            self.tasks.append(calling)

    def _may_call(self, link: Link) -> bool:
        """Of two members the one whose name comes first calls the other. Where one is no member, the other end may not
        know where it is: so both call, the second one after a while. So does a process that has entered by seeds where
        the other one is away, which may have excluded and forgotten it. A new process calls all others immediately."""
        if link.connection is not None:
            return False
        if not self.elastic:
            return True
        waits = self.now() - max(link.made_at, link.detached_at) <= CALLS_AGAIN * self.timing.reconnect
        if link.name > self.name:
            return link.name in self.config.nodes or link.connections > 0 or not waits  # a new process calls itself
        seeds = bool(self.config.seeds)
        needed = not self.is_member() or link.peer not in self.present or (seeds and link.away)
        return self.opened.is_set() and needed and (not waits or (seeds and not link.connections))

    def follow(
        self, members: Iterable[tuple[str, str, bool]], present: Collection[int], needed: Collection[int]
    ) -> None:
        """These are the members now (names, addresses, and have they entered by seeds?), and all processes that matter.
        Where a founder is, our own configuration says, unless it has entered by seeds and says so itself."""
        self.present = present
        self.needed = needed
        for name, place, moved in members:
            if name != self.name:
                link = self.find(name)
                if moved or name not in self.config.nodes or not link.places:
                    link.know_place(place)

    def know_places(self, members: Iterable[tuple[str, str]]) -> None:
        """These processes, names and addresses, are members elsewhere, as far as a seed knows."""
        for name, place in members:
            if name != self.name:
                self.find(name).know_place(checked_address(place))

    def _drop_strangers(self, now: float) -> None:
        """Forget processes that were members once. One that comes back counts messages from the start (`Link.serial`),
        and goes on as if it had been restarted if it has not noticed that it is no member."""
        for link in list(self.links):
            silent = link.connection is None and now - max(link.detached_at, link.made_at) > STRANGER
            if silent and link.peer not in self.needed and link.peer >= self.n:
                self.strangers += 1
                self.links.remove(link)
                del self.link_to[link.peer]
                for connection in [one for one in self.connections if one.link is link]:
                    connection.abort()  # it has been greeted with what the link has counted
                self.roster.forget(link.peer)
                calling = self.calls.pop(link.peer)
                calling.cancel()
                self.tasks.remove(calling)
                if link.away and self.listener is not None:
                    self.listener.on_suspicion(link.peer, False)

    # -- life ------------------------------------------------------------------------------------------

    def start(self, listeners: list[socket.socket]) -> None:
        """Answer calls on these sockets, and call; returns immediately. `opened` is set when everyone is there."""
        self.porter.listen(listeners)
        self.started = True
        for link in self.links:
            self._keep_calling(link)
        self.tasks.append(asyncio.create_task(self._tick(), name="congenial ticks"))
        with self.turn:
            self._check_open()

    def stop(self) -> None:
        """Stop asking for locks."""
        self.closing = True
        self.serving = False

    async def leave(self) -> None:
        """Let what was sent arrive, tell the others, and leave nothing behind."""
        deadline = self.now() + LINGER
        while any(link.unacknowledged and link.connection for link in self.links) and self.now() < deadline:
            await asyncio.sleep(0.005)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.porter.close()
        endings = [connection.closed for connection in self.connections]
        for connection in list(self.connections):
            if connection.accepted:
                connection.say_goodbye(Bye("leaves the cluster", True))
            else:
                connection.abort()
        if endings:
            await asyncio.wait(endings, timeout=LINGER)
        await asyncio.sleep(0)  # transports close in the loop's next round

    def fall_silent(self) -> None:
        """Cut all connections, and make no new ones."""
        self.stop()
        for task in self.tasks:
            task.cancel()
        self.porter.close()
        for connection in list(self.connections):
            connection.abort()

    def on_fork(self) -> None:
        """This is a forked child: its copies of the connections are not for use."""
        self.stop()
        self.porter.on_fork()
        forks.drop_transports([connection.transport for connection in self.connections])
        forks.leave_loop(self.loop)
        for task in self.tasks:  # if the child runs its copy of the event loop, it must not call peers
            with contextlib.suppress(RuntimeError):  # a loop in debug mode minds that this is not its thread
                task.cancel()

    async def _tick(self) -> None:
        """All that happens by the clock."""
        beat_at = 0.0
        while True:
            await asyncio.sleep(self.suspicion.period)
            now = self.now()
            beat = now - beat_at >= self.timing.heartbeat
            if beat:
                beat_at = now
                self.turn.check()
            with self.turn:
                for link in self.links:
                    if link.connection is not None:
                        if link.ack_sent < link.received:
                            link.acknowledge()
                        if beat:
                            link.beat()
                        if not link.counts and now - link.attached_at > self.timing.heartbeat:
                            link.counts = True  # what was refused before was sent again, and is accepted now
                self.suspicion.look(now, self.roster.open)
                if beat and self.elastic:
                    self._drop_strangers(now)
                if self.listener is not None:
                    if self.lease.look():
                        self.listener.on_lapse(self.lease)
                    self.listener.on_tick(now)

    # -- greeting --------------------------------------------------------------------------------------

    @property
    def incarnation(self) -> int:
        return self.roster.incarnations[self.me]

    def hello(self, link: Link, answer_to: Hello | None) -> Hello:
        known = self.roster.known(link.peer), link.peer_serial
        founded = self.roster.founded if self.rejoins else ()
        expected = known if answer_to is None else (answer_to.incarnation, serial_in(answer_to, SERIAL))
        return self.greeting.hello(link, self.incarnation, expected, expected == known, founded)

    def recognise(self, hello: Hello, certified: tuple[str, ...] | None, link: Link | None) -> Link:
        """The link that a connection belongs to; `ProtocolError` if it must not connect."""
        self.greeting.check(hello, certified, link)
        if self.rejoins and hello.founded and (len(hello.founded) != self.n or not self.roster.began_as(hello.founded)):
            self._doubt_founding(hello)
            raise ProtocolError(ANOTHER_BEGINNING)
        found = self.find(hello.sender)
        peer = found.peer
        if hello.incarnation <= 0:
            raise ProtocolError(f"{hello.sender!r} sent no incarnation number")
        if hello.address and self.elastic:
            found.know_place(checked_address(hello.address))
        serial = serial_in(hello, SERIAL)
        same = hello.incarnation == self.roster.known(peer)
        if not same:
            self._check_name(hello, found)
        elif serial < found.peer_serial:
            raise ProtocolError("greets as it did before it had forgotten this process")
        elif found.gap and not self.resumes:
            raise ProtocolError(
                f"{hello.sender!r} and {self.name!r} were apart for so long that messages between them were dropped: "
                "restart the one that was cut off from the others"
            )
        sent = found.sent if same and serial == found.peer_serial else 0
        if self._is_expected(hello, found) and hello.received > sent:
            raise ProtocolError(f"says it has received {hello.received} messages, but only {sent} were sent")
        return found

    def _is_expected(self, hello: Hello, link: Link) -> bool:
        """True if the peer has counted messages of this life, and of this end of the link."""
        return hello.expected == self.incarnation and serial_in(hello, EXPECTED_SERIAL) == link.serial

    def _doubt_founding(self, hello: Hello) -> None:
        """A member of an older cluster knows us. If we have founded one alone, that was a mistake: as a member that has
        forgotten everything we should have come back by seeds."""
        alone = self.n == 1 and self.roster.has_founded() and not self.links
        if alone and min(hello.founded) < min(self.roster.founded):
            self.end(
                f"{self.name!r} was a member of a cluster that still runs, and has begun another one: start it with "
                f"its state directory, or with seeds, such as {hello.address or hello.sender}"
            )

    def welcome(self, seek: Seek, certified: tuple[str, ...] | None) -> Welcome:
        """What to tell a process that looks for the members."""
        self.greeting.check_newcomer(seek, certified)
        if not self.opened.is_set() or self.closing:
            raise ProtocolError(f"{self.name!r} has not joined yet, or has left")
        places = {link.name: link.places[0] for link in self.links if link.peer in self.needed and link.places}
        return Welcome(self.founders, self.roster.founded, ((self.name, self.address), *places.items()))

    def _check_name(self, hello: Hello, link: Link) -> None:
        """Another process than the last one has this name. That is a restart, unless the last one is still there."""
        known = self.roster.known(link.peer)
        where = f" ({link.connection.where})" if link.connection is not None else ""
        if hello.incarnation < known:
            raise NameInUse(f"{IN_USE}, which was started later, has the name {link.name!r}{where}", known)
        if self._is_there(link):
            link.post(Claimed(hello.incarnation))
            raise NameInUse(f"{IN_USE} has the name {link.name!r}, and takes part{where}", known)
        if not self.roster.admits(link.peer, hello.incarnation):
            link.refusal = "it was restarted without its state; restart the whole cluster"
            self.suspicion.suspect(link, RESTARTED)
            raise ProtocolError(f"{link.name!r} was restarted without its state; restart the whole cluster")

    def _is_there(self, link: Link) -> bool:
        """True if a peer takes part, or did a moment ago: if only its connection broke, it calls again immediately."""
        now = self.now()
        if link.connection is None:
            return not link.away and now - link.detached_at < CALLS_AGAIN * self.timing.reconnect
        return link.heard or now - link.heard_at <= self.timing.suspect_after

    def accept(self, hello: Hello, link: Link, connection: Connection) -> None:
        """The peer and we accept each other: the connection is the link's from now on."""
        self.took_part = True
        if self.rejoins and hello.founded:
            self._hear_founded(hello.founded)
        known = self.roster.known(link.peer)
        self.roster.recognise(link.peer, hello.incarnation)
        restarted = known not in (0, hello.incarnation)
        serial = serial_in(hello, SERIAL)
        forgotten = known == hello.incarnation and serial != link.peer_serial
        link.peer_serial = serial
        if restarted and self.roster.open:
            self.suspicion.suspect(link, RESTARTED)  # if only for a moment
        if restarted or forgotten:  # what it was told is gone, and what it knew
            if link.connection is not None:
                link.connection.abort()
            link.counts = True
            link.forget()
        link.refusal = ""
        link.speaks, link.release = min(hello.speaks[1], SPEAKS[1]), hello.release
        if self.dialer.witness is link:
            self.dialer.witness = None
        expected = self._is_expected(hello, link)  # what it received from an earlier life of ours does not count
        link.attach(connection, hello.received if expected else 0)
        if expected and known == hello.incarnation and link.received < hello.dropped:
            link.received = link.ack_sent = hello.dropped
            self._miss(link)
        if forgotten and self.is_member() and link.peer in self.present:
            self._miss(link)  # the peer knows a view without us, or it has missed what we have sent in this one
        self.on_connected(link)
        self.on_met(link)

    def _miss(self, link: Link) -> None:
        """A peer has dropped messages for us while we were away from it."""
        if not self.resumes:
            raise ProtocolError(f"{link.name!r} has dropped messages for us")
        log(logging.WARNING, "link.missed", node=self.name, peer=link.name)
        if self.opened.is_set() and self.listener is not None:
            self.listener.on_missed(link)

    def on_connected(self, link: Link) -> None:
        log(logging.DEBUG, "link.up", node=self.name, peer=link.name, resent=len(link.unacknowledged))
        if self.roster.open:
            link.post(View(self.roster.founded, True))
        elif self.roster.pinned:
            link.post(View(self.roster.view, False))
        if self.listener is not None:
            self.listener.on_connected(link)

    def on_met(self, link: Link) -> None:
        if link.peer not in self.roster.met and self.roster.meet(link.peer):
            for other in self.links:
                other.post(View(self.roster.view, False))
            self._check_open()

    def on_refused(self, link: Link, reason: str, known: int) -> None:
        if link.refusal != reason:
            link.refusal = reason
            log(logging.WARNING, "link.refused", node=self.name, peer=link.name, reason=reason)
        if known > self.incarnation:
            self._give_way(link, known, reason)
        elif known:
            self.dialer.hear_of_another(link)

    def _give_way(self, link: Link, known: int, reason: str) -> None:
        """A process that was started later has our name. If nobody has accepted us yet, it may be gone, and our clock
        slow: begin again, as if we had been started later still."""
        if self.took_part:
            self.end(f"{self.name!r} has stopped: {link.name!r} says that {reason}")
            return
        self.roster.incarnations[self.me] = new_incarnation(known)
        self.remember_number(self.incarnation)
        for connection in list(self.connections):  # on which we may have told the old incarnation
            connection.abort()

    def end(self, reason: str) -> None:
        """Stop taking part permanently."""
        if not self.ended:
            self.ended = reason
            self.decided.set()
            self.over.set()
            log(logging.CRITICAL, "node.ended", node=self.name, reason=reason)
            self.fall_silent()
            if self.on_end is not None:
                self.on_end(reason)

    def on_bye(self, link: Link, bye: Bye) -> None:
        """The peer ends a connection that it had accepted."""
        connection = link.connection
        if bye.leaving:
            link.refusal = HAS_LEFT
            self.suspicion.suspect(link, LEFT)
        else:
            link.counts = False
            self.on_refused(link, bye.reason, bye.known)
        if connection is not None:
            connection.abort()

    def on_refusing(self, link: Link, connection: Connection, reason: str) -> None:
        """We refuse to talk to the peer on this connection."""
        if link.connection is connection:
            link.counts = False
        if link.connection in (None, connection):  # there is no other connection, which is good
            link.refusal = reason

    # -- frames ----------------------------------------------------------------------------------------

    def deliver_to(self, receiver: LockReceiver | None) -> None:
        """Give the messages of locks that follow views to this receiver; None: to their handler, as other frames."""
        self.lock_receiver = receiver
        for link in self.links:
            link.lock_receiver = receiver

    def on_frame(self, link: Link, frame: Frame) -> None:
        handler = self.handlers.get(type(frame))
        if handler is None:
            raise ProtocolError(f"sent {type(frame).__name__} twice")
        handler(link, frame)

    def _on_view(self, link: Link, view: View) -> None:
        if view.founded and self.rejoins:
            self._hear_founded(view.incarnations)
        elif len(view.incarnations) != self.n or not self.roster.hear_view(link.peer, view.incarnations):
            raise ProtocolError("met others than we did: a node was restarted; restart the whole cluster")
        self._check_open()

    def _hear_founded(self, founded: tuple[int, ...]) -> None:
        if len(founded) != self.n or not self.roster.hear_founded(founded):
            raise ProtocolError(ANOTHER_BEGINNING)
        self._check_open()

    def require_open(self) -> None:
        """A peer has sent a message for a lock, so for it the cluster is open; `ProtocolError` if that cannot be."""
        if not self.opened.is_set():
            if not self.roster.assume_founded():
                raise ProtocolError("sent a message before the cluster was complete")
            self._check_open()

    # -- suspicion -------------------------------------------------------------------------------------

    def on_sign_of_life(self, link: Link) -> None:
        self.suspicion.trust(link)

    def on_beat(self, link: Link, beat: Beat) -> None:
        view = self.listener.grant(link) if self.listener is not None and self.opened.is_set() else -1
        link.post(Echo(beat.sent, link.patience_left, view))

    def answer_again(self, peers: Iterable[int]) -> None:
        """Answer the last signs of life of these peers once more: the answer may be another one now."""
        for link in self.links:
            if link.peer in peers and link.last_beat is not None and link.counts:
                self.on_beat(link, link.last_beat)

    def on_echo(self, link: Link, echo: Echo) -> None:
        goes_on = self.lease.grant(link.peer, echo.sent, echo.allowed)
        if self.listener is not None:
            if goes_on and self.serving:
                self.listener.on_serving()
            self.listener.on_echo(link, echo)

    def _on_suspicion(self, link: Link) -> None:
        if self.opened.is_set() and self.listener is not None:
            self.listener.on_suspicion(link.peer, link.away)
        self.on_acknowledged(link)  # a link to a peer that is away may no longer count

    # -- opening and serving ---------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self.roster.open and not self.closing and not self.crowded:
            if not self.opened.is_set():
                self._open()
            if not self.serving:
                self.serving = True
                if self.listener is not None:
                    self.listener.on_serving()

    def _open(self) -> None:
        roster = self.roster
        self.fence_base = fence_base(roster.founded)
        self.remember_number(max(roster.founded))
        if self.rejoins:
            self._save_founded()
        self.opened.set()
        self.decided.set()
        log(logging.INFO, "cluster.open", node=self.name, members=",".join(self.founders), past=roster.past)
        for link in self.links:
            link.post(View(roster.founded, True))
        if self.listener is not None:
            self.listener.on_open()

    @property
    def forgetful(self) -> bool:
        """This member has lost its memory, and does not know yet of all locks in which it may have made promises."""
        return self.roster.past == FORGETFUL

    def remember(self) -> None:
        """This member knows again of all locks in which it may have made promises."""
        self.roster.past = RECOVERED
        self._save_founded()

    def remember_number(self, number: int) -> None:
        """There is this incarnation, or this fence was given: go above it after a restart, with all of its tick."""
        if number > self.highest:
            self.highest = last_of_tick(number)
            self.storage.save("incarnation", self.highest)

    def _save_founded(self) -> None:
        self.storage.save("founded", (self.roster.founded, self.roster.past))
        if self.config.seeds:
            self.storage.save("founders", self.founders)

    def check_crowd(self) -> None:
        """Stop asking for locks if a link is full. To be called after sending."""
        if not self.crowded and any([link.full and not self._goes_on_without(link) for link in self.links]):
            self.crowded = True
            self.serving = False

    def on_acknowledged(self, link: Link) -> None:
        """Ask for locks again once the links have drained."""
        if self.crowded and all([link.roomy or self._goes_on_without(link) for link in self.links]):
            self.crowded = False
            self._check_open()

    def _goes_on_without(self, link: Link) -> bool:
        """True if work goes on although the peer is away; it is then sent little."""
        return link.away and self.rejoins


def checked_address(place: str) -> str:
    try:
        address(place)
    except ConfigError as error:
        raise ProtocolError(str(error)) from None
    return place
