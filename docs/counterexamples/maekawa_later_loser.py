"""Maekawa's algorithm when only the newcomer is told that it has lost (Maekawa 1985; Velazquez 1993, section 5).

A request that is older than the one a member is locked for leads the member's queue: it has not lost. If a still older
request overtakes it there, it has lost; but as published nobody tells it. It then keeps the locks that it is asked to
give back. The oldest request waits for one of them, and this one waits for the oldest.

    congenial check docs/counterexamples/maekawa_later_loser.py:NewcomersOnly --nodes 3 --requests 1
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Out, Spec
from congenial.algorithms.permission.maekawa import SPEC, Failed, Inquire, Maekawa
from congenial.kernel.spec import Option
from congenial.parts.quorums.constructions import build_quorums
from congenial.parts.quorums.system import Quorums


def build(name: str, n: int) -> Quorums:
    """Three requests must meet at one member. In small planes and grids they do not; here all meet at the last one."""
    if name == "nested":
        return Quorums(name, [range(process, n) for process in range(n)])
    return build_quorums(name, n)


NESTED = replace(SPEC, options=(Option("quorums", "nested", "nested, or as for maekawa", build),))


class NewcomersOnly(Maekawa):
    """FAILED goes to a request that finds an older one when it arrives, and to no other."""

    spec: ClassVar[Spec] = replace(NESTED, name="maekawa-newcomers-only")

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
        elif not self.inquired:  # here the one that led the queue so far should be told
            self.inquired = True
            self._tell(holder[1], Inquire(), out)


class LaterLosersToo(Maekawa):
    """Our version, with the same quorums."""

    spec: ClassVar[Spec] = replace(NESTED, name="maekawa-later-losers-too")
