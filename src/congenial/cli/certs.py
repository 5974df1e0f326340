"""`congenial certs`: certificates for a test cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from congenial.cli.node import Config

EXAMPLES = """
congenial certs --config cluster.toml --out certs
congenial certs --out certs d
congenial certs --out certs --force d
"""


def command(
    nodes: Annotated[list[str] | None, typer.Argument(help="Which nodes; all of cluster.toml by default.")] = None,
    config: Config = Path("cluster.toml"),
    out: Annotated[Path, typer.Option(help="The folder for the files.")] = Path("certs"),
    force: Annotated[
        bool, typer.Option("--force", help="Replace what is there: of the nodes named; without names, everything.")
    ] = False,
) -> None:
    """Make a small certificate authority, and a certificate and a key for every node, for a test cluster.

    What is there is kept, and only what is missing is made: run it again to add a node. Name the files in cluster.toml
    under \\[tls]. Each machine needs ca.pem and the two files of its own node. Keep ca.key off the nodes: with it
    anybody can make certificates that the cluster trusts.
    """
    import sys

    from congenial.net.certs import make_certificates
    from congenial.net.config import load_nodes

    # not the whole file: addresses beyond this machine need the certificates that are to be made
    done = make_certificates(nodes or load_nodes(config), out, force=force, new_authority=force and not nodes)
    for word, paths in (("made", done.made), ("replaced", done.replaced), ("kept", done.kept)):
        for path in paths:
            print(word, path)
    key = out / "ca.key"
    if key in done.made or key in done.replaced:
        print(f"Give each machine {out / 'ca.pem'} and the two files of its own node; keep {key} off the nodes.")
    for note in done.notes:
        print(f"congenial: {note}", file=sys.stderr)
