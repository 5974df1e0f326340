"""The certificates of a node, as files."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from congenial.kernel.errors import ConfigError
from congenial.net.checked import FilePath, check_fields, for_node

SSL_REASONS = {
    "PEM lib": "one of them is not in PEM form, or the key is encrypted",
    "no certificate or crl found": "the first one is not a certificate in PEM form",
    "key values mismatch": "the key is not that of the certificate",
}


@dataclass(frozen=True)
class Tls:
    """The files with the certificates; both ends of every connection show theirs. `{name}` is the node's name.

    >>> tls = Tls(ca="certs/ca.pem", certificate="certs/{name}.pem", key="certs/{name}.key")

    `congenial certs` makes such files for a test cluster.
    """

    ca: FilePath
    certificate: FilePath
    key: FilePath

    def __post_init__(self) -> None:
        check_fields(self)

    def contexts(self, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
        """The contexts for the end that is called, and for the end that calls."""
        called = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        calling = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
        called.verify_mode = ssl.CERT_REQUIRED
        ca, certificate, key = files = [for_node(path, name) for path in (self.ca, self.certificate, self.key)]
        try:
            for file in files:
                with open(file, "rb"):
                    pass  # an error of OpenSSL would not say which one
            for context in (called, calling):
                context.minimum_version = ssl.TLSVersion.TLSv1_3
                context.load_verify_locations(ca)
                context.load_cert_chain(certificate, key, password="")  # an encrypted key must not ask the terminal
        except OSError as error:  # also those of OpenSSL
            raise ConfigError(
                f"node {name!r}: cannot use the certificates {', '.join(files)}: {_reason(error)} "
                "(`congenial certs` makes them for a test cluster)"
            ) from error
        return called, calling


def _reason(error: OSError) -> str:
    if error.filename:
        return f"{error.filename}: {error.strerror}"
    known = [words for sign, words in SSL_REASONS.items() if sign in str(error)]
    return known[0] if known else str(error)
