"""The files of a state directory: what was synced is read again, or the directory is refused with one clear line."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock
from zlib import crc32

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from congenial.kernel.errors import ConfigError
from congenial.net import storage as storage_module
from congenial.net.journal import FORMAT, HEAD, MARK_SIZE, Owner, pack_frame
from congenial.net.storage import LEAST_GARBAGE, LOG, MARK, DirectoryStorage

OWNER = Owner("a", "jukebox", ("a", "b", "c"), "token-gme+epochs", "srimani-reddy+epochs")
State = dict[str, object]


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of syncs take their time."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(f"os.{name}", lambda file: None)


def stored(folder: Path) -> State:
    storage = DirectoryStorage(folder, OWNER)
    try:
        return {key: storage.load(key) for key in storage.stored()}
    finally:
        storage.abandon()


def write_five(folder: Path) -> State:
    """Five syncs, two of the same key; what is stored then."""
    storage = DirectoryStorage(folder, OWNER)
    for number, key in enumerate(("x", "y", "x", "z", "w")):
        storage.save(key, ("value", number))
        storage.sync()
    storage.abandon()  # as if it were killed
    return {"x": ("value", 2), "y": ("value", 1), "z": ("value", 3), "w": ("value", 4)}


def put(path: Path, content: bytes) -> None:
    """Write a file again. (Some file systems sync a file that is overwritten.)"""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def refusal(folder: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        DirectoryStorage(folder, OWNER)
    text = str(caught.value)
    assert "\n" not in text
    assert str(folder) in text
    return text


# -- damage ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unsynced")
@pytest.mark.parametrize("name", [LOG, MARK])
@pytest.mark.parametrize("zeros", [0, 1, 4096])
def test_a_file_that_was_cut_at_any_length_is_refused(tmp_path: Path, name: str, zeros: int) -> None:
    write_five(tmp_path)
    file = tmp_path / name
    whole = file.read_bytes()
    for length in range(len(whole)):
        changed = whole[:length] + bytes(zeros)
        if changed == whole:
            continue
        put(file, changed)
        text = refusal(tmp_path)
        assert name in text
        assert "remove its files, and the node comes back as one that has lost its memory" in text
        assert file.read_bytes() == changed, "a directory that is refused is left as it is"
    put(file, whole)
    assert stored(tmp_path)["w"] == ("value", 4)


@pytest.mark.usefixtures("unsynced")
def test_the_end_of_a_log_may_be_overwritten_with_zeros_only_where_nothing_was_synced(tmp_path: Path) -> None:
    state = write_five(tmp_path)
    whole = (tmp_path / LOG).read_bytes()
    for length in range(len(whole)):
        if any(whole[length:]):
            put(tmp_path / LOG, whole[:length].ljust(len(whole), b"\0"))
            assert "cut off" in refusal(tmp_path) or length < HEAD.size + len(pack_header())
    for zeros in (1, 7, HEAD.size, 4096):  # a file system may make a file longer before it fills it
        put(tmp_path / LOG, whole + bytes(zeros))
        assert stored(tmp_path) == state
        assert (tmp_path / LOG).read_bytes() == whole


def pack_header() -> bytes:
    return msgspec.msgpack.encode({"format": FORMAT, "identity": bytes(16), "owner": OWNER})


@pytest.mark.deep
@pytest.mark.usefixtures("unsynced")
def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    state = write_five(tmp_path)
    for name in (LOG, MARK):
        whole = (tmp_path / name).read_bytes()
        for bit in range(8 * len(whole)):
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << bit % 8
            put(tmp_path / name, damaged)
            if name == LOG:
                assert "damaged" in refusal(tmp_path) or "cut off" in refusal(tmp_path)
            else:  # either place is enough
                before = (tmp_path / LOG).read_bytes()
                assert stored(tmp_path) == state
                assert (tmp_path / LOG).read_bytes() == before
        put(tmp_path / name, whole)


def test_a_file_that_is_missing_is_noticed(tmp_path: Path) -> None:
    write_five(tmp_path)
    log, mark = (tmp_path / LOG).read_bytes(), (tmp_path / MARK).read_bytes()
    (tmp_path / LOG).unlink()
    assert "state.log is missing" in refusal(tmp_path)
    put(tmp_path / LOG, log)
    (tmp_path / MARK).unlink()
    assert "state.mark is missing" in refusal(tmp_path)
    put(tmp_path / MARK, mark)
    assert stored(tmp_path)
    for name in (LOG, MARK):
        (tmp_path / name).unlink()
    assert stored(tmp_path) == {}, "an empty directory is a node that has lost its memory"


def test_one_file_of_an_older_copy_is_noticed(tmp_path: Path) -> None:
    write_five(tmp_path / "now")
    write_five(tmp_path / "other")
    old = (tmp_path / "now" / LOG).read_bytes()
    storage = DirectoryStorage(tmp_path / "now", OWNER)
    storage.save("x", 5)
    storage.close()
    put(tmp_path / "now" / LOG, old)
    assert "state.log is cut off: its last frames (1) are missing" in refusal(tmp_path / "now")
    shutil.copy(tmp_path / "other" / LOG, tmp_path / "now" / LOG)
    assert "state.mark is not the mark of this state.log" in refusal(tmp_path / "now")


def test_a_frame_that_cannot_be_read_before_another_one_is_damage_whatever_the_mark_says(tmp_path: Path) -> None:
    """After a power failure the mark may be behind."""
    storage = DirectoryStorage(tmp_path, OWNER)
    early = (tmp_path / MARK).read_bytes()
    storage.abandon()
    write_five(tmp_path)
    whole = (tmp_path / LOG).read_bytes()
    put(tmp_path / MARK, early)
    begins = [at for at in range(len(whole)) if whole[at : at + 4] == b"cgnl"]
    assert len(begins) == 6
    for begin in begins[:-1]:
        for place in (begin, begin + 5, begin + 13, begin + HEAD.size):
            put(tmp_path / LOG, whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            assert "state.log is damaged" in refusal(tmp_path)
    put(tmp_path / LOG, whole[: begins[2]] + whole[begins[3] :])
    assert "damaged" in refusal(tmp_path)
    put(tmp_path / LOG, whole)
    assert stored(tmp_path)["w"] == ("value", 4)


@pytest.mark.usefixtures("unsynced")
def test_many_zeros_are_read_in_no_time(tmp_path: Path) -> None:
    """Each frame is read once, and so is what follows the last one."""
    storage = DirectoryStorage(tmp_path, OWNER)
    for number in range(2000):
        storage.save(f"lock {number}", (number, "x" * 100))
        storage.sync()
    storage.abandon()
    with open(tmp_path / LOG, "ab") as log:
        log.write(bytes(8_000_000))
    looked_at = 0

    def counting(data: bytes, *start: int) -> int:
        nonlocal looked_at
        looked_at += len(data)
        return crc32(data, *start)

    with mock.patch("congenial.net.journal.crc32", counting):
        assert len(stored(tmp_path)) == 2000
    assert looked_at < 10 * 2000 * 200


# -- whose it is ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"node": "b"},
        {"cluster": "bakery"},
        {"members": ("a", "b", "c", "d")},
        {"algorithm": "maekawa"},
        {"semaphores": "raymond-k"},
    ],
)
def test_the_directory_of_another_node_or_cluster_is_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    write_five(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    with pytest.raises(ConfigError) as caught:
        DirectoryStorage(tmp_path / "copy", msgspec.structs.replace(OWNER, **other))
    text = str(caught.value)
    assert "\n" not in text
    for owner in (OWNER, msgspec.structs.replace(OWNER, **other)):
        assert f"node {owner.node!r} of cluster {owner.cluster!r} ({', '.join(owner.members)};" in text
    assert "name this node's own directory, or a new one" in text
    assert stored(tmp_path / "copy"), "and nothing has changed"


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    write_five(tmp_path)
    body = msgspec.msgpack.encode({"format": FORMAT + 1, "anything": "else"})
    put(tmp_path / LOG, pack_frame(1, body))
    assert f"is in format {FORMAT + 1}, and this version of the program reads format {FORMAT}" in refusal(tmp_path)


def test_a_pickled_file_is_refused_and_not_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    body = pickle.dumps(("lock x", Trap()))
    length = len(body).to_bytes(4, "big")
    record = length + crc32(length).to_bytes(4, "big") + crc32(body).to_bytes(4, "big") + body + b"\xff"
    put(tmp_path / LOG, record)
    assert "state.log is from an earlier version of the program" in refusal(tmp_path)
    put(tmp_path / LOG, pickle.dumps({"lock x": Trap()}))
    assert "state.log is damaged" in refusal(tmp_path)
    assert os.listdir(tmp_path) == [LOG], "and nothing has changed"


# -- places where no state can be kept -----------------------------------------------------------------------------


def test_a_path_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert "it is a file; name a directory" in refusal(tmp_path / "file")
    assert "cannot keep state in" in refusal(tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "odd" / LOG).mkdir(parents=True)
    assert LOG in refusal(tmp_path / "odd")


@pytest.mark.parametrize("denied", ["mkdir", "open"])
def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path, denied: str) -> None:
    """Whoever runs the tests may be allowed everything."""
    folder = tmp_path / "a"
    if denied == "open":
        folder.mkdir()
    with mock.patch(f"os.{denied}", side_effect=PermissionError(13, "Permission denied")):
        assert refusal(folder) == f"cannot keep state in {folder}: Permission denied"
    assert stored(folder) == {}, "it is not locked"


def test_a_directory_has_one_user(tmp_path: Path) -> None:
    storage = DirectoryStorage(tmp_path, OWNER)
    assert storage.load("x") is None
    assert "is in use by this process: every node needs a state directory of its own" in refusal(tmp_path)
    storage.close()
    storage.close()
    assert stored(tmp_path) == {}


def test_another_process_that_uses_the_directory_is_named(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from congenial.net.journal import Owner\n"
        "from congenial.net.storage import DirectoryStorage\n"
        f"storage = DirectoryStorage(sys.argv[1], Owner{msgspec.structs.astuple(OWNER)!r})\n"
        "storage.save('x', 1)\n"
        "storage.sync()\n"
        "print('there', flush=True)\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"there\n"
    assert f"is in use by process {process.pid}: " in refusal(tmp_path)
    process.kill()
    process.wait()
    assert stored(tmp_path) == {"x": 1}


@pytest.mark.parametrize("gone", ["directory", "log", "mark", "replaced"])
def test_a_directory_that_is_deleted_while_it_is_used_is_noticed(tmp_path: Path, gone: str) -> None:
    folder = tmp_path / "a"
    storage = DirectoryStorage(folder, OWNER)
    storage.save("x", 1)
    storage.sync()
    storage.check()
    if gone in ("log", "mark"):
        (folder / f"state.{gone}").unlink()
    else:
        folder.rename(tmp_path / "b")
        if gone == "replaced":
            shutil.copytree(tmp_path / "b", folder)
    with pytest.raises(OSError, match="was removed or replaced while the node was running"):
        storage.check()
    storage.save("x", 2)
    with pytest.raises(OSError, match="was removed or replaced while the node was running"):
        storage.sync()
    storage.close()  # which tries nothing any more
    if gone == "replaced":
        assert stored(folder) == {"x": 1}


def test_a_process_may_go_to_another_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage = DirectoryStorage("a", OWNER)
    monkeypatch.chdir("/")
    storage.save("x", 1)
    storage.close()
    assert stored(tmp_path / "a") == {"x": 1}


# -- what does not fit ---------------------------------------------------------------------------------------------


def test_after_a_failed_sync_nothing_is_written_any_more(tmp_path: Path) -> None:
    """What a file holds after a failed sync is not known: a second one that succeeds says nothing about the first."""
    storage = DirectoryStorage(tmp_path, OWNER)
    storage.save("x", 1)
    storage.sync()
    storage.save("x", 2)
    with (
        mock.patch("os.fdatasync", side_effect=OSError(5, "Input/output error")),
        pytest.raises(OSError, match="Input/output"),
    ):
        storage.sync()
    size = (tmp_path / LOG).stat().st_size
    storage.save("x", 3)
    with pytest.raises(OSError, match="failed before"):
        storage.sync()
    storage.close()
    assert (tmp_path / LOG).stat().st_size == size
    assert stored(tmp_path)["x"] in (1, 2)


def test_a_disk_that_is_full_in_the_middle_of_a_frame_loses_nothing(tmp_path: Path) -> None:
    storage = DirectoryStorage(tmp_path, OWNER)
    storage.save("x", 1)
    storage.sync()
    real = os.write
    written = 0

    def full(file: int, data: bytes) -> int:
        nonlocal written
        if written:
            raise OSError(28, "No space left on device")
        written = real(file, data[:9])
        return written

    storage.save("x", 2)
    with mock.patch("os.write", full), pytest.raises(OSError, match="No space left"):
        storage.sync()
    storage.abandon()
    assert stored(tmp_path) == {"x": 1}


@pytest.mark.usefixtures("unsynced")
def test_the_log_does_not_grow_for_ever(tmp_path: Path) -> None:
    storage = DirectoryStorage(tmp_path, OWNER)
    storage.save("old", "stays")
    for number in range(400):
        storage.save("x", (number, "y" * 10_000))
        storage.sync()
    assert (tmp_path / LOG).stat().st_size < 3 * LEAST_GARBAGE
    assert sorted(os.listdir(tmp_path)) == [LOG, MARK]
    storage.close()
    assert stored(tmp_path) == {"old": "stays", "x": (399, "y" * 10_000)}


@pytest.mark.usefixtures("unsynced")
def test_a_log_of_which_much_is_needed_is_seldom_replaced(tmp_path: Path) -> None:
    """What is written for that is no more than what was saved."""
    storage = DirectoryStorage(tmp_path, OWNER)
    for number in range(1000):
        storage.save(f"{number}", "y" * 500)
    storage.sync()
    live = storage.live
    with mock.patch.object(storage_module, "new_log", wraps=storage_module.new_log) as replaced:
        for number in range(3000):
            storage.save(f"{number % 1000}", "z" * 500)
            storage.sync()
    assert live > 5 * LEAST_GARBAGE
    assert 1 <= replaced.call_count <= 3
    storage.close()


def test_a_log_that_cannot_be_replaced_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "LEAST_GARBAGE", 100)
    storage = DirectoryStorage(tmp_path, OWNER)
    with mock.patch("os.replace", side_effect=OSError(28, "No space left on device")):
        for number in range(20):
            storage.save("x", (number, "y" * 100))
            storage.sync()
    assert sorted(os.listdir(tmp_path)) == [LOG, MARK]
    for number in range(20, 60):
        storage.save("x", (number, "y" * 100))
        storage.sync()
    assert (tmp_path / LOG).stat().st_size < 4000
    storage.close()
    assert stored(tmp_path) == {"x": (59, "y" * 100)}


# -- crashes -------------------------------------------------------------------------------------------------------


class Disk:
    """Takes pictures of a directory: what a crash may leave of it, before and amid every call that changes it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.synced: State = {}  # when `sync` last returned
        self.asked: State = {}  # what is being synced
        self.old_mark = b""  # as it was last synced
        self.pictures: list[tuple[dict[str, bytes], State, State]] = []

    def take(self, more: bytes = b"", at: Path | None = None) -> None:
        files = {path.name: path.read_bytes() for path in self.folder.iterdir()}
        if at is not None:
            files[at.name] += more
        self._add(files)
        if self.old_mark and MARK in files:
            self._add({**files, MARK: self.old_mark})

    def _add(self, files: dict[str, bytes]) -> None:
        picture = (files, dict(self.synced), dict(self.asked))
        if picture not in self.pictures[-30:]:
            self.pictures.append(picture)

    @contextmanager
    def watched(self) -> Iterator[None]:
        real = {name: getattr(os, name) for name in ("write", "pwrite", "replace", "ftruncate")}

        def write(file: int, data: bytes) -> int:
            path = Path(os.readlink(f"/proc/self/fd/{file}"))
            for part in sorted({0, 1, HEAD.size, len(data) // 2, len(data) - 1}):
                self.take(data[:part], path)
                self.take(data[:part].ljust(len(data), b"\0"), path)
            return int(real["write"](file, data))

        def before(name: str) -> Callable[..., Any]:
            def call(*args: Any) -> Any:
                self.take()
                return real[name](*args)

            return call

        def fsync(file: int) -> None:
            self.take()
            if os.readlink(f"/proc/self/fd/{file}").endswith(MARK):
                self.old_mark = (self.folder / MARK).read_bytes()

        with (
            mock.patch("os.write", write),
            mock.patch("os.pwrite", before("pwrite")),
            mock.patch("os.replace", before("replace")),
            mock.patch("os.ftruncate", before("ftruncate")),
            mock.patch("os.fsync", fsync),
            mock.patch("os.fdatasync", fsync),
            mock.patch.object(storage_module, "LEAST_GARBAGE", 60),
        ):
            yield


VALUES = st.one_of(st.integers(), st.text(max_size=40), st.tuples(st.integers(0, 9), st.none()))
STEPS = st.one_of(
    st.tuples(st.just("save"), st.sampled_from("xyz"), VALUES),
    st.tuples(st.just("sync"), st.none(), st.none()),
    st.tuples(st.just("restart"), st.none(), st.none()),
)


@pytest.mark.deep
@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, max_size=14))
def test_whenever_the_machine_stops_the_last_state_that_was_synced_is_there_or_the_next(steps: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as place:
        disk = Disk(Path(place) / "a")
        disk.folder.mkdir()
        with disk.watched():
            storage = DirectoryStorage(disk.folder, OWNER)
            for what, key, value in steps:
                if what == "save":
                    storage.save(key, value)
                    disk.asked[key] = value
                elif what == "sync":
                    storage.sync()
                    disk.synced = dict(disk.asked)
                else:
                    storage.abandon()
                    disk.asked = dict(disk.synced)
                    storage = DirectoryStorage(disk.folder, OWNER)
            storage.abandon()
            disk.take()
        folder = Path(place) / "b"
        with mock.patch("os.fsync"):
            for files, synced, asked in disk.pictures:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                for name, content in files.items():
                    put(folder / name, content)
                found = stored(folder)
                assert found in (synced, asked)
                assert stored(folder) == found, "and again"


@pytest.mark.deep
@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("xyz"), VALUES), max_size=20), st.sampled_from([LOG, MARK]), st.data())
def test_whatever_is_done_to_one_file_no_older_state_is_read(saves: list[Any], name: str, data: st.DataObject) -> None:
    with (
        tempfile.TemporaryDirectory() as place,
        mock.patch.object(storage_module, "LEAST_GARBAGE", 60),
        mock.patch("os.fsync"),
        mock.patch("os.fdatasync"),
    ):
        folder = Path(place)
        storage = DirectoryStorage(folder, OWNER)
        state: State = {}
        versions = []
        for key, value in saves:
            storage.save(key, value)
            storage.sync()
            state[key] = value
            versions.append((folder / name).read_bytes())
        storage.abandon()
        whole = (folder / name).read_bytes()
        changed = data.draw(
            st.one_of(
                st.integers(0, len(whole)).map(lambda length: whole[:length]),
                st.integers(0, len(whole)).map(lambda length: whole[:length].ljust(len(whole), b"\0")),
                st.integers(0, len(whole)).map(lambda length: whole[:length] + bytes(MARK_SIZE)),
                st.tuples(st.integers(0, len(whole) - 1), st.binary(min_size=1, max_size=8)).map(
                    lambda change: whole[: change[0]] + change[1] + whole[change[0] + len(change[1]) :]
                ),
                st.sampled_from([*versions, whole]),
            )
        )
        put(folder / name, changed)
        try:
            assert stored(folder) == state
        except ConfigError:
            assert changed != whole
