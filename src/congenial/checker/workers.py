"""Work divided among several processes, with the same results as in one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Stopped(Exception):
    """The work is no longer wanted."""


def results(tasks: list[T], work: Callable[[T], R], jobs: int, in_order: bool = True) -> Generator[tuple[int, R]]:
    """The number and the result of each task, worked on by `jobs` processes, or by this one if there is one job.

    Results must be picklable; tasks do not have to be, since workers are forked. When the iterator is closed, tasks
    that have not begun are left out, and those that have end as soon as they call `stop_if_told`.
    """
    if jobs == 1:
        for number, task in enumerate(tasks):
            yield number, work(task)
        return
    context = get_context("fork")
    stop = context.Event()
    with ProcessPoolExecutor(min(jobs, len(tasks)), context, _inherit, (tasks, work, stop)) as pool:
        futures: list[Future[tuple[int, R]]] = [pool.submit(_work, number) for number in range(len(tasks))]
        try:
            for future in futures if in_order else as_completed(futures):
                yield future.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def results_from(
    executor: Executor, tasks: list[T], work: Callable[[T], R], in_order: bool = True
) -> Generator[tuple[int, R]]:
    """The number and the result of each task, worked on by an executor, such as that of a Dask cluster. Tasks and
    results must be picklable. When the iterator is closed, tasks that have not begun are left out."""
    futures = [executor.submit(work, task) for task in tasks]
    numbers = {future: number for number, future in enumerate(futures)}
    try:
        for future in futures if in_order else as_completed(futures):
            yield numbers[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def stop_if_told() -> None:
    """Called now and then by work that takes long."""
    if _inherited is not None and _inherited[2].is_set():
        raise Stopped


_inherited: tuple[list[Any], Callable[[Any], Any], Event] | None = None  # in a worker: what it was forked with


def _inherit(tasks: list[Any], work: Callable[[Any], Any], stop: Event) -> None:
    global _inherited
    _inherited = (tasks, work, stop)


def _work(number: int) -> tuple[int, Any]:
    assert _inherited is not None
    tasks, work, _ = _inherited
    return number, work(tasks[number])
