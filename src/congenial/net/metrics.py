"""Prometheus metrics, read from the counters of a process whenever Prometheus asks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from congenial.kernel.errors import ConfigError
from congenial.net import forks
from congenial.net.addresses import address
from congenial.net.entrance import BUCKETS
from congenial.net.health import HealthPages
from congenial.net.host import Host


def check_metrics() -> None:
    """Refuse to promise metrics without the package that serves them."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        raise ConfigError("metrics need the package prometheus-client: pip install 'congenial[net]'") from None


class Server(ThreadingMixIn, WSGIServer):
    """Answers each request in a thread of its own: a slow reader keeps nobody waiting."""

    daemon_threads = True

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # "::" is IPv4, too
        TCPServer.server_bind(self)  # HTTPServer's would look up our name, which can take seconds
        host, self.server_port = self.server_address[:2]
        self.server_name = str(host)
        self.setup_environ()


class ServerV6(Server):
    address_family = socket.AF_INET6


class QuietHandler(WSGIRequestHandler):
    timeout = 10.0  # seconds in which a request must be complete

    def log_message(self, format: str, *values: object) -> None:
        """Requests are no news."""


class MetricsServer:
    """Serves metrics and health at an address, in a thread of its own. It has no metrics until it is shown a host."""

    def __init__(self, place: str) -> None:
        from prometheus_client import CollectorRegistry, make_wsgi_app

        self.registry = CollectorRegistry()
        self.pages = HealthPages(make_wsgi_app(self.registry))
        host, port = address(place)
        try:
            self.server = make_server(host, port, self.pages, ServerV6 if ":" in host else Server, QuietHandler)
        except OSError as error:
            raise ConfigError(f"cannot serve metrics on {place}: {error.strerror or error}") from error
        self.thread = threading.Thread(target=self.server.serve_forever, name="congenial metrics", daemon=True)
        self.thread.start()
        forks.watch(self)

    def show(self, host: Host) -> None:
        self.pages.host = host
        self.registry.register(HostMetrics(host))

    def stop(self) -> None:
        forks.unwatch(self)
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def on_fork(self) -> None:
        forks.drop(self.server.fileno())


class HostMetrics:
    """A collector, as prometheus-client calls it."""

    def __init__(self, host: Host) -> None:
        self.host = host

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        host = self.host
        entries = CounterMetricFamily("congenial_entries", "Entries of tasks", labels=["lock"])
        sessions = CounterMetricFamily("congenial_sessions", "Entries of the process", labels=["lock"])
        inside = GaugeMetricFamily("congenial_inside", "Tasks inside", labels=["lock"])
        waiting = GaugeMetricFamily("congenial_waiting", "Tasks that wait", labels=["lock"])
        for entrance in host.locks.entrances():
            entries.add_metric([entrance.label], entrance.entries)
            sessions.add_metric([entrance.label], entrance.sessions)
            inside.add_metric([entrance.label], len(entrance.inside))
            waiting.add_metric([entrance.label], len(entrance.queue))
        yield from (entries, sessions, inside, waiting)
        messages = CounterMetricFamily("congenial_messages", "Messages sent, by kind", labels=["kind"])
        for kind, count in host.messages_sent().items():
            messages.add_metric([kind], count)
        yield messages
        resends = CounterMetricFamily("congenial_link_resends", "Messages sent again", labels=["peer"])
        sizes = CounterMetricFamily("congenial_link_bytes", "Bytes of messages sent", labels=["peer"])
        away = GaugeMetricFamily("congenial_peer_away", "1 while a peer is away", labels=["peer"])
        for link in host.membership.links:
            resends.add_metric([link.name], link.resent)
            sizes.add_metric([link.name], link.bytes_sent)
            away.add_metric([link.name], int(link.away))
        yield from (resends, sizes, away)
        counts = list(host.locks.tally.waits)
        steps = [(str(bound), sum(counts[: place + 1])) for place, bound in enumerate(BUCKETS)]
        yield HistogramMetricFamily(
            "congenial_wait_seconds",
            "How long tasks waited that had to",
            buckets=[*steps, ("+Inf", sum(counts))],
            sum_value=host.locks.tally.waits_total,
        )
