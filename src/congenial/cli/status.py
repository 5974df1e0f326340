"""`congenial status`: the cluster as its nodes see it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from congenial.cli.lock import connect
from congenial.cli.node import Config, Socket
from congenial.cli.options import Json

if TYPE_CHECKING:
    from congenial.net.client import Client

EXAMPLES = """
congenial status
congenial status --config cluster.toml --node a --json
"""


def command(
    config: Config = Path("cluster.toml"),
    node: Annotated[str, typer.Option("--node", help="Which node of this machine to ask, if it runs several.")] = "",
    socket: Socket = "",
    json: Json = False,
) -> None:
    """Show nodes, links, locks, holders and queues, as told by every node that answers."""
    import asyncio

    from congenial.cli.output import print_json

    told = asyncio.run(ask(connect(config, node, socket)))
    if json:
        print_json(told)
    else:
        show_status(told)


async def ask(node: Client) -> dict[str, dict[str, Any] | None]:
    async with node as client:
        return await client.status_of_all()


def show_status(told: dict[str, dict[str, Any] | None]) -> None:
    from congenial.cli.output import show, table

    nodes = table("node", "state", "algorithm", "links", ">entries", ">sessions", ">messages", ">resent")
    for name, status in told.items():
        if status is None:
            nodes.add_row(name, "no answer")
            continue
        links = ", ".join([f"{peer} {link['state']}" for peer, link in status["links"].items()])
        resent = sum([link["resent"] for link in status["links"].values()])
        messages = sum(status["messages"].values())
        state = "open" if status["open"] else "gathering"
        counts = [str(number) for number in (status["entries"], status["sessions"], messages, resent)]
        nodes.add_row(name, state, status["algorithm"], links, *counts)
    show(nodes)
    locks = table("lock", "node", "phase", "group", ">holders", ">queue", ">fence", ">entries")
    for name, status in told.items():
        for lock, seen in (status or {"locks": {}})["locks"].items():
            fence = str(seen["fence"] or "")
            counts = [str(seen["holders"]), str(seen["queue"]), fence, str(seen["entries"])]
            locks.add_row(lock, name, seen["phase"], seen["group"] or "", *counts)
    if locks.row_count:
        print()
        show(locks)
