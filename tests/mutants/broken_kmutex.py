"""Mutants of the algorithms that let in k."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.kmutex.kakugawa import Inquire, Kakugawa
from congenial.algorithms.kmutex.raymond_k import RaymondK, Reply
from congenial.algorithms.kmutex.srimani_reddy import Privilege, SrimaniReddy
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.parts.quorums.kcoteries import KCoterie

# -- Raymond (k) -------------------------------------------------------------------------------------------


@killed("safety", nodes=3, requests=1)
class OneTooMany(RaymondK):
    """One reply fewer is enough."""

    def __init__(self, me: int, n: int, k: int) -> None:
        super().__init__(me, n, k + 1)


@killed("concurrent entry", nodes=3, requests=1)
class OneTooFew(RaymondK):
    """One reply more is waited for, so that one process fewer gets in."""

    def __init__(self, me: int, n: int, k: int) -> None:
        super().__init__(me, n, k - 1)


@killed("safety", nodes=2, requests=2, options={"k": "1"})
class TieWonByNeither(RaymondK):
    """A tie is won by neither side."""

    def _mine_comes_first(self, src: int, number: int) -> bool:
        return self.phase != IDLE and self.number < number


@killed("concurrent entry", nodes=3, requests=1)
class DebtsForgotten(RaymondK):
    """Replies that were deferred are never sent."""

    def release(self, out: Out) -> None:
        self.owed_by_me = [0] * self.n
        super().release(out)


@killed("illegal step", nodes=3, requests=2)
class LateRepliesCount(RaymondK):
    """What was owed for an earlier request is forgotten, so that a late reply passes for one to the latest."""

    def request(self, groups: Groups, out: Out) -> None:
        self.owed_to_me = [0] * self.n
        super().request(groups, out)


@killed("illegal step", nodes=2, requests=1)
class RepliesToTooMany(RaymondK):
    """A reply that is not deferred counts for two requests."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self._mine_comes_first(src, number):
            super()._on_request(src, number, out)
        else:
            out.send(src, Reply(2))


# -- Srimani-Reddy -----------------------------------------------------------------------------------------


@killed("safety", nodes=3, requests=1)
class TokenCopied(SrimaniReddy):
    """A process that sends a spare token away also keeps it."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        before = self.spare
        super()._on_request(src, number, out)
        self.spare = before


@killed("concurrent entry", nodes=3, requests=1)
class RequestsForgotten(SrimaniReddy):
    """A process that leaves keeps its token, even if others wait."""

    def release(self, out: Out) -> None:
        self.leave()
        self.spare += 1


@killed("deadlock", nodes=3, requests=1, options={"k": "1"})
class OnlyTheQueueIsServed(SrimaniReddy):
    """A process that leaves looks only at the token's queue, and adds nobody to it."""

    def _send_on(self, queue: list[int], out: Out) -> None:
        if queue:
            self._send_token(queue, out)
        else:
            self.spare += 1


@killed("deadlock", nodes=2, requests=2, options={"k": "1"})
class NotToTheSameTwice(SrimaniReddy):
    """A process that was served once counts as served forever."""

    def _is_outstanding(self, process: int) -> bool:
        return super()._is_outstanding(process) and self.served[process] == 0


@killed("concurrent entry", nodes=3, requests=1)
class SecondTokenLost(SrimaniReddy):
    """A token that comes after another one is thrown away."""

    def _on_privilege(self, token: Privilege, out: Out) -> None:
        if self.phase == WAITING:
            super()._on_privilege(token, out)


# -- Kakugawa et al. ---------------------------------------------------------------------------------------


@killed("concurrent entry", nodes=3, requests=1)
class OneQuorumOnly(Kakugawa):
    """A process that has lost in one quorum does not try another."""

    def _look_elsewhere(self, out: Out) -> None:
        pass


@killed("safety", nodes=2, requests=1, options={"k": "1"})
class LocksItselfForTwo(Kakugawa):
    """A member that is locked locks itself for the next request as well."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.locked_for = None
        super()._on_request(src, number, out)


@killed("safety", nodes=3, requests=1)
class EveryQuorumAlone(Kakugawa):
    """Each process is a quorum by itself."""

    def __init__(self, me: int, n: int, k: int, coterie: KCoterie) -> None:
        super().__init__(me, n, k, coterie)
        self.quorums = tuple([(member,) for member in range(n)])
        self.home = me


@killed("deadlock", nodes=2, requests=1, options={"k": "1"})
class NobodyInquires(Kakugawa):
    """A member that is locked for a younger request does not ask for its lock back."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Inquire):
            super()._tell(dst, msg, out)
