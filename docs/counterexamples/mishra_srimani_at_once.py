"""Mishra and Srimani's algorithm as Velazquez (1993, section 4) describes it: N-2 answers are enough.

The process does not wait for the last answer, which may come from a process that is inside. With two processes it waits
for none at all.

    congenial check docs/counterexamples/mishra_srimani_at_once.py:AtOnce --nodes 3 --requests 1 --timers quiet
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.token.mishra_srimani import MishraSrimani
from congenial.kernel.out import Out


class AtOnce(MishraSrimani):
    spec: ClassVar[Spec] = replace(MishraSrimani.spec, name="mishra-srimani-at-once")

    def _on_answer(self, src: int, out: Out) -> None:
        self.answered.add(src)
        if len(self.answered) >= self.n - 2:
            self._go_on(out)

    def _await_answers(self, out: Out) -> None:
        super()._await_answers(out)
        if self.n == 2:
            self._go_on(out)
