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
        bool, typer.Option("--force", help="Replace existing files: those of the named nodes, or all.")
    ] = False,
) -> None:
    """Make a small certificate authority, and a certificate and a key for every node, for a test cluster.

    Existing files are kept, and only missing ones are made: run it again to add a node. Name the files in cluster.toml
    under \\[tls]. Each machine needs ca.pem and the two files of its own node. Keep ca.key off the nodes: with it
    anybody can make certificates that the cluster trusts.
    """
    import sys

    from congenial.kernel.errors import ConfigError
    from congenial.net.certs import make_certificates
    from congenial.net.config import load_nodes

    # not the whole file: addresses beyond this machine need the certificates that are to be made
    names = [*(nodes or load_nodes(config))]
    try:
        done = make_certificates(names, out, force=force, new_authority=force and not nodes)
    except ConfigError as error:
        raise ConfigError(with_commands(str(error), names, out)) from error
    for word, paths in (("made", done.made), ("replaced", done.replaced), ("kept", done.kept)):
        for path in paths:
            print(word, path)
    key = out / "ca.key"
    if key in done.made or key in done.replaced:
        print(f"Give each machine {out / 'ca.pem'} and the two files of its own node; keep {key} off the nodes.")
    for note in done.notes:
        print(f"congenial: {with_commands(note, names, out)}", file=sys.stderr)


def with_commands(text: str, names: list[str], out: Path) -> str:
    """What the library says, with the command to run instead of the parameter to give."""
    from shlex import join

    from congenial.net.certs import made_again

    for name in names:
        command = join(["congenial", "certs", "--out", str(out), "--force", name])
        text = text.replace(made_again(name), f"`{command}` makes both again")
    return text
