"""Suzuki and Kasami's procedure P1 as printed, where only procedure P2 is indivisible (Velazquez 1993, appendix A).

The last lines of P1 test the queue (line 16) and then say `Requesting := false` (line 21). A request that arrives in
between finds the process still requesting, so P2 does not send the token; and P1 has looked at the queue already, so
it does not send it either. The token stays unused, and the requester waits forever if nobody asks again.

    congenial check docs/counterexamples/suzuki_kasami_line_by_line.py:LineByLine --nodes 2 --requests 1
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Out, Spec
from congenial.algorithms.token.suzuki_kasami import SuzukiKasami

LINE_21 = 0


class LineByLine(SuzukiKasami):
    """What comes after line 20 is a step of its own, which a timer begins."""

    spec: ClassVar[Spec] = replace(SuzukiKasami.spec, name="suzuki-kasami-line-by-line")

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.requesting = False  # Requesting, while the application has left already

    def request(self, groups: tuple[int, ...], out: Out) -> None:
        out.cancel_timer(LINE_21)  # one process runs P1 to its end before it begins it again
        self.requesting = False
        super().request(groups, out)

    def release(self, out: Out) -> None:
        super().release(out)
        if self.holding:  # the queue was empty
            self.requesting = True
            out.set_timer(LINE_21, 1.0)

    def on_timer(self, timer: int, out: Out) -> None:
        self.requesting = False

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self.requesting:
            self.requested[src] = max(self.requested[src], number)
        else:
            super()._on_request(src, number, out)


class LooksAgain(LineByLine):
    """A remedy that needs no atomic P1: look for outstanding requests once more after line 21."""

    spec: ClassVar[Spec] = replace(SuzukiKasami.spec, name="suzuki-kasami-looks-again")

    def on_timer(self, timer: int, out: Out) -> None:
        super().on_timer(timer, out)
        for process in range(self.n):
            if self.holding and self._is_outstanding(process):
                self._pass_token(process, out)
