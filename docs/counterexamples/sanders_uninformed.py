"""Sanders' algorithm over sets that satisfy the conditions as Velazquez 1993, section 5, states them, and no more.

Every process asks all and informs none: I_i is within R_i, and each of any two is in the other's request set. But a
process that is not informed about itself does not know that it is inside, and lets others in.

    congenial check docs/counterexamples/sanders_uninformed.py:NobodyInformed --nodes 2 --requests 1
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.permission.sanders import SPEC, Sanders
from congenial.parts.quorums.information import Information


class NobodyInformed(Sanders):
    spec: ClassVar[Spec] = replace(SPEC, name="sanders-nobody-informed")

    def __init__(self, me: int, n: int, structure: Information) -> None:
        super().__init__(me, n, structure)
        self.asks = tuple(range(n))
        self.informs = ()
        self.status = frozenset()
