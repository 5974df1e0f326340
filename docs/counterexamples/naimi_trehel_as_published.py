"""Naimi and Trehel's recovery as described (Naimi & Trehel 1988; Velazquez 1993, section 4): consulting without end.

A process that has waited for Twait asks all others whether it is their next, and waits for Twait again if one says so,
however often that happens. If two processes ask the holder again at about the same time, each request can end at the
other process. Then each is the other's next, and says so whenever it is asked, even if the token no longer exists.
docs/errata.md has a run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Out, Spec
from congenial.algorithms.token.naimi_trehel_recovery import NaimiTrehelRecovery


class VouchedForever(NaimiTrehelRecovery):
    """A process that was told that it is queued, and waits without being served, consults again."""

    spec: ClassVar[Spec] = replace(NaimiTrehelRecovery.spec, name="naimi-trehel-vouched-for-ever")

    def _on_queued(self, out: Out) -> None:
        super()._on_queued(out)
        self.queued = False
