"""What survives a restart, if a directory is given for it.

Algorithms that survive crashes say in `Node.durable` which attributes they need back, and call `Out.save` in the steps
that change them; the host has them on disk before it releases such a step's messages.
"""

from __future__ import annotations

import os
import pickle
from hashlib import blake2b
from pathlib import Path

from congenial.kernel.errors import ConfigError


class Storage:
    """Keeps nothing: what is saved is gone with the process."""

    def load(self, key: str) -> object | None:
        return None

    def save(self, key: str, value: object) -> None:
        pass


class DirectoryStorage(Storage):
    """One file for each key, replaced in one piece."""

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot keep state in {directory}: {error.strerror}") from error

    def load(self, key: str) -> object | None:
        path = self._path(key)
        try:
            stored, value = pickle.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, pickle.UnpicklingError, ValueError, EOFError) as error:
            raise ConfigError(f"{path}: not readable as stored state ({error}); remove it to start anew") from error
        return value if stored == key else None

    def save(self, key: str, value: object) -> None:
        path = self._path(key)
        draft = path.with_suffix(".new")
        with open(draft, "wb") as file:
            pickle.dump((key, value), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        folder = os.open(self.directory, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name, too, must survive
        finally:
            os.close(folder)

    def _path(self, key: str) -> Path:
        return self.directory / f"{blake2b(key.encode(), digest_size=16).hexdigest()}.state"
