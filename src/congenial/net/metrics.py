"""Prometheus metrics, read from the counters of a process whenever Prometheus asks."""

from __future__ import annotations

import platform
import socket
import threading
from collections.abc import Iterator
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from congenial.kernel.errors import ConfigError
from congenial.net import forks
from congenial.net.addresses import address
from congenial.net.entrance import Entrance
from congenial.net.health import HealthPages, why_no_locks
from congenial.net.histogram import Histogram
from congenial.net.host import Host
from congenial.net.reports import clipped


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
        """Requests are not logged."""


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
        yield self._build()
        yield from self._of_cluster()
        yield from self._of_locks()
        yield from self._of_links()

    def _build(self) -> Any:
        from prometheus_client.core import GaugeMetricFamily

        about = GaugeMetricFamily(
            "congenial_build_info",
            "1, with the version",
            labels=["version", "python", "cluster", "node", "algorithm"],
        )
        host = self.host
        labels = [version(), platform.python_version(), host.config.cluster, host.name, host.system.name]
        about.add_metric(labels, 1)
        return about

    def _of_cluster(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        host = self.host
        there = int(not why_no_locks(host))
        yield GaugeMetricFamily("congenial_majority", "1 while a majority is there, with this member", there)
        yield GaugeMetricFamily("congenial_members", "Members of the cluster", host.locks.size())
        yield CounterMetricFamily(
            "congenial_agreements", "Agreements on which members take part", host.locks.agreements()
        )
        yield histogram("congenial_fsync_seconds", "How long it took to save state on disk", host.storage.syncs)

    def _of_locks(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        tally, entrances = self.host.locks.tally, self.host.locks.entrances()
        yield GaugeMetricFamily("congenial_locks", "Locks that this member knows", len(entrances))
        by_lock = ["lock"] if self.host.config.metrics_by_lock else []
        entries = CounterMetricFamily("congenial_entries", "Entries of tasks", labels=by_lock)
        sessions = CounterMetricFamily("congenial_sessions", "Entries of the process", labels=by_lock)
        inside = GaugeMetricFamily("congenial_inside", "Tasks inside", labels=by_lock)
        waiting = GaugeMetricFamily("congenial_waiting", "Tasks that wait", labels=by_lock)
        if by_lock:
            for label, used in _by_label(entrances).items():
                entries.add_metric([label], used[0])
                sessions.add_metric([label], used[1])
                inside.add_metric([label], used[2])
                waiting.add_metric([label], used[3])
        else:
            entries.add_metric([], tally.entries)
            sessions.add_metric([], tally.sessions)
            inside.add_metric([], sum([len(entrance.inside) for entrance in entrances]))
            waiting.add_metric([], sum([len(entrance.queue) for entrance in entrances]))
        yield from (entries, sessions, inside, waiting)
        yield CounterMetricFamily("congenial_timeouts", "Tasks that gave up", tally.timeouts)
        yield CounterMetricFamily("congenial_losses", "Locks that were lost while they were held", tally.losses)
        yield histogram("congenial_wait_seconds", "How long tasks waited that had to", tally.waits)
        yield histogram("congenial_hold_seconds", "How long tasks were inside", tally.holds)

    def _of_links(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        messages = CounterMetricFamily("congenial_messages", "Messages sent, by kind", labels=["kind"])
        for kind, count in self.host.messages_sent().items():
            messages.add_metric([kind], count)
        yield messages
        resends = CounterMetricFamily("congenial_link_resends", "Messages sent again", labels=["peer"])
        sizes = CounterMetricFamily("congenial_link_bytes", "Bytes of messages sent", labels=["peer"])
        away = GaugeMetricFamily("congenial_peer_away", "1 while a peer is away", labels=["peer"])
        for link in self.host.membership.links:
            resends.add_metric([link.name], link.resent)
            sizes.add_metric([link.name], link.bytes_sent)
            away.add_metric([link.name], int(link.away))
        yield from (resends, sizes, away)


def version() -> str:
    from congenial import __version__

    return __version__


def histogram(name: str, about: str, times: Histogram) -> Any:
    from prometheus_client.core import HistogramMetricFamily

    counts = list(times.counts)
    steps = [(str(bound), sum(counts[: place + 1])) for place, bound in enumerate(times.bounds)]
    return HistogramMetricFamily(name, about, buckets=[*steps, ("+Inf", sum(counts))], sum_value=times.total)


def _by_label(entrances: list[Entrance]) -> dict[str, list[int]]:
    """Entries, sessions, tasks inside and tasks that wait, by name. Long names are cut, and may then be the same."""
    found: dict[str, list[int]] = {}
    for entrance in entrances:
        used = (entrance.entries, entrance.sessions, len(entrance.inside), len(entrance.queue))
        before = found.get(clipped(entrance.label), [0, 0, 0, 0])
        found[clipped(entrance.label)] = [one + other for one, other in zip(before, used, strict=True)]
    return found
