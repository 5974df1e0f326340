"""Surrogate where a process keeps one list of the requests that are over, as a member and as a leader.

Atreya, Mittal & Peri 2007, section IV-C: "Each process x maintains a list of timestamps". A member then passes on what
it was told as a leader. So all processes learn of every request, and what LOCKED carries grows with n, not with b.

    congenial sim docs/counterexamples/surrogate_one_list.py:OneList --nodes 133 --groups 3 --requests 10 \
        --think 10000 --hold 1
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Out, Spec
from congenial.algorithms.group.surrogate import SPEC, Locked, Surrogate
from congenial.algorithms.group.surrogate_quorum import Locked as AnyLocked


class OneList(Surrogate):
    spec: ClassVar[Spec] = replace(SPEC, name="surrogate-one-list")

    def _on_locked(self, member: int, msg: AnyLocked, out: Out) -> None:
        assert isinstance(msg, Locked)
        for process, number in msg.over:
            self.news.learn(process, number)  # `self.news` is the list of the member
        super()._on_locked(member, msg, out)
