"""Follows a recorded run with the real nodes, to know the state of every process after every step.

A step is what happens at one process: its cause (a request, a message that arrives, ...) and what the node then did.
The nodes step in process shells, as in the checker and on the network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from congenial.kernel.effects import EVERYONE, Send
from congenial.kernel.errors import ConfigError, IllegalStep, SafetyViolation
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.kernel.shell import (
    Asked,
    Issued,
    Left,
    Process,
    ProcessEvent,
    Received,
    Recovered,
    Suspected,
    TimedOut,
    Trusted,
)
from congenial.kernel.trace import (
    CRASH,
    DELIVER,
    EXIT,
    ISSUE,
    RECOVER,
    REQUEST,
    SEND,
    SUSPECT,
    TIMER,
    TRUST,
    Event,
)
from congenial.sim.chance import CHOICES
from congenial.systems.streams import stream
from congenial.systems.system import System

CAUSES = frozenset((REQUEST, EXIT, ISSUE, DELIVER, TIMER, SUSPECT, TRUST, CRASH, RECOVER))
Step = tuple[int, list[Event]]
"""The index of a cause among the events, and the messages sent in its step."""


class Chooser(Outbox):
    """Answers the choices of nodes as the simulator does: from the seed's own stream, in the order of steps."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.stream = stream(seed, CHOICES)

    def choose(self, options: int) -> int:
        super().choose(options)
        chosen: int = self.stream.randrange(options)
        return chosen

    def next_step(self) -> Chooser:
        """The same for the next step: with the same stream, and nothing done yet."""
        self.effects = []
        self.asked = []
        return self


class Follower:
    """The processes of a system. `seed`: that of the simulator whose run it is; else the trace has the choices."""

    def __init__(self, system: System, seed: int | None) -> None:
        self.system = system
        self.processes = [Process(node, system.problem) for node in system.nodes()]
        self.chooser = None if seed is None else Chooser(seed)
        self.messages: dict[int, Message] = {}  # by the number of their sending

    def take(self, cause: Event, sendings: list[Event]) -> bool:
        """Let an event happen. False if the step goes wrong, so that no other follows."""
        process = self.processes[cause.node]
        if cause.event == CRASH:
            process.crash()
            return True
        if cause.event == RECOVER:
            process.restart(self.system.node(cause.node))
        out = Outbox(cause.choices) if self.chooser is None else self.chooser.next_step()
        try:
            effects = process.step(self._event(cause), out)
        except (IllegalStep, SafetyViolation):
            return False
        sent = [effect for effect in effects if isinstance(effect, Send)]
        for effect, told in zip([s for s in sent if s.dst != EVERYONE or self.system.n > 1], sendings, strict=False):
            if type(effect.msg).__name__ != told.message or effect.dst != told.peer:
                raise ConfigError(f"this is not a run of {self.system.name}: its nodes do not do what the events say")
            self.messages[told.id] = effect.msg
        return True

    def _event(self, cause: Event) -> ProcessEvent:
        if cause.event == REQUEST:
            return Asked(cause.groups)
        if cause.event == EXIT:
            return Left()
        if cause.event == ISSUE:
            return Issued(cause.operation)
        if cause.event == DELIVER:
            if cause.id not in self.messages:
                raise ConfigError(f"message {cause.id} arrives, but was never sent")
            return Received(cause.peer, self.messages[cause.id])
        if cause.event == TIMER:
            return TimedOut(cause.timer)
        if cause.event == SUSPECT:
            return Suspected(cause.peer)
        return Trusted(cause.peer) if cause.event == TRUST else Recovered()


def steps(events: Sequence[Event]) -> Iterator[Step]:
    """The steps among the events."""
    cause = -1
    sendings: list[Event] = []
    for index, event in enumerate(events):
        if event.event == SEND:
            sendings.append(event)
        elif event.event in CAUSES:
            if cause >= 0:
                yield cause, sendings
            cause, sendings = index, []
    if cause >= 0:
        yield cause, sendings
