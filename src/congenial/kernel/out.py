"""`Out`: the only way out of a node.

A node gets an `Out` with every call and does everything it does to the world through it. The simulator,
the checker and the network each have their own. `Outbox` just writes down what one step did; it serves
drivers that act after the step, and tests that look at a step by itself.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message

EVERYONE: Final = -1  # the destination of a broadcast, where a destination is written down


@mypyc_attr(allow_interpreted_subclasses=True)
class Out:
    """What a node may do during a step. The step is atomic: its effects appear together, in this order."""

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

    def rest(self) -> None:
        """Say that the critical section which the application has left is over for all, where that takes a while."""

    def set_timer(self, timer: int, delay: float) -> None:
        """Call `on_timer(timer)` after `delay`; an earlier setting of the same timer is replaced."""
        raise NotImplementedError

    def cancel_timer(self, timer: int) -> None:
        """Forget the timer; cancelling one that is not set does nothing."""
        raise NotImplementedError

    def choose(self, options: int) -> int:
        """One of 0..options-1: random in the simulator, every one of them in the checker."""
        raise NotImplementedError

    def save(self) -> None:
        """Make the attributes named in `Node.durable` survive a crash, before this step's messages leave."""
        raise NotImplementedError


@mypyc_attr(allow_interpreted_subclasses=True)
class Outbox(Out):
    """Writes down what a step does.

    `choices` answers the step's calls of `choose`, in order, modulo the number of options; when they run out the
    answer is 0. `asked` then holds how many options each call had, so that a driver can come back with other answers.
    """

    def __init__(self, choices: tuple[int, ...] = ()) -> None:
        self.choices = choices
        self.sent: list[tuple[int, Message]] = []
        self.entered: tuple[int, int] | None = None
        self.ejected = False
        self.executed: list[tuple[int, int, object, object]] = []
        self.answered: tuple[int, object] | None = None
        self.rested = False
        self.timers_set: list[tuple[int, float]] = []
        self.timers_cancelled: list[int] = []
        self.asked: list[int] = []
        self.saved = False

    def send(self, dst: int, msg: Message) -> None:
        self.sent.append((dst, msg))

    def broadcast(self, msg: Message) -> None:
        self.sent.append((EVERYONE, msg))

    def enter(self, group: int, fence: int) -> None:
        if self.entered is not None:
            raise ContractError("a step enters the critical section twice")
        self.entered = (group, fence)

    def eject(self) -> None:
        self.ejected = True

    def execute(self, issuer: int, number: int, operation: object, result: object) -> None:
        self.executed.append((issuer, number, operation, result))

    def answer(self, number: int, result: object) -> None:
        if self.answered is not None:
            raise ContractError("a step answers two operations")
        self.answered = (number, result)

    def rest(self) -> None:
        self.rested = True

    def set_timer(self, timer: int, delay: float) -> None:
        if timer in self.timers_cancelled:
            self.timers_cancelled.remove(timer)
        self.timers_set = [setting for setting in self.timers_set if setting[0] != timer]
        self.timers_set.append((timer, delay))

    def cancel_timer(self, timer: int) -> None:
        self.timers_set = [setting for setting in self.timers_set if setting[0] != timer]
        self.timers_cancelled.append(timer)

    def choose(self, options: int) -> int:
        if options < 1:
            raise ContractError(f"choose({options}): there is nothing to choose from")
        turn = len(self.asked)
        self.asked.append(options)
        return self.choices[turn] % options if turn < len(self.choices) else 0

    def save(self) -> None:
        self.saved = True
