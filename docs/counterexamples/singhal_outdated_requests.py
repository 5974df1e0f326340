"""Singhal's heuristic algorithm when outdated requests are discarded (Singhal 1989; Velazquez 1993, section 4).

Who receives an outdated request has learned from the token of a request that had not reached it yet. The process that
sent it has had the token and believes nobody to be requesting; so each of the two believes of the other that it is not,
and if one gets the token, the other never asks it.

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
    """Outdated requests are answered; but a request that is outdated by the token at hand is not seen to be so."""

    spec: ClassVar[Spec] = replace(SPEC, name="singhal-judged-by-own-vector-only")

    def _is_outdated(self, src: int, number: int) -> bool:
        return number <= self.numbers[src]
