"""One TCP connection to a peer: cuts bytes into frames, exchanges greetings, and then serves a link.

Of two peers the one with the smaller number calls. A connection begins with a `Hello` from the caller and one in
return. The caller's next frame tells the other side that its own `Hello` has arrived.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from typing import Any, Protocol, cast

from congenial.net.errors import ProtocolError
from congenial.net.link import Link
from congenial.net.logs import log
from congenial.net.turn import Turn
from congenial.net.wire import LONGEST_FRAME, Bye, Frame, FrameReader, Hello, encode_frame

CHUNK = 1 << 15  # bytes that are read at a time. Without a buffer of our own asyncio allocates 256 KiB for each read.
HANDSHAKE = 5.0  # seconds in which a connection must say which member it is


class Reception(Protocol):
    """What a connection asks of the layer above."""

    name: str
    turn: Turn
    connections: set[Connection]

    @property
    def incarnation(self) -> int: ...

    def decode_frame(self, raw: memoryview) -> Frame: ...

    def hello(self, link: Link) -> Hello:
        """What to say first."""

    def recognise(self, hello: Hello, certified: tuple[str, ...] | None, link: Link | None) -> Link:
        """The link that a connection belongs to, from its first frame; `ProtocolError` if it must not connect."""

    def on_connected(self, link: Link) -> None:
        """A connection has been attached to the link."""

    def on_met(self, link: Link) -> None:
        """The peer and we know each other."""

    def on_refused(self, link: Link, reason: str) -> None:
        """The peer refuses to talk to us."""


class Connection(asyncio.BufferedProtocol):
    def __init__(self, above: Reception, loop: asyncio.AbstractEventLoop, link: Link | None = None) -> None:
        self.above = above
        self.link = link  # None: the other side has called, and we do not know yet which member it is
        self.calling = link is not None
        self.greeted = False  # the peer's hello has arrived, and was accepted
        self.sure = False  # and the peer has received ours
        self.buffer = memoryview(bytearray(CHUNK))
        self.reader = FrameReader(above.decode_frame)
        self.closed: asyncio.Future[None] = loop.create_future()
        self.transport: asyncio.Transport | None = None
        self.deadline = loop.call_later(HANDSHAKE, self._too_slow)

    # -- what asyncio calls ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.above.connections.add(self)
        if self.link is not None:
            self.write(encode_frame(self.above.hello(self.link)))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        with self.above.turn:
            try:
                for frame in self.reader.feed(bytes(self.buffer[:nbytes])):
                    if self.transport is None:
                        break  # closed by one of the frames before
                    if self.sure and self.link is not None:
                        self.link.on_frame(frame)
                    else:
                        self._on_early_frame(frame)
            except ProtocolError as error:
                self.refuse(str(error))

    def connection_lost(self, error: Exception | None) -> None:
        self._forget()

    # -- greeting --------------------------------------------------------------------------------------

    def _on_early_frame(self, frame: Frame) -> None:
        """The first frame is a greeting; the second one tells the side that was called that its own has arrived."""
        if not self.greeted:
            self._on_greeting(frame)
        elif self.link is not None:
            self.sure = True
            self.above.on_met(self.link)
            self.link.on_frame(frame)

    def _on_greeting(self, frame: Frame) -> None:
        if type(frame) is Bye:
            if self.link is not None:
                self.above.on_refused(self.link, frame.reason)
            self.abort()
            return
        if type(frame) is not Hello:
            raise ProtocolError(f"sent {type(frame).__name__} before saying who it is")
        link = self.above.recognise(frame, self.certified(), self.link)
        self.link = link
        if not self.calling:
            self.write(encode_frame(self.above.hello(link)))
        self.deadline.cancel()
        self.reader.longest = LONGEST_FRAME
        self.greeted = True
        known = frame.expected == self.above.incarnation  # what it received from an earlier life of ours does not count
        link.attach(self, frame.received if known else 0)
        self.above.on_connected(link)
        if self.calling:
            self.sure = True
            link.acknowledge()
            self.above.on_met(link)

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
        """Close the connection, tell the peer why, and leave one line in the log."""
        if self.transport is None:
            return
        if not leaving:
            who = self.link.name if self.link is not None else self.transport.get_extra_info("peername")
            log(logging.WARNING, "connection.refused", node=self.above.name, peer=who, reason=reason)
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
        self.above.connections.discard(self)
        if self.link is not None:
            self.link.detach(self)
        if not self.closed.done():
            self.closed.set_result(None)
