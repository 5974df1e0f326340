"""One TCP connection to a peer: exchanges greetings, and then serves a link.

Of two members the one whose name comes first calls; a process that is not a member calls all. Each end proves that it
belongs to the cluster (`handshake`), and says who it is and how far it has got (`Hello`). The end that was called says
so only if it accepts the caller, and the caller's next frame says that it accepts the end that was called. Only then
does the connection belong to the link, and only then does what arrives on it count as a sign of life.

A peer that has not proven itself is told nothing but "refused"; the log says why. What arrives and what is written goes
through a `Stream`, which asyncio and the link call directly.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from typing import Any, Protocol, cast

from congenial.net.errors import NameInUse, ProtocolError
from congenial.net.frames import LONGEST_FRAME, encode_frame
from congenial.net.handshake import NONCE, Handshake
from congenial.net.link import Link
from congenial.net.logs import Seldom, log
from congenial.net.secret import Secret
from congenial.net.stream import Stream
from congenial.net.turn import Turn
from congenial.net.wire import SPEAKS, Bye, Challenge, Frame, Hello, Seek, Unknown, Welcome

HANDSHAKE = 5.0  # seconds in which a connection must prove which member it is
REFUSED = "refused"  # what those hear that have not
SAME_SECRET = "do both run as the same user, and with the same secret?"  # and where ours is


class Reception(Protocol):
    """What a connection asks of the layer above."""

    name: str
    secret: Secret
    turn: Turn
    news: Seldom
    connections: dict[Connection, None]  # all that there are, oldest first

    def decode_frame(self, raw: bytes) -> Frame: ...

    def hello(self, link: Link, answer_to: Hello | None) -> Hello:
        """What to say to the peer of a link, first or as an answer."""

    def recognise(self, hello: Hello, certified: tuple[str, ...] | None, link: Link | None) -> Link:
        """The link that a connection belongs to; `ProtocolError` if it must not connect."""

    def welcome(self, seek: Seek, certified: tuple[str, ...] | None) -> Welcome:
        """What to tell a process that looks for the members; `ProtocolError` if it must not be one."""

    def accept(self, hello: Hello, link: Link, connection: Connection) -> None:
        """The peer and we accept each other: the connection is the link's from now on."""

    def on_refused(self, link: Link, reason: str, known: int) -> None:
        """The peer refuses to talk to us. `known` is not 0 if another process has our name."""

    def on_bye(self, link: Link, bye: Bye) -> None:
        """The peer ends a connection that it had accepted."""

    def on_refusing(self, link: Link, connection: Connection, reason: str) -> None:
        """We refuse to talk to the peer."""


class Connection(asyncio.BufferedProtocol):
    def __init__(self, above: Reception, loop: asyncio.AbstractEventLoop, link: Link | None = None) -> None:
        self.above = above
        self.link = link  # None: the other side has called, and we do not know yet which member it is
        self.calling = link is not None
        self.handshake = Handshake(above.secret.key)
        self.challenged = False  # the peer's challenge has arrived
        self.proven = False  # the peer belongs to the cluster
        self.greeting: Hello | None = None  # of the peer, which we accept; we do not know yet whether it accepts us
        self.accepted = False  # by both ends
        self.later = False  # the peer speaks a later version of the protocol than we do
        self.contested = False  # the peer has said that another process has our name
        self.error: Exception | None = None  # why the connection was lost
        self.stream = Stream(self, above.turn, above.decode_frame, loop.call_soon)
        self.get_buffer = self.stream.get_buffer  # type: ignore[method-assign]
        self.buffer_updated = self.stream.buffer_updated  # type: ignore[method-assign]
        self.write = self.stream.write
        self.settled: asyncio.Future[None] = loop.create_future()  # accepted or closed
        self.closed: asyncio.Future[None] = loop.create_future()
        self.who = link.name if link is not None else ""  # the peer's name, as far as it is known
        self.where = ""  # and address
        self.deadline = loop.call_later(HANDSHAKE, self._too_slow)

    @property
    def transport(self) -> asyncio.Transport | None:
        return self.stream.transport

    @transport.setter
    def transport(self, transport: asyncio.Transport | None) -> None:
        self.stream.transport = transport

    # -- what asyncio calls ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.where = place_of(transport.get_extra_info("peername"))
        self.above.connections[self] = None
        if self.calling:
            self.write(self.handshake.say(self.handshake.challenge()))

    def on_other_frame(self, frame: Frame) -> None:
        """A frame that is not for the link."""
        if not self.accepted or self.link is None:
            self._on_early_frame(frame)
        elif type(frame) is Bye:  # no sign of life
            self.above.on_bye(self.link, frame)
        elif type(frame) is Unknown:
            self._on_unknown(frame)

    def refuse_for(self, error: ProtocolError) -> None:
        self.refuse(str(error), known=error.known if isinstance(error, NameInUse) else 0)

    def connection_lost(self, error: Exception | None) -> None:
        if self.stream.waiting:  # the last one may say why
            self.stream.go_on()
        self.error = error
        self._forget()

    # -- greeting --------------------------------------------------------------------------------------

    def _on_early_frame(self, frame: Frame) -> None:
        if type(frame) is Bye:
            self._on_refusal(frame)
        elif type(frame) is Unknown:
            self._on_unknown(frame)
        elif self.greeting is not None:
            assert self.link is not None
            self._accept(self.greeting, self.above.recognise(self.greeting, self.certified(), self.link))
            self.link.on_frame(frame)
        elif type(frame) is Challenge and not self.challenged:
            self._on_challenge(frame)
        elif type(frame) is Hello and self.challenged:
            self._on_hello(frame)
        elif type(frame) is Seek and self.challenged and not self.calling:
            self._on_seek(frame)
        else:
            raise ProtocolError(f"sent {type(frame).__name__} before saying who it is")

    def _on_challenge(self, challenge: Challenge) -> None:
        self.challenged = True
        if len(challenge.nonce) != NONCE:
            raise ProtocolError(f"sent a challenge of {len(challenge.nonce)} bytes, where {NONCE} are expected")
        if self.link is None:
            self.handshake.hear(challenge)
            self.write(self.handshake.prove(self.handshake.challenge()))
        else:
            self._require_proof(challenge)
            self.write(self.handshake.prove(self.above.hello(self.link, None)))

    def _on_hello(self, hello: Hello) -> None:
        self._require_proof(hello)
        self.who = hello.sender
        link = self.above.recognise(hello, self.certified(), self.link)
        if self.calling:
            self._accept(hello, link)
            link.acknowledge()
        else:
            self.link = link
            self.greeting = hello
            self.write(self.handshake.prove(self.above.hello(link, hello)))

    def _on_seek(self, seek: Seek) -> None:
        self._require_proof(seek)
        self.who = seek.sender
        self.write(self.handshake.prove(self.above.welcome(seek, self.certified())))
        transport = self.transport
        self._forget()
        if transport is not None:
            transport.close()

    def _require_proof(self, frame: Challenge | Hello | Seek) -> None:
        self.proven = self.handshake.proven(frame)
        if not self.proven:
            raise ProtocolError(f"its proof does not fit: {SAME_SECRET} (here: {self.above.secret.source})")

    def _accept(self, hello: Hello, link: Link) -> None:
        self.deadline.cancel()
        self.stream.reader.longest = LONGEST_FRAME
        self.stream.link = link
        self.accepted = True
        self.later = hello.speaks[1] > SPEAKS[1]
        self.above.accept(hello, link, self)
        self._settle()

    def _on_unknown(self, frame: Unknown) -> None:
        """A later release may send what this one ignores."""
        if not self.later:
            raise ProtocolError(f"not a frame: its kind is {frame.kind}, which is unknown")

    def _on_refusal(self, bye: Bye) -> None:
        if self.link is not None:
            self.contested = self.proven and bye.known != 0
            reason = bye.reason if self.proven else f"it refuses us, and its log has the reason; {SAME_SECRET}"
            self.above.on_refused(self.link, reason, bye.known if self.proven else 0)
        elif self.challenged:
            self._warn(f"it does not accept our proof: {SAME_SECRET} (here: {self.above.secret.source})")
        self.abort()

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

    def refuse(self, reason: str, known: int = 0) -> None:
        """Close the connection, leave a line in the log, and tell a peer that has proven itself why."""
        if self.transport is None:
            return
        self._warn(reason)
        if self.link is not None:
            self.above.on_refusing(self.link, self, reason)
        self.say_goodbye(Bye(reason[:500], False, known) if self.proven else Bye(REFUSED, False))

    def say_goodbye(self, bye: Bye) -> None:
        if self.transport is not None:
            self.write(encode_frame(bye))
            transport = self.transport
            self._forget()
            transport.close()

    def abort(self) -> None:
        if self.transport is not None:
            transport = self.transport
            self._forget()
            transport.abort()

    def _warn(self, reason: str) -> None:
        """Once in a while: a peer that is refused comes again and again, from a new port each time."""
        if self.above.news.first(self.who or self.where.rpartition(":")[0], reason):
            log(
                logging.WARNING,
                "connection.refused",
                node=self.above.name,
                peer=self.who or "unknown",
                at=self.where,
                reason=reason,
            )

    def _settle(self) -> None:
        if not self.settled.done():
            self.settled.set_result(None)

    def _forget(self) -> None:
        self.transport = None
        self.deadline.cancel()
        self.above.connections.pop(self, None)
        if self.link is not None:
            self.link.detach(self)
        self._settle()
        if not self.closed.done():
            self.closed.set_result(None)


def place_of(peername: Any) -> str:
    """An address as text; peers on this machine may have none."""
    return f"{peername[0]}:{peername[1]}" if isinstance(peername, tuple) else str(peername or "")
