"""The channel to one peer: every message arrives, once, in order, however often connections break.

Messages are numbered. The sender keeps each until the receiver has acknowledged it (with a number in every frame that
it sends back, or with an `Ack` when it has nothing to send), and sends again what is missing after a new connection.
The receiver skips what it has already. So a connection may break at any byte.

What a link keeps is bounded where work begins: a process whose links are full stops asking for locks until they have
drained (`Link.full`). Messages that others caused are never held back, or two processes could wait for each other to
drain. Where work goes on without a peer that is away, the peer is sent little. If that becomes too much after all, it
is dropped. The peer learns of that when it is back (`Hello.dropped`), and begins again. Where it cannot, it must be
restarted.

A process that is no member and is away for long is forgotten, its link with it. If it comes back in the same life, it
gets another link, and the ends no longer agree on what has arrived. So ends have numbers (`Link.serial`): a process
that meets a later end of its peer begins to count from the start.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from congenial.net.errors import ProtocolError
from congenial.net.frames import encode_frame
from congenial.net.lease import clock
from congenial.net.turn import Turn, Writer
from congenial.net.wire import Ack, Beat, Data, Echo, Frame, LockData, SeatData
from congenial.parts.detectors import Patience

FULL = 10_000  # unacknowledged messages, above which no new work is begun
ACK_EVERY = 64  # messages received, or with the next tick
MOST_UNACKNOWLEDGED = 200_000  # messages for a peer that is away while work goes on without it
LOCK_DATA: Final = LockData.__struct_config__.tag  # written as a tuple, for speed
MOST_PATIENT = 4  # times the configured patience, after many mistakes about a peer


class Receiver(Protocol):
    """What a link calls in the layer above."""

    def on_frame(self, link: Link, frame: Frame) -> None:
        """A frame has arrived, once and in order. If it raises `ProtocolError`, the frame counts as not received."""

    def on_sign_of_life(self, link: Link) -> None:
        """A peer that was away is heard again."""

    def on_acknowledged(self, link: Link) -> None:
        """There is more room in a link that was not `roomy`."""

    def on_beat(self, link: Link, beat: Beat) -> None:
        """The peer gives a sign of life, to be answered."""

    def on_echo(self, link: Link, echo: Echo) -> None:
        """The peer has got a beat."""


class LockReceiver:
    """The same for the messages of locks that follow views, which most frames are: a class, so that it is called
    directly."""

    def on_lock_data(self, link: Link, data: LockData[Any]) -> None:
        raise NotImplementedError


class Pipe(Protocol):
    """A connection, as far as a link needs it."""

    where: str  # the peer's address

    def write(self, raw: bytes) -> None: ...

    def abort(self) -> None: ...


class Link(Writer):
    """This end of the channel to `peer`, across any number of connections."""

    def __init__(
        self,
        receiver: Receiver,
        turn: Turn,
        peer: int,
        name: str,
        now: Callable[[], float],
        patience: float,
        serial: int = 0,
    ) -> None:
        self.receiver = receiver
        self.lock_receiver: LockReceiver | None = None  # where locks follow views
        self.turn = turn
        self.peer = peer
        self.name = name
        self.serial = serial  # larger than that of an earlier end to this peer, which was forgotten
        self.peer_serial = 0  # that of the peer's end
        self.places: list[str] = []  # where it can be called
        self.now = now
        self.made_at = now()
        self.connection: Pipe | None = None
        self.attached_at = 0.0  # when that was made
        self.detached_at = -math.inf  # when the last one ended
        self.counts = True  # what it sends is a sign of life. Not from a peer that refuses what we send, or we it.
        self.outgoing: list[bytes] = []  # written at the end of the turn
        self.refusal = ""  # why the peer and we do not talk
        self.speaks = 0  # the version of the protocol that the peer and we both understand
        self.release = ""  # of the peer
        self.heard = False  # it has given a sign of life since the last tick
        self.heard_at = now()  # the last tick at which it had
        self.patience = Patience(patience, patience / 2, MOST_PATIENT * patience)  # with its silence
        self.patience_least = patience
        self.last_beat: Beat | None = None  # of the peer, on this connection
        self.beaten_at = -math.inf  # when the last beat was sent, by `congenial.net.lease.clock`
        self.misjudged = False  # it is away only because it is silent: if it speaks again soon, that was a mistake
        self.misjudged_at = self.heard_at  # when there was such a mistake, or when it began to be forgotten
        self.away = False  # it has been silent for too long, has left, or was restarted
        self.changed_at = self.heard_at  # when `away` last changed
        self.connections = 0
        self.resent = 0
        self.bytes_sent = 0  # in messages, each counted once
        self.forget()

    def forget(self) -> None:
        """Start from the beginning: the peer has, too."""
        self.sent = 0
        self.acked = 0
        self.unacknowledged: deque[bytes] = deque()  # the frames of acked+1..sent
        self.received = 0
        self.ack_sent = 0  # of `received`, what the peer has been told
        self.gap = False  # messages were dropped that this life of the peer has not received

    def know_place(self, place: str) -> None:
        """The peer may be called at this address."""
        if place and place not in self.places:
            self.places = [place, *self.places[:1]]

    @property
    def full(self) -> bool:
        return self.sent - self.acked >= FULL

    @property
    def patience_left(self) -> float:
        """How long the peer may be silent from now on, even if patience with it shrinks by a step meanwhile."""
        return max(self.patience.allowed - self.patience.step, self.patience_least)

    @property
    def roomy(self) -> bool:
        return self.sent - self.acked < FULL // 2

    # -- sending ---------------------------------------------------------------------------------------

    def send(self, lock: str, body: msgspec.Raw) -> None:
        """Send a message, now or as soon as there is a connection."""
        self._send(encode_frame(Data(self.sent + 1, self.received, lock, body)))

    def send_seated(self, lock: str, k: int, src: int, dst: int, body: msgspec.Raw) -> None:
        """The same, from a seat of a semaphore to another one."""
        self._send(encode_frame(SeatData(self.sent + 1, self.received, lock, k, src, dst, body)))

    def send_in_view(self, lock: str, view: int, fence: int, body: tuple[Any, ...]) -> None:
        """The same, for a lock that follows views. `OverflowError` if the body needs a wider form."""
        self._send(encode_frame((LOCK_DATA, self.sent + 1, self.received, lock, view, fence, body)))

    def _send(self, frame: bytes) -> None:
        self.sent += 1
        self.bytes_sent += len(frame)
        self.unacknowledged.append(frame)
        if len(self.unacknowledged) > MOST_UNACKNOWLEDGED and self.away:
            self.gap = True
            self.unacknowledged.clear()
            self.acked = self.sent
        self._write(frame)
        self.ack_sent = self.received

    def post(self, frame: Frame) -> None:
        """Send a frame that does no harm if it gets lost."""
        self._write(encode_frame(frame))

    def _write(self, raw: bytes) -> None:
        if self.connection is not None:
            if not self.outgoing:
                self.turn.unwritten.append(self)
            self.outgoing.append(raw)

    def flush(self) -> None:
        outgoing = self.outgoing
        if outgoing:
            self.outgoing = []
            if self.connection is not None:
                self.connection.write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))

    # -- receiving -------------------------------------------------------------------------------------

    def on_frame(self, frame: Frame) -> None:
        if self.counts:
            self.heard = True
            if self.away:
                self.receiver.on_sign_of_life(self)
        if type(frame) is LockData and self.lock_receiver is not None:  # what most frames are
            received: int = frame.received
            number: int = frame.number
            if received > self.acked:
                self._on_ack(received)
            if number == self.received + 1:
                self.lock_receiver.on_lock_data(self, frame)
                self.received = number
                if number - self.ack_sent >= ACK_EVERY:
                    self.acknowledge()
            else:
                self._on_other_number(number)
        elif type(frame) is LockData or type(frame) is Data or type(frame) is SeatData:
            if frame.received > self.acked:
                self._on_ack(frame.received)
            if frame.number != self.received + 1:
                self._on_other_number(frame.number)
                return
            self.receiver.on_frame(self, frame)
            self.received += 1
            if self.received - self.ack_sent >= ACK_EVERY:
                self.acknowledge()
        elif type(frame) is Ack:
            self._on_ack(frame.received)
        elif type(frame) is Beat:
            if self.counts:
                self.last_beat = frame
                self.receiver.on_beat(self, frame)
        elif type(frame) is Echo:
            if not (frame.sent <= self.beaten_at and 0 < frame.allowed < math.inf):
                raise ProtocolError(f"answers {frame!r} to what was never sent")
            if self.counts:
                self.receiver.on_echo(self, frame)
        else:
            self.receiver.on_frame(self, frame)

    def _on_other_number(self, number: int) -> None:
        """An unexpected number: a duplicate, or a gap."""
        if number > self.received:
            raise ProtocolError(f"message {number} came where {self.received + 1} was expected")

    def acknowledge(self) -> None:
        self.ack_sent = self.received
        self.post(Ack(self.received))

    def beat(self) -> None:
        """Give a sign of life, to be answered."""
        self.beaten_at = clock()
        self.post(Beat(self.beaten_at))

    def _on_ack(self, received: int) -> None:
        if received > self.sent:
            raise ProtocolError(f"acknowledges message {received}, but only {self.sent} were sent")
        roomy = self.roomy
        while self.acked < received:
            self.unacknowledged.popleft()
            self.acked += 1
        if not roomy:
            self.receiver.on_acknowledged(self)

    # -- connections -----------------------------------------------------------------------------------

    def attach(self, connection: Pipe, received: int) -> None:
        """Use a connection from now on, and send again what the peer, which has `received` messages, has missed."""
        if received > self.sent:
            raise ProtocolError(f"says it has received {received} messages, but only {self.sent} were sent")
        if self.connection is not None:
            self.connection.abort()
        self._on_ack(received)
        self.receiver.on_acknowledged(self)  # what was sent may have been forgotten
        self.connection = connection
        self.attached_at = self.now()
        self.connections += 1
        self.resent += len(self.unacknowledged)
        self.outgoing = []
        self.last_beat = None
        self.ack_sent = self.received
        for frame in self.unacknowledged:
            self._write(frame)
        self.beat()

    def detach(self, connection: Pipe) -> None:
        if self.connection is connection:
            self.connection = None
            self.detached_at = self.now()
            self.outgoing = []
