"""`Part`: a piece of a node with state, and perhaps messages, of its own.

A part is written like a node: plain data in its attributes, no I/O, no clock, and it acts on the world only through the
`Out` it is handed. A node keeps the part in an attribute and hands it the events that concern it. The node is copied,
compared and stored together with its parts. Nothing inside a node may be shared: a copy of the node has every part once
for each attribute that holds it, so a part must not refer to its node, nor two parts to a third.

If a node names the attribute in its `durable`, the attributes that survive a crash are those that the part's own class
names in its `durable`. A part declares its messages in `messages`; they travel like the node's own if the node's class
lists the part's class in `made_of`.
"""

from __future__ import annotations

from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Messages


@mypyc_attr(allow_interpreted_subclasses=True)
class Part:
    """Base of all parts that drivers must know about.

    >>> class Counter(Part):
    ...     durable = ("count",)
    ...     def __init__(self):
    ...         self.count = 0
    >>> Counter().count
    0
    """

    durable: ClassVar[tuple[str, ...]] = ()  # the attributes that `Out.save` saves
    messages: ClassVar[Messages] = ()  # the classes of the messages that it sends itself
    made_of: ClassVar[tuple[type, ...]] = ()  # the classes of its own parts that send messages
