"""Logical clocks: every message carries the time of its sender, and is received at a later time.

Lamport 1978; Velazquez 1993, section 5. A request takes its time as its number. So a process that has heard of a
request, however indirectly, asks with a larger number: requests that are not concurrent are served in their order.

As Velazquez states Lamport's rules, a process that receives a message sets its clock "greater than or equal to its
present value and greater than" the message's time, and it "increments its logical clock [...] between any two succesive
events". The first rule is kept to the letter. Of the second one only what numbers need is kept: a clock grows by one
with every request, and not with other events. So a message with an old time leaves the clock as it is. Only the times
of requests are ever compared, and the checker has fewer states to tell apart.
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
