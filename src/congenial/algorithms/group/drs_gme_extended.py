"""DRS_GME for the extended problem: a request names several groups, and any one of them will do.

Such a request is queued in the entry of each of its groups. When it is served, for any of them, it is removed from all.
A captain admits a request for its group only while nobody is queued, whether the captain is inside or not: there is no
smooth admission.

Swaroop & Singh 2007, section VII (the problem is Manabe & Park's). Filled in: a process that passes the token on puts
everybody in the queue into its request set, not only the first of each entry. That first process may be served with
another entry, and then the next one becomes a captain. Without timers; with them it is `drs-gme-extended-faults`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import drs_gme
from congenial.algorithms.group.drs_gme import DrsGme
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec

SPEC = replace(
    drs_gme.SPEC,
    name="drs-gme-extended",
    title="DRS_GME, extended",
    reference="Swaroop & Singh 2007, section VII",
    size="(1+2g)n+1 + min(gn,m)",
)


@mypyc_attr(allow_interpreted_subclasses=True)
class DrsGmeExtended(DrsGme):
    spec: ClassVar[Spec] = SPEC

    def _wanted(self, groups: Groups) -> Groups:
        return groups

    def _admits(self, groups: Groups) -> bool:
        return self.group in groups and not self.queue

    def _future_captains(self) -> list[int]:
        return [process for _, members in self.queue for process, _ in members]
