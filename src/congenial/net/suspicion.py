"""The failure detector: which peers are believed to have crashed, and why.

A peer is suspected when it has been silent for longer than it is allowed to, when it has left, or when it was
restarted. It is a mistake to suspect a peer for its silence that is alive and speaks again soon. It is then allowed to
be silent for longer (`congenial.parts.detectors.Patience`), until there have been no mistakes about it for a while.

Two kinds of silence are not mistakes. A peer that comes back in another incarnation had crashed. And after a silence
that is longer than the longest timeout, the process had been suspended or cut off: it was right to suspect it.

While this process was stopped itself it heard nobody. That time does not count as anybody's silence.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from congenial.net.config import Timing
from congenial.net.link import Link
from congenial.net.logs import log

SILENT, LEFT, RESTARTED = "silent", "left", "restarted"
MEMORY = 20  # times `suspect_after` without a mistake about a peer, after which the patience with it shrinks by a step


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
                self._calm_down(link, now)
            elif now - link.heard_at > link.patience.allowed:
                if link.connection is not None and now - link.attached_at > link.patience.allowed:
                    link.connection.abort()
                if suspects:
                    self.suspect(link, SILENT)

    def _calm_down(self, link: Link, now: float) -> None:
        """Be less patient with a peer about which there were no recent mistakes. Not while it is silent: it relies on
        how long it may be (`congenial.net.lease`)."""
        patience, least = link.patience, self.timing.suspect_after
        if patience.allowed > least and now - link.misjudged_at > MEMORY * least:
            link.misjudged_at = now
            patience.allowed = max(patience.allowed - patience.step, least)

    def suspect(self, link: Link, why: str) -> None:
        if why != SILENT:
            link.misjudged = False  # nor was it, if it is away already
        if not link.away:
            link.away = True
            link.misjudged = why == SILENT
            level = logging.INFO if why == LEFT else logging.WARNING
            refusal = {"refusal": link.refusal} if link.refusal else {}
            log(level, "peer.away", node=self.name, peer=link.name, why=why, **refusal)
            self._change(link)

    def trust(self, link: Link) -> None:
        """A peer that was suspected is heard again."""
        now = self.now()
        if link.misjudged and now - link.heard_at <= link.patience.most:
            link.misjudged_at = now
            link.patience.was_wrong()
        link.away = False
        link.misjudged = False
        link.heard_at = now
        log(logging.INFO, "peer.back", node=self.name, peer=link.name)
        self._change(link)

    def _change(self, link: Link) -> None:
        link.changed_at = self.now()
        self.changed(link)
