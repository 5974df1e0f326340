"""TokenGME with type sets: a request names several groups, and any one of them will do.

Such a request is compatible with a session of any of its groups, and counts in the selection for each of them. The
holder of the primary token admits a compatible request to the current session only while its queue is empty: behind a
queued conflict all wait for the next session.

Mittal & Mohan 2007, section 5.1. The paper says "unless there is a conflicting request already present in the primary
token queue". A request that waits behind a conflict is in the queue as well, and all that fit a new session are removed
when it begins; so that is the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import token_gme
from congenial.algorithms.group.token_gme import TokenGME
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec

SPEC = replace(
    token_gme.SPEC,
    name="token-gme-types",
    title="TokenGME, type sets",
    reference="Mittal & Mohan 2007, section 5.1",
    size="(3+g)n",
)


@mypyc_attr(allow_interpreted_subclasses=True)
class TokenGMETypes(TokenGME):
    spec: ClassVar[Spec] = SPEC

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.group in groups:
            self.enter(out, self.session, self.group)
        else:
            self._ask(groups, out)

    def _admits(self, process: int) -> bool:
        return self.group in self.wanted[process] and not self.queue
