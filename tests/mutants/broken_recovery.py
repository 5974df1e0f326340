"""Broken ways to learn from others what was forgotten: Raymond's tree, and Nishio, Li and Manning's algorithm."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.token.nishio_propagation import Known, NishioPropagation
from congenial.algorithms.token.raymond_recovery import Advise, RaymondRecovery
from congenial.kernel.message import Message
from congenial.kernel.out import Out

# -- Raymond's tree ----------------------------------------------------------------------------------------


@killed("illegal step", nodes=2, requests=1, crashes=1)
class NobodyAsked(RaymondRecovery):
    """A process that recovers begins as it did at the very first."""

    def on_recover(self, out: Out) -> None:
        pass


@killed("deadlock", nodes=2, requests=1, crashes=1)
class AskersForgotten(RaymondRecovery):
    """Neighbours do not say that they have asked."""

    def _on_advise(self, src: int, msg: Advise, out: Out) -> None:
        super()._on_advise(src, Advise(msg.recovery, msg.here, msg.here and msg.asked, msg.entries), out)


@killed("safety", nodes=2, requests=1, crashes=2)
class BothHaveIt(RaymondRecovery):
    """Of two processes that know nothing, both take the token for theirs."""

    def _on_advise(self, src: int, msg: Advise, out: Out) -> None:
        self.yielded = -1
        super()._on_advise(src, msg, out)


@killed("illegal step", nodes=2, requests=2, crashes=1)
class OldNewsHeard(RaymondRecovery):
    """What was sent before the advice counts as well."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        recovering = self.recovering
        if not isinstance(msg, Advise):
            self.recovering = False
        super().receive(src, msg, out)
        self.recovering = self.recovering or (recovering and not isinstance(msg, Advise))


@killed("deadlock", nodes=2, requests=1, crashes=2)
class AskedOnce(RaymondRecovery):
    """A neighbour that was down when it was asked is not asked again."""

    def _on_restart(self, src: int, recovery: int, out: Out) -> None:
        self.seen[src] = recovery
        super()._on_restart(src, recovery, out)


@killed("safety", nodes=2, requests=2, crashes=1)
class FencesLost(RaymondRecovery):
    """The count of entries is not told."""

    def _on_advise(self, src: int, msg: Advise, out: Out) -> None:
        super()._on_advise(src, Advise(msg.recovery, msg.here, msg.asked, 0), out)


# -- Nishio-Li-Manning, propagation ------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1, crashes=1)
class BeginsAsAtFirst(NishioPropagation):
    """A process that recovers begins as it did at the very first; process 0 with the token."""

    def on_recover(self, out: Out) -> None:
        pass


@killed("starvation", nodes=2, requests=1, crashes=1)
class NobodyTells(NishioPropagation):
    """What others know is not taken in."""

    def _on_known(self, src: int, msg: Known, out: Out) -> None:
        pass


@killed("deadlock", nodes=2, requests=1, crashes=1)
class WaitsUnheard(NishioPropagation):
    """A request that was made while the process learned is forgotten."""

    def _take_part_if_told(self, out: Out) -> None:
        if len(self.told) == self.n - 1:
            self.learning = False
            out.cancel_timer(0)


@killed("safety", nodes=2, requests=2, crashes=1, timers="quiet")
class AgesNotTold(NishioPropagation):
    """A process that has forgotten its promises does not learn what it may have promised."""

    def _on_known(self, src: int, msg: Known, out: Out) -> None:
        super()._on_known(src, Known(0, msg.number, msg.yours), out)
