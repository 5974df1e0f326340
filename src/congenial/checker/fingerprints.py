"""Fingerprints of states: 63 bits in the place of a whole state.

Everything that a state is made of (a header, the processes' states, the packets under way) has a mark, a random number
of 63 bits. A fingerprint is the sum of the marks, modulo 2^63. So a step changes it by what the step changes, and the
fingerprint of the state after a step is known before that state is made. On a FIFO channel a packet's mark is
multiplied by a power of a constant: the first by power 0, the next by power 1, and so on.

Two states that differ have one fingerprint with a probability of about 2^-62, since the marks are random and the sums
differ in at least one of them. The marks are made from a cryptographic hash, so equal runs have equal fingerprints.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from mypy_extensions import i64

MASK: Final = (1 << 63) - 1
FACTOR: Final = 0x5851F42D4C957F2D  # of positions on a FIFO channel

HEADERS: Final = "header"
STATES: Final = "state"
PACKETS: Final = "packet"


def mark(kind: str, number: int) -> i64:
    """The mark of the thing with this number, among those of its kind."""
    made = blake2b(f"{kind} {number}".encode(), digest_size=8).digest()
    return int.from_bytes(made, "little") & MASK
