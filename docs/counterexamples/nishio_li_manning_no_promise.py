"""Nishio, Li and Manning's algorithm as we read Velazquez 1993, section 4: ages are learnt only from tokens.

A process that has agreed to a new token and then gets the old one, which was under way, does not refuse it.

    congenial check docs/counterexamples/nishio_li_manning_no_promise.py:NoPromise --nodes 3 --requests 1 --timers free
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.token.nishio_li_manning import NishioLiManning
from congenial.kernel.out import Out


class NoPromise(NishioLiManning):
    spec: ClassVar[Spec] = replace(NishioLiManning.spec, name="nishio-li-manning-no-promise")

    def _on_missing(self, src: int, age: int, out: Out) -> None:
        known = self.age
        super()._on_missing(src, age, out)
        self.age = known
