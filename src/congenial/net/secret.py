"""The secret that the members of a cluster share, and with which they prove that they belong to it (`greeting`).

With certificates none is needed. Without them, and on one machine, everybody on that machine can connect, so the secret
is in a file that only its owner can read: members must run as the same user. It is made by the first member that needs
it. The setting `secret` names another file instead.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import NamedTuple

from congenial.kernel.errors import ConfigError
from congenial.net.addresses import address, is_loopback
from congenial.net.config import ClusterConfig

SHORTEST = 16  # bytes
LONGEST = 4096


class Secret(NamedTuple):
    key: bytes  # empty if there is none
    source: str  # where it comes from, for messages


def secret_of(config: ClusterConfig) -> Secret:
    """The secret of a cluster."""
    if config.secret:
        return Secret(_read(Path(config.secret), given=True), config.secret)
    local = all([is_loopback(address(place)[0]) for place in config.places()])
    alone = len(config.nodes) == 1 and not config.elastic
    if config.tls is not None or not local or alone:
        return Secret(b"", "no secret")
    try:
        path = own_secret()
        if not os.path.lexists(path):
            _make(path)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home folder
        raise ConfigError(
            "cannot make the secret with which members on one machine prove that they run as the same user: "
            f"{error}; name a file for it (secret = ...), the same for all members"
        ) from error
    return Secret(_read(path, given=False), str(path))


def own_secret() -> Path:
    """Where this user's secret is."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if os.path.isabs(state) else Path("~/.local/state").expanduser()
    return folder / "congenial" / "secret"


def _make(path: Path) -> None:
    """Make the file in one step: another member sees either no file or all of it, and two that make it at the same time
    end up with one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "w", encoding="ascii") as writing:
            writing.write(secrets.token_hex(32) + "\n")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another member was faster
    finally:
        os.unlink(draft)


def _read(path: Path, given: bool) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as reading:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                raise ConfigError(f"the secret {path} is not a file")
            content = reading.read(LONGEST).strip()
    except OSError as error:
        raise ConfigError(f"cannot read the secret {path}: {error.strerror or error}") from error
    _check_access(path, about, given)
    if len(content) < SHORTEST:
        raise ConfigError(
            f"the secret {path} has {len(content)} bytes, too few: give it at least {SHORTEST}, best 32 random ones"
            if given
            else f"the secret {path} is damaged: remove it, and it will be made again"
        )
    return content


def _check_access(path: Path, about: os.stat_result, given: bool) -> None:
    """A secret that others know proves nothing. A file that was named on purpose may belong to root, and be readable
    for a group, as secrets are that are mounted into a container."""
    owners = (os.getuid(), 0) if given else (os.getuid(),)
    if about.st_uid not in owners:
        raise ConfigError(f"the secret {path} belongs to another user: members must use a secret of their own user")
    if about.st_mode & (0o027 if given else 0o077):
        raise ConfigError(f"the secret {path} can be read or changed by other users: chmod 600 {path}, if it is new")
