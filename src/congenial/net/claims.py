"""Two processes with one name: the one that takes part is told that another claims its name."""

from __future__ import annotations

import logging

from congenial.net.link import Link
from congenial.net.logs import log
from congenial.net.membership import Membership
from congenial.net.wire import Claimed


class Claims:
    def __init__(self, membership: Membership) -> None:
        self.membership = membership
        self.count = 0
        membership.handlers[Claimed] = self._on_claimed

    def _on_claimed(self, link: Link, claimed: Claimed) -> None:
        """The other process comes again and again, to every member: tell it once in a while."""
        self.count += 1
        if self.membership.news.first("claimed"):
            reason = f"another process claims the name {self.membership.name!r}, and is refused: stop one of the two"
            log(logging.WARNING, "name.claimed", node=self.membership.name, peer=link.name, reason=reason)
