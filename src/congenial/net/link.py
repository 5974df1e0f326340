"""The way to one peer: every message arrives, once, in order, however often connections break.

Messages are numbered. The sender keeps each until the receiver has acknowledged it (with a number in every frame it
sends back, or with an `Ack` when it has nothing to send), and after a new connection sends again what is missing; the
receiver passes over what it has. So a connection may break at any byte.

Of two peers the one with the smaller number calls. A connection begins with a `Hello` from the caller and one in
return; the caller's next frame tells the one called that its own has arrived.

What a link keeps is bounded where work begins: a process whose links are full asks for no more locks until they
have drained (`Link.full`). Messages that others caused are never held back, or two processes could wait for each
other to drain. Where work goes on without a peer that is away, it is sent little; if that becomes too much after all,
it is dropped, and the peer is not talked to before it has been started again.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import deque
from typing import TYPE_CHECKING, Any, cast

import msgspec

from congenial.net.codec import (
    LONGEST_FRAME,
    Ack,
    Bye,
    Data,
    Frame,
    FrameReader,
    Hello,
    SeatData,
    encode_frame,
)
from congenial.net.errors import ProtocolError
from congenial.net.logs import log
from congenial.parts.detectors import Patience

if TYPE_CHECKING:
    from congenial.net.host import Host

FULL = 10_000  # messages not acknowledged, above which no new work is begun
ACK_EVERY = 64  # messages received, or with the host's next tick
MOST_KEPT = 200_000  # messages for a peer that is away and done without
MOST_PATIENT = 4  # times the configured patience, after many mistakes about a peer
HANDSHAKE = 5.0  # seconds in which a connection must say who it is


class Link:
    """This end of the channel to `peer`, across any number of connections."""

    def __init__(self, host: Host, peer: int, name: str) -> None:
        self.host = host
        self.peer = peer
        self.name = name
        self.connection: Connection | None = None
        self.outgoing: list[bytes] = []  # written at the end of the step
        self.refusal = ""  # why the peer and we do not talk
        self.heard = False  # it has given a sign of life since the last tick
        self.heard_at = host.now()  # the last tick at which it had
        patience = host.config.timing.suspect_after
        self.patience = Patience(patience, patience / 2, MOST_PATIENT * patience)  # with its silence
        self.misjudged = False  # it is away for its silence alone: should it speak again, that was a mistake
        self.away = False  # it has been silent for too long, has left, or is not the one we knew
        self.changed_at = self.heard_at  # when `away` last changed
        self.connections = 0
        self.resent = 0
        self.forget()

    def forget(self) -> None:
        """Begin at the beginning: the peer has, too."""
        self.sent = 0
        self.acked = 0
        self.kept: deque[bytes] = deque()  # the frames of acked+1..sent
        self.received = 0
        self.told = 0  # of `received`, what the peer knows
        self.gap = False  # messages were dropped that this life of the peer has not had

    @property
    def full(self) -> bool:
        return self.sent - self.acked >= FULL

    @property
    def roomy(self) -> bool:
        return self.sent - self.acked < FULL // 2

    # -- sending ---------------------------------------------------------------------------------------

    def send(self, lock: str, body: msgspec.Raw) -> None:
        """Send a message, now or as soon as there is a connection."""
        self._send(Data(self.sent + 1, self.received, lock, body))

    def send_seated(self, lock: str, k: int, src: int, dst: int, body: msgspec.Raw) -> None:
        """The same, from a seat to a seat before a semaphore."""
        self._send(SeatData(self.sent + 1, self.received, lock, k, src, dst, body))

    def _send(self, data: Data[msgspec.Raw] | SeatData[msgspec.Raw]) -> None:
        frame = encode_frame(data)
        self.sent += 1
        self.kept.append(frame)
        if len(self.kept) > MOST_KEPT and self.away:
            self.gap = True
            self.kept.clear()
            self.acked = self.sent
        self._write(frame)
        self.told = self.received

    def post(self, frame: Frame) -> None:
        """Send a frame that does no harm if it gets lost."""
        self._write(encode_frame(frame))

    def _write(self, raw: bytes) -> None:
        if self.connection is not None:
            if not self.outgoing:
                self.host.unwritten.append(self)
            self.outgoing.append(raw)

    def flush(self) -> None:
        outgoing = self.outgoing
        if outgoing:
            self.outgoing = []
            if self.connection is not None:
                self.connection.write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))

    # -- receiving -------------------------------------------------------------------------------------

    def on_frame(self, frame: Frame) -> None:
        self.heard = True
        if self.away:
            self.host.heard_again(self)
        if type(frame) is Data or type(frame) is SeatData:
            if frame.received > self.acked:
                self._on_ack(frame.received)
            if frame.number <= self.received:
                return  # sent again, and had already
            if frame.number != self.received + 1:
                raise ProtocolError(f"message {frame.number} came where {self.received + 1} was due")
            if type(frame) is Data:
                self.host.deliver(self, frame.lock, frame.body)
            else:
                self.host.deliver_to_seats(self, cast("SeatData[Any]", frame))
            self.received += 1
            if self.received - self.told >= ACK_EVERY:
                self.acknowledge()
        elif type(frame) is Ack:
            self._on_ack(frame.received)
        else:
            self.host.on_control(self, frame)

    def acknowledge(self) -> None:
        self.told = self.received
        self.post(Ack(self.received))

    def _on_ack(self, received: int) -> None:
        if received > self.sent:
            raise ProtocolError(f"acknowledges message {received}, but only {self.sent} were sent")
        while self.acked < received:
            self.kept.popleft()
            self.acked += 1
        if self.host.crowded:
            self.host.check_room()

    # -- connections -----------------------------------------------------------------------------------

    def attach(self, connection: Connection, hello: Hello) -> None:
        """A connection has said hello: use it from now on, and send again what the peer has missed."""
        received = hello.received if hello.expected == self.host.incarnation else 0  # those of an earlier life are gone
        if received > self.sent:
            raise ProtocolError(f"claims {received} messages, but only {self.sent} were sent")
        if self.connection is not None:
            self.connection.abort()
        self._on_ack(received)
        self.connection = connection
        self.connections += 1
        self.resent += len(self.kept)
        self.outgoing = []
        self.told = self.received
        for frame in self.kept:
            self._write(frame)

    def detach(self, connection: Connection) -> None:
        if self.connection is connection:
            self.connection = None
            self.outgoing = []


class Connection(asyncio.Protocol):
    """One TCP connection: cuts bytes into frames, says hello, and then serves its link."""

    def __init__(self, host: Host, link: Link | None = None) -> None:
        self.host = host
        self.link = link  # None: we were called, and do not know yet by whom
        self.calling = link is not None
        self.greeted = False  # the peer's hello has come, and was good
        self.sure = False  # and the peer has had ours
        self.reader = FrameReader(host.vocabulary)
        self.closed: asyncio.Future[None] = host.loop.create_future()
        self.transport: asyncio.Transport | None = None
        self.deadline = host.loop.call_later(HANDSHAKE, self._too_slow)

    # -- what asyncio calls ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.host.connections.add(self)
        if self.link is not None:
            self.write(encode_frame(self.host.hello(self.link)))

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self.reader.feed(data):
                if self.transport is None:
                    break  # closed while we were at it
                if self.sure and self.link is not None:
                    self.link.on_frame(frame)
                else:
                    self._on_early_frame(frame)
        except ProtocolError as error:
            self.refuse(str(error))
        if self.host.unwritten:
            self.host.flush()

    def connection_lost(self, error: Exception | None) -> None:
        self._forget()

    # -- greeting --------------------------------------------------------------------------------------

    def _on_early_frame(self, frame: Frame) -> None:
        """The first frame is a greeting; the second tells the one called that its own has arrived."""
        if not self.greeted:
            self._on_greeting(frame)
        elif self.link is not None:
            self.sure = True
            self.host.met(self.link)
            self.link.on_frame(frame)

    def _on_greeting(self, frame: Frame) -> None:
        if type(frame) is Bye:
            if self.link is not None:
                self.host.on_refused(self.link, frame.reason)
            self.abort()
            return
        if type(frame) is not Hello:
            raise ProtocolError(f"sent {type(frame).__name__} before saying who it is")
        link = self.host.recognise(frame, self.certified(), self.link)
        self.link = link
        if not self.calling:
            self.write(encode_frame(self.host.hello(link)))
        self.deadline.cancel()
        self.reader.longest = LONGEST_FRAME
        self.greeted = True
        link.attach(self, frame)
        self.host.attached(link)
        if self.calling:
            self.sure = True
            link.acknowledge()
            self.host.met(link)

    def certified(self) -> tuple[str, ...] | None:
        """The names in the peer's certificate; None without TLS."""
        assert self.transport is not None
        tls: Any = self.transport.get_extra_info("ssl_object")
        if not isinstance(tls, (ssl.SSLObject, ssl.SSLSocket)):
            return None
        certificate: Any = tls.getpeercert() or {}
        return tuple([value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"])

    def _too_slow(self) -> None:
        self.refuse(f"did not say who it is in {HANDSHAKE:g} s")

    # -- ending ----------------------------------------------------------------------------------------

    def write(self, raw: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(raw)

    def refuse(self, reason: str, leaving: bool = False) -> None:
        """Close the connection, say why, and leave one line in the log."""
        if self.transport is None:
            return
        if not leaving:
            who = self.link.name if self.link is not None else self.transport.get_extra_info("peername")
            log(logging.WARNING, "connection.refused", node=self.host.name, peer=who, reason=reason)
        self.write(encode_frame(Bye(reason[:500], leaving)))
        transport = self.transport
        self._forget()
        transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            transport = self.transport
            self._forget()
            transport.abort()

    def _forget(self) -> None:
        self.transport = None
        self.deadline.cancel()
        self.host.connections.discard(self)
        if self.link is not None:
            self.link.detach(self)
        if not self.closed.done():
            self.closed.set_result(None)
