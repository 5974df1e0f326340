"""Broken group algorithms that lock quorums."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.group.maekawa_m import Failed, Inquire, MaekawaM, Relinquish
from congenial.algorithms.group.maekawa_s import MaekawaS
from congenial.algorithms.group.toyomura import Toyomura
from congenial.kernel.message import Message
from congenial.kernel.out import Out
from congenial.parts.quorums.system import Quorums

# -- Maekawa_M ---------------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1, groups=2)
class LockedForTwoGroups(MaekawaM):
    """A member that is locked takes every request for one of its group."""

    def _on_request(self, src: int, number: int, group: int, out: Out) -> None:
        self.held = group
        super()._on_request(src, number, group, out)


@killed("concurrent entry", nodes=2, requests=1, groups=2)
class OneLock(MaekawaM):
    """A member does not recognise the group it is locked for, and has one lock for all."""

    def _on_request(self, src: int, number: int, group: int, out: Out) -> None:
        super()._on_request(src, number, 2 * number * self.n + src, out)


@killed("deadlock", nodes=3, requests=1, wants="0;1;1")
class GroupLosersNotTold(MaekawaM):
    """Nobody is ever told that it has lost."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Failed):
            super()._tell(dst, msg, out)


@killed("deadlock", nodes=3, requests=1, wants="0;1;1")
class NoLockAskedBack(MaekawaM):
    """A member that is locked for younger requests does not ask for its locks back."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Inquire):
            super()._tell(dst, msg, out)


@killed("safety", nodes=2, requests=2, groups=2)
class FencesOfOneMember(MaekawaM):
    """A fence is made from what the last member knows, not from the largest."""

    def _on_locked(self, member: int, fence: int, out: Out) -> None:
        self.fence = 0
        super()._on_locked(member, fence, out)


# -- Maekawa_S ---------------------------------------------------------------------------------------------


@killed("deadlock", nodes=3, requests=1, groups=2)
class EachItsOwnOrder(MaekawaS):
    """Every other process locks its members from the last to the first."""

    def _quorum_of(self, group: int) -> tuple[int, ...]:
        members = super()._quorum_of(group)
        return members[::-1] if self.me % 2 else members


@killed("safety", nodes=3, requests=1, groups=2)
class FirstMemberLeftOut(MaekawaS):
    """The first member is not asked."""

    def _quorum_of(self, group: int) -> tuple[int, ...]:
        members = super()._quorum_of(group)
        return members[1:] or members


@killed("deadlock", nodes=2, requests=1, groups=2)
class QueueOnlyServedOnce(MaekawaS):
    """A member that is released does not look at its queue."""

    def _on_release(self, src: int, fence: int, out: Out) -> None:
        queue = self.queue
        self.queue = []
        super()._on_release(src, fence, out)
        self.queue = queue


@killed("concurrent entry", nodes=2, requests=1, groups=2)
class NobodyJoins(MaekawaS):
    """A member that is locked never locks itself for one more."""

    def _on_request(self, src: int, group: int, out: Out) -> None:
        if self.holders:
            self.queue.append((src, group))
        else:
            super()._on_request(src, group, out)


# -- Toyomura et al. ---------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1, groups=2)
class CoterieMisses(Toyomura):
    """A quorum is only its owner, so that two have no member in common."""

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n, quorums)
        self.quorum = (me,)


@killed("deadlock", nodes=3, requests=1, wants="0;1;2")
class InquiriesIgnored(Toyomura):
    """A process that is asked to give a lock back keeps it."""

    def _give_back(self, out: Out) -> None:
        pass


@killed("illegal step", nodes=3, requests=1, groups=2)
class GivenBackAndKept(Toyomura):
    """A process that gives a lock back still counts it as its own."""

    def _return(self, member: int, out: Out) -> None:
        self._tell(member, Relinquish(self.clock), out)
