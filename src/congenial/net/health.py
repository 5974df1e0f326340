"""How a member is, for load balancers and service managers: alive or not, ready or not, and why not.

`/healthz` asks whether the process should be restarted, `/readyz` whether it can acquire locks now and its replicas of
guarded objects are up to date: then the next member may be restarted. Both are asked from the thread of a web server,
and change nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from congenial.net import absence
from congenial.net.absence import lagging
from congenial.net.host import Host

ANSWER = 5.0  # seconds in which the event loop must answer

Start = Callable[[str, list[tuple[str, str]]], object]
Page = Callable[[dict[str, Any], Start], Iterable[bytes]]  # of a web server, as WSGI has it


def why_no_locks(host: Host) -> str:
    """Why no locks can be acquired here now; empty if they can: a majority of the members is there."""
    return absence.why_no_locks(host.membership, host.locks.is_settled())


def why_not_ready(host: Host) -> str:
    """The same, or why the next member should not be restarted yet. Empty if `ready()` would not wait."""
    return why_no_locks(host) or lagging(host.locks.behind())


def why_not_alive(host: Host, patience: float = ANSWER) -> str:
    """Why this process should be restarted; empty if that would not help."""
    membership = host.membership
    if membership.ended:
        return membership.ended
    answered = threading.Event()
    try:
        membership.loop.call_soon_threadsafe(answered.set)
    except RuntimeError:
        return "the event loop has ended"
    return "" if answered.wait(patience) else f"the event loop has not answered for {patience:g} s"


class HealthPages:
    """`/healthz` and `/readyz`, before the pages of another application. Without a host the process is starting."""

    def __init__(self, others: Page) -> None:
        self.others = others
        self.host: Host | None = None

    def __call__(self, request: dict[str, Any], start: Start) -> Iterable[bytes]:
        path = request.get("PATH_INFO", "")
        if path not in ("/healthz", "/readyz"):
            return self.others(request, start)
        if path == "/healthz":
            wrong = "" if self.host is None else why_not_alive(self.host)
        else:
            wrong = "the member is starting" if self.host is None else why_not_ready(self.host)
        start(
            "503 Service Unavailable" if wrong else "200 OK",
            [("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store")],
        )
        return [f"{wrong or 'ok'}\n".encode()]
