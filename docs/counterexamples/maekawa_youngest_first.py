"""A run of Maekawa's algorithm that costs more than five messages per member of a quorum (Maekawa 1985).

All processes ask at the same time, but are slow to send their requests. These reach member 0 oldest first, so that all
but one have lost there, and every other member youngest first, so that each of those has to take its lock back again
and again. A lock taken back costs INQUIRE, RELINQUISH and the LOCKED that is sent again later; the paper does not count
that one. docs/errata.md has the commands that show it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Out, Spec
from congenial.algorithms.permission.maekawa import Failed, Inquire, Maekawa, Request


class YoungestFirst(Maekawa):
    """Maekawa's algorithm as the survey describes it: only a newcomer is told that it has lost. The times at which
    requests are sent are chosen to do harm."""

    spec: ClassVar[Spec] = replace(Maekawa.spec, name="maekawa-youngest-first")

    def request(self, groups: tuple[int, ...], out: Out) -> None:
        self.wait()
        self.highest = 1
        for member in self.quorum:
            if member == self.me:
                self._tell(member, Request(1), out)
            else:
                out.set_timer(member, 1.0 + (self.me if member == 0 else self.n - self.me))

    def on_timer(self, timer: int, out: Out) -> None:
        out.send(timer, Request(1))

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.highest = max(self.highest, number)
        request = (number, src)
        holder = self.locked_for
        if holder is None:
            self._lock(request, out)
            return
        oldest = min([holder, *self.queue])
        self.queue.append(request)
        self.queue.sort()
        if oldest < request:
            self._tell(src, Failed(), out)
        elif not self.inquired:
            self.inquired = True
            self._tell(holder[1], Inquire(), out)
