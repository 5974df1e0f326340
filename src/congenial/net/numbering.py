"""Which process of a lock's algorithm is which member of the cluster.

Members are numbered in the order of their names. The processes of an algorithm are numbered too, and process 0 often
has a part of its own: it holds the token first. So that not all locks begin at one member, each lock shifts the numbers
by an offset, which follows from its name: process 0 is the member with the number `offset`.

A semaphore has several processes at each member, its seats. Process `seat * n + p` is seat `seat` of the member that
would be process `p` if there were one seat each. So the first k processes, which hold tokens first in Srimani and
Reddy's algorithm, are spread over the members.
"""

from __future__ import annotations

from typing import Final

from congenial.net.names import first_holder


class Numbering:
    """The processes of one lock: of `n` members, with `seats` at each."""

    __slots__ = ("n", "offset", "seats")

    def __init__(self, n: int, offset: int, seats: int = 1) -> None:
        self.n: Final = n
        self.offset: Final = offset
        self.seats: Final = seats

    @classmethod
    def of(cls, key: str, n: int, seats: int = 1) -> Numbering:
        """The same at every member, and different for different locks."""
        return cls(n, first_holder(key, n), seats)

    @property
    def processes(self) -> int:
        return self.n * self.seats

    def process(self, member: int, seat: int = 0) -> int:
        return seat * self.n + (member - self.offset) % self.n

    def member(self, process: int) -> int:
        return (process + self.offset) % self.n

    def seat(self, process: int) -> int:
        return process // self.n
