"""The members of a cluster as programs see them, and how their roles are changed."""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple

from congenial.kernel.errors import ConfigError
from congenial.net.agreement import Agreement
from congenial.net.checked import checked_text, did_you_mean, wrong
from congenial.net.errors import ClusterDegraded
from congenial.net.names import process_number
from congenial.parts.views import GONE, MEMBER, VOTER

AGAIN: Final = 0.1  # seconds after which a request for a role is repeated
ROLES: Final = {"voter": VOTER, "member": MEMBER, "gone": GONE}


class Member(NamedTuple):
    """A process that takes part in a cluster, or one that has a vote and is expected back.

    >>> Member("a", "127.0.0.1:7101", voter=True, present=True).name
    'a'
    """

    name: str
    address: str  # where the others call it
    voter: bool  # it has a vote on who the members are
    present: bool  # it takes part at the moment


def members_of(agreement: Agreement) -> list[Member]:
    """All members, and the voters that are away, by name."""
    membership, voters = agreement.membership, agreement.voters()
    found = []
    for process in agreement.everyone():
        link = membership.link_to.get(process)
        if process == membership.me:
            place = membership.address
        else:
            place = link.places[0] if link is not None and link.places else ""
        found.append(Member(membership.name_of(process), place, process in voters, process in agreement.view.processes))
    return sorted(found)


def check_wish(name: str, role: str) -> None:
    """`ConfigError` if nothing can have this name, or if there is no such role."""
    checked_text("name", name)
    if not isinstance(role, str) or role not in ROLES:
        raise wrong("role", role, "voter, member or gone")


async def assign(agreement: Agreement, name: str, role: str) -> None:
    """Give a member another role, and wait until the members have agreed on it."""
    check_wish(name, role)
    membership = agreement.membership
    process = process_number(name, membership.founders)
    for other in agreement.everyone():  # a voter that is away may be known by its number only, here or elsewhere
        if name in (membership.name_of(other), f"process {other}"):
            process = other
    _check(members_of(agreement), membership.name_of(process), name, role)
    patience = 2 * membership.timing.suspect_after + 1
    try:
        async with asyncio.timeout(patience):
            while not _has_role(agreement, process, role):
                agreement.assign(process, ROLES[role])
                await asyncio.sleep(AGAIN)
    except TimeoutError:
        raise ClusterDegraded(
            f"{name!r} did not become {role!r} within {patience:g} s: a majority of the voters must be there"
        ) from None


def _check(members: list[Member], known_as: str, name: str, role: str) -> None:
    """`ConfigError` if a member cannot have this role."""
    known = {member.name: member for member in members}
    found = known.get(known_as)
    if found is None:
        raise ConfigError(f"{name!r} is not a member: {did_you_mean(name, known)}")
    if role == "gone" and found.present:
        raise ConfigError(f"{name!r} takes part: stop it first, and it leaves by itself")
    if role == "voter" and not found.present:
        raise ConfigError(f"{name!r} does not take part at the moment: start it first")
    others = [member for member in members if member.present and not member.voter]
    if role == "member" and found.voter and not others:
        raise ConfigError(f"{name!r} must stay a voter: no other member could vote in its place")


def _has_role(agreement: Agreement, process: int, role: str) -> bool:
    if role == "gone":
        return process not in agreement.everyone()
    return (process in agreement.voters()) == (role == "voter")
