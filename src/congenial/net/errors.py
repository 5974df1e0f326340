"""What can go wrong with a lock, by name."""

from __future__ import annotations

from congenial.kernel.errors import ConfigError, CongenialError


class LockTimeout(CongenialError, TimeoutError):
    """The lock could not be acquired within the timeout. Nothing is held, and no other process waits because of it.

    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     with cluster.mutex("printer"):
    ...         try:
    ...             cluster.mutex("printer", timeout=0.01).acquire()
    ...         except LockTimeout:
    ...             print("busy")
    busy
    """


class ClusterDegraded(CongenialError):
    """The lock cannot be acquired because other members of the cluster are away; `peers` names them.

    >>> ClusterDegraded("lock 'printer' cannot be acquired now: 'b' is away", ("b",)).peers
    ('b',)
    """

    def __init__(self, text: str, peers: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.peers = peers


class NotHeld(CongenialError, RuntimeError, ValueError):
    """The lock that is to be released, or relied on, is not held: it was released before, or lost. It is a
    `RuntimeError`, as with `threading.Lock`, and a `ValueError`, as with `threading.BoundedSemaphore`.

    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     held = cluster.mutex("printer").acquire()
    ...     held.release()
    ...     try:
    ...         held.release()
    ...     except NotHeld:
    ...         print("released before")
    released before
    """


class LockLost(NotHeld):
    """The lock is no longer held: the other members have excluded this process, it has lost touch with them, or it has
    left the cluster.

    >>> issubclass(LockLost, NotHeld)
    True
    """


class WouldDeadlock(CongenialError, RuntimeError):
    """A task, or thread, would wait for a lock that it holds itself.

    >>> with join_blocking("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...     with cluster.mutex("printer"):
    ...         try:
    ...             cluster.mutex("printer").acquire()
    ...         except WouldDeadlock:
    ...             print("it is mine")
    ...     with cluster.mutex("printer", reentrant=True), cluster.mutex("printer", reentrant=True):
    ...         print("twice")
    it is mine
    twice
    """


class TimeoutTooLong(ConfigError, OverflowError):
    """A timeout of more seconds than can be counted."""


class ProtocolError(CongenialError):
    """The other end of a connection sent something that it must not send.

    >>> issubclass(ProtocolError, CongenialError)
    True
    """


class NameInUse(ProtocolError):
    """A peer gives a name that another process has; `known` is that one's incarnation."""

    def __init__(self, text: str, known: int) -> None:
        super().__init__(text)
        self.known = known
