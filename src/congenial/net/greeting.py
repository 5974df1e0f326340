"""Which member is at the other end of a connection: what this one says about itself, and what it expects of a peer."""

from __future__ import annotations

from congenial.net.config import ClusterConfig
from congenial.net.errors import ProtocolError
from congenial.net.link import Link
from congenial.net.wire import SPEAKS, Hello, Seek

SERIAL = "serial"  # in `Hello.also`: of the sender's end of the link
EXPECTED_SERIAL = "expected serial"  # and of the receiver's, as the sender knows it
LONGEST_SERIAL = 18  # digits


class Greeting:
    def __init__(
        self, name: str, config: ClusterConfig, founders: tuple[str, ...], address: str, schema: str, algorithm: str
    ) -> None:
        self.name = name
        self.cluster = config.cluster
        self.founders = founders
        self.address = address  # where others can call this process
        self.elastic = config.elastic  # other processes than the founders may become members
        self.schema = schema  # of the messages that the locks exchange
        self.algorithm = algorithm

    def hello(self, link: Link, mine: int, expected: tuple[int, int], known: bool, founded: tuple[int, ...]) -> Hello:
        """To a peer, of which this incarnation and this end of the link are expected. Are they those with which we have
        exchanged messages?"""
        received = link.received if known else 0
        hello = Hello(
            self.cluster, self.name, link.name, self.founders, self.schema, mine, expected[0], received, founded
        )
        hello.dropped = link.acked if known else 0
        hello.address = self.address
        hello.speaks, hello.release = SPEAKS, release()
        for what, serial in ((SERIAL, link.serial), (EXPECTED_SERIAL, expected[1])):
            if serial:
                hello.also[what] = str(serial)
        return hello

    def check(self, hello: Hello, certified: tuple[str, ...] | None, link: Link | None) -> None:
        """Raise `ProtocolError` if the peer must not connect. `certified` are the names in its certificate; `link` is
        that of the peer that we have called, None if the peer has called us."""
        self._check_cluster(hello.cluster)
        if hello.receiver != self.name:
            raise ProtocolError(f"looks for node {hello.receiver!r}; this is {self.name!r}")
        if hello.members != self.founders:
            told = f"has members {', '.join(hello.members)}; this cluster has {', '.join(self.founders)}"
            hint = ": a process that is not in the list enters with seeds" if self.elastic else ""
            raise ProtocolError(told + hint)
        if not self.elastic and (hello.sender not in self.founders or (link is None and hello.sender >= self.name)):
            raise ProtocolError(f"{hello.sender!r} must not call {self.name!r}")
        if hello.sender == self.name:
            raise ProtocolError(f"has our name, {self.name!r}")
        if link is not None and hello.sender != link.name:
            raise ProtocolError(f"is {hello.sender!r}, where {link.name!r} was called")
        check_release(hello)
        self._check_sender(hello.sender, hello.schema, certified)

    def check_newcomer(self, seek: Seek, certified: tuple[str, ...] | None) -> None:
        """Raise `ProtocolError` if a process must not enter the cluster."""
        self._check_cluster(seek.cluster)
        if not self.elastic:
            raise ProtocolError(f"the members of this cluster are fixed: {', '.join(self.founders)}")
        if seek.sender == self.name:
            raise ProtocolError(f"this is {self.name!r} itself: give the address of another member")
        check_release(seek)
        self._check_sender(seek.sender, seek.schema, certified)

    def _check_cluster(self, cluster: str) -> None:
        if cluster != self.cluster:
            raise ProtocolError(f"belongs to cluster {cluster!r}; this is {self.cluster!r}")

    def _check_sender(self, name: str, schema: str, certified: tuple[str, ...] | None) -> None:
        if certified is not None and name not in certified:
            raise ProtocolError(f"calls itself {name!r}, but its certificate is for {', '.join(certified)}")
        if schema != self.schema:
            raise ProtocolError(f"does not run {self.algorithm}, or runs another version of it")


def serial_in(hello: Hello, what: str) -> int:
    told = hello.also.get(what, "0")
    if not told.isdecimal() or len(told) > LONGEST_SERIAL:
        raise ProtocolError(f"says {told[:100]!r}, where the {what} of a link is expected")
    return int(told)


def check_release(hello: Hello | Seek) -> None:
    """Raise `ProtocolError` if the peer's release cannot talk to this one."""
    earliest, latest = hello.speaks
    if earliest > SPEAKS[1] or latest < SPEAKS[0]:
        raise ProtocolError(
            f"runs Congenial {hello.release}, which speaks versions {earliest} to {latest} of the protocol; this is "
            f"Congenial {release()}, which speaks {SPEAKS[0]} to {SPEAKS[1]}: upgrade through a release in between"
        )


def release() -> str:
    from congenial import __version__

    return __version__
