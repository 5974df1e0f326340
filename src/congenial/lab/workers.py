"""Where replications run: in this process, in several local processes, or on a Dask cluster.

All three are executors of `concurrent.futures`, so the runner has one way to submit work and to collect results.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import MOST_JOBS, text, whole
from congenial.lab.extras import require


@dataclass(frozen=True)
class Workers:
    """An executor, and how many tasks it runs at a time (on a cluster the number may change)."""

    executor: Executor
    count: Callable[[], int]


@contextmanager
def workers(jobs: int = 1, cluster: str = "") -> Iterator[Workers]:
    """`jobs` processes on this machine (0: one for each processor), or the workers of the Dask scheduler `cluster`."""
    check_jobs(jobs, cluster)
    jobs = jobs or processors()
    if cluster:
        with _dask(cluster) as made:
            yield made
    elif jobs == 1:
        yield Workers(InlineExecutor(), lambda: 1)
    else:
        with _processes(jobs) as made:
            yield made


def check_jobs(jobs: int, cluster: str = "") -> None:
    whole(jobs, "jobs", 0, MOST_JOBS)
    text(cluster, "cluster")


class InlineExecutor(Executor):
    """Runs every task in this process, at the moment it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def _processes(jobs: int) -> Iterator[Workers]:
    # spawn, not fork: a fork of a process with threads (a data-frame library has some) may hang
    context = get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    with ProcessPoolExecutor(jobs, context, _start_worker, (theirs,)) as pool:
        try:
            yield Workers(pool, lambda: jobs)
        except BaseException:
            ours.close()  # the workers notice and exit, in the middle of a task as well
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start_worker(parent: Connection) -> None:
    """In a worker: exit on Ctrl-C, and when the parent closes its end of the pipe, including when the parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: Connection) -> None:
    parent.poll(None)
    os._exit(1)


def processors() -> int:
    """The number of processors that this process may use, where the system tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _dask(address: str) -> Iterator[Workers]:
    require("cluster")
    from distributed import Client

    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"no Dask scheduler answers at {address}: {error or type(error).__name__}") from error
    with client:
        yield Workers(client.get_executor(pure=False), lambda: max(1, sum(client.nthreads().values())))
