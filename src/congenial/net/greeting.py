"""Which member is at the other end of a connection: what this one says about itself, and what it expects of a peer."""

from __future__ import annotations

from congenial.net.config import ClusterConfig
from congenial.net.errors import ProtocolError
from congenial.net.link import Link
from congenial.net.wire import Hello


class Greeting:
    def __init__(self, name: str, config: ClusterConfig, schema: str, algorithm: str) -> None:
        self.name = name
        self.cluster = config.cluster
        self.members = config.members
        self.schema = schema  # of the messages that the locks exchange
        self.algorithm = algorithm

    def hello(self, link: Link, mine: int, expected: int, received: int, founded: tuple[int, ...]) -> Hello:
        """To a peer, whose incarnation is expected to be `expected`."""
        hello = Hello(self.cluster, self.name, link.name, self.members, self.schema, mine, expected, received, founded)
        hello.dropped = link.acked
        return hello

    def check(self, hello: Hello, certified: tuple[str, ...] | None, link: Link | None) -> None:
        """Raise `ProtocolError` if the peer must not connect. `certified` are the names in its certificate; `link` is
        that of the peer that we have called, None if the peer has called us."""
        if hello.cluster != self.cluster:
            raise ProtocolError(f"belongs to cluster {hello.cluster!r}; this is {self.cluster!r}")
        if hello.receiver != self.name:
            raise ProtocolError(f"looks for node {hello.receiver!r}; this is {self.name!r}")
        if hello.members != self.members:
            raise ProtocolError(f"has members {', '.join(hello.members)}; this cluster has {', '.join(self.members)}")
        if hello.sender not in self.members or (link is None and hello.sender >= self.name):
            raise ProtocolError(f"{hello.sender!r} must not call {self.name!r}")
        if link is not None and hello.sender != link.name:
            raise ProtocolError(f"is {hello.sender!r}, where {link.name!r} was called")
        if certified is not None and hello.sender not in certified:
            raise ProtocolError(f"calls itself {hello.sender!r}, but its certificate is for {', '.join(certified)}")
        if hello.schema != self.schema:
            raise ProtocolError(f"does not run {self.algorithm}, or runs another version of it")
