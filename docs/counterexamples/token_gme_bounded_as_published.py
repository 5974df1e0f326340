"""TokenGME's bounded numbers, compared as printed (Mittal & Mohan 2007, section 5.2.1).

"Note that it is not necessary to reset the ith entry in the fulfilled vector of a token. For the purpose of determining
whether a request is new [...] we assume that smax < 1." Each of the two sentences leads
astray by itself; docs/errata.md has the commands that show it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.group.token_gme_bounded import TokenGMEBounded


class AsPublished(TokenGMEBounded):
    """Compares numbers plainly, except that smax counts as less than 1."""

    spec: ClassVar[Spec] = replace(TokenGMEBounded.spec, name="token-gme-bounded-as-published")

    def _is_pending(self, process: int) -> bool:
        requested, fulfilled = self.requested[process], self.fulfilled[process]
        if fulfilled == self.limit and requested == 1:
            return True
        return requested > fulfilled


class NewRequestMissed(AsPublished):
    """The second flaw without the first: an old request is never taken for a new one, but a new one for an old one."""

    def _is_pending(self, process: int) -> bool:
        return super()._is_pending(process) and TokenGMEBounded._is_pending(self, process)
