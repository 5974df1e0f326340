"""Broken weak mutexes."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.weak.wme1 import WME1, Granted
from congenial.algorithms.weak.wme2 import WME2
from congenial.algorithms.weak.wme_consensus import ENTER, INVOKE, Command, WMEConsensusFast, WMEConsensusLean
from congenial.kernel.node import IDLE
from congenial.kernel.out import Out

# -- WME-1 -------------------------------------------------------------------------------------------------


@killed("deadlock", nodes=2, requests=1)
class KeepsTheToken(WME1):
    """A process that leaves does not check whether anybody waits."""

    def release(self, out: Out) -> None:
        self.leave()


@killed("safety", nodes=2, requests=2)
class GrantsAndKeeps(WME1):
    """A process that has passed the token on does not know it yet."""

    def _pass_on(self, out: Out) -> None:
        if self.owner == self.me and self.phase == IDLE and self.requests:
            process, number = self.requests.pop(0)
            out.broadcast(Granted(self.epoch, self.place + 1, process, number, self.entries))


@killed("deadlock", nodes=2, requests=1, operations=1)
class NobodyAcknowledges(WME1):
    """A process that receives an operation does not acknowledge it."""

    def _acknowledge(self, issuer: int, out: Out) -> None:
        pass


@killed("deadlock", nodes=2, requests=1, suspicions=1)
class AsksOnce(WME1):
    """A request that the new epoch does not know of is not repeated."""

    def _settle(self, out: Out) -> None:
        if self.phase == IDLE or self.owner == self.me:
            super()._settle(out)


# -- WME-2 -------------------------------------------------------------------------------------------------


@killed("deadlock", nodes=2, requests=1, operations=1)
class NobodyIsTold(WME2):
    """Acknowledgements are not counted."""

    def _on_ack(self, src: int, place: int, out: Out) -> None:
        pass


@killed("deadlock", nodes=2, requests=1)
class RemembersNoRequest(WME2):
    """A process that is inside when another asks forgets the request."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self.phase == IDLE:
            super()._on_request(src, number, out)


@killed("safety", nodes=2, requests=1, operations=2)
class LateComersAreDropped(WME2):
    """What is cleared after the next operation has come is forgotten."""

    def _clear(self, place: int, out: Out) -> None:
        if place == self.place:
            self.executed = max(self.executed, place - 1)
            super()._clear(place, out)


# -- by consensus ------------------------------------------------------------------------------------------


@killed("deadlock", nodes=2, requests=1)
class LeavesQuietly(WMEConsensusFast):
    """The end of a section is not announced."""

    def release(self, out: Out) -> None:
        self.leave()


@killed("safety", nodes=2, requests=1, operations=1)
class ExecutesTwice(WMEConsensusFast):
    """An operation that was executed may be executed again."""

    def _carry_out(self, command: Command, out: Out) -> None:
        super()._carry_out(command, out)
        if command[0] == INVOKE:
            self.invoked[command[1]] = 0


@killed("safety", nodes=2, requests=1)
class NoQueue(WMEConsensusFast):
    """A process that enters need not be the first in the queue."""

    def _carry_out(self, command: Command, out: Out) -> None:
        super()._carry_out(command, out)
        if command[0] == ENTER and self.queue[-1] == self.me:
            self.queue = [self.me] + self.queue[:-1]


@killed("deadlock", nodes=2, requests=1)
class LeavesQuietlyToo(WMEConsensusLean):
    """The end of a section is not announced."""

    def release(self, out: Out) -> None:
        self.leave()


@killed("deadlock", nodes=2, requests=1, operations=1)
class OperationsAreForgotten(WMEConsensusLean):
    """An operation is recorded, but not sent to anybody."""

    def _issue(self, out: Out) -> None:
        pass


@killed("safety", nodes=2, requests=1)
class NoQueueEither(WMEConsensusLean):
    """A process that enters need not be the first in the queue."""

    def _carry_out(self, command: Command, out: Out) -> None:
        super()._carry_out(command, out)
        if command[0] == ENTER and self.queue[-1] == self.me:
            self.queue = [self.me] + self.queue[:-1]
