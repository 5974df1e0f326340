"""Raynal's prime-number algorithm as modified in Velazquez 1993, section 5, where the text of the survey is wrong.

congenial check docs/counterexamples/raynal_primes_as_printed.py:ReceivedOnly --nodes 2 --requests 1
congenial sim docs/counterexamples/raynal_primes_as_printed.py:NeverRests --nodes 3 --load single --until 1000
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Spec
from congenial.algorithms.permission.raynal_primes_mended import SPEC, RaynalPrimesMended
from congenial.parts.primes import Ratio, product


class ReceivedOnly(RaynalPrimesMended):
    """T is "the total product of all values Xj received": the process's own is not among them."""

    spec: ClassVar[Spec] = replace(SPEC, name="raynal-primes-received-only")

    def _total(self) -> Ratio:
        return product([value for process, value in enumerate(self.values) if process != self.me])


class NeverRests(RaynalPrimesMended):
    """ "When a node i is not requesting the CS, and is the next in the ring to obtain the permission, it should
    behave as if it were releasing the CS": even if nobody wants to enter."""

    spec: ClassVar[Spec] = replace(SPEC, name="raynal-primes-never-rests")

    def _somebody_waits(self) -> bool:
        return True
