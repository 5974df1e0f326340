"""Singhal's heuristic algorithm when outdated requests are discarded (Velazquez 1993, section 4).

A process that receives an outdated request has learned from the token of a request that had not reached it yet. The
sender has had the token and believes that nobody is requesting. So neither of the two believes that the other is
requesting; and if one gets the token, the other never asks it.

    congenial check docs/counterexamples/singhal_outdated_requests.py:Discarded --nodes 3 --requests 2
    congenial check docs/counterexamples/singhal_outdated_requests.py:JudgedByOwnVectorOnly --nodes 3 --requests 2
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Out, Spec
from congenial.algorithms.token.singhal_heuristic import SPEC, SinghalHeuristic


class Discarded(SinghalHeuristic):
    """ "it checks the request sequence number against its sequence number vector to discard out-dated requests" """

    spec: ClassVar[Spec] = replace(SPEC, name="singhal-outdated-requests-discarded")

    def _is_outdated(self, src: int, number: int) -> bool:
        return number <= self.numbers[src]

    def _on_outdated_request(self, src: int, out: Out) -> None:
        pass


class JudgedByOwnVectorOnly(SinghalHeuristic):
    """Outdated requests are answered; but not those that are outdated only by the token that the process holds."""

    spec: ClassVar[Spec] = replace(SPEC, name="singhal-judged-by-own-vector-only")

    def _is_outdated(self, src: int, number: int) -> bool:
        return number <= self.numbers[src]
