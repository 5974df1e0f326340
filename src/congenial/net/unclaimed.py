"""Messages for guarded objects that the program here has not named yet."""

from __future__ import annotations

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.net.codec import Vocabulary
from congenial.net.errors import ProtocolError
from congenial.net.guarded import Guard, send_gone
from congenial.net.link import FULL
from congenial.net.membership import Membership
from congenial.net.roster import ORIGINAL


class Unclaimed:
    """Keeps them until the object is named. If there are too many, this member gives up its replica."""

    def __init__(self, membership: Membership, vocabulary: Vocabulary) -> None:
        self.membership = membership
        self.vocabulary = vocabulary
        self.messages: dict[str, list[tuple[int, Message]]] = {}
        self.too_late: set[str] = set()

    def add(self, key: str, peer: int, message: Message) -> None:
        if self.membership.roster.past != ORIGINAL or key in self.too_late:
            return
        waiting = self.messages.setdefault(key, [])
        waiting.append((peer, message))
        if len(waiting) >= FULL:
            del self.messages[key]
            self.too_late.add(key)
            send_gone(self.membership, self.vocabulary, key)

    def claim(self, guard: Guard) -> None:
        """Deliver to a replica that has been named what waits for it."""
        if guard.key in self.too_late:
            guard.fail(
                ConfigError(f"{guard.name!r} was named too late here: name it at every member when it has joined")
            )
        for peer, message in self.messages.pop(guard.key, []):
            try:
                guard.receive(peer, message)
            except ProtocolError as error:
                guard.fail(error)
