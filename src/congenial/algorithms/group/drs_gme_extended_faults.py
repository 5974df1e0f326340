"""DRS_GME for the extended problem, with timers and regeneration: requests name several groups, messages are lost.

Swaroop & Singh 2007, section VII, where "the proposed algorithm", which is the one with timers T1 and T2, "can be
modified to solve the Extended GME problem". The modification is that of `drs-gme-extended`, made to `drs-gme-faults`:
REQUEST and GEN_TOKEN carry a set of groups, a request has an entry in the queue for each, and when it is served all of
them are removed. START and IS_COMPLETE name the group that was chosen. The section says nothing of faults, and nothing
more is needed: a request is known by its number, for any of its groups.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import drs_gme_extended, drs_gme_faults
from congenial.algorithms.group.drs_gme_faults import DrsGmeFaults
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec

SPEC = replace(
    drs_gme_faults.SPEC,
    name="drs-gme-extended-faults",
    title="DRS_GME, extended, with faults",
    reference=drs_gme_extended.SPEC.reference,
    size=drs_gme_extended.SPEC.size,
)


@mypyc_attr(allow_interpreted_subclasses=True)
class DrsGmeExtendedFaults(DrsGmeFaults):
    spec: ClassVar[Spec] = SPEC

    def _wanted(self, groups: Groups) -> Groups:
        return groups

    def _admits(self, groups: Groups) -> bool:
        return self.group in groups and not self.queue

    def _future_captains(self) -> list[int]:
        return [process for _, members in self.queue for process, _ in members]
