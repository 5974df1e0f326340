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
congenial status --top 5
congenial status --lock invoices
congenial status --find invoice
congenial status --config cluster.toml --node a --json --top 10000
"""


def command(
    lock: Annotated[str | None, typer.Option(help="Show this lock only.")] = None,
    find: Annotated[str | None, typer.Option(help="Show only locks with this text in their name.")] = None,
    top: Annotated[int, typer.Option(help="Show this many locks of each node, the busiest ones.")] = 20,
    config: Config = Path("cluster.toml"),
    node: Annotated[str, typer.Option("--node", help="Which node of this machine to ask, if it runs several.")] = "",
    socket: Socket = "",
    json: Json = False,
) -> None:
    """Show nodes, links, locks, holders and queues, as reported by every node that answers.

    Of each node the busiest locks are shown: those for which most tasks wait, then those with most holders.
    """
    import asyncio

    from congenial.cli.output import print_json

    told = asyncio.run(ask(connect(config, node, socket), lock, top, find))
    if json:
        print_json(told)
    else:
        show_status(told, lock)


async def ask(node: Client, lock: str | None, top: int, find: str | None = None) -> dict[str, dict[str, Any] | None]:
    async with node as client:
        return await client.status_of_all(lock=lock, top=top, find=find)


def show_status(told: dict[str, dict[str, Any] | None], lock: str | None) -> None:
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
    answers = {name: status for name, status in told.items() if status is not None}
    locks = table("lock", "node", "phase", "group", ">holders", ">queue", ">fence", ">entries")
    for label in busiest_first(answers):
        for name, status in answers.items():
            seen = status["locks"].get(label)
            if seen is not None:
                fence = str(seen["fence"] or "")
                counts = [str(seen["holders"]), str(seen["queue"]), fence, str(seen["entries"])]
                locks.add_row(label, name, seen["phase"], seen["group"] or "", *counts)
    if locks.row_count:
        print()
        show(locks)
    elif lock is not None:
        print(f"\nno node has used a lock {lock!r}")
    more = [f"{status['more']} more at {name}" for name, status in answers.items() if status["more"]]
    if more:
        print(f"and {', '.join(more)} (--top shows more, --lock a certain one)")


def busiest_first(answers: dict[str, dict[str, Any]]) -> list[str]:
    """The locks that any node has told of: first those for which most tasks wait, at all nodes together."""
    busy: dict[str, list[int]] = {}
    for status in answers.values():
        for label, seen in status["locks"].items():
            sums = busy.setdefault(label, [0, 0, 0])
            for at, what in enumerate(("queue", "holders", "entries")):
                sums[at] -= seen[what]
    return sorted(busy, key=lambda label: (busy[label], label))
