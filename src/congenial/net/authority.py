"""The certificates of a test cluster: what an authority issues, and whether files fit together. Needs the package
cryptography."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from congenial.kernel.errors import ConfigError

try:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:
    raise ConfigError("making certificates needs the package cryptography: pip install 'congenial[net]'") from None

Key = EllipticCurvePrivateKey
Certificate = x509.Certificate

TITLE = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Congenial test cluster")])
VALID = timedelta(days=3650)
SOON = timedelta(days=30)
CLOCKS = timedelta(days=1)  # by which the clocks of machines may differ


# -- to issue -------------------------------------------------------------------------------------------------------


def new_key() -> Key:
    return generate_private_key(SECP256R1())


def certify_authority(key: Key) -> Certificate:
    return (
        _certificate_for(TITLE, key, TITLE, datetime.now(UTC) + VALID)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .sign(key, SHA256())
    )


def certify_node(name: str, key: Key, authority: Certificate, authority_key: Key) -> Certificate:
    """A node shows its certificate both when it calls and when it is called."""
    try:
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
    except ValueError as error:
        raise ConfigError(f"node {name!r} cannot have a certificate: use ASCII letters, digits, '-' or '.'") from error
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    end = min(datetime.now(UTC) + VALID, authority.not_valid_after_utc)
    return (
        _certificate_for(subject, key, authority.subject, end)
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, SHA256())
    )


def _certificate_for(subject: x509.Name, key: Key, issuer: x509.Name, end: datetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - CLOCKS)
        .not_valid_after(end)
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


# -- as files -------------------------------------------------------------------------------------------------------


def certificate_bytes(certificate: Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def key_bytes(key: Key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def read_certificate(raw: bytes, place: object) -> Certificate:
    try:
        return x509.load_pem_x509_certificate(raw)
    except ValueError as error:
        raise ConfigError(f"{place} is not a certificate in PEM form: remove or replace it") from error


def read_key(raw: bytes, place: object) -> Key:
    try:
        key = load_pem_private_key(raw, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:  # TypeError: it is encrypted
        raise ConfigError(f"{place} is not a private key that can be read: remove or replace it") from error
    if not isinstance(key, Key):
        raise ConfigError(f"{place} is not a private key on an elliptic curve, as `congenial certs` makes them")
    return key


# -- whether they fit -----------------------------------------------------------------------------------------------


def belongs(key: Key, certificate: Certificate) -> bool:
    return key.public_key() == certificate.public_key()


def is_authority(certificate: Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def names_in(certificate: Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    return names.get_values_for_type(x509.DNSName)


def is_issued_by(certificate: Certificate, authority: Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def has_ended(certificate: Certificate) -> bool:
    return certificate.not_valid_after_utc <= datetime.now(UTC)


def end_of(certificate: Certificate) -> str:
    """When it ends, in words; empty if that is far away."""
    end = certificate.not_valid_after_utc
    if end > datetime.now(UTC) + SOON:
        return ""
    return f"{'has ended' if has_ended(certificate) else 'ends'} on {end:%Y-%m-%d}"
