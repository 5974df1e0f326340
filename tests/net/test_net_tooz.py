"""tooz's own tests of coordinators, run against our driver: locks, groups and elections."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cpython
import pytest
from netlab import PATIENT

import congenial
from congenial.net import tooz_driver
from congenial.net.config import free_addresses
from congenial.net.service import serve

DRIVER = "congenial.net.tooz_driver:CongenialDriver"
OTHER_LIBRARIES = ("etcd3gw", "pymemcache", "sysv_ipc", "redis")  # of other drivers
CANNOT = {
    "test_get_lock_release_broken": "nobody can break a lock that another holds",
    "test_heartbeat": "a coordinator needs no heartbeats",
    "test_heartbeat_loop": "a coordinator needs no heartbeats",
    "test_timeout": "a coordinator that is connected is not given up after a time",
    "test_watch_join_group_disappear": "it is for three other drivers",
}


NO_USE = "KEY_MIN, KEY_MAX = 1, 2\ndef __getattr__(name):\n    return type(name, (Exception,), {})\n"
FOLDER = tempfile.TemporaryDirectory()  # first on the path, also in processes that a test starts


def suite() -> type[unittest.TestCase]:
    """tooz's tests. They import all drivers: in the place of libraries that are not here, there is one without use."""
    sys.path.insert(0, FOLDER.name)
    for name in OTHER_LIBRARIES:
        if importlib.util.find_spec(name) is None:
            package = Path(FOLDER.name, name)
            package.mkdir()
            for part in ("__init__", "client", "exceptions", "lease"):
                (package / f"{part}.py").write_text(NO_USE)
    known = importlib.metadata.entry_points(group="tooz.backends")
    if not [point for point in known if point.value == DRIVER]:  # these sources are not installed
        info = Path(FOLDER.name, "congenial_tooz-1.dist-info")
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: congenial-tooz\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[tooz.backends]\ncongenial = {DRIVER}\n")
    importlib.invalidate_caches()
    case: type[unittest.TestCase] = importlib.import_module("tooz.tests.test_coordination").TestAPI
    return case


CASES = [suite()]  # as a list: pytest would run a class by itself


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    """The URL of the first node of three."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", FOLDER.name, prepend=":")
        clients: list[congenial.BlockingClient] = []  # some tests stop only one of their coordinators

        def connect(*where: Any, **options: Any) -> congenial.BlockingClient:
            clients.append(congenial.connect_blocking(*where, **options))
            return clients[-1]

        patch.setattr(tooz_driver, "connect_blocking", connect)
        peers = dict(zip("abc", free_addresses(3), strict=True))
        members = [congenial.join_blocking(name, peers, timing=PATIENT).start() for name in peers]
        try:
            members[0].ready(30)
            members[0]._run(serve(members[0]._cluster, Path(folder, "a.sock")))
            yield f"congenial://{folder}/a.sock"
        finally:
            for client in clients:
                client.close()
            for member in members:
                member.close()


TESTS = [
    pytest.param(name, marks=pytest.mark.deep) if name.endswith("process") else name
    for name in cpython.tests_of(CASES[0])
]


@pytest.mark.parametrize("name", TESTS)
def test_of_tooz(name: str, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOZ_TEST_URL", node)
    outcome = unittest.TestResult()
    CASES[0](name).run(outcome)
    problems = [text for _, text in outcome.failures + outcome.errors + outcome.skipped]
    if name in CANNOT:
        assert problems, f"it passes now: take it from the list, where it says: {CANNOT[name]}"
    else:
        assert not problems, "\n".join(problems)


def test_the_list_names_tests_that_exist() -> None:
    assert set(CANNOT) <= set(cpython.tests_of(CASES[0]))


def test_a_coordinator_that_crashes_is_no_member_any_more(node: str) -> None:
    from tooz import coordination

    one, two = [coordination.get_coordinator(node, name) for name in (b"one", b"two")]
    one.start()
    two.start()
    one.create_group(b"crash").get()
    one.join_group(b"crash").get()
    two.join_group(b"crash").get()
    two.watch_elected_as_leader(b"crash", lambda event: None)
    two.run_watchers()
    assert one.get_members(b"crash").get() == {b"one", b"two"}
    assert one.get_leader(b"crash").get() == b"two"
    two._client._call(lambda: two._client._client._writer.transport.abort())  # as if it had been killed,
    two._client._client._reconnect = False  # and did not come back
    for _ in range(300):
        if one.get_members(b"crash").get() == {b"one"}:
            break
    assert one.get_members(b"crash").get() == {b"one"}
    assert one.get_leader(b"crash").get() is None
    one.stop()
