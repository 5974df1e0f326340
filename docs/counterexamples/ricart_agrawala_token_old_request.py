"""Ricart and Agrawala's token algorithm as the survey describes it (Velazquez 1993, section 4).

An idle holder that receives a request sends the token to the process that it came from. The request may be old:
another process has granted it, and the token has overtaken it. Then the token goes to a process that has not asked.

    congenial check docs/counterexamples/ricart_agrawala_token_old_request.py:ToWhoeverItCameFrom --nodes 3 --requests 1
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Out, Spec
from congenial.algorithms.token.ricart_agrawala_token import SPEC, RicartAgrawalaToken, Token
from congenial.kernel.node import IDLE


class ToWhoeverItCameFrom(RicartAgrawalaToken):
    """ "If node k is holding the token and is not in its critical section, then k sends the token to node j." """

    spec: ClassVar[Spec] = replace(SPEC, name="ricart-agrawala-token-old-request")

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.requested[src] = max(self.requested[src], number)
        if self.holding and self.phase == IDLE:
            self.holding = False
            out.send(src, Token(tuple(self.granted), self.entries))
