"""Broken permission algorithms whose sets change while they run."""

from __future__ import annotations

from mutant import killed

from congenial.algorithms.permission.agrawal_el_abbadi import AgrawalElAbbadi
from congenial.algorithms.permission.singhal_dynamic import Reply, SinghalDynamic
from congenial.kernel.out import Out

# -- Singhal, dynamic --------------------------------------------------------------------------------------


@killed("safety", nodes=2, requests=1)
class NoStaircase(SinghalDynamic):
    """At first nobody asks anybody."""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.ask = [False] * n


@killed("safety", nodes=2, requests=1)
class PermissionGivenAndKept(SinghalDynamic):
    """A process that gives its permission does not record that it must ask now."""

    def _agree(self, peer: int, out: Out) -> None:
        out.send(peer, Reply(self.fence))


@killed("safety", nodes=2, requests=2)
class OlderNotAsked(SinghalDynamic):
    """A waiting process that agrees to an older request does not ask that process in turn."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        missing, asked = self.missing, self.ask[src]
        super()._on_request(src, number, out)
        self.missing, self.ask[src] = missing, asked


@killed("deadlock", nodes=2, requests=1)
class OwedForEver(SinghalDynamic):
    """A process that leaves forgets which processes it owes its permission."""

    def release(self, out: Out) -> None:
        self.owed = [False] * self.n
        super().release(out)


@killed("deadlock", nodes=3, requests=1)
class EverybodyIsOlder(SinghalDynamic):
    """Each of two waiting processes takes its own request for the older one."""

    def _mine_is_older(self, src: int, number: int) -> bool:
        return True


# -- Agrawal-El Abbadi -------------------------------------------------------------------------------------


@killed("deadlock", nodes=2, requests=1, crashes=1)
class BackInSilence(AgrawalElAbbadi):
    """A process that comes back does not tell the others."""

    def on_recover(self, out: Out) -> None:
        pass


@killed("deadlock", nodes=3, requests=1, crashes=1, recovery=False)
class WaitsForTheDead(AgrawalElAbbadi):
    """A request stays with its quorum, also when a member is suspected."""

    def _ask_again(self, out: Out) -> None:
        pass


@killed("safety", nodes=2, requests=1)
class TreeLockedForTwo(AgrawalElAbbadi):
    """A member that is locked locks itself for the next request as well."""

    def _on_request(self, src: int, number: int, out: Out) -> None:
        self.locked_for = None
        super()._on_request(src, number, out)
