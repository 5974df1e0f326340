"""Broken forms of Surrogate.

A stale invitation takes five processes and some forty steps, too far away for an exploration: what is broken about the
lists of requests that are over is found by random schedules, in tests/laws/test_surrogate_costs.py.
"""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.group.surrogate import Surrogate
from congenial.algorithms.group.surrogate_a import Leave, SurrogateA
from congenial.algorithms.group.surrogate_b import Released, SurrogateB
from congenial.algorithms.group.surrogate_concurrent import Forward, StepDown, SurrogateConcurrent
from congenial.algorithms.group.surrogate_information import SurrogateInformation
from congenial.algorithms.group.surrogate_quorum import Cancel, Failed, Inquire
from congenial.algorithms.group.surrogate_solitary import SurrogateSolitary
from congenial.algorithms.group.surrogate_types import SurrogateTypes
from congenial.kernel.message import Message
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.parts.queues import Asked
from congenial.parts.quorums.system import Quorums
from congenial.parts.weights import ONE

# -- stage A -----------------------------------------------------------------------------------------------


@killed("illegal step", nodes=2, requests=2, groups=2)
class FollowersNotCounted(SurrogateA):
    """A leader releases its quorum when it leaves, even if others are inside."""

    def _invite(self, request: Asked, out: Out) -> None:
        super()._invite(request, out)
        self.followers = 0


@killed("deadlock", nodes=2, requests=2, groups=2)
class LeavesUnseen(SurrogateA):
    """Followers leave without a word."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Leave):
            super()._tell(dst, msg, out)


@killed("deadlock", nodes=3, requests=1, wants="0;0;1")
class LosersInTheDark(SurrogateA):
    """Nobody is ever told that it has lost."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Failed):
            super()._tell(dst, msg, out)


@killed("safety", nodes=2, requests=1, groups=2)
class GroupsMistaken(SurrogateA):
    """A member names requests for any group to the process it locks itself for."""

    def _are_compatible(self, mine: Groups, other: Groups) -> bool:
        return True

    def _lead(self, out: Out) -> None:
        offered = self._offered()
        super()._lead(out)
        for request in offered:
            if self.group not in request[2]:
                self._invite(request, out)


# -- stage B -----------------------------------------------------------------------------------------------


@killed("safety", nodes=3, requests=1, groups=2)
class OneShareIsEnough(SurrogateB):
    """A member is free when the first share comes back."""

    def _on_released(self, src: int, msg: Released, out: Out) -> None:
        super()._on_released(src, Released(msg.time, msg.number, msg.leader, ONE, msg.fence), out)


@killed("illegal step", nodes=2, requests=2, groups=2)
class WeightFromNothing(SurrogateB):
    """A leader that gives half of its weight away keeps it all the same."""

    def _invite(self, request: Asked, out: Out) -> None:
        kept = self.weight
        super()._invite(request, out)
        self.weight = kept


@killed("deadlock", nodes=2, requests=2, groups=2)
class ShareKept(SurrogateB):
    """A follower leaves without releasing its leader's quorum."""

    def _leave_forum(self, out: Out) -> None:
        if self.leader == self.me:
            super()._leave_forum(out)


@killed("illegal step", nodes=3, requests=1, groups=2)
class OwnQuorumReleased(SurrogateB):
    """A follower sends its share to its own quorum, not to its leader's."""

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n, quorums)
        self.quorums = [self.quorum] * n


# -- Surrogate ---------------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1, groups=2)
class QuorumsMiss(Surrogate):
    """A quorum is only its owner, so that two have no member in common."""

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n, quorums)
        self.quorum = (me,)
        self.quorums = [(process,) for process in range(n)]


@killed("deadlock", nodes=3, requests=1, wants="0;0;1")
class NobodyInquires(Surrogate):
    """A member that is locked for a younger request does not ask for its lock back."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Inquire):
            super()._tell(dst, msg, out)


@killed("safety", nodes=3, requests=1, wants="0;0;1")
class FencesForgotten(Surrogate):
    """Members do not learn the fences that come with RELEASED."""

    def _on_released(self, src: int, msg: Released, out: Out) -> None:
        fence = self.fence
        super()._on_released(src, Released(msg.time, msg.number, msg.leader, msg.weight, 0), out)
        self.fence = fence


@killed("bound", nodes=3, requests=1, wants="0;0;1", options={"quorums": "singleton"})
class TakesLongLeave(Surrogate):
    """A process that leaves sends twenty messages that nobody needs."""

    def _leave_forum(self, out: Out) -> None:
        for _ in range(20):
            self._tell_all(self.quorum, Cancel(self.clock, 0), out)
        super()._leave_forum(out)


# -- concurrent entry --------------------------------------------------------------------------------------


@killed("concurrent entry", nodes=2, requests=1, groups=2)
class NothingForwarded(SurrogateConcurrent):
    """Late requests are not forwarded."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, Forward):
            super()._tell(dst, msg, out)


@killed("deadlock", nodes=3, requests=1, wants="0;0;1")
class NobodyStepsDown(SurrogateConcurrent):
    """Leaders are not told of rivals that come late."""

    def _tell(self, dst: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, StepDown):
            super()._tell(dst, msg, out)


@killed("illegal step", nodes=2, requests=2, wants="0,1;0")
class InvitedTwice(SurrogateConcurrent):
    """A leader forgets which processes it has invited."""

    def _invite(self, request: Asked, out: Out) -> None:
        over = list(self.over)
        super()._invite(request, out)
        self.over = over


@killed("concurrent entry", nodes=2, requests=1, groups=2)
class NeverOpen(SurrogateConcurrent):
    """A leader invites nobody after it has entered."""

    def _lead(self, out: Out) -> None:
        super()._lead(out)
        self.open = False


@killed("safety", nodes=2, requests=2, wants="0,1;0")
class GoneForGood(SurrogateConcurrent):
    """A leader gives its weight back when it leaves, and goes on inviting with it."""

    def _leave_forum(self, out: Out) -> None:
        led, kept, is_open = self.led, self.kept, self.open
        self.open = False
        super()._leave_forum(out)
        if self.number == led:
            self.led, self.kept, self.open = led, kept, is_open


# -- type sets ---------------------------------------------------------------------------------------------


@killed("safety", nodes=4, requests=1, wants="0;0|1;0;1", options={"quorums": "singleton"})
class EverybodyInvited(SurrogateTypes):
    """A leader invites all that have a group in common with it, whichever it has chosen."""

    def _lead(self, out: Out) -> None:
        offered = self._offered()
        super()._lead(out)
        for request in offered:
            if self.group not in request[2]:
                self._invite(request, out)


@killed("safety", nodes=3, requests=1, wants="0;0|1;1|2", options={"quorums": "singleton"})
class AnotherGroup(SurrogateTypes):
    """A leader settles on what the oldest of the others wants, though it may not have asked for it itself."""

    def _choose_group(self, offered: list[Asked]) -> int:
        return offered[0][2][-1] if offered else self.groups[0]


@killed("deadlock", nodes=4, requests=1, wants="0;0|1;0;1", options={"quorums": "singleton"})
class UninvitedForgotten(SurrogateTypes):
    """As in the first stage, a member that is released forgets all processes that it has named."""

    def __init__(self, me: int, n: int, quorums: Quorums) -> None:
        super().__init__(me, n, quorums)
        self.named: tuple[Asked, ...] = ()

    def _lock(self, request: Asked, out: Out) -> None:
        self.named = self._compatible(request)
        super()._lock(request, out)

    def _free(self, out: Out) -> None:
        for number, process, _ in self.named:
            self._forget(process, number)
        super()._free(out)


# -- information structures --------------------------------------------------------------------------------


@killed("illegal step", nodes=2, requests=1, groups=2, options={"structure": "ricart-agrawala"})
class NobodyIsLocked(SurrogateInformation):
    """All permissions are given and forgotten, also by those that are to be informed."""

    def _lock(self, request: Asked, out: Out) -> None:
        self._tell(request[1], self._locked(request), out)


@killed("deadlock", nodes=2, requests=2, groups=2, options={"structure": "ricart-agrawala"})
class EverybodyIsLocked(SurrogateInformation):
    """Also those that will not be told when it is over lock themselves."""

    def _lock(self, request: Asked, out: Out) -> None:
        SurrogateB._lock(self, request, out)


@killed("deadlock", nodes=3, requests=1, wants="0;0;1", options={"structure": "ricart-agrawala"})
class OneAtATime(SurrogateInformation):
    """A member that is freed gives its permission to one process, even if that process does not lock it."""

    def _free(self, out: Out) -> None:
        SurrogateB._free(self, out)


# -- solitary inform sets ----------------------------------------------------------------------------------


@killed("safety", nodes=3, requests=1, wants="0;1;0")
class FollowersUnnamed(SurrogateSolitary):
    """A leader does not say which processes it has invited."""

    def _invite(self, request: Asked, out: Out) -> None:
        super()._invite(request, out)
        self.followers = {}


@killed("safety", nodes=3, requests=1, wants="0;1;0")
class EnteredTakenForLeft(SurrogateSolitary):
    """A follower that has cancelled its request is not waited for, as if it had left."""

    def _on_cancel(self, src: int, number: int, out: Out) -> None:
        super()._on_cancel(src, number, out)
        self.left[src] = number


@killed("deadlock", nodes=2, requests=2, groups=2)
class LeavesInSilence(SurrogateSolitary):
    """A follower leaves without telling the others."""

    def _leave_forum(self, out: Out) -> None:
        if self.leader == self.me:
            super()._leave_forum(out)


@killed("safety", nodes=3, requests=1, wants="0;1;0")
class Impatient(SurrogateSolitary):
    """A process that has everybody's permission leads immediately."""

    def _lead(self, out: Out) -> None:
        self.awaited = {}
        super()._lead(out)
