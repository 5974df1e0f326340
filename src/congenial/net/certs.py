"""The certificates of a test cluster, in a folder: existing files are kept, missing ones are created.

The folder has the authority's certificate `ca.pem` and key `ca.key`, and `NAME.pem` and `NAME.key` for every node. All
checks come before the first change. Files are written beside their places and then put there, so that each is either
old or new, whole in any case.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from congenial.kernel.errors import ConfigError
from congenial.net import authority as x509
from congenial.net.addresses import check_name
from congenial.net.checked import wrong

CA = "ca"


@dataclass
class Outcome:
    """What has happened to the files, and what the user should know about them."""

    made: list[Path] = field(default_factory=list)
    replaced: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def make_certificates(
    names: Iterable[str], folder: str | Path, *, force: bool = False, new_authority: bool = False
) -> Outcome:
    """Make an authority, and a certificate and a key for every node, all in PEM, as far as they are not there yet.

    With `force` the nodes' certificates and keys are replaced. With `new_authority`, too, the authority is; then all
    nodes that have a certificate in the folder must be named.
    """
    nodes = _checked_names(names)
    if not isinstance(folder, (str, os.PathLike)):
        raise wrong("folder", folder, "the path of a directory")
    with _locked(Path(folder)) as path:
        return _Folder(path, force, new_authority).complete(nodes)


def made_again(name: str) -> str:
    """What to do about files of a node that cannot stay; `congenial certs` names its option instead."""
    return f"force=True for {name!r} makes both again"


def _checked_names(names: Iterable[str]) -> list[str]:
    if not isinstance(names, Iterable):
        raise ConfigError(f"names must be the names of nodes, not {names!r}")
    nodes = list(dict.fromkeys(names))
    if not nodes:
        raise ConfigError("there are no nodes to make certificates for")
    for name in nodes:
        check_name(name)
        if not name.isascii():
            raise ConfigError(f"node {name!r} cannot have a certificate: use ASCII letters, digits, '-' or '.'")
        if name.lower() == CA:
            raise ConfigError(f"{name!r} is the name of the authority's files: call the node something else")
    return nodes


@contextmanager
def _locked(folder: Path) -> Iterator[Path]:
    """The folder, for one process at a time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot keep certificates in {folder}: {getattr(error, 'strerror', '') or error}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
        os.fsync(lock)
    except OSError as error:
        raise ConfigError(f"cannot keep certificates in {folder}: {error.strerror or error}") from error
    finally:
        os.close(lock)


class _Folder:
    def __init__(self, path: Path, force: bool, new_authority: bool) -> None:
        self.path = path
        self.force = force
        self.new_authority = new_authority
        self.files: dict[Path, bytes] = {}  # to be written
        self.outcome = Outcome()
        self.authority: x509.Certificate
        self.authority_key: x509.Key | None = None

    def complete(self, nodes: list[str]) -> Outcome:
        if self.new_authority:
            self._replace_authority(nodes)
        else:
            self._find_authority(nodes)
        for name in nodes:
            if self.force or self.new_authority:
                self._issue(name, x509.new_key())
            else:
                self._complete_node(name)
        self._write()
        return self.outcome

    # -- the authority ---------------------------------------------------------------------------------

    def _replace_authority(self, nodes: list[str]) -> None:
        there = self._certified()
        if not self.force and (there or self._has(CA, "pem") or self._has(CA, "key")):
            raise ConfigError(f"{self.path} has an authority already; force=True replaces it")
        left = [name for name in there if name not in nodes]
        if left:
            raise ConfigError(
                f"{self.path} has certificates of {', '.join(left)}, which are invalid under a new authority: "
                "name these nodes, too, or remove their files"
            )
        self._found_authority(x509.new_key())

    def _find_authority(self, nodes: list[str]) -> None:
        place = self._place(CA, "pem")
        key = self._read_key(CA)
        certificate = self._read_certificate(CA)
        if certificate is None:
            there = self._certified()
            if key is None and there:
                raise ConfigError(
                    f"there is no authority in {self.path} (ca.pem, ca.key), but there are certificates of "
                    f"{', '.join(there)}: put it back, or use another folder"
                )
            self._found_authority(x509.new_key() if key is None else key, key is not None)
            return
        if not x509.is_authority(certificate):
            raise ConfigError(f"{place} is not the certificate of an authority: put the right one there")
        if key is not None and not x509.belongs(key, certificate):
            raise ConfigError(f"{self._place(CA, 'key')} is not the key of {place}: put the right one there")
        self.authority, self.authority_key = certificate, key
        self._leave_as_it_is(CA, certificate, "a new authority means new certificates for all nodes")

    def _found_authority(self, key: x509.Key, known: bool = False) -> None:
        if known:
            self.outcome.kept.append(self._place(CA, "key"))
        else:
            self.files[self._place(CA, "key")] = x509.key_bytes(key)
        self.authority, self.authority_key = x509.certify_authority(key), key
        self.files[self._place(CA, "pem")] = x509.certificate_bytes(self.authority)

    # -- nodes -----------------------------------------------------------------------------------------

    def _complete_node(self, name: str) -> None:
        place, key_place = self._place(name, "pem"), self._place(name, "key")
        certificate, key = self._read_certificate(name), self._read_key(name)
        if certificate is None:
            self._issue(name, x509.new_key() if key is None else key, key is not None)
            return
        remedy = made_again(name)
        if key is None:
            raise ConfigError(f"{place} is there without its key {key_place}: put the key there; or {remedy}")
        if not x509.belongs(key, certificate):
            raise ConfigError(f"{key_place} is not the key of {place}: {remedy}")
        named = x509.names_in(certificate)
        if name not in named:
            raise ConfigError(f"{place} is for {', '.join(named) or 'no node'}, not for {name}: {remedy}")
        if not x509.is_issued_by(certificate, self.authority):
            raise ConfigError(f"{place} was not issued by {self._place(CA, 'pem')}: {remedy}")
        self._leave_as_it_is(name, certificate, remedy)

    def _issue(self, name: str, key: x509.Key, known: bool = False) -> None:
        place = self._place(CA, "pem")
        if self.authority_key is None:
            raise ConfigError(
                f"{place} is there without its key {self._place(CA, 'key')}, and {name} needs a certificate: "
                "put the key there for a moment, or use another folder"
            )
        if x509.has_ended(self.authority):
            raise ConfigError(f"{place} {x509.end_of(self.authority)}: use another folder, with a new authority")
        if known:
            self.outcome.kept.append(self._place(name, "key"))
        else:
            self.files[self._place(name, "key")] = x509.key_bytes(key)
        certificate = x509.certify_node(name, key, self.authority, self.authority_key)
        self.files[self._place(name, "pem")] = x509.certificate_bytes(certificate)

    # -- files -----------------------------------------------------------------------------------------

    def _place(self, name: str, kind: str) -> Path:
        return self.path / f"{name}.{kind}"

    def _has(self, name: str, kind: str) -> bool:
        return os.path.lexists(self._place(name, kind))

    def _certified(self) -> list[str]:
        """The nodes that have a certificate here."""
        return sorted([path.stem for path in self.path.glob("*.pem") if path.stem != CA])

    def _read_certificate(self, name: str) -> x509.Certificate | None:
        place = self._place(name, "pem")
        return x509.read_certificate(self._read(place), place) if self._has(name, "pem") else None

    def _read_key(self, name: str) -> x509.Key | None:
        place = self._place(name, "key")
        return x509.read_key(self._read(place), place) if self._has(name, "key") else None

    def _read(self, place: Path) -> bytes:
        try:
            return place.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read {place}: {error.strerror}") from error

    def _leave_as_it_is(self, name: str, certificate: x509.Certificate, remedy: str) -> None:
        place, key_place = self._place(name, "pem"), self._place(name, "key")
        self.outcome.kept.append(place)
        end = x509.end_of(certificate)
        if end:
            self.outcome.notes.append(f"{place} {end}: {remedy}")
        if self._has(name, "key"):
            self.outcome.kept.append(key_place)
            if key_place.stat().st_mode & 0o077:
                self.outcome.notes.append(f"{key_place} can be read by other users: chmod 600 {key_place}")

    def _write(self) -> None:
        drafts: dict[Path, str] = {}
        try:
            for place, content in self.files.items():
                file, drafts[place] = tempfile.mkstemp(dir=self.path, prefix=f".{place.name}.")  # O_EXCL, 0600
                try:
                    while content:
                        content = content[os.write(file, content) :]
                    if place.suffix == ".pem":
                        os.fchmod(file, 0o644)
                    os.fsync(file)
                finally:
                    os.close(file)
            for place in self.files:
                told = self.outcome.replaced if os.path.lexists(place) else self.outcome.made
                os.replace(drafts.pop(place), place)
                told.append(place)
        finally:
            for draft in drafts.values():
                os.unlink(draft)
