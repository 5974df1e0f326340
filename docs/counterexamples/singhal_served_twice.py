"""Singhal's heuristic algorithm with a witness that travels with the token (Singhal 1989; Velazquez 1993, section 4).

The rule by which the token is granted, lowest request number first, is said to prevent "a node from obtaining the token
twice while some other node is waiting for it". The witness objects when that happens.

    congenial fuzz docs/counterexamples/singhal_served_twice.py:Witnessed --nodes 3 --requests 3
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from congenial import Message, Out, Spec
from congenial.algorithms.token.singhal_heuristic import SPEC, SinghalHeuristic, Token
from congenial.kernel.errors import ContractError


@dataclass(frozen=True)
class WitnessedToken(Message):
    token: Token
    overtaken: tuple[tuple[int, int], ...]  # (a waiting process, one that got the token meanwhile)


class Witnessed(SinghalHeuristic):
    spec: ClassVar[Spec] = replace(SPEC, name="singhal-witnessed")
    messages = (*SinghalHeuristic.messages, WitnessedToken)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.overtaken: tuple[tuple[int, int], ...] = ()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, WitnessedToken):
            self.overtaken = msg.overtaken
            super().receive(src, msg.token, out)
        else:
            super().receive(src, msg, out)

    def _pass_token(self, dst: int, out: Out) -> None:
        waiting = [process for process in range(self.n) if self.token_requesting[process] and process != dst]
        for process in waiting:
            if (process, dst) in self.overtaken:
                raise ContractError(f"process {dst} gets the token twice while {process} is waiting for it")
        overtaken = [pair for pair in self.overtaken if pair[0] in waiting] + [(process, dst) for process in waiting]
        self.holding = False
        token = Token(tuple(self.token_requesting), tuple(self.token_numbers), self.entries)
        out.send(dst, WitnessedToken(token, tuple(sorted(overtaken))))
