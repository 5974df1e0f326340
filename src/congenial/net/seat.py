"""A seat: one node at this member, with all that belongs to it.

The node takes its steps in a process shell (`congenial.kernel.shell`). The seat carries out what a step did, in order:
it saves, sends, and sets timers. Entering and being ejected concern the owner of the seat: a door has one seat, a hall
has k.
"""

from __future__ import annotations

import asyncio
from random import randrange
from typing import Protocol

from congenial.kernel.effects import CancelTimer, Effect, Save, Send, SetTimer
from congenial.kernel.errors import ConfigError, ContractError
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox
from congenial.kernel.problem import Problem
from congenial.kernel.shell import Process, ProcessEvent, Recovered, TimedOut
from congenial.net.membership import Membership
from congenial.net.roster import RECOVERED
from congenial.net.saved import form_of


class SeatOwner(Protocol):
    """What a seat asks of the layer above."""

    def send(self, seat: Seat, dst: int, message: Message) -> None:
        """To process `dst` of the algorithm, or to `EVERYONE` but the seat."""

    def on_effect(self, seat: Seat, effect: Effect) -> None:
        """The node did something that concerns the application, such as `Enter` or `Eject`."""

    def on_timer(self, seat: Seat, event: TimedOut) -> None:
        """A timer has run out: let that happen at the seat."""


class RandomOutbox(Outbox):
    """Draws a node's choices at random."""

    def choose(self, options: int) -> int:
        if options < 1:
            raise ContractError(f"choose({options}): there is nothing to choose from")
        return randrange(options)


class Seat:
    __slots__ = ("membership", "node", "number", "owner", "process", "storage_key", "timers")

    def __init__(
        self, owner: SeatOwner, membership: Membership, node: Node, problem: Problem, storage_key: str, number: int = 0
    ) -> None:
        self.owner = owner
        self.membership = membership
        self.node = node
        self.process = Process(node, problem)
        self.storage_key = storage_key
        self.number = number  # among the owner's seats
        self.timers: dict[int, asyncio.TimerHandle] | None = None  # made when one is set: most nodes set none

    def step(self, event: ProcessEvent) -> None:
        """Let an event happen, and carry out what the node does. `IllegalStep` as from the shell."""
        for effect in self.process.step(event, RandomOutbox()):
            if isinstance(effect, Send):
                self.owner.send(self, effect.dst, effect.msg)
            elif isinstance(effect, Save):
                self.membership.storage.save(self.storage_key, self.process.saved, form_of(self.node))
            elif isinstance(effect, SetTimer):
                self._set(effect.timer, effect.delay * self.membership.timing.timer_unit)
            elif isinstance(effect, CancelTimer):
                self._cancel(effect.timer)
            else:
                self.owner.on_effect(self, effect)

    def recovery(self) -> Recovered | None:
        """The event with which the node goes on after a restart of this member, its saved state restored; None if it
        starts for the first time."""
        durable = type(self.node).durable
        saved = self.membership.storage.load(self.storage_key, form_of(self.node)) if durable else None
        if saved is not None:
            names = tuple([name for name, _ in saved])
            if names != durable:
                raise ConfigError(
                    f"its state was saved by another version of the program: {', '.join(names)} instead of "
                    f"{', '.join(durable)}"
                )
            self.process.saved = saved
            self.process.restart(self.node)
            return Recovered()
        if self.membership.forgetful:
            return Recovered(forgetful=True)
        if self.membership.roster.past == RECOVERED:  # it has saved nothing because it had nothing to save
            return Recovered()
        return None

    def stop(self) -> None:
        """Cancel all timers."""
        for timer in list(self.timers or ()):
            self._cancel(timer)

    def _set(self, timer: int, seconds: float) -> None:
        self._cancel(timer)
        if self.timers is None:
            self.timers = {}
        self.timers[timer] = self.membership.loop.call_later(seconds, self._on_timer, timer)

    def _cancel(self, timer: int) -> None:
        handle = self.timers.pop(timer, None) if self.timers else None
        if handle is not None:
            handle.cancel()

    def _on_timer(self, timer: int) -> None:
        with self.membership.turn:
            assert self.timers is not None
            del self.timers[timer]
            self.owner.on_timer(self, TimedOut(timer))
