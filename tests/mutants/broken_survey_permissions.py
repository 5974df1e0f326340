"""Broken permission algorithms of the survey (Velazquez 1993, section 5), beyond the first two."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.permission import carvalho_roucairol, lamport, sanders
from congenial.algorithms.permission.carvalho_roucairol import CarvalhoRoucairol
from congenial.algorithms.permission.lamport import Lamport
from congenial.algorithms.permission.raynal_primes_mended import Inform, RaynalPrimesMended
from congenial.algorithms.permission.sanders import Sanders
from congenial.kernel.message import Message
from congenial.kernel.node import WAITING
from congenial.kernel.out import Out
from congenial.parts.primes import Ratio, product
from congenial.parts.quorums.information import Information

# -- Lamport -----------------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1)
class FirstInLine(Lamport):
    """A process that comes first in its queue enters without waiting for the replies."""

    def _enter_if_first(self, out: Out) -> None:
        if self.phase == WAITING and self.queue[0][1] == self.me:
            self.enter(out)


@killed("safety", nodes=2, requests=1)
class NoQueue(Lamport):
    """All replies are enough, even if another process comes first in the queue."""

    def _enter_if_first(self, out: Out) -> None:
        if self.phase == WAITING and self.missing == 0:
            self.enter(out)


@killed("illegal step", nodes=2, requests=1)
class ClockStands(Lamport):
    """Nothing is learned from the time of a message: a reply can be no later than the request."""

    def _learn(self, time: int) -> None:
        pass


@killed("deadlock", nodes=2, requests=1)
class NobodyLooksAgain(Lamport):
    """When a request is removed, nobody checks whether its own comes first now."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, lamport.Release):
            self._take_out(src)
        else:
            super().receive(src, msg, out)


# -- Carvalho-Roucairol ------------------------------------------------------------------------------------


@killed("deadlock", nodes=3, requests=2)
class SpecialCaseForgotten(CarvalhoRoucairol):
    """A waiting process that answers an older request gives up a permission that it had, and does not ask for it."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self.phase == WAITING and self.agreed[src] and not self._mine_is_older(src, number):
            self.highest = max(self.highest, number)
            self._agree(src, out)
        else:
            super()._on_request(src, number, out)


@killed("safety", nodes=2, requests=2)
class NeverTakenBack(CarvalhoRoucairol):
    """A permission is kept even after its giver has asked for it back."""

    def _agree(self, process: int, out: Out) -> None:
        out.send(process, carvalho_roucairol.Reply(self.fence))


@killed("safety", nodes=3, requests=2)
class OldestEvenInside(CarvalhoRoucairol):
    """A process inside gives way to a request with a smaller number, as if numbers told the order of requests."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        if self._mine_is_older(src, number):
            self.highest = max(self.highest, number)
            self.deferred[src] = True
        else:
            self.highest = max(self.highest, number)
            had_its_permission = self.agreed[src]
            self._agree(src, out)
            if self.phase == WAITING and had_its_permission:
                out.send(src, carvalho_roucairol.Request(self.number))


@killed("safety", nodes=2, requests=2)
class FencesStayAtHome(CarvalhoRoucairol):
    """A permission says nothing of the entries made with it."""

    def _agree(self, process: int, out: Out) -> None:
        known, self.fence = self.fence, 0
        super()._agree(process, out)
        self.fence = known


# -- Sanders -----------------------------------------------------------------------------------------------


@killed("safety", nodes=3, requests=1)
class NobodyIsLocked(Sanders):
    """A permission is forgotten immediately, whichever process it was given to."""

    def __init__(self, me: int, n: int, structure: Information) -> None:
        super().__init__(me, n, structure)
        self.status = frozenset()

    def release(self, out: Out) -> None:
        self.leave()


@killed("deadlock", nodes=3, requests=1)
class OneAtATime(Sanders):
    """A process that is free again grants one request, even if that does not lock it."""

    def _serve(self, out: Out) -> None:
        self.holder = None
        if self.queue:
            self._grant(self.queue.pop(0), out)


@killed("deadlock", nodes=3, requests=1)
class HoldsOnToItsOwn(Sanders):
    """A process whose only informed process is itself waits for a message that it has lost; none comes."""

    def _yields(self) -> bool:
        return bool(self.lost)


@killed("deadlock", nodes=3, requests=1, options={"structure": "everybody"})
class NobodyFails(Sanders):
    """Nobody is ever told that an older request comes first."""

    def _fail(self, process: int, out: Out) -> None:
        pass


@killed("illegal step", nodes=3, requests=1)
class EverybodyIsInformed(Sanders):
    """Those that were asked are told of the exit, and not only those that are to be informed."""

    def release(self, out: Out) -> None:
        self.leave()
        for member in self.asks:
            self._tell(member, sanders.Release(self.fence), out)


# -- Raynal's primes, mended -------------------------------------------------------------------------------


@killed("deadlock", nodes=2, requests=1)
class OwnValueLeftOut(RaynalPrimesMended):
    """The product is that of the values received, without one's own."""

    def _total(self) -> Ratio:
        return product([value for process, value in enumerate(self.values) if process != self.me])


@killed("deadlock", nodes=3, requests=1)
class NotInterested(RaynalPrimesMended):
    """A process that does not want to enter keeps its turn when it comes, as in the original."""

    def _on_inform(self, src: int, msg: Inform, out: Out) -> None:
        waiting, self.waiting = self.waiting, set()
        super()._on_inform(src, msg, out)
        self.waiting = waiting | self.waiting


@killed("illegal step", nodes=3, requests=1)
class AnyNewsWillDo(RaynalPrimesMended):
    """A waiting process takes any message that a turn has ended for the beginning of its own."""

    def _on_inform(self, src: int, msg: Inform, out: Out) -> None:
        super()._on_inform(src, msg, out)
        if self.phase == WAITING:
            self.my_turn = True
            self._enter(out)


@killed("safety", nodes=2, requests=1)
class FencesOfOnesOwn(RaynalPrimesMended):
    """A fence counts the entries of one process only."""

    def _enter(self, out: Out) -> None:
        self.served[self.me] = self.asked[self.me]
        self.enter(out, fence=self.served[self.me])
