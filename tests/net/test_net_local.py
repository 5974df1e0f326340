"""The Unix socket of a node: what it may replace, where it may be, and which users it lets in."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import congenial
from congenial.net import endpoints, local, service
from congenial.net.client import Client
from congenial.net.config import ClusterConfig, free_addresses
from congenial.net.local import LONGEST_PATH, listen, socket_path, sockets_here
from congenial.net.service import serve
from places import alone, with_free_addresses

CONFIG = ClusterConfig({"a": "127.0.0.1:7101", "b": "127.0.0.1:7102"}, cluster="test")
SOMEBODY = 54321


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path of which nobody else knows: the path of a socket must not be long."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def picture(path: Path) -> tuple[object, ...]:
    found = os.lstat(path)
    content = path.read_bytes() if stat.S_ISREG(found.st_mode) else os.readlink(path) if path.is_symlink() else None
    return found.st_ino, found.st_mode, found.st_mtime_ns, content


def occupants(folder: Path) -> dict[str, Path]:
    """All that can be at a path besides a dead socket."""
    (folder / "cluster.toml").write_text(with_free_addresses('[nodes]\na = "127.0.0.1:7101"\n'))
    (folder / "nested").mkdir()
    (folder / "to-file").symlink_to("cluster.toml")
    (folder / "to-nothing").symlink_to("missing")
    os.mkfifo(folder / "pipe")
    return {
        "is a file": folder / "cluster.toml",
        "is a directory": folder / "nested",
        "is a symbolic link": folder / "to-file",
        "is a symbolic link and ": folder / "to-nothing",
        "is a device or a pipe": folder / "pipe",
    }


def test_only_a_dead_socket_is_replaced(folder: Path) -> None:
    async def play() -> None:
        for reason, path in occupants(folder).items():
            before = picture(path)
            with pytest.raises(congenial.ConfigError, match=reason):
                await listen(path)
            assert picture(path) == before, reason
        path = folder / "node.sock"
        with await listen(path) as living:
            before = picture(path)
            assert stat.S_IMODE(before[1]) == 0o600  # type: ignore[arg-type]
            with pytest.raises(congenial.ConfigError, match="another node is listening there"):
                await listen(path)
            (folder / "to-socket").symlink_to("node.sock")
            with pytest.raises(congenial.ConfigError, match="is a symbolic link"):
                await listen(folder / "to-socket")
            assert picture(path) == before
            living.socket.close()  # as if its process had been killed
            with await listen(path) as heir:
                living.close()  # must not remove what is no longer its own
                assert path.exists()
                with socket.socket(socket.AF_UNIX) as program:
                    program.connect(str(path))
                heir.close()
                assert not path.exists()

    asyncio.run(play())


def test_of_many_nodes_that_start_at_once_one_listens(folder: Path) -> None:
    path = folder / "node.sock"

    async def play() -> None:
        (await listen(path)).socket.close()  # leaves a dead socket
        made = await asyncio.gather(*[listen(path) for _ in range(20)], return_exceptions=True)
        (winner,) = [one for one in made if isinstance(one, local.LocalListener)]
        assert {str(one) for one in made if one is not winner} == {f"{path}: another node is listening there"}
        winner.close()

    asyncio.run(play())


def test_a_path_that_is_too_long_or_impossible(folder: Path) -> None:
    async def play() -> None:
        for path, reason in (
            (folder / ("x" * LONGEST_PATH), f"at most {LONGEST_PATH} are allowed: give a shorter one"),
            (folder / "missing" / "node.sock", "cannot listen on .*: No such file or directory"),
            (folder / "nu\0l", "cannot listen on .*: embedded null byte"),
        ):
            with pytest.raises(congenial.ConfigError, match=reason):
                await listen(path)
        with pytest.raises(congenial.ConfigError, match="give a shorter one"):
            await Client(folder / ("x" * LONGEST_PATH)).__aenter__()
        longest = folder / ("x" * (LONGEST_PATH - len(os.fsencode(folder)) - 1))
        (await listen(longest)).close()

    asyncio.run(play())


def test_the_command_refuses_in_one_line_before_it_joins(folder: Path) -> None:
    nodes = dict(zip("ab", free_addresses(2), strict=True))
    config = folder / "cluster.toml"
    config.write_text("[nodes]\n" + "".join([f'{name} = "{where}"\n' for name, where in nodes.items()]))
    before = picture(config)
    for path, reason in (
        (config, "is a file and is not replaced: give another path for the node's socket"),
        (folder, "is a directory"),
        (folder / ("x" * 200), "at most 107 are allowed" if sys.platform == "linux" else "are allowed"),
    ):
        words = ["node", "--name", "a", "--config", str(config), "--socket", str(path)]
        ended = subprocess.run(
            [sys.executable, "-m", "congenial", *words], text=True, capture_output=True, timeout=60, check=False
        )
        assert (ended.returncode, ended.stdout) == (2, "")
        assert reason in ended.stderr
        assert len(ended.stderr.splitlines()) == 1, ended.stderr
    assert picture(config) == before
    assert sorted(os.listdir(folder)) == ["cluster.toml"]


# -- where ------------------------------------------------------------------------------------------------------


def test_a_node_listens_where_no_other_user_can(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
    with pytest.raises(congenial.ConfigError, match=r"XDG_RUNTIME_DIR is .*, but that does not exist"):
        socket_path(CONFIG, "a")
    (folder / "run").mkdir(mode=0o700)
    assert socket_path(CONFIG, "a") == folder / "run" / "congenial-test-a.sock"
    (folder / "run").chmod(0o777)
    with pytest.raises(congenial.ConfigError, match="is open to other users"):
        socket_path(CONFIG, "a")

    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)  # a user without a /run/user/54321
    with pytest.raises(congenial.ConfigError, match="belongs to another user"):
        socket_path(CONFIG, "a")
    monkeypatch.undo()


def test_the_folder_in_the_temporary_one_is_private(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(local, "_folders", lambda: iter(()))  # this machine may have a /run/user
    private = folder / f"congenial-{os.geteuid()}"
    path = socket_path(CONFIG, "a")
    assert path == private / "test-a.sock"
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert socket_path(CONFIG, "a") == path  # again
    assert sockets_here(CONFIG, ("a", "b")) == []
    with asyncio.run(listen(path)):
        assert sockets_here(CONFIG, ("a", "b")) == [path]

    private.chmod(0o750)
    for find in (lambda: [socket_path(CONFIG, "a")], lambda: sockets_here(CONFIG, ("a", "b"))):
        with pytest.raises(congenial.ConfigError, match=r"is open to other users \(its mode is 750\)"):
            find()
    private.rmdir()
    (folder / "elsewhere").mkdir(mode=0o700)
    private.symlink_to("elsewhere")
    with pytest.raises(congenial.ConfigError, match="is a symbolic link"):
        socket_path(CONFIG, "a")
    private.unlink()
    folder.chmod(0o777)  # without the sticky bit, anybody may rename what is in it
    with pytest.raises(congenial.ConfigError, match="which another user could replace"):
        socket_path(CONFIG, "a")


def test_programs_find_the_node_in_any_of_the_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node may have been started without XDG_RUNTIME_DIR, as by cron, and a program with it."""
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(local, "_folders", lambda: iter(()))
    path = socket_path(CONFIG, "a")
    monkeypatch.setattr(local, "_folders", lambda: iter((folder / "run",)))
    with asyncio.run(listen(path)):
        assert sockets_here(CONFIG, ("a",)) == [path]


def test_the_name_of_a_cluster_stays_within_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    wild = ClusterConfig({"a": "127.0.0.1:7101"}, cluster="../my cluster")
    assert socket_path(wild, "a") == folder / "congenial-..%2Fmy%20cluster-a.sock"


# -- who --------------------------------------------------------------------------------------------------------


def test_another_user_gets_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "node.sock"

    async def play() -> None:
        async with congenial.join("a", alone()) as cluster:
            node = await serve(cluster, path)
            try:
                async with Client(path) as program, program.mutex("x") as held:
                    assert held.fence > 0
                with monkeypatch.context() as patch:
                    patch.setattr(service, "user_of", lambda _: SOMEBODY)
                    with pytest.raises(congenial.ClusterDegraded, match=f"serves user .*, not {SOMEBODY}"):
                        await Client(path).__aenter__()
                with monkeypatch.context() as patch:
                    patch.setattr(endpoints, "user_of", lambda _: SOMEBODY)
                    with pytest.raises(congenial.ClusterDegraded, match=r"another user \(54321\) is listening"):
                        await Client(path).__aenter__()
                    async with Client(path, check_user=False) as program, program.mutex("x"):
                        pass
            finally:
                node.close()
        assert not path.exists()

    asyncio.run(asyncio.wait_for(play(), 30))


def test_a_node_that_leaves_tells_its_programs(folder: Path) -> None:
    async def play() -> None:
        async with congenial.join("a", alone()) as cluster:
            await serve(cluster, folder / "node.sock")
            async with Client(folder / "node.sock") as program:
                held = await program.mutex("x").acquire()
                await cluster.close()
                assert "is gone" in await asyncio.wait_for(held.lost.wait(), 30)
        assert os.listdir(folder) == []

    asyncio.run(asyncio.wait_for(play(), 60))


def test_the_kernel_names_the_user_at_the_other_end() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    with ours, theirs:
        assert local.user_of(ours) in (os.geteuid(), None)
        assert local.is_trusted(local.user_of(ours))
    assert local.is_trusted(0)
    assert not local.is_trusted(SOMEBODY)
