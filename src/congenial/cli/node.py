"""`congenial node`: one node of a cluster, for the programs of its machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from congenial.kernel.errors import ConfigError

if TYPE_CHECKING:
    from congenial.net.locks import Cluster

EXAMPLES = """
congenial node --config cluster.toml --name a
congenial node --name a --state /var/lib/congenial --metrics-port 9100 --log-json
congenial node --name a --socket /run/congenial/a.sock
congenial node --name a --socket /run/congenial/a.sock --socket-mode 660 --socket-group web --clients 10.0.0.1:7201
congenial node --name a --listen 0.0.0.0 --metrics 0.0.0.0:9100
congenial node --name d --seeds 127.0.0.1:7101,127.0.0.1:7102
"""

STATUS_PERIOD = 1.0  # seconds between two looks whether what the service manager shows is still true

USUAL_CONFIG = Path("cluster.toml")
Config = Annotated[Path, typer.Option("--config", help="The file that describes the cluster.")]
NodeName = Annotated[str, typer.Option("--name", help="Which node of the cluster.")]
Socket = Annotated[
    str, typer.Option("--socket", envvar="CONGENIAL_SOCKET", help="The Unix socket between node and programs.")
]


def command(
    name: NodeName,
    config: Config = USUAL_CONFIG,
    socket: Socket = "",
    socket_mode: Annotated[
        str, typer.Option(help="Which users may connect to it: 600 (only this one), 660 (the group), 666.")
    ] = "600",
    socket_group: Annotated[str, typer.Option(help="The group that the socket belongs to.")] = "",
    clients: Annotated[str, typer.Option(help="Serve programs elsewhere, over TLS, at this host:port.")] = "",
    state: Annotated[str, typer.Option(help="The state directory, instead of the configured one.")] = "",
    seeds: Annotated[
        str, typer.Option(help="Enter a running cluster through any of these members: host:port, several with commas.")
    ] = "",
    address: Annotated[str, typer.Option(help="Where others reach a node with --seeds; by default a free port.")] = "",
    listen: Annotated[str, typer.Option(help="Where to listen, if not at the node's address: host or host:port.")] = "",
    metrics: Annotated[str, typer.Option(help="Serve metrics, /healthz and /readyz at this host:port.")] = "",
    metrics_port: Annotated[int, typer.Option(help="The same on this port, for this machine only.")] = 0,
    log_json: Annotated[bool, typer.Option(help="Log as JSON, one object a line.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every connection.")] = False,
) -> None:
    """Run a node, and let programs on this machine share its locks over a Unix socket.

    It stops on Ctrl-C or SIGTERM, and reads its certificates again on SIGHUP. If it can no longer take part (its
    state cannot be saved, or another process has taken its name) it says why, and its exit code is 1.

    The first time, all nodes in the cluster's file must be started. Others enter later, with --seeds. From then on a
    majority is enough, and a restarted node rejoins: with its state directory it remembers what it had promised;
    without one it asks the others, and a majority of the nodes must remember.
    """
    import logging
    import sys
    from dataclasses import replace

    from congenial.net.checked import for_node
    from congenial.net.config import ClusterConfig, load_config
    from congenial.net.local import checked_mode, group_number, socket_path
    from congenial.net.locks import Cluster
    from congenial.net.logs import JsonLines
    from congenial.net.loop_thread import new_event_loop
    from congenial.net.service import check_clients
    from congenial.trace_files import check_folder_writable

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.getLogger("congenial").addHandler(handler)
    logging.getLogger("congenial").setLevel(logging.DEBUG if verbose else logging.INFO)
    given_seeds = tuple(seeds.replace(",", " ").split())
    if given_seeds and config == USUAL_CONFIG and not config.exists():
        described = ClusterConfig(seeds=given_seeds, address=address)
    else:
        described = load_config(config)
        if given_seeds:
            described = replace(described, seeds=given_seeds, address=address)
    described.check_member(name)
    if metrics and metrics_port:
        raise ConfigError("choose one of --metrics and --metrics-port")
    given: dict[str, Any] = {"state": state, "listen": listen, "metrics": metrics}
    described = replace(described, **{key: value for key, value in given.items() if value})
    cluster = Cluster(name, described, metrics_port)  # refuses wrong settings before a folder is made for the socket
    check_clients(cluster, clients)
    mode = checked_mode(octal(socket_mode))
    group_number(socket_group)  # refuses a group that there is not
    if described.state:
        check_folder_writable(Path(for_node(described.state, name)), "state")
    path = Path(socket) if socket else socket_path(described, name)
    loop = new_event_loop()
    try:
        loop.run_until_complete(serve_until_stopped(cluster, path, mode, socket_group, clients))
    finally:
        loop.close()


def octal(mode: str) -> int:
    try:
        return int(mode, 8)
    except ValueError:
        raise ConfigError(f"--socket-mode {mode}: must be 600, 660 or 666") from None


async def serve_until_stopped(
    cluster: Cluster, path: Path, mode: int = 0o600, group: str = "", clients: str = ""
) -> None:
    import asyncio
    import gc
    import signal

    from congenial.net.errors import ClusterDegraded
    from congenial.net.local import listen
    from congenial.net.notify import notify
    from congenial.net.service import serve, serve_at

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, reload, cluster)
    with await listen(path, mode, group) as listener:  # before the others hear of this node
        async with cluster:
            services = [await serve(cluster, listener)]
            config, place = cluster.config, cluster._host.place
            where = f"{place if config.seeds else config.listening(cluster.name)} and {path}"
            if clients:
                services.append(await serve_at(cluster, clients))
                where += f", and for programs elsewhere on {clients}"
            print(f"node {cluster.name} of {cluster.config.cluster!r} listens on {where}", flush=True)
            notify("READY=1")
            gc.freeze()  # otherwise each garbage collection looks at all imported objects, for some 20 ms
            ended = asyncio.create_task(cluster.wait_ended())
            tasks = [ended, asyncio.create_task(stop.wait()), asyncio.create_task(keep_notifying(cluster))]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                notify("STOPPING=1")
                if ended.done():
                    raise ClusterDegraded(ended.result())
            finally:
                for task in tasks:
                    task.cancel()
                for service in services:
                    service.close()


def reload(cluster: Cluster) -> None:
    """SIGHUP: certificates are renewed from time to time."""
    import logging

    from congenial.net.logs import log
    from congenial.net.notify import notify, reloading

    notify(reloading())
    try:
        cluster._host.renew_certificates()
    except ConfigError as error:
        log(logging.ERROR, "certificates.refused", node=cluster.name, reason=error)
    notify("READY=1")


async def keep_notifying(cluster: Cluster) -> None:
    """Show the service manager that the event loop runs, and whether locks can be acquired."""
    import asyncio
    import os

    from congenial.net.health import why_not_ready
    from congenial.net.notify import notify, watchdog_period

    period = watchdog_period()
    shown = None
    while "NOTIFY_SOCKET" in os.environ:
        status = why_not_ready(cluster._host) or "ready"
        lines = ([f"STATUS={status}"] if status != shown else []) + (["WATCHDOG=1"] if period is not None else [])
        if lines:
            notify(*lines)
        shown = status
        await asyncio.sleep(min(period or STATUS_PERIOD, STATUS_PERIOD))
    await asyncio.Event().wait()  # nobody listens
