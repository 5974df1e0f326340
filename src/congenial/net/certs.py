"""A small certificate authority for a test cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from congenial.kernel.errors import ConfigError


def make_certificates(names: Iterable[str], folder: str | Path) -> list[Path]:
    """An authority, and a certificate and a key for every node, all in PEM; the files that were written.

    The authority's own key is not kept, so nobody can add a node later: make them all anew.
    """
    try:
        import trustme
    except ImportError:
        raise ConfigError("making certificates needs the package trustme: pip install 'congenial[net]'") from None
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    authority = trustme.CA(organization_name="Congenial test cluster")
    written = [folder / "ca.pem"]
    authority.cert_pem.write_to_path(str(written[0]))
    for name in names:
        issued = authority.issue_cert(name)
        certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
        certificate.write_bytes(b"".join([blob.bytes() for blob in issued.cert_chain_pems]))
        key.touch(mode=0o600)
        os.chmod(key, 0o600)
        key.write_bytes(issued.private_key_pem.bytes())
        written += [certificate, key]
    return written
