"""`congenial members`: the members of a cluster, and which of them vote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from congenial.cli.lock import connect
from congenial.cli.node import Config, Socket
from congenial.cli.options import Json
from congenial.kernel.errors import ConfigError

if TYPE_CHECKING:
    from congenial.net.client import Client
    from congenial.net.members import Member

EXAMPLES = """
congenial members
congenial members --promote d
congenial members --demote a --json
congenial members --remove c
"""


def command(
    promote: Annotated[str, typer.Option(help="Make this member a voter.")] = "",
    demote: Annotated[str, typer.Option(help="Make this voter a member without a vote.")] = "",
    remove: Annotated[str, typer.Option(help="Say that this voter has crashed and will not return.")] = "",
    config: Config = Path("cluster.toml"),
    node: Annotated[str, typer.Option("--node", help="Which node of this machine to ask, if it runs several.")] = "",
    socket: Socket = "",
    json: Json = False,
) -> None:
    """Show the members of the cluster, where they are, and which of them vote; or change that.

    A few voters agree on who the members are, and a majority of them must be there. Any number of other members take
    part in locks. Processes enter with `congenial node --seeds`, and leave when they are stopped.
    """
    import asyncio

    from congenial.cli.output import print_json, show, table

    wishes = [(promote, "voter"), (demote, "member"), (remove, "gone")]
    given = [(name, role) for name, role in wishes if name]
    if len(given) > 1:
        raise ConfigError("choose one of --promote, --demote and --remove")
    members = asyncio.run(ask(connect(config, node, socket), given))
    if json:
        print_json([member._asdict() for member in members])
        return
    rows = table("member", "address", "vote", "state")
    for member in members:
        rows.add_row(member.name, member.address, "yes" if member.voter else "", "here" if member.present else "away")
    show(rows)


async def ask(node: Client, given: list[tuple[str, str]]) -> list[Member]:
    async with node as client:
        for name, role in given:
            await client.assign(name, role)
        return await client.members()
