"""WME-1 and WME-2; in each class, one thing is as in Romano & Rodrigues 2009, figures 1, 2 and 4 or section 4."""

from __future__ import annotations

from congenial.algorithms.weak.wme1 import WME1, Granted, Invoke, Placed, PlacedMessage, Request, Verdict
from congenial.algorithms.weak.wme2 import WME2
from congenial.kernel.node import IDLE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.problems.weak import Resource


class LatestOnly(WME1):
    """Figure 1, "receive [ACK, epoch, op, sn] where ... sn=curSN": only the latest operation is ever executed."""

    def _execute_agreed(self, out: Out) -> None:
        for operation in self.history:
            if self.executed < operation[0] == self.place and self._is_agreed(operation[0]):
                self._execute_placed(operation, out)


class IssuerAcksToo(LatestOnly):
    """The same, and as in figure 1 the issuer sends an ACK of its own. In ours its INVOKE counts as one."""

    def _take(self, msg: PlacedMessage, out: Out) -> None:
        if not isinstance(msg, Invoke):
            super()._take(msg, out)
            return
        self.place += 1
        self.history.append((self.place, msg.issuer, msg.number, msg.operation))
        self.acked[self.me] = self.place
        self._acknowledge(msg.issuer, out)
        self._execute_agreed(out)


class DropsWhatIsCleared(WME2):
    """Figure 4, "receive [DO INVOKE, epoch, op, sn] ... where sn=curSN": the same."""

    def _clear(self, place: int, out: Out) -> None:
        for operation in self.history:
            if self.executed < operation[0] == place == self.place:
                self._execute_placed(operation, out)


class WhatIsKnownIsDone(WME2):
    """Figure 2, "opHist=opHist*\\opHist": what a stub has heard of counts as executed."""

    def _catch_up(self, history: list[Placed], out: Out) -> None:
        super()._catch_up([operation for operation in history if operation not in self.history], out)


class AnswersTheFirst(WME2):
    """Section 4: of the operations not yet executed here, only the first is answered, if it is the stub's own."""

    def _catch_up(self, history: list[Placed], out: Out) -> None:
        missing = [operation for operation in history if operation[0] > self.executed]
        super()._catch_up(missing[:1], out)
        pending, self.pending = self.pending, None
        super()._catch_up(missing[1:], out)
        self.pending = pending


class HoldsOn(WME1):
    """Figure 2: a stub in state TOKEN HELD stays in it, whoever the new owner is."""

    def __init__(self, me: int, n: int, resource: Resource) -> None:
        super().__init__(me, n, resource)
        self.holds_on = False

    def _end_epoch(self, verdict: Verdict, out: Out) -> None:
        self.holds_on = self.phase == IDLE and self.owner == self.me
        super()._end_epoch(verdict, out)

    def request(self, groups: Groups, out: Out) -> None:
        if self.holds_on:
            self.wait()
            self._enter(out)
        else:
            super().request(groups, out)


class SameNumber(WME1):
    """Figure 2, "broadcast[REQ, curEp, reqId]": a request is repeated with its old number."""

    def _settle(self, out: Out) -> None:
        again = self.phase == WAITING and self.owner != self.me and (self.me, self.number) not in self.requests
        if again:
            out.broadcast(Request(self.epoch, self.number))
        else:
            super()._settle(out)


class EntersWithEveryGrant(WME1):
    """Figure 1, "if (curOwner=myself) state=CS IDLE; crit": whether the stub still wants to or not."""

    def _take(self, msg: PlacedMessage, out: Out) -> None:
        if isinstance(msg, Granted) and msg.owner == self.me and self.phase == IDLE:
            self._enter(out)
        super()._take(msg, out)


class StaysInTheQueue(EntersWithEveryGrant):
    """Figures 1 and 2: a request reaches its sender's queue, too, and the new owner's is left in everybody's."""

    def _ask(self, out: Out) -> None:
        super()._ask(out)
        self.requests.append((self.me, self.number))

    def _admit_owner(self) -> None:
        pass
