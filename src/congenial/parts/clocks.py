"""Logical clocks: every message carries the time of its sender, and is received at a later time.

Lamport 1978; Velazquez 1993, section 5. A request takes its time as its number. So a process that has heard of a
request, however indirectly, asks with a larger number: requests that are not concurrent are served in their order. The
clock advances with every message that is received and every request that is made, not between any two events: only
requests are ever compared, and the checker then has fewer states to tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message


@mypyc_attr(allow_interpreted_subclasses=True)
@dataclass(frozen=True)
class Timed(Message):
    """Base of messages that carry the clock of their sender."""

    time: int


def after(clock: int, msg: Message) -> int:
    """The time at which a process with this clock receives the message.

    >>> after(3, Timed(7)), after(9, Timed(7))
    (8, 9)
    """
    return max(clock, msg.time + 1) if isinstance(msg, Timed) else clock
