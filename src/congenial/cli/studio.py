"""`congenial studio`: see algorithms run, in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.options import NAMED, complete_algorithm

EXAMPLES = """
congenial studio
congenial studio my_algorithm.py:MyNode
congenial studio --port 8040
"""


def command(
    algorithms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ALGORITHM]...", help=f"Offer these as well. {NAMED}", autocompletion=complete_algorithm
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen. Anyone who can reach it and knows the address can start runs.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any that is free.", min=0, max=65535)] = 0,
) -> None:
    """Open a local web page on which algorithms run: set up a run, watch it, step through it, look into every process.

    It prints the address to open. The address holds a secret: only those who know it can use the page. A page can run
    algorithms of the catalogue and the files named here, and nothing else. Ctrl-C ends it.
    """
    from importlib.util import find_spec

    from congenial.kernel.errors import ConfigError
    from congenial.systems.catalogue import find_algorithm

    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise ConfigError(f"this needs {package}: pip install 'congenial[studio]'")
    for name in algorithms or ():
        find_algorithm(name)

    from congenial.studio.guard import new_secret
    from congenial.studio.server import listen, serve

    secret = new_secret()
    listening = listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    print(f"open http://{shown}:{listening.getsockname()[1]}/{secret}/ (Ctrl-C ends the studio)", flush=True)
    serve(listening, host, secret, algorithms or ())
