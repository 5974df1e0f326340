"""The quick half of a connection: from bytes to the link, and from the link to bytes.

What every message runs through is here, and compiled. `congenial.net.connection` has the rest, and hears of every frame
that is not for the link: all of them until both ends have accepted each other, and those that end a connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from congenial.net.errors import ProtocolError
from congenial.net.frames import FrameReader
from congenial.net.turn import Turn
from congenial.net.wire import Bye, Frame, LockData, Unknown

CHUNK: Final = 1 << 15  # bytes that are read at a time. Without a buffer of our own asyncio allocates 256 KiB for each.


class Hearer(Protocol):
    """A link, as far as a stream needs it."""

    def on_frame(self, frame: Frame) -> None: ...


class Above(Protocol):
    """What a stream calls in the layer above: the connection."""

    def on_other_frame(self, frame: Frame) -> None:
        """One that is not for the link."""

    def refuse_for(self, error: ProtocolError) -> None:
        """The peer has sent what makes no sense."""


class Stream:
    def __init__(
        self,
        above: Above,
        turn: Turn,
        decode: Callable[[bytes], Frame],
        soon: Callable[[Callable[[], None]], object],
    ) -> None:
        self.above = above
        self.turn = turn
        self.soon = soon
        self.reader = FrameReader(decode)
        self.buffer = memoryview(bytearray(CHUNK))
        self.transport: asyncio.Transport | None = None  # while it is open
        self.link: Hearer | None = None  # once both ends have accepted each other
        self.waiting = False  # frames have arrived that wait until a task has run

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        turn = self.turn
        turn.depth += 1
        try:
            self.reader.add(self.buffer[:nbytes].tobytes())
            if not self.waiting:  # otherwise those before them come first
                self._handle()
        except ProtocolError as error:
            self.above.refuse_for(error)
        finally:
            turn.leave()

    def go_on(self) -> None:
        """With the frames that wait."""
        self.waiting = False
        with self.turn:
            try:
                self._handle()
            except ProtocolError as error:
                self.above.refuse_for(error)

    def _handle(self) -> None:
        """If one of the frames lets in a local task, that one runs before the other frames are looked at."""
        reader = self.reader
        while self.transport is not None:  # one of the frames may close it
            frame = reader.next()
            if frame is None:
                return
            link = self.link
            if link is None or (type(frame) is not LockData and (type(frame) is Bye or type(frame) is Unknown)):
                self.above.on_other_frame(frame)
                continue
            link.on_frame(frame)
            if self.turn.admits and reader.has_next():
                self.waiting = True
                self.soon(self.go_on)
                return

    def write(self, raw: bytes) -> None:
        transport = self.transport
        if transport is not None and not transport.is_closing():
            transport.write(raw)
