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
        self.rest = b""  # of a frame that has not arrived in full
        self.longest = LONGEST_GREETING

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete with `data`."""
        if self.rest:
            data = self.rest + data
        start, end = 0, len(data)
        frames: list[Frame] = []
        while end - start >= HEADER:
            if data[start] != VERSION:
                raise ProtocolError(f"speaks version {data[start]} of the protocol; this is version {VERSION}")
            size = data[start + 1] << 16 | data[start + 2] << 8 | data[start + 3]
            if size > self.longest:
                raise ProtocolError(f"a frame of {size} bytes is too long; {self.longest} are allowed here")
            stop = start + HEADER + size
            if stop > end:
                break
            frames.append(self.decode(data[start + HEADER : stop]))
            start = stop
        self.rest = data[start:]
        return frames
