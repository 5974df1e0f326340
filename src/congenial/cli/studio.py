"""`congenial studio`: see algorithms run, and a live cluster, in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.options import NAMED, complete_algorithm

EXAMPLES = """
congenial studio
congenial studio my_algorithm.py:MyNode
congenial studio broken.ndjson
congenial studio --runs runs --runs docs
congenial studio --config cluster.toml
congenial studio --config cluster.toml --node a
congenial studio --port 8040
"""


TRACE = ".ndjson"


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ALGORITHM | TRACE.ndjson]...",
            help=f"Algorithms to offer as well, and traces to explore. {NAMED}",
            autocompletion=complete_algorithm,
        ),
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option(metavar="FOLDER", help="Results to compare: what sweep and reproduce have written."),
    ] = None,
    config: Annotated[
        str, typer.Option(metavar="FILE", help="A cluster to look into: its cluster.toml. A node must run here.")
    ] = "",
    node: Annotated[str, typer.Option(help="Which node of this machine to ask first, if it runs several.")] = "",
    socket: Annotated[str, typer.Option(help="The Unix socket of the node to ask, instead of --config.")] = "",
    slow: Annotated[float, typer.Option(help="Seconds after which a waiting request counts as a problem.")] = 10,
    host: Annotated[
        str, typer.Option(help="Where to listen. Anyone who can reach it and knows the address can start runs.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any that is free.", min=0, max=65535)] = 0,
) -> None:
    """Run algorithms in a browser: watch them, step through them, look into every process, try what could happen, check
    them, and compare them. With --config or --socket it also shows a live cluster, without changing it.

    It prints the address to open. The address holds a secret: only those who know it can use the page. A page can run
    algorithms of the catalogue and what is named here, and nothing else. Ctrl-C ends it.
    """
    from importlib.util import find_spec

    from congenial.kernel.errors import ConfigError

    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise ConfigError(f"this needs {package}: pip install 'congenial[studio]'")

    from congenial.kernel.inputs import amount
    from congenial.net.endpoints import USUAL_CONFIG
    from congenial.studio.cluster import ClusterWatch, Where
    from congenial.studio.guard import new_secret
    from congenial.studio.server import Studio, listen, serve

    given = names or []
    where = Where(config or ("" if socket else USUAL_CONFIG), node, socket)
    patience = amount(slow, "slow")
    watch = ClusterWatch(where, patience) if config or node or socket else None
    studio = Studio(
        [name for name in given if not name.endswith(TRACE)],
        [name for name in given if name.endswith(TRACE)],
        runs or [],
        watch,
    )
    secret = new_secret()
    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    print(f"open http://{shown}:{listening.getsockname()[1]}/{secret}/ (Ctrl-C ends the studio)", flush=True)
    try:
        serve(listening, host, secret, studio)
    except KeyboardInterrupt:  # the usual end
        pass
