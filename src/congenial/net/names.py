"""Names for people, and what stands for them on the wire and in the kernel.

The kernel knows groups as numbers, and two names must never get the same number, or two groups would be inside
together. A short name is its own number, byte by byte; a long one is replaced by its 256-bit hash. The first byte
says what kind of thing it is, so that no two kinds can meet.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Final

READERS: Final = 0x02  # the group of all tasks that share
LONGEST: Final = 63  # bytes of a name that is used as it is

LONGEST_KEY: Final = 80  # characters of a lock's key

MOST_PROCESSES: Final = 1 << 31  # numbers of processes are below
_FIRST_NEWCOMER: Final = 1 << 16
_NEWCOMERS: Final = MOST_PROCESSES - _FIRST_NEWCOMER

_NAME, _WRITER, _HASHED = b"\x01", b"\x03", b"\x04"
_FIRST_EIGHT: Final = Struct(">Q")
_HASH_MARK, _SEMAPHORE_MARK, _GUARDED_MARK = "\0", "\1", "\2"  # in no name: one that cannot be printed is hashed


def group_number(name: str) -> int:
    """The number of a group that a program has named."""
    raw = name.encode("utf-8", "surrogatepass")
    return int.from_bytes(_NAME + raw if len(raw) <= LONGEST else _HASHED + _digest(raw), "big")


def writer_number(process: int, which: int = 0) -> int:
    """A group that has process `process` as its only member (Mittal & Mohan 2007, section 1)."""
    return int.from_bytes(_WRITER + process.to_bytes(4, "big") + which.to_bytes(1, "big"), "big")


def lock_key(name: str) -> str:
    """A lock's name on the wire: the name itself, or for a long one its hash."""
    raw = name.encode("utf-8", "surrogatepass")
    if len(raw) <= LONGEST and name.isprintable():
        return name
    return _HASH_MARK + _digest(raw).hex()


def semaphore_key(name: str) -> str:
    """A semaphore's name on the wire; a lock of the same name is something else."""
    return _SEMAPHORE_MARK + lock_key(name)


def guarded_key(name: str) -> str:
    """The same for a guarded object."""
    return _GUARDED_MARK + lock_key(name)


def keys_of(key: str) -> tuple[str, str, str]:
    """The keys of the lock, the semaphore and the guarded object that have the same name."""
    return key, _SEMAPHORE_MARK + key, _GUARDED_MARK + key


def is_guarded(key: str) -> bool:
    return key.startswith(_GUARDED_MARK)


def is_semaphore(key: str) -> bool:
    return key.startswith(_SEMAPHORE_MARK)


def first_holder(key: str, n: int) -> int:
    """Which of n processes a lock starts at: the same everywhere, and different for different locks."""
    number: int = _FIRST_EIGHT.unpack_from(_digest(key.encode()))[0]
    return number % n


def process_number(name: str, founders: tuple[str, ...]) -> int:
    """The number of a process: its place among those that founded the cluster, or one that follows from its name."""
    if name in founders:
        return founders.index(name)
    return _FIRST_NEWCOMER + int.from_bytes(_digest(name.encode())[:4], "big") % _NEWCOMERS


def shown(key: str) -> str:
    """A key as people may see it, where the name itself is not known."""
    return f"(long name {key[1:13]}...)" if key.startswith(_HASH_MARK) else key


def readable(name: str) -> str:
    """A name as it may stand in a report: what is no text is written as an escape."""
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode()


def is_text(name: str) -> bool:
    """True if a name can be written as text; otherwise it was given as bytes that are not UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def bytes_of(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _digest(raw: bytes) -> bytes:
    return blake2b(raw, digest_size=32).digest()
