"""Broken permission algorithms for mutual exclusion."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.permission.maekawa import Failed, Inquire, Maekawa, Relinquish
from congenial.algorithms.permission.ricart_agrawala import Reply, RicartAgrawala
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE
from congenial.kernel.out import Out
from congenial.parts.quorums.system import Quorums

# -- Ricart-Agrawala ---------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1)
class NothingDeferred(RicartAgrawala):
    """Every request is agreed to immediately."""

    def _mine_is_older(self, src: int, number: int) -> bool:
        return False


@killed("deadlock", nodes=2, requests=1)
class TieWonByBoth(RicartAgrawala):
    """Of two requests with the same number each side takes its own for the older."""

    def _mine_is_older(self, src: int, number: int) -> bool:
        return self.phase != IDLE and self.number <= number


@killed("safety", nodes=2, requests=1)
class TieWonByNeither(RicartAgrawala):
    """Of two requests with the same number each side takes its own for the younger."""

    def _mine_is_older(self, src: int, number: int) -> bool:
        return self.phase != IDLE and self.number < number


@killed("safety", nodes=2, requests=2)
class NumbersNotLearned(RicartAgrawala):
    """Numbers seen in requests are not remembered, so that a new request can be older than one that is inside."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        highest = self.highest
        super()._on_request(src, number, out)
        self.highest = highest


@killed("deadlock", nodes=2, requests=1)
class DebtsForgotten(RicartAgrawala):
    """Replies that were deferred are never sent."""

    def release(self, out: Out) -> None:
        self.deferred = [False] * self.n
        super().release(out)


@killed("illegal step", nodes=2, requests=1)
class RepliesTwice(RicartAgrawala):
    """A reply that is not deferred is sent twice."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        super()._on_request(src, number, out)
        if not self.deferred[src]:
            out.send(src, Reply())


# -- Maekawa -----------------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1)
class QuorumsMiss(Maekawa):
    """A quorum is only its owner, so that two have no member in common."""

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n, quorums)
        self.quorum = (me,)


@killed("deadlock", nodes=3, requests=1)
class LosersNotTold(Maekawa):
    """Nobody is ever told that it has lost."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Failed):
            super()._tell(dst, msg, out)


@killed("deadlock", nodes=3, requests=1)
class NobodyInquires(Maekawa):
    """A member that is locked for a younger request does not ask for its lock back."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Inquire):
            super()._tell(dst, msg, out)


@killed("illegal step", nodes=3, requests=1)
class LockKept(Maekawa):
    """A process that gives a lock back still counts it as its own."""

    def _return(self, member: int, out: Out) -> None:
        self._tell(member, Relinquish(), out)


@killed("safety", nodes=2, requests=1)
class LockedForTwo(Maekawa):
    """A member that is locked locks itself for the next request as well."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.locked_for = None
        super()._on_request(src, number, out)
