"""`congenial certs`: certificates for a test cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from congenial.cli.node import Config

EXAMPLES = """
congenial certs --config cluster.toml --out certs
"""


def command(
    config: Config = Path("cluster.toml"),
    out: Annotated[Path, typer.Option(help="The folder for the files.")] = Path("certs"),
) -> None:
    """Make a small certificate authority, and a certificate and a key for every node, for a test cluster.

    Name the files in cluster.toml under \\[tls]. Each machine needs ca.pem and the two files of its own node.
    """
    import tomllib

    from congenial.kernel.errors import ConfigError
    from congenial.net.certs import make_certificates

    try:  # without loading the certificates that the file may name already
        nodes = tomllib.loads(config.read_text(encoding="utf-8")).get("nodes", {})
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"cannot read {config}: {error}") from error
    if not nodes:
        raise ConfigError(f"{config} names no nodes: write them under [nodes]")
    for path in make_certificates(nodes, out):
        print(path)
