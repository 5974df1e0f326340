"""TLS: both ends show a certificate of the cluster's own authority, and it must be for the name they give."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from netlab import NAMES, QUICK, address_of, clusters, listener

from congenial.kernel.errors import ConfigError
from congenial.net import authority
from congenial.net.certs import make_certificates
from congenial.net.config import ClusterConfig, Tls, address
from congenial.net.errors import ClusterDegraded
from congenial.net.frames import encode_frame
from congenial.net.locks import Cluster
from congenial.net.wire import Ack
from places import alone


def tls_in(folder: Path, **changes: str) -> Tls:
    paths = {"ca": "ca.pem", "certificate": "{name}.pem", "key": "{name}.key", **changes}
    return Tls(**{name: str(folder / path) for name, path in paths.items()})


def test_a_cluster_with_certificates_works_and_others_cannot_talk_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("congenial.net.connection.HANDSHAKE", 1.0)
    make_certificates("abc", tmp_path)
    assert (tmp_path / "a.key").stat().st_mode & 0o077 == 0

    async def story() -> None:
        async with clusters(3, tls=tls_in(tmp_path)) as members:
            for member in members * 2:
                async with member.mutex("x", timeout=5):
                    pass
            where = address(members[0].config.nodes["a"])
            context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
            reader, writer = await asyncio.open_connection(*where, ssl=context, server_hostname="a")
            writer.write(encode_frame(Ack(0)))  # from one with a certificate it would be answered with a Bye
            try:
                answer = await reader.read()
            except (ssl.SSLError, ConnectionError):
                answer = b""
            assert answer == b""
            writer.close()
            reader, writer = await asyncio.open_connection(*where)  # no TLS at all
            writer.write(b"\x01\0\0\0")
            assert not (await reader.read()).startswith(b"\x01")
            writer.close()

    asyncio.run(story())


WRONG = {  # what each of them has in its log
    "another authority": {
        "a": "its certificate is not from this cluster's authority",
        "b": "it ended the TLS handshake; if it is a member, its log says why",
    },
    "another name": {"a": "its certificate is for c", "b": "calls itself 'a', but its certificate is for c"},
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_certificate_is_refused(fault: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_certificates("abc", tmp_path / "good")
    make_certificates("abc", tmp_path / "bad")
    good = tls_in(tmp_path / "good")
    bad = tls_in(tmp_path / "bad")
    if fault == "another name":
        bad = tls_in(tmp_path / "good", certificate="c.pem", key="c.key")

    async def story() -> None:
        ends = [listener(), listener()]
        nodes = {NAMES[at]: address_of(end) for at, end in enumerate(ends)}
        members = [
            Cluster(name, ClusterConfig(nodes, timing=QUICK, tls=tls), listener=end)
            for name, tls, end in zip("ab", [bad, good], ends, strict=True)
        ]
        for member in members:
            await member.start()
        with pytest.raises(ClusterDegraded):
            await members[0].ready(0.7)
        assert not members[1].status()["open"]
        for member in members:
            await member.close()

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    for name, words in WRONG[fault].items():
        lines = [record.getMessage() for record in caplog.records if f"node={name} " in record.getMessage()]
        assert len([line for line in lines if words in line]) == 1


CALLERS = {
    "plain text": "it does not speak TLS: members need [tls]",
    "another protocol": "it does not speak TLS: members need [tls]",
    "no certificate": "it shows no certificate: it needs one from this cluster's authority",
    "another authority": "its certificate is not from this cluster's authority",
    "expired": "its certificate has expired: make a new one",
    "gone": "it ended the TLS handshake",
    "silent": "it did not finish the TLS handshake in time",
}


@pytest.mark.parametrize("what", CALLERS)
def test_a_failed_handshake_leaves_one_line(
    what: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("congenial.net.connection.HANDSHAKE", 0.5)
    make_certificates("ab", tmp_path)
    make_certificates("ab", tmp_path / "other")
    monkeypatch.setattr(authority, "VALID", timedelta(hours=-1))
    make_certificates("x", tmp_path)
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    shown = {"another authority": tmp_path / "other" / "a.pem", "expired": tmp_path / "x.pem"}.get(what)
    if shown is not None:
        context.load_cert_chain(shown, shown.with_suffix(".key"))

    async def call(where: tuple[str, int]) -> None:
        secure = what not in ("plain text", "another protocol", "gone", "silent")
        words = {"plain text": b"GET / HTTP/1.1\r\n\r\n", "another protocol": b"\x03\0\0\2\x91\1"}
        with contextlib.suppress(OSError):
            options = {"ssl": context, "server_hostname": "b"} if secure else {}
            reader, writer = await asyncio.open_connection(*where, **options)  # type: ignore[arg-type]
            writer.write(words.get(what, b""))
            if what != "gone":
                await asyncio.wait_for(reader.read(), 20)
            writer.close()

    async def story() -> None:
        async with clusters(2, tls=tls_in(tmp_path)) as members:
            where = address(members[1].config.nodes["b"])
            for _ in range(3):
                await call(where)
            async with asyncio.timeout(20):
                while "tls.failed" not in caplog.text:
                    await asyncio.sleep(0.01)

    with caplog.at_level(logging.WARNING, "congenial.net"):
        asyncio.run(story())
    (line,) = [record.getMessage() for record in caplog.records]
    assert "node=b" in line
    assert "at=127.0.0.1:" in line
    assert CALLERS[what] in line


WRONG_FILES = {
    "a missing file": ({}, "a.pem: No such file or directory"),
    "a directory": ({"a.pem": "..", "a.key": ".."}, "Is a directory"),
    "no PEM": ({"a.pem": "a.key", "a.key": "a.key"}, "not in PEM form"),
    "the key of another": ({"a.pem": "a.pem", "a.key": "b.key"}, "the key is not that of the certificate"),
    "an encrypted key": ({"a.pem": "a.pem", "a.key": "locked"}, "the key is encrypted"),
    "no authority": ({"ca.pem": "a.key", "a.pem": "a.pem", "a.key": "a.key"}, "the first one is not a certificate"),
}


@pytest.mark.parametrize(("links", "why"), WRONG_FILES.values(), ids=list(WRONG_FILES))
def test_certificates_that_cannot_be_used_are_named(links: dict[str, str], why: str, tmp_path: Path) -> None:
    made = tmp_path / "made"
    make_certificates("ab", made)
    secret = load_pem_private_key((made / "a.key").read_bytes(), None)
    locked = secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"1234"))
    (made / "locked").write_bytes(locked)
    for name, target in {"ca.pem": "ca.pem", **links}.items():
        (tmp_path / name).symlink_to(made / target)

    async def story() -> None:
        await Cluster("a", ClusterConfig(alone(), tls=tls_in(tmp_path))).start()

    with pytest.raises(ConfigError, match="cannot use the certificates") as error:
        asyncio.run(story())
    assert why in str(error.value)
