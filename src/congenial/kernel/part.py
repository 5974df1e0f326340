"""`Part`: something a node is made of that has state, and perhaps messages, of its own.

A part is written as a node is: plain data in its attributes, no I/O, no clock, everything it does to the world through
the `Out` it is handed. A node keeps it in an attribute, hands it the events that concern it, and is copied, compared
and stored together with it. Nothing inside a node may be shared: a copy of the node has every part once for each
attribute that holds it, so a part does not refer to the node it belongs to, nor two parts to a third.

If a node names the attribute in its `durable`, then what survives a crash are the attributes that the part's own class
names in its `durable`. A part declares its messages in `messages`; they travel like the node's own if the node's class
lists the part's class in `made_of`.
"""

from __future__ import annotations

from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Messages


@mypyc_attr(allow_interpreted_subclasses=True)
class Part:
    """Base of all parts that a driver has to know of."""

    durable: ClassVar[tuple[str, ...]] = ()  # the attributes that `Out.save` saves
    messages: ClassVar[Messages] = ()  # the classes of the messages that it sends itself
    made_of: ClassVar[tuple[type, ...]] = ()  # the classes of its own parts that send messages
