"""Which members are missing, and what tasks are told about that."""

from __future__ import annotations

from congenial.net.errors import ClusterDegraded
from congenial.net.link import Link
from congenial.net.membership import Membership


def missing(membership: Membership) -> list[Link]:
    """The peers that are away and without which locks may not be acquired; none if enough of them are there."""
    roster = membership.roster
    if not roster.open:
        absent = roster.absent()
        return [link for link in membership.links if link.peer in absent]
    if not membership.rejoins:
        return [link for link in membership.links if link.away]
    away = [link for link in membership.links if link.away or not membership.lease.granted_by(link.peer)]
    return [] if 2 * (membership.n - len(away)) > membership.n else away


def hopeless_since(membership: Membership, now: float) -> float | None:
    """Since when waiting may be waiting for ever; None if it is not. Where a majority is enough, waiting tasks are
    served when it is back. Then only tasks with a timeout get an error, when it is over."""
    if (membership.roster.open and membership.rejoins) or not missing(membership):
        return None
    if membership.roster.open:
        return min([link.changed_at for link in membership.links if link.away], default=now)
    return membership.started_at + membership.timing.gather - membership.timing.suspect_after


def degraded(membership: Membership, lock: str) -> ClusterDegraded:
    """Why a lock cannot be acquired."""
    away = missing(membership)
    reasons = "; ".join([f"{link.name!r} is away{f' ({link.refusal})' if link.refusal else ''}" for link in away])
    return ClusterDegraded(f"lock {lock!r} cannot be acquired now: {reasons}", tuple([link.name for link in away]))


def not_open(membership: Membership) -> ClusterDegraded:
    """Why the cluster is not open yet, or no more."""
    if membership.ended:
        return ClusterDegraded(membership.ended)
    absent = tuple([membership.members[peer] for peer in membership.roster.absent()])
    reasons = [f"{link.name}: {link.refusal}" for link in membership.links if link.name in absent and link.refusal]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return ClusterDegraded(f"{membership.name!r} still waits for {', '.join(absent)}{why}", absent)
