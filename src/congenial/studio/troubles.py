"""What is wrong with a cluster now, in one sentence each."""

from __future__ import annotations

import time
from collections.abc import Sequence

from congenial.net.link import FULL
from congenial.net.membership import HAS_LEFT
from congenial.net.reports import NodeStatus
from congenial.studio.history import History

MOST_SLOW = 5  # requests that wait too long, of those that are told
BROKEN_FOR = 1.0  # seconds without a sign of life, after which a link that is not up is told

Told = dict[str, NodeStatus | None]


def troubles(told: Told, now: float, slow: float, history: History) -> list[dict[str, str]]:
    """Sentences, with the node or the lock that each is about."""
    there = {name: status for name, status in told.items() if status is not None}
    return [
        *_not_ready(told, there),
        *[{"node": name, "text": _no_answer(name, there, now)} for name, status in told.items() if status is None],
        *_links(there),
        *_behind(there),
        *_slow(there, slow),
        *_memory(there, history.lost_lately(now)),
        *_broken_locks(there),
    ]


def has_gone(name: str, there: dict[str, NodeStatus]) -> bool:
    """It has left permanently: it is not expected back, and nothing is wrong."""
    links = [status["links"][name] for status in there.values() if name in status["links"]]
    voters = [voter for status in there.values() for voter in status.get("voters", [name])]
    return name not in there and name not in voters and any([link["refusal"] == HAS_LEFT for link in links])


def _not_ready(told: Told, there: dict[str, NodeStatus]) -> list[dict[str, str]]:
    reasons = {name: str(status["not_ready"]) for name, status in there.items() if status["not_ready"]}
    alike = [name for name, reason in reasons.items() if reason.startswith("too few members")]
    if alike and len(alike) == len(there):
        absent = listed([name for name in told if name not in there])
        why = f"without {absent}, too few members are left" if absent else "too few members hear each other"
        return [{"node": alike[0], "text": f"No majority: {why}, and no lock can be acquired."}]
    return [{"node": name, "text": f"{name} cannot acquire locks now: {reason}."} for name, reason in reasons.items()]


def _no_answer(name: str, there: dict[str, NodeStatus], now: float) -> str:
    links = {peer: status["links"][name] for peer, status in there.items() if name in status["links"]}
    refusal = next((link["refusal"] for link in links.values() if link["refusal"]), "")
    why = f" ({refusal})" if refusal else ""
    met = {peer: link for peer, link in links.items() if link["connections"]}
    if not met:
        return f"{name} has not been heard of{why}: start it, and see that the others can reach it."
    silent = min([link["silent_for"] for link in met.values()])
    suspecting = [peer for peer, link in met.items() if link["state"] == "away"]
    if refusal == HAS_LEFT:
        return f"{name} has left the cluster. It still has a vote, and is expected back."
    if suspecting:
        since = time.strftime("%H:%M:%S", time.localtime(now - silent))
        see = "sees" if len(suspecting) == 1 else "see"
        return f"{name} has been away since {since}, as {listed(suspecting)} {see} it{why}: has it crashed?"
    if any([link["state"] == "up" for link in met.values()]):
        return f"{name} does not answer, though it is connected: it is stopped or overloaded."
    return f"{name} does not answer: its connections broke, and nothing was heard of it for {lasting(silent)}{why}."


def _links(there: dict[str, NodeStatus]) -> list[dict[str, str]]:
    """Links between nodes that both answer."""
    found = []
    for name, status in there.items():
        for peer, link in status["links"].items():
            if link["unacknowledged"] >= FULL:
                many = f"{link['unacknowledged']:,} messages"
                text = (
                    f"The link from {name} to {peer} is full ({many}): {name} asks for no locks until it has drained."
                )
                found.append({"node": name, "text": text})
            if peer not in there or link["state"] == "up" or link["silent_for"] < BROKEN_FOR:
                continue
            back = there[peer]["links"].get(name, {"state": "up"})
            if back["state"] != "up" and name > peer:
                continue  # told from the other end
            who = (
                f"{name} and {peer} do not hear each other" if back["state"] != "up" else f"{name} does not hear {peer}"
            )
            why = f" ({link['refusal']})" if link["refusal"] else ""
            found.append({"node": name, "text": f"{who} for {lasting(link['silent_for'])}{why}: is the network split?"})
    return found


def _behind(there: dict[str, NodeStatus]) -> list[dict[str, str]]:
    """Nodes that do not know the present view, or are not in it."""
    views = {name: int(status["view"]) for name, status in there.items() if "view" in status}
    if not views:
        return []
    latest = max(views.values())
    members = next(status["members"] for name, status in there.items() if views.get(name) == latest)
    return [
        {"node": name, "text": f"{name} is not in the present view ({latest}): the others go on without it."}
        for name in views
        if name not in members and not there[name]["not_ready"]
    ]


def _slow(there: dict[str, NodeStatus], slow: float) -> list[dict[str, str]]:
    """The request that waits longest at each node, if that is too long; those for the same lock together."""
    oldest = {name: status["oldest"] for name, status in there.items() if status["oldest"]}
    told = [(one["for"], one["lock"], name) for name, one in oldest.items()]
    locks: dict[str, list[tuple[float, str]]] = {}
    for seconds, lock, name in sorted(told, reverse=True):
        if seconds > slow:
            locks.setdefault(lock, []).append((seconds, name))
    found = []
    for lock, ((seconds, name), *others) in list(locks.items())[:MOST_SLOW]:
        too = f", and others have at {listed([other for _, other in others])}" if others else ""
        waited = f"has waited for {lasting(seconds)}, longer than {lasting(slow)}"
        text = f"A request for {quoted(lock)} at {name} {waited}{too}."
        found.append({"lock": lock, "text": text})
    return found


def _memory(there: dict[str, NodeStatus], lost: dict[str, int]) -> list[dict[str, str]]:
    found = []
    for name, status in there.items():
        if status["abstains"]:
            about = counted(status["abstains"], "lock")
            text = f"{name} has lost its memory, and does not vote about {about} until the others have used them."
            found.append({"node": name, "text": text})
        if name in lost:
            what = counted(lost[name], "lock")
            text = f"Tasks of {name} lost {what} in the last minute, while held: the others went on without it."
            found.append({"node": name, "text": text})
    return found


def _broken_locks(there: dict[str, NodeStatus]) -> list[dict[str, str]]:
    return [
        {"lock": label, "text": f"{quoted(label)} at {name} is broken: {seen['trouble']}."}
        for name, status in there.items()
        for label, seen in status["locks"].items()
        if seen.get("trouble")
    ]


def listed(names: Sequence[str]) -> str:
    """a, b and c"""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def quoted(label: str) -> str:
    return f"“{label}”"


def lasting(seconds: float) -> str:
    """So long, in words."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s" if seconds >= 1 else f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
