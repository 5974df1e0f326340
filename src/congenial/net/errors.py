"""What can go wrong with a lock, by name."""

from __future__ import annotations

from congenial.kernel.errors import CongenialError


class LockTimeout(CongenialError):
    """The lock was not to be had in the time given. Nothing is held, and nobody else is kept waiting by it."""


class ClusterDegraded(CongenialError):
    """The lock cannot be had because other processes of the cluster are away; `peers` names them."""

    def __init__(self, text: str, peers: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.peers = peers


class NotHeld(CongenialError):
    """What is being released, or relied on, is not held: released before, or lost."""


class LockLost(NotHeld):
    """The lock is not held any more because the others have gone on without this process, or it has without them."""


class ProtocolError(CongenialError):
    """The other end of a connection sent something that it must not send."""
