"""The Unix socket between a node and the programs of its machine: where it is, and how two users are kept apart.

Nothing but a dead socket is ever replaced: what else is at the path stays as it is, and the node does not start.

A node that is not told where to listen uses a folder in which no other user can put a socket of that name:
XDG_RUNTIME_DIR, or /run/user/UID, or a private folder in the temporary one. Its owner and its permissions are checked
by the node and by programs. Both ends also ask the kernel which user is at the other end.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import grp
import os
import socket
import stat
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from struct import Struct
from urllib.parse import quote

from congenial.kernel.errors import ConfigError
from congenial.net.config import ClusterConfig

LONGEST_PATH = 103 if sys.platform == "darwin" else 107  # bytes, without the zero at the end
ROOT = 0
FOLDER_PATIENCE = 2.0  # seconds in which another node may finish what it does in the socket's folder
CREDENTIALS = Struct("3i")  # of a peer: process, user, group


# -- where ------------------------------------------------------------------------------------------------------


def socket_path(config: ClusterConfig, name: str) -> Path:
    """Where a node listens for programs by default."""
    folder = next(_folders(), None)
    if folder is None:
        folder = _private_folder()
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            pass
        except OSError as error:
            raise ConfigError(f"cannot make {folder} for the node's socket: {error.strerror}") from error
        _check_private(folder)
    return folder / _name(config, name, folder)


def sockets_here(config: ClusterConfig, names: tuple[str, ...]) -> list[Path]:
    """The sockets of these nodes on this machine, as programs find them: those in the first folder that has any."""
    private = _private_folder()
    for folder in (*_folders(), private):
        if folder is private:
            if not os.path.lexists(private):
                break
            _check_private(private)
        found = [path for name in names if os.path.lexists(path := folder / _name(config, name, folder))]
        if found:
            return found
    return []


def _name(config: ClusterConfig, name: str, folder: Path) -> str:
    ours = "" if folder == _private_folder() else "congenial-"
    return f"{ours}{quote(config.cluster, safe='')}-{name}.sock"


def _folders() -> Iterator[Path]:
    """The folders that the system gives each user for sockets, the one to be preferred first."""
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given:
        folder = Path(given)
        problem = _problem(folder, 0o022, follow=True)
        if problem:
            raise ConfigError(f"XDG_RUNTIME_DIR is {given}, but that {problem}: unset it, or give the socket's path")
        yield folder
    usual = Path(f"/run/user/{os.geteuid()}")
    if str(usual) != given and not _problem(usual, 0o022):
        yield usual


def _private_folder() -> Path:
    return Path(os.environ.get("TMPDIR") or "/tmp") / f"congenial-{os.geteuid()}"


def _check_private(folder: Path) -> None:
    problem = _problem(folder, 0o077)
    if problem:
        raise ConfigError(
            f"the node's socket cannot be in {folder}, that {problem}: set XDG_RUNTIME_DIR, or give the socket's path"
        )
    around = os.stat(folder.parent)
    if around.st_uid not in (ROOT, os.geteuid()) or (around.st_mode & 0o022 and not around.st_mode & stat.S_ISVTX):
        raise ConfigError(
            f"the node's socket cannot be in {folder}, which another user could replace: "
            "set XDG_RUNTIME_DIR, or give the socket's path"
        )


def _problem(folder: Path, forbidden: int, follow: bool = False) -> str:
    """Why another user could put a socket there; empty if none can."""
    try:
        found = os.stat(folder, follow_symlinks=follow)
    except FileNotFoundError:
        return "does not exist"
    except OSError as error:
        return f"cannot be used ({error.strerror})"
    if not stat.S_ISDIR(found.st_mode):
        return f"is {_kind(found.st_mode)}"
    if found.st_uid != os.geteuid():
        return f"belongs to another user ({found.st_uid})"
    if found.st_mode & forbidden:
        return f"is open to other users (its mode is {stat.S_IMODE(found.st_mode):o})"
    return ""


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a file" if stat.S_ISREG(mode) else "a device or a pipe"


def check_length(path: Path) -> None:
    size = len(os.fsencode(path))
    if size > LONGEST_PATH:
        raise ConfigError(
            f"the path of the socket has {size} bytes, at most {LONGEST_PATH} are allowed: give a shorter one ({path})"
        )


# -- who is there -----------------------------------------------------------------------------------------------


def user_of(connected: socket.socket) -> int | None:
    """The user at the other end of a Unix socket; None where the kernel does not say."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    user: int = CREDENTIALS.unpack(raw)[1]
    return user


def process_of(connected: socket.socket) -> int | None:
    """The process at the other end, when it connected; None where the kernel does not say."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    raw = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    process: int = CREDENTIALS.unpack(raw)[0]
    return process


def is_trusted(user: int | None) -> bool:
    """Programs and nodes of one user trust each other, and everyone has to trust root."""
    return user is None or user in (os.geteuid(), ROOT)


# -- listening --------------------------------------------------------------------------------------------------


class LocalListener:
    """A socket that listens at a path. Closing it removes the path, unless something else is there by now."""

    def __init__(self, path: Path, listening: socket.socket, open_to_others: bool = False) -> None:
        self.path = path
        self.open_to_others = open_to_others  # the kernel lets other users connect, as its mode says
        self.socket = listening
        self._place = Path(os.path.abspath(path))
        self._mark = _mark(self._place)
        self._process = os.getpid()

    def close(self) -> None:
        self.socket.close()
        if self._process == os.getpid() and self._mark is not None and _mark(self._place) == self._mark:
            with contextlib.suppress(FileNotFoundError):
                self._place.unlink()

    def __enter__(self) -> LocalListener:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _mark(path: Path) -> tuple[int, int, int] | None:
    """What tells one file from all others. Its number alone does not: a new file may get that of a deleted one."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


async def listen(path: Path, mode: int = 0o600, group: str = "") -> LocalListener:
    """Listen at a path that is free, or where a dead socket is. Only the same user can connect, unless `mode` lets
    others, and `group` says which group the socket belongs to."""
    check_length(path)
    owner = group_number(group)
    checked_mode(mode)
    made = socket.socket(socket.AF_UNIX)
    try:
        made.setblocking(False)
        async with _alone_in(path.parent):
            _bind(made, path, mode, owner)
        return LocalListener(path, made, bool(mode & 0o066))
    except BaseException as error:
        made.close()
        if isinstance(error, ConfigError) or not isinstance(error, (OSError, ValueError)):
            raise
        reason = error.strerror if isinstance(error, OSError) else error  # such as a zero in the path
        raise ConfigError(f"cannot listen on {path}: {reason}") from error


def checked_mode(mode: int) -> int:
    """The mode of a node's socket: others may read and write, or may not."""
    if type(mode) is not int or not 0o600 <= mode <= 0o666 or mode & 0o111:
        raise ConfigError(f"the mode of the node's socket cannot be {mode!r}: use 600, 660 or 666")
    return mode


def group_number(group: str) -> int:
    """The number of a group of users; -1 stays what it is."""
    if not group:
        return -1
    try:
        return int(group) if group.isdigit() else grp.getgrnam(group).gr_gid
    except KeyError:
        raise ConfigError(f"there is no group {group!r} on this machine for the node's socket") from None


def _bind(made: socket.socket, path: Path, mode: int, group: int) -> None:
    try:
        made.bind(str(path))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        _check_dead(path)
        path.unlink()
        made.bind(str(path))
    os.chown(path, -1, group)
    os.chmod(path, mode)  # nobody can connect before `listen`, so there is no moment at which others could
    made.listen()


def _check_dead(path: Path) -> None:
    """`ConfigError` unless a socket is there on which nobody listens."""
    mode = os.lstat(path).st_mode
    if not stat.S_ISSOCK(mode):
        raise ConfigError(f"{path} is {_kind(mode)} and is not replaced: give another path for the node's socket")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        result = probe.connect_ex(str(path))
    if result in (0, errno.EAGAIN):
        raise ConfigError(f"{path}: another node is listening there")
    if result != errno.ECONNREFUSED:
        raise ConfigError(f"{path} is a socket that cannot be replaced: {os.strerror(result)}")


@contextlib.asynccontextmanager
async def _alone_in(folder: Path) -> AsyncIterator[None]:
    """Of two nodes that start at the same time, one must not take the other's socket, bound but not listening yet, for
    dead."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + FOLDER_PATIENCE
        while True:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise ConfigError(f"{folder} is locked by another program: give another path") from None
                await asyncio.sleep(0.02)
        yield
    finally:
        os.close(opened)
