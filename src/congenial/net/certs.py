"""A small certificate authority for a test cluster. Needs the package cryptography."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from congenial.kernel.errors import ConfigError

try:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:
    raise ConfigError("making certificates needs the package cryptography: pip install 'congenial[net]'") from None

AUTHORITY = "Congenial test cluster"
VALID = timedelta(days=3650)
CLOCKS = timedelta(days=1)  # by which the clocks of machines may differ


def make_certificates(names: Iterable[str], folder: str | Path) -> list[Path]:
    """Make an authority, and a certificate and a key for every node, all in PEM; return the files that were written.

    The authority's own key is not kept, so no node can be added later: make all of them anew.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    authority_key = generate_private_key(SECP256R1())
    authority = _certify_authority(authority_key)
    written = [folder / "ca.pem"]
    written[0].write_bytes(authority.public_bytes(Encoding.PEM))
    for name in names:
        key = generate_private_key(SECP256R1())
        certificate = _certify_node(name, key, authority_key)
        certificate_file, key_file = folder / f"{name}.pem", folder / f"{name}.key"
        certificate_file.write_bytes(certificate.public_bytes(Encoding.PEM))
        key_file.touch(mode=0o600)
        os.chmod(key_file, 0o600)
        key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        written += [certificate_file, key_file]
    return written


def _certify_authority(key: EllipticCurvePrivateKey) -> x509.Certificate:
    return (
        _certificate_for(AUTHORITY, key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .sign(key, SHA256())
    )


def _certify_node(name: str, key: EllipticCurvePrivateKey, authority: EllipticCurvePrivateKey) -> x509.Certificate:
    """A node shows its certificate both when it calls and when it is called."""
    try:
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
    except ValueError as error:
        raise ConfigError(f"node {name!r} cannot have a certificate: use ASCII letters, digits, '-' or '.'") from error
    return (
        _certificate_for(name, key)
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
        .sign(authority, SHA256())
    )


def _certificate_for(subject: str, key: EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCKS)
        .not_valid_after(now + VALID)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _key_usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
