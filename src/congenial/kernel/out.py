"""`Out`: the only way out of a node.

A node gets an `Out` with every call and does everything it does to the world through it. `Outbox` writes down
what one step did: the process shell (`congenial.kernel.shell`) hands one to the node, and so do tests that look at a
step by itself. The simulator has an `Out` of its own, for speed, and so have the locks of the network: `PlainOut`.
"""

from __future__ import annotations

from math import inf
from typing import Final, final

from mypy_extensions import mypyc_attr

from congenial.kernel.effects import (
    EVERYONE,
    Answer,
    CancelTimer,
    Effect,
    Eject,
    Enter,
    Execute,
    Rest,
    Restore,
    Save,
    Send,
    SetTimer,
)
from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message

MOST_TIMERS: Final = 1 << 30  # timers are numbered below


@mypyc_attr(allow_interpreted_subclasses=True)
class Out:
    """What a node may do during a step. The step is atomic: its effects appear together, in the order of the calls.

    A node is handed one with every event, and never keeps it:

    >>> class Polite(Node):
    ...     def request(self, groups: Groups, out: Out) -> None:
    ...         self.wait()
    ...         out.broadcast(Message())
    """

    def send(self, dst: int, msg: Message) -> None:
        """Send `msg` to process `dst`, which is not the sender itself."""
        raise NotImplementedError

    def broadcast(self, msg: Message) -> None:
        """Send `msg` to every process but the sender: n-1 messages on the wire, one object in memory."""
        raise NotImplementedError

    def enter(self, group: int, fence: int) -> None:
        """Tell the application that it is in its critical section (use `Node.enter`)."""
        raise NotImplementedError

    def eject(self) -> None:
        """Tell the application that it has lost its critical section (use `Node.lose`)."""
        raise NotImplementedError

    def execute(self, issuer: int, number: int, operation: object, result: object) -> None:
        """Say that the local replica has executed an operation: the `number`-th that process `issuer` has issued."""
        raise NotImplementedError

    def answer(self, number: int, result: object) -> None:
        """Tell the application the outcome of its operation, the `number`-th that it has issued."""
        raise NotImplementedError

    def restore(self, count: int) -> None:
        """Say that the local replica has been replaced by one that has executed the first `count` operations."""

    def rest(self) -> None:
        """Say that the critical section that the application has left is now over at all replicas. Only for algorithms
        in which that takes a while."""

    def set_timer(self, timer: int, delay: float) -> None:
        """Call `on_timer(timer)` after `delay`; an earlier setting of the same timer is replaced."""
        raise NotImplementedError

    def cancel_timer(self, timer: int) -> None:
        """Forget the timer; cancelling one that is not set does nothing."""
        raise NotImplementedError

    def choose(self, options: int) -> int:
        """One of 0..options-1: random in the simulator and on the network, each of them in turn in the checker. Not
        for locks in views (`congenial.parts.homed`)."""
        raise NotImplementedError

    def save(self) -> None:
        """Make the attributes named in `Node.durable` survive a crash, before this step's messages leave."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Outbox(Out):
    """Writes down what a step does: `effects`, in the order in which the node made them. Only `Save` stands first
    wherever it was called, since what a step saves must be durable before anything else of the step is seen.

    `choices` answers the step's calls of `choose`, in order, modulo the number of options; when they run out the
    answer is 0. `asked` then holds how many options each call had, so that a driver can come back with other answers.

    >>> out = Outbox()
    >>> out.set_timer(1, 5.0)
    >>> out.enter(group=0, fence=7)
    >>> out.effects
    [SetTimer(1, 5.0), Enter(0, 7)]
    """

    def __init__(self, choices: tuple[int, ...] = ()) -> None:
        self.effects: list[Effect] = []
        self.choices = choices
        self.asked: list[int] = []

    def send(self, dst: int, msg: Message) -> None:
        self.effects.append(Send(dst, msg))

    def broadcast(self, msg: Message) -> None:
        self.effects.append(Send(EVERYONE, msg))

    def enter(self, group: int, fence: int) -> None:
        if self.entered is not None:
            raise ContractError("a step enters the critical section twice")
        self.effects.append(Enter(group, fence))

    def eject(self) -> None:
        self.effects.append(Eject())

    def execute(self, issuer: int, number: int, operation: object, result: object) -> None:
        self.effects.append(Execute(issuer, number, operation, result))

    def answer(self, number: int, result: object) -> None:
        if self.answered is not None:
            raise ContractError("a step answers two operations")
        self.effects.append(Answer(number, result))

    def restore(self, count: int) -> None:
        self.effects.append(Restore(count))

    def rest(self) -> None:
        self.effects.append(Rest())

    def set_timer(self, timer: int, delay: float) -> None:
        if not 0 <= timer < MOST_TIMERS or not 0 <= delay < inf:
            raise ContractError(
                f"set_timer({timer}, {delay}): the timer must be 0..2^30-1, the delay finite, neither negative"
            )
        self.effects.append(SetTimer(timer, delay))

    def cancel_timer(self, timer: int) -> None:
        self.effects.append(CancelTimer(timer))

    def choose(self, options: int) -> int:
        if options < 1:
            raise ContractError(f"choose({options}): there is nothing to choose from")
        turn = len(self.asked)
        self.asked.append(options)
        return self.choices[turn] % options if turn < len(self.choices) else 0

    def save(self) -> None:
        if not self.saved:
            self.effects.insert(0, Save())

    # -- the same by kind ------------------------------------------------------------------------------

    @property
    def saved(self) -> bool:
        return len(self.effects) > 0 and isinstance(self.effects[0], Save)

    @property
    def sent(self) -> list[tuple[int, Message]]:
        """Destination and message of every sending; `EVERYONE` for a broadcast."""
        return [(effect.dst, effect.msg) for effect in self.effects if isinstance(effect, Send)]

    @property
    def entered(self) -> tuple[int, int] | None:
        """Group and fence of the entry, if there was one."""
        for effect in self.effects:
            if isinstance(effect, Enter):
                return (effect.group, effect.fence)
        return None

    @property
    def ejected(self) -> bool:
        for effect in self.effects:  # noqa: SIM110 (compiles better than a generator)
            if isinstance(effect, Eject):
                return True
        return False

    @property
    def executed(self) -> list[tuple[int, int, object, object]]:
        """Issuer, number, operation and result of every execution."""
        return [
            (effect.issuer, effect.number, effect.operation, effect.result)
            for effect in self.effects
            if isinstance(effect, Execute)
        ]

    @property
    def answered(self) -> tuple[int, object] | None:
        for effect in self.effects:
            if isinstance(effect, Answer):
                return (effect.number, effect.result)
        return None

    @property
    def rested(self) -> bool:
        return Rest() in self.effects

    @property
    def timers_set(self) -> list[tuple[int, float]]:
        """The timers that are set when the step is over, with their delays."""
        last = self._last_of_timers()
        return [
            (effect.timer, effect.delay)
            for effect in self.effects
            if isinstance(effect, SetTimer) and last[effect.timer] is effect
        ]

    @property
    def timers_cancelled(self) -> list[int]:
        """The timers that the step has cancelled and not set again."""
        last = self._last_of_timers()
        return [
            effect.timer for effect in self.effects if isinstance(effect, CancelTimer) and last[effect.timer] is effect
        ]

    def _last_of_timers(self) -> dict[int, Effect]:
        last: dict[int, Effect] = {}
        for effect in self.effects:
            if isinstance(effect, (SetTimer, CancelTimer)):
                last[effect.timer] = effect
        return last


@final
class PlainOut(Out):
    """What a step of a node did that only sends, enters and is ejected, as our own locks in views do
    (`congenial.systems.view_locks`). It is used again and again: `clear` it."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, Message]] = []
        self.has_entered = False
        self.fence = 0
        self.has_ejected = False

    def send(self, dst: int, msg: Message) -> None:
        self.sent.append((dst, msg))

    def enter(self, group: int, fence: int) -> None:
        if self.has_entered:
            raise ContractError("a step enters the critical section twice")
        self.has_entered = True
        self.fence = fence

    def eject(self) -> None:
        self.has_ejected = True

    def clear(self) -> None:
        self.sent = []
        self.has_entered = False
        self.has_ejected = False
