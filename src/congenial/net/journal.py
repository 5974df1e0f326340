"""The two files of a state directory, byte by byte.

`state.log` is a sequence of frames, each with everything that one sync wrote:

    "cgnl" (4 bytes), sequence number (8), length of the body (4), checksum of the body (4), checksum of the 20 bytes
    before (4), body

Numbers are big-endian, checksums are CRC-32. The sequence numbers of the frames are consecutive. The body of the first
frame says what the file is and whose (`Header`), that of every other one is a list of keys and values. Bodies are
MessagePack.

`state.mark` says how far the log was synced when it was last looked at: two places of 512 bytes that are written in
turn, so that a write that is cut off spoils one of them at most. Each begins with

    "cgnm" (4 bytes), sequence number (8), identity of the log (16), process (4), checksum of the 32 bytes before (4)
"""

from __future__ import annotations

from struct import Struct
from zlib import crc32

import msgspec

FORMAT = 1
FRAME = b"cgnl"
MARK = b"cgnm"
HEAD = Struct(">4sQIII")
HEAD_SUM = Struct(">4sQII")  # what the checksum of a head covers
PLACE = Struct(">4sQ16sII")
PLACE_SUM = Struct(">4sQ16sI")
PLACE_SIZE = 512  # a disk writes so much in one piece, or nothing
MARK_SIZE = 2 * PLACE_SIZE


class Owner(msgspec.Struct, frozen=True):
    """The node that a state directory belongs to, and its cluster."""

    node: str
    cluster: str
    members: tuple[str, ...]
    algorithm: str
    semaphores: str

    def __str__(self) -> str:
        return (
            f"node {self.node!r} of cluster {self.cluster!r} "
            f"({', '.join(self.members)}; {self.algorithm}, {self.semaphores})"
        )


class Header(msgspec.Struct, frozen=True):
    """The first frame of a log."""

    format: int
    identity: bytes  # drawn at random when the directory was made
    owner: Owner


class Format(msgspec.Struct):
    """What every version of the format has."""

    format: int


class Mark(msgspec.Struct, frozen=True):
    sequence: int  # the last frame that is known to be synced
    identity: bytes
    process: int  # that wrote it


class Damage(Exception):
    """What was synced is missing or changed; the text goes on after the name of the file and `is`."""


def pack_frame(sequence: int, body: bytes) -> bytes:
    head = HEAD_SUM.pack(FRAME, sequence, len(body), crc32(body))
    return head + crc32(head).to_bytes(4, "big") + body


class Frames:
    """What can be read of a log: the bodies of all frames up to `end`. What follows was never synced, as far as this
    file tells: it is the beginning of a frame, or zeros, or anything else without a frame behind it. `Damage` if there
    is one: a frame is written when those before it have been synced."""

    def __init__(self, raw: bytes) -> None:
        if raw[:4] != FRAME:
            raise Damage(_no_frame(raw))
        self.bodies: list[bytes] = []
        self.end = 0
        head = _head(raw, 0)
        if head is None:
            raise Damage("damaged: its first frame cannot be read")
        first = head[0]
        while head is not None:
            sequence, length, checksum = head
            body = raw[self.end + HEAD.size : self.end + HEAD.size + length]
            if sequence != first + len(self.bodies) or len(body) < length or crc32(body) != checksum:
                break
            self.bodies.append(body)
            self.end += HEAD.size + length
            head = _head(raw, self.end)
        self.last = first + len(self.bodies) - 1  # its sequence number
        if not self.bodies:
            raise Damage("damaged: its first frame cannot be read")
        if self.end < len(raw) and _has_frame(raw, self.end, self.last + 1):
            raise Damage(f"damaged: the frame at byte {self.end} cannot be read, and another one follows")


def _head(raw: bytes, start: int) -> tuple[int, int, int] | None:
    """Sequence number, length and checksum, if there is a head here."""
    if len(raw) - start < HEAD.size:
        return None
    magic, sequence, length, body_sum, head_sum = HEAD.unpack_from(raw, start)
    if magic != FRAME or head_sum != crc32(raw[start : start + HEAD_SUM.size]):
        return None
    return sequence, length, body_sum


def _has_frame(raw: bytes, start: int, due: int) -> bool:
    """True if another frame than the one that is due begins here or later."""
    at = raw.find(FRAME, start)
    while at >= 0:
        head = _head(raw, at)
        if head is not None and head[0] != due:
            return True
        at = raw.find(FRAME, at + 1)
    return False


def _no_frame(raw: bytes) -> str:
    if len(raw) >= 12 and crc32(raw[:4]) == int.from_bytes(raw[4:8], "big") and any(raw[:12]):
        return "from an earlier version of the program, in a format that is no longer read"
    return "empty" if not raw else "damaged: it does not begin with a frame"


def pack_mark(mark: Mark) -> bytes:
    place = PLACE_SUM.pack(MARK, mark.sequence, mark.identity, mark.process)
    return (place + crc32(place).to_bytes(4, "big")).ljust(PLACE_SIZE, b"\0")


def read_marks(raw: bytes) -> list[Mark | None]:
    """What the two places say; None for one that cannot be read."""
    return [_read_place(raw[start : start + PLACE_SIZE]) for start in (0, PLACE_SIZE)]


def _read_place(raw: bytes) -> Mark | None:
    if len(raw) < PLACE_SIZE:
        return None
    magic, sequence, identity, process, checksum = PLACE.unpack_from(raw)
    if magic != MARK or checksum != crc32(raw[: PLACE_SUM.size]):
        return None
    return Mark(sequence, identity, process)
