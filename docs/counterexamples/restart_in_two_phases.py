"""Mittal & Mohan 2007, section 5.3.4: the restart without its third phase.

The new instance of TokenGME is not suspended. Only the coordinator, which has its primary token, gives it to nobody
until all old requests have been served. So a process that has restarted can ask immediately, and its requests reach
processes that have not restarted yet. The paper says that old messages should be ignored. What becomes of early ones
it leaves open: `Ignores` ignores them, too, and `Keeps` keeps them.

    congenial check docs/counterexamples/restart_in_two_phases.py:Ignores --nodes 3 --requests 1 --crashes 1 \\
        --no-recovery
"""

from __future__ import annotations

from typing import Any

from congenial.kernel.message import Message
from congenial.kernel.out import Out
from congenial.systems.catalogue import find_algorithm
from congenial.transform.instances import Inside

Restarted: Any = find_algorithm("token-gme+restart")


class TwoPhases(Restarted):  # type: ignore[misc]
    """`running` is False at a coordinator that holds the token back."""

    def __init__(self, me: int, n: int, **settings: Any) -> None:
        super().__init__(me, n, **settings)
        self.early: list[tuple[int, Message]] = []

    def _restart(self, out: Out) -> None:
        super()._restart(out)
        if self.coordinator() != self.me:
            self.running = True
            self._catch_up(out)

    def _resume_all(self, out: Out) -> None:
        self._resume(out)
        self._catch_up(out)

    def _on_inside(self, src: int, msg: Inside, out: Out) -> None:
        if self.running:
            super()._on_inside(src, msg, out)
        else:
            self.early.append((src, msg))

    def _catch_up(self, out: Out) -> None:
        early = self.early
        self.early = []
        for src, msg in early:
            self.receive(src, msg, out)


class Ignores(TwoPhases):
    """Ignores messages of an instance that it has not started."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Inside) or msg.instance <= self.instance:
            super().receive(src, msg, out)


class Keeps(TwoPhases):
    """Keeps them until it has."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Inside) or msg.instance <= self.instance:
            super().receive(src, msg, out)
        else:
            self.early.append((src, msg))
