"""Surrogate with type sets: a request names several groups, and any one of them will do.

Two requests are compatible if they have a group in common. A process that has all its locks knows of requests that are
compatible with its own, but perhaps not with each other. Of the groups it asked for it chooses the one that suits most
of them, and invites those; the others continue to wait.

Atreya, Mittal & Peri 2007, section VIII-B ("unnecessary blocking freedom", after Manabe & Park). If several groups suit
equally many, the first one named wins. Requests carry their groups wherever they go, and messages are larger by the
number of groups in a request. It is built on the plain Surrogate, as in the paper: without concurrent entry.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import surrogate
from congenial.algorithms.group.surrogate import Surrogate
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec
from congenial.parts.queues import Asked

SPEC = replace(
    surrogate.SPEC,
    name="surrogate-types",
    title="Surrogate, type sets",
    reference="Atreya, Mittal & Peri 2007, section VIII-B",
    size="3+(2+g)b+2n, O(gb) amortised",
)


@mypyc_attr(allow_interpreted_subclasses=True)
class SurrogateTypes(Surrogate):
    spec: ClassVar[Spec] = SPEC

    def _wanted(self, groups: Groups) -> Groups:
        return groups

    def _are_compatible(self, mine: Groups, other: Groups) -> bool:
        return len([group for group in mine if group in other]) > 0

    def _choose_group(self, offered: list[Asked]) -> int:
        best = self.groups[0]
        most = -1
        for group in self.groups:
            content = len([request for request in offered if group in request[2]])
            if content > most:
                best = group
                most = content
        return best
