"""The failure detector: which peers are believed to have crashed, and why.

A peer is suspected when it has been silent for longer than it is allowed to, when it has left, or when it was
restarted. If a peer that was suspected for its silence speaks again, that was a mistake, and it is allowed to be silent
for longer from then on (`congenial.parts.detectors.Patience`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from congenial.net.config import Timing
from congenial.net.link import Link
from congenial.net.logs import log

SILENT, LEFT, RESTARTED = "silent", "left", "restarted"


class Suspicion:
    """`changed` is called whenever a peer is suspected, or trusted again (`Link.away`)."""

    def __init__(
        self, name: str, links: list[Link], timing: Timing, now: Callable[[], float], changed: Callable[[Link], None]
    ) -> None:
        self.name = name
        self.links = links
        self.timing = timing
        self.now = now
        self.changed = changed
        self.period = min(timing.heartbeat / 2, 0.1)  # between two looks
        self.looked_at = now()

    def look(self, now: float, suspects: bool) -> None:
        """Notice which peers have been silent for too long: hang up on them and, if `suspects`, suspect them."""
        late = now - self.looked_at - self.period
        self.looked_at = now
        for link in self.links:
            if late > self.timing.heartbeat:  # this process was stopped itself: silence in that time proves nothing
                link.heard_at += late
            if link.heard:
                link.heard = False
                link.heard_at = now
            elif now - link.heard_at > link.patience.allowed:
                if link.connection is not None:
                    link.connection.abort()
                if suspects:
                    self.suspect(link, SILENT)

    def suspect(self, link: Link, why: str) -> None:
        if not link.away:
            link.away = True
            link.misjudged = why == SILENT
            log(logging.INFO if why == LEFT else logging.WARNING, "peer.away", node=self.name, peer=link.name, why=why)
            self._change(link)

    def trust(self, link: Link) -> None:
        """A peer that was suspected is heard again."""
        link.away = False
        link.heard_at = self.now()
        if link.misjudged:
            link.misjudged = False
            link.patience.was_wrong()
        log(logging.INFO, "peer.back", node=self.name, peer=link.name)
        self._change(link)

    def _change(self, link: Link) -> None:
        link.changed_at = self.now()
        self.changed(link)
