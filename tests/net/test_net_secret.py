"""The secret of members on one machine: only processes of one user have it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from congenial.kernel.errors import ConfigError
from congenial.net.config import ClusterConfig, Tls, load_config
from congenial.net.secret import own_secret, secret_of

LOCAL = {"a": "127.0.0.1:7101", "b": "localhost:7102"}
FAR = {"a": "10.0.0.1:7101", "b": "10.0.0.2:7101"}


@pytest.fixture(autouse=True)
def _own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_the_first_member_makes_it_and_all_read_the_same() -> None:
    made: list[bytes] = []
    threads = [threading.Thread(target=lambda: made.append(secret_of(ClusterConfig(LOCAL)).key)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert len(set(made)) == 1
    assert len(made[0]) == 64
    assert own_secret().stat().st_mode & 0o777 == 0o600
    assert own_secret().parent.stat().st_mode & 0o077 == 0
    assert os.listdir(own_secret().parent) == ["secret"]


def test_it_is_in_the_home_folder_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "relative/path"):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert own_secret() == tmp_path / ".local/state/congenial/secret"


@pytest.mark.parametrize(
    "config",
    [
        ClusterConfig({"a": "127.0.0.1:7101"}, algorithm="raymond-tree"),
        ClusterConfig(FAR, insecure=True),
        ClusterConfig({**LOCAL, **FAR}, insecure=True),
        ClusterConfig(LOCAL, tls=Tls("ca", "certificate", "key")),
    ],
)
def test_where_it_proves_nothing_none_is_made(config: ClusterConfig) -> None:
    assert secret_of(config) == (b"", "no secret")
    assert not own_secret().parent.exists()


def test_a_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text('secret = "shared.secret"\n[nodes]\na = "127.0.0.1:7101"\n')
    file = tmp_path / "shared.secret"
    file.write_text("correct horse battery staple\n")
    file.chmod(0o640)
    assert secret_of(load_config(tmp_path / "cluster.toml")) == (b"correct horse battery staple", str(file))
    for config in (ClusterConfig(LOCAL, secret=str(file)), ClusterConfig(FAR, insecure=True, secret=str(file))):
        assert secret_of(config) == (b"correct horse battery staple", str(file))
    assert not own_secret().exists()


@pytest.mark.parametrize(
    ("mode", "content", "named", "reason"),
    [
        (0o640, "x" * 64, False, "can be read or changed by other users"),
        (0o604, "x" * 64, False, "can be read or changed by other users"),
        (0o602, "x" * 64, True, "can be read or changed by other users"),
        (0o620, "x" * 64, True, "can be read or changed by other users"),
        (0o644, "x" * 64, True, "can be read or changed by other users"),
        (0o600, "short", True, "has 5 bytes, too few"),
        (0o600, "", False, "is damaged"),
    ],
)
def test_a_secret_that_is_none_is_refused(mode: int, content: str, named: bool, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "given" if named else own_secret()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    file.chmod(mode)
    with pytest.raises(ConfigError, match=reason) as error:
        secret_of(ClusterConfig(LOCAL, secret=str(file) if named else ""))
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_secret_of_another_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    secret_of(ClusterConfig(LOCAL))
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(ConfigError, match="belongs to another user"):
        secret_of(ClusterConfig(LOCAL))


def test_a_secret_that_cannot_be_had_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the secret .*missing"):
        secret_of(ClusterConfig(LOCAL, secret=str(tmp_path / "missing")))
    os.mkfifo(tmp_path / "fifo", 0o600)
    with pytest.raises(ConfigError, match="is not a file"):
        secret_of(ClusterConfig(LOCAL, secret=str(tmp_path / "fifo")))
    (tmp_path / "state").write_text("in the way")
    with pytest.raises(ConfigError, match=r"cannot make the secret .*congenial.*; name a file for it .secret"):
        secret_of(ClusterConfig(LOCAL))
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setattr(Path, "expanduser", no_home)
    with pytest.raises(ConfigError, match=r"cannot make the secret .*home.*; name a file for it .secret"):
        secret_of(ClusterConfig(LOCAL))


def no_home(path: Path) -> Path:
    raise RuntimeError("Could not determine home directory.")
