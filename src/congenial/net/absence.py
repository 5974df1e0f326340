"""Which members are missing, and what tasks are told about that."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from congenial.net.errors import ClusterDegraded
from congenial.net.link import Link
from congenial.net.logs import log
from congenial.net.membership import IN_USE, Membership

AGAIN = 600.0  # seconds after which the log says once more that tasks wait


def missing(membership: Membership) -> list[Link]:
    """The peers that are away and without which locks may not be acquired; none if enough of them are there."""
    roster = membership.roster
    if not roster.open:
        absent = roster.absent()
        return [link for link in membership.links if link.peer in absent]
    if not membership.rejoins:
        return [link for link in membership.links if link.away]
    needed, forgetful = membership.electorate(), membership.forgetful_voters()
    voting = [link for link in membership.links if link.peer in needed]
    away = [
        link for link in voting if link.away or link.peer in forgetful or not membership.lease.granted_by(link.peer)
    ]
    there = len(needed) - len(away) - (membership.me in forgetful)
    return [] if 2 * there > len(needed) else away


def forgotten(membership: Membership) -> list[str]:
    """The voters that have forgotten what was agreed on, if they are so many that the others cannot go on."""
    forgetful = sorted(membership.forgetful_voters())
    return (
        [membership.name_of(peer) for peer in forgetful] if 2 * len(forgetful) >= len(membership.electorate()) else []
    )


def hopeless_since(membership: Membership, now: float) -> float | None:
    """When waiting became hopeless; None if it is not. In an open cluster with a majority rule, waiting tasks are
    served once the majority is back, so only tasks with a timeout get an error. Lost memory never comes back."""
    if forgotten(membership):
        return max([link.changed_at for link in membership.links], default=now)
    if (membership.roster.open and membership.rejoins) or not missing(membership):
        return None
    if membership.roster.open:
        return min([link.changed_at for link in membership.links if link.away], default=now)
    return membership.started_at + membership.timing.gather - membership.timing.suspect_after


class Lack:
    """What is told about peers that are away, or about a majority that has forgotten: then nothing else matters."""

    def __init__(self, membership: Membership, away: list[Link]) -> None:
        self.membership = membership
        self.away = away
        self.forgotten = forgotten(membership)

    def reasons(self) -> str:
        """Empty if nobody is away."""
        if self.forgotten:
            return f"{' and '.join([repr(name) for name in self.forgotten])} have forgotten what was agreed on"
        told = [f"{link.name!r} is away{f' ({link.refusal})' if link.refusal else ''}" for link in self.away]
        return "; ".join(told)

    def advice(self) -> str:
        """Since when these peers are missing, and what to do; empty if nobody is away."""
        if self.forgotten:
            return "Too few voters remember: stop all members, remove all state directories, and start all members"
        if any([IN_USE in link.refusal for link in self.away]):
            return f"Two processes have the name {self.membership.name!r}: stop one of them"
        told = self._last_heard()
        if not told:
            return ""
        return f"{'; '.join(told)}: start what does not run, and see that it can be reached; {self._needed()}"

    def _last_heard(self) -> list[str]:
        never = [link.name for link in self.away if not link.connections]
        told = [f"never heard of {', '.join(never)}"] if never else []
        for link in self.away:
            if link.connections:
                heard = time.localtime(time.time() - (self.membership.now() - link.heard_at))
                told.append(f"{link.name} last heard of at {time.strftime('%H:%M:%S', heard)}")
        return told

    def _needed(self) -> str:
        membership = self.membership
        if not membership.roster.open or not membership.rejoins:
            return f"all {membership.n} members must be there"
        voters = len(membership.electorate())
        return f"a majority, {voters // 2 + 1} of {voters} voters, must be there"

    def advised(self, what: str) -> str:
        """This and the advice, if there is any."""
        advice = self.advice()
        return f"{what}. {advice}" if advice else what


def cannot_serve(membership: Membership) -> bool:
    """True if no lock can be acquired here until other members are back, or until this process is a member again."""
    return bool(missing(membership)) or not membership.is_member()


def degraded(membership: Membership, lock: str) -> ClusterDegraded:
    """Why a lock cannot be acquired."""
    lack = Lack(membership, missing(membership))
    if not lack.away and not membership.is_member():
        return not_settled(membership, f"lock {lock!r} cannot be acquired now: ")
    text = lack.advised(f"lock {lock!r} cannot be acquired now: {lack.reasons()}")
    return ClusterDegraded(text, tuple([link.name for link in lack.away]))


class Complaint:
    """Logs now and then that tasks wait in vain: members are away, or this process is none."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership
        self.made_at: float | None = None

    def look(self, waiting_since: Callable[[], float | None], now: float) -> None:
        membership = self.membership
        if not cannot_serve(membership):
            self.made_at = None
        elif self.made_at is None or now - self.made_at >= AGAIN:
            since = waiting_since()
            if since is not None and now - since >= membership.timing.suspect_after:
                self.made_at = now
                names, reason = self._reason()
                log(logging.WARNING, "locks.wait", node=membership.name, missing=",".join(names), reason=reason)

    def _reason(self) -> tuple[tuple[str, ...], str]:
        away = missing(self.membership)
        if away:
            return tuple([link.name for link in away]), Lack(self.membership, away).advice()
        error = not_settled(self.membership)  # a majority is there, but that is not enough
        return error.peers, f"{error}; all members must hear each other"


def not_open(membership: Membership, brief: bool = False) -> ClusterDegraded:
    """Why the cluster is not open yet, or why this process has stopped."""
    if membership.ended:
        return ClusterDegraded(membership.ended)
    absent = tuple([membership.name_of(peer) for peer in membership.roster.absent()])
    reasons = [f"{link.name}: {link.refusal}" for link in membership.links if link.name in absent and link.refusal]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    text = f"{membership.name!r} still waits for {', '.join(absent)}{why}"
    if not brief:
        text = Lack(membership, [link for link in membership.links if link.name in absent]).advised(text)
    return ClusterDegraded(text, absent)


def not_settled(membership: Membership, what: str = "") -> ClusterDegraded:
    """Why this process cannot acquire locks as a member, not yet or no longer. Members all hear each other."""
    away = [link for link in membership.links if link.away or link.connection is None]
    why = Lack(membership, away).reasons() or "the others have not agreed on it yet, or one of them does not hear it"
    return ClusterDegraded(f"{what}{membership.name!r} is not a member yet: {why}", tuple([link.name for link in away]))


def lagging(behind: int) -> str:
    """How many replicas here are behind; empty if none is."""
    what = "is" if behind == 1 else "are"
    return f"{behind} of the guarded objects used here {what} not up to date yet" if behind else ""


def why_no_locks(membership: Membership, settled: bool) -> str:
    """Why no locks can be acquired here now; empty if they can: a majority of the members is there."""
    if membership.ended:
        return membership.ended
    if membership.closing:
        return f"{membership.name!r} is leaving the cluster"
    if not membership.roster.open:
        return str(not_open(membership, brief=True))
    lack = Lack(membership, missing(membership))
    if lack.forgotten:
        return lack.reasons()
    if lack.away:
        return f"too few members are there, without {', '.join([link.name for link in lack.away])}"
    return "" if settled else str(not_settled(membership))
