"""TLS: both ends show a certificate of the cluster's own authority, and it must be for the name they give."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path

import pytest
from netlab import NAMES, QUICK, address_of, clusters, listener

from congenial.kernel.errors import ConfigError
from congenial.net.certs import make_certificates
from congenial.net.config import ClusterConfig, Tls, address
from congenial.net.errors import ClusterDegraded
from congenial.net.locks import Cluster
from congenial.net.wire import Ack, encode_frame


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


@pytest.mark.parametrize("fault", ["another authority", "another name"])
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
    assert ("certificate" in caplog.text) or ("CERTIFICATE" in caplog.text)


def test_missing_certificates_are_named(tmp_path: Path) -> None:
    async def story() -> None:
        config = ClusterConfig({"a": "127.0.0.1:7101"}, tls=tls_in(tmp_path))
        with pytest.raises(ConfigError, match="cannot use the certificates"):
            await Cluster("a", config).start()

    asyncio.run(story())
