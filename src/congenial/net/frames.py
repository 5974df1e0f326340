"""Frames: one byte of version, three bytes of length, then that many bytes of msgpack (`congenial.net.wire`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from congenial.net.errors import ProtocolError
from congenial.net.wire import Frame

VERSION: Final = 3
HEADER: Final = 4
LONGEST_FRAME: Final = 1 << 20  # bytes; three of them give the length
LONGEST_GREETING: Final = 1 << 16  # for a peer that has not proven yet which member it is

_encode: Final = msgspec.msgpack.Encoder().encode
_SHORT: Final = 256  # bytes: nearly all frames are shorter, and their headers are here
_HEADERS: Final = [(VERSION << 24 | size).to_bytes(HEADER, "big") for size in range(_SHORT)]


def encode_frame(frame: Frame | tuple[Any, ...]) -> bytes:
    """A frame, or what it is made of: its tag and its fields."""
    body: bytes = _encode(frame)
    size = len(body)
    if size > LONGEST_FRAME:
        raise ProtocolError(f"a frame of {size} bytes is too long to send; {LONGEST_FRAME} are allowed")
    return (_HEADERS[size] if size < _SHORT else (VERSION << 24 | size).to_bytes(HEADER, "big")) + body


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self, decode: Callable[[bytes], Frame]) -> None:
        self.decode = decode
        self.data = b""
        self.at = 0  # what comes before has been read
        self.longest = LONGEST_GREETING

    def add(self, data: bytes) -> None:
        """More has arrived."""
        self.data = self.data[self.at :] + data if self.at < len(self.data) else data
        self.at = 0

    def next(self) -> Frame | None:
        """The next frame; None if it has not arrived in full."""
        stop = self._end_of_next()
        if not stop:
            return None
        start = self.at + HEADER
        self.at = stop
        return self.decode(self.data[start:stop])

    def has_next(self) -> bool:
        return self._end_of_next() > 0

    def _end_of_next(self) -> int:
        """Where the next frame ends; 0 if it has not arrived in full."""
        data, start, end = self.data, self.at, len(self.data)
        if end - start < HEADER:
            return 0
        if data[start] != VERSION:
            raise ProtocolError(f"speaks version {data[start]} of the protocol; this is version {VERSION}")
        size = data[start + 1] << 16 | data[start + 2] << 8 | data[start + 3]
        if size > self.longest:
            raise ProtocolError(f"a frame of {size} bytes is too long; {self.longest} are allowed here")
        stop = start + HEADER + size
        return stop if stop <= end else 0

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete with `data`."""
        self.add(data)
        frames: list[Frame] = []
        while (frame := self.next()) is not None:
            frames.append(frame)
        return frames
