"""CPython's tests of `threading`'s locks, run against the blocking form: a cluster of one member, and of three.

The tests are those of the interpreter that runs them (`cpython.py`). `CANNOT` lists the single tests that cannot apply,
and why. A test of that list that begins to pass fails here, so that the list stays true.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import cpython
import pytest
from netlab import PATIENT

import congenial
from congenial.net.config import free_addresses

lock_tests = cpython.suite("test.lock_tests")
numbers = itertools.count()

FORK = "a lock of a cluster cannot be reset in a forked child: the child is no member"
GROWS = "a semaphore of a cluster has the k that all members give; it does not grow"
OTHER_REPR = "it says its name and its holder instead"
CANNOT = {
    "Lock": {
        "test_at_fork_reinit": FORK,
        "test_reacquire": "a thread that waits for itself gets WouldDeadlock; there it waits for another to release",
    },
    "RLock": {},
    "Semaphore": {"test_release_unacquired": GROWS, "test_repr": OTHER_REPR},
    "BoundedSemaphore": {"test_repr": OTHER_REPR},
    "Event": {"test_at_fork_reinit": FORK, "test_repr": OTHER_REPR},
    "Condition": {"test_acquire": "the lock of a condition of the cluster is a lock of the cluster"},
    "Barrier": {"test_repr": OTHER_REPR},
}


class Types:
    """What the suites make: locks of new names, in a cluster."""

    def __init__(self, cluster: congenial.BlockingCluster) -> None:
        self.cluster = cluster

    def _name(self) -> str:
        return f"lock {next(numbers)}"

    def lock(self, reentrant: bool = False) -> congenial.BlockingLock:
        return self.cluster.mutex(self._name(), reentrant=reentrant)

    def rlock(self) -> congenial.BlockingLock:
        return self.lock(reentrant=True)

    def semaphore(self, value: int = 1) -> Any:
        return Places(self.cluster, self._name(), value)

    def event(self) -> congenial.BlockingEvent:
        return self.cluster.event(self._name())

    def condition(self, lock: congenial.BlockingLock | None = None) -> congenial.BlockingCondition:
        return self.cluster.condition(self._name(), lock)

    def barrier(
        self, parties: int, action: Callable[[], object] | None = None, timeout: float | None = None
    ) -> congenial.BlockingBarrier:
        return self.cluster.barrier(self._name(), parties, action, timeout)


class Places:
    """A semaphore that says True where ours says what is held, since one test compares.

    That test gives free places 5 ms. Threads of one process need no more; members on a busy machine may.
    """

    least_wait = 0.5

    def __init__(self, cluster: congenial.BlockingCluster, name: str, k: int) -> None:
        self.lock = cluster.semaphore(name, k)
        self.release = self.lock.release

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        patient = timeout if timeout is None else max(timeout, self.least_wait)
        return self.lock.acquire(blocking, patient) is not None

    def __enter__(self) -> None:
        self.lock.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.lock.__exit__(*error)


SUITES = {
    "Lock": (lock_tests.LockTests, {"locktype": "lock"}),
    "RLock": (lock_tests.RLockTests, {"locktype": "rlock"}),
    "Semaphore": (lock_tests.SemaphoreTests, {"semtype": "semaphore"}),
    "BoundedSemaphore": (lock_tests.BoundedSemaphoreTests, {"semtype": "semaphore"}),
    "Event": (lock_tests.EventTests, {"eventtype": "event"}),
    "Condition": (lock_tests.ConditionTests, {"condtype": "condition"}),
    "Barrier": (lock_tests.BarrierTests, {"barriertype": "barrier"}),
}
TESTS = [(suite, name) for suite, (case, _) in SUITES.items() for name in cpython.tests_of(case)]


@pytest.fixture(scope="module", params=[1, 3], ids=["one member", "three members"])
def cluster(request: pytest.FixtureRequest) -> Iterator[congenial.BlockingCluster]:
    """The first member of a cluster of so many."""
    gc.collect()
    gc.freeze()  # what tests before have left; these here look for garbage hundreds of times
    names = "abc"[: request.param]
    peers = dict(zip(names, free_addresses(len(names)), strict=True))
    members = [congenial.join_blocking(name, peers, timing=PATIENT).start() for name in names]
    try:
        members[0].ready(30)
        yield members[0]
    finally:
        for member in members:
            member.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # threads of tests that must fail
@pytest.mark.parametrize(("suite", "name"), TESTS)
def test_of_cpython(suite: str, name: str, cluster: congenial.BlockingCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in CANNOT[suite]:
        monkeypatch.setattr(lock_tests.support, "SHORT_TIMEOUT", 1.0)
    case, made = SUITES[suite]
    types = Types(cluster)
    tried = type(f"Our{suite}", (case,), {kind: staticmethod(getattr(types, make)) for kind, make in made.items()})
    cpython.judge(tried, name, CANNOT[suite].get(name))


def test_the_list_names_tests_that_exist() -> None:
    assert {(suite, name) for suite, names in CANNOT.items() for name in names} <= set(TESTS)
