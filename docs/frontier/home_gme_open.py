"""HomeGME without the rule that closes a session when its first members have left: latecomers keep it open.

congenial fuzz docs/frontier/home_gme_open.py:WatchedOpen --nodes 5 --requests 4 --groups 2
congenial fuzz docs/frontier/home_gme_open.py:Watched --nodes 5 --requests 4 --groups 2
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.group.home_gme import HomeGME
from congenial.algorithms.group.home_plan import HOME, Plan
from congenial.kernel.message import Message
from congenial.kernel.out import Out


class OpenPlan(Plan):
    def _is_time(self, size: int) -> bool:
        last = self.sessions[-1]
        outstanding = sum([len(session.tokens) for session in self.sessions])
        return not last.tokens or (len(self.sessions) == 1 and last.kept) or outstanding <= size


class StaysOpen(HomeGME):
    """Only recalls kept tokens, and compares sizes."""

    spec: ClassVar[Spec] = replace(HomeGME.spec, name="home-gme-stays-open")

    def __init__(self, me: int, n: int, selection: str = "priority", leaders: int = 2) -> None:
        super().__init__(me, n, selection, leaders)
        if me == HOME:
            self.plan = OpenPlan(selection, leaders)


class Watched(HomeGME):
    """HomeGME as it is, watched."""

    spec: ClassVar[Spec] = replace(HomeGME.spec, name="home-gme-watched")

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        super()._handle(src, msg, out)
        say_if_open(self)


class WatchedOpen(StaysOpen):
    """Without the rule, watched."""

    spec: ClassVar[Spec] = replace(HomeGME.spec, name="home-gme-watched-open")

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        super()._handle(src, msg, out)
        say_if_open(self)


def say_if_open(node: HomeGME) -> None:
    """Does a session go on without any of its first members although a process waits for another?"""
    if node.plan is not None and node.plan.queue and len(node.plan.sessions) == 1:
        last = node.plan.sessions[-1]
        assert min(last.tokens) <= last.first, "a session without its first members goes on while others wait"
