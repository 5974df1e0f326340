"""Effects: what a step of a node does to the world, one object for each thing done, in the order it was done."""

from __future__ import annotations

from typing import Any, Final, final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message

EVERYONE: Final = -1  # the destination of a broadcast, where a destination is written down


@mypyc_attr(allow_interpreted_subclasses=True)
class Effect:
    """Base of all effects. Two effects are equal if they are of one class and do the same.

    >>> out = Outbox()
    >>> out.save()
    >>> [type(effect).__name__ for effect in out.effects if isinstance(effect, Effect)]
    ['Save']
    """

    def what(self) -> tuple[Any, ...]:
        """What is done, as a value."""
        return ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Effect) and self.what() == other.what()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.what()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([repr(value) for value in self.what()])})"


@final
class Save(Effect):
    """The durable attributes of the node are to survive a crash."""


@final
class Send(Effect):
    """A message to one process, or to `EVERYONE` but the sender."""

    def __init__(self, dst: int, msg: Message) -> None:
        self.dst = dst
        self.msg = msg

    def what(self) -> tuple[Any, ...]:
        return (self.dst, self.msg)


@final
class Enter(Effect):
    """The application is inside its critical section."""

    def __init__(self, group: int, fence: int) -> None:
        self.group = group
        self.fence = fence

    def what(self) -> tuple[Any, ...]:
        return (self.group, self.fence)


@final
class Eject(Effect):
    """The application has lost its critical section; an operation that it waits for has failed."""


@final
class Execute(Effect):
    """The local replica has executed an operation: the `number`-th that process `issuer` has issued."""

    def __init__(self, issuer: int, number: int, operation: object, result: object) -> None:
        self.issuer = issuer
        self.number = number
        self.operation = operation
        self.result = result

    def what(self) -> tuple[Any, ...]:
        return (self.issuer, self.number, self.operation, self.result)


@final
class Answer(Effect):
    """The application's own operation, its `number`-th, has this result."""

    def __init__(self, number: int, result: object) -> None:
        self.number = number
        self.result = result

    def what(self) -> tuple[Any, ...]:
        return (self.number, self.result)


@final
class Restore(Effect):
    """The local replica is that of a process which has executed the first `count` operations."""

    def __init__(self, count: int) -> None:
        self.count = count

    def what(self) -> tuple[Any, ...]:
        return (self.count,)


@final
class Rest(Effect):
    """The critical section that the application has left is over for all."""


@final
class SetTimer(Effect):
    """A timer runs out after `delay`; an earlier setting of the same timer is replaced."""

    def __init__(self, timer: int, delay: float) -> None:
        self.timer = timer
        self.delay = delay

    def what(self) -> tuple[Any, ...]:
        return (self.timer, self.delay)


@final
class CancelTimer(Effect):
    """A timer is forgotten, if it is set."""

    def __init__(self, timer: int) -> None:
        self.timer = timer

    def what(self) -> tuple[Any, ...]:
        return (self.timer,)
