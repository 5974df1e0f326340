"""`congenial node`: one node of a cluster, for the programs of its machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from congenial.net.locks import Cluster

EXAMPLES = """
congenial node --config cluster.toml --name a
congenial node --name a --state /var/lib/congenial --metrics-port 9100 --log-json
congenial node --name a --socket /run/congenial/a.sock
"""

Config = Annotated[Path, typer.Option("--config", help="The file that describes the cluster.")]
NodeName = Annotated[str, typer.Option("--name", help="Which node of the cluster.")]
Socket = Annotated[
    str, typer.Option("--socket", envvar="CONGENIAL_SOCKET", help="The Unix socket between node and programs.")
]


def command(
    name: NodeName,
    config: Config = Path("cluster.toml"),
    socket: Socket = "",
    state: Annotated[str, typer.Option(help="The state directory, if not as in the configuration.")] = "",
    metrics_port: Annotated[int, typer.Option(help="Serve Prometheus metrics on this port of this machine.")] = 0,
    log_json: Annotated[bool, typer.Option(help="Log as JSON, one object a line.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log every connection.")] = False,
) -> None:
    """Run a node, and let programs on this machine share its locks over a Unix socket.

    It stops on Ctrl-C or SIGTERM. If it can take part no more (its state cannot be saved, or another process has taken
    its name) it says why, and its exit code is 1.

    The first time, all nodes of a cluster must be started. Later a majority is enough, and a restarted node rejoins:
    with its state directory it remembers what it had promised; without one it asks the others, and a majority of the
    nodes must remember.
    """
    import logging
    import sys
    from dataclasses import replace

    from congenial.net.blocking import new_event_loop
    from congenial.net.checked import for_node
    from congenial.net.config import load_config
    from congenial.net.local import socket_path
    from congenial.net.locks import Cluster
    from congenial.net.logs import JsonLines
    from congenial.trace_files import check_folder_writable

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if log_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.getLogger("congenial").addHandler(handler)
    logging.getLogger("congenial").setLevel(logging.DEBUG if verbose else logging.INFO)
    described = load_config(config)
    described.index(name)
    if state:
        described = replace(described, state=state)
    cluster = Cluster(name, described, metrics_port)  # refuses wrong settings before a folder is made for the socket
    if described.state:
        check_folder_writable(Path(for_node(described.state, name)), "state")
    path = Path(socket) if socket else socket_path(described, name)
    loop = new_event_loop()
    try:
        loop.run_until_complete(serve_until_stopped(cluster, path))
    finally:
        loop.close()


async def serve_until_stopped(cluster: Cluster, path: Path) -> None:
    import asyncio
    import signal

    from congenial.net.errors import ClusterDegraded
    from congenial.net.local import listen
    from congenial.net.service import serve

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    with await listen(path) as listener:  # before the others hear of this node
        async with cluster:
            service = await serve(cluster, listener)
            where = cluster.config.nodes[cluster.name]
            print(f"node {cluster.name} of {cluster.config.cluster!r} listens on {where} and {path}", flush=True)
            ended = asyncio.create_task(cluster.wait_ended())
            stopped = asyncio.create_task(stop.wait())
            try:
                await asyncio.wait([ended, stopped], return_when=asyncio.FIRST_COMPLETED)
                if ended.done():
                    raise ClusterDegraded(ended.result())
            finally:
                ended.cancel()
                stopped.cancel()
                service.close()
