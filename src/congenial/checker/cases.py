"""Checking on several cores, by distinguishing cases.

What processes ask for does not depend on anything, so it may as well be settled in advance: every run belongs to the
case in which its requests, one by one, are those it makes. A run with one fault belongs to the case in which that
process is struck. The cases together are all runs, and none needs to know of another. Where there is nothing to
distinguish, the whole exploration and the reduced one are run against each other, and the first to end has the word.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from time import time

from congenial.checker.check import CheckResult, Inquiry, Progress
from congenial.checker.world import Bounds
from congenial.systems.system import System

MOST_CASES = 4096

Case = tuple[Bounds, bool | None, bool]
"""The bounds of a case, whether to reduce, and whether to look at the side cases, too, which are the same for all."""


def check_cases(
    system: System,
    bounds: Bounds,
    reduce: bool | None,
    symmetry: bool,
    limit: int,
    jobs: int,
    progress: Progress | None,
) -> CheckResult:
    """What `check` finds, with the cases dealt out to `jobs` processes."""
    start = time()
    cases: list[Case] = [(case, reduce, number == 0) for number, case in enumerate(split(bounds, system.n))]
    race = len(cases) == 1 and reduce is None and not symmetry
    if race:
        cases = [(bounds, False, True), (bounds, True, True)]
    global _INHERITED
    _INHERITED = (system, cases, symmetry, limit)  # a forked process has it without being sent it
    results: list[CheckResult] = []
    with get_context("fork").Pool(min(jobs, len(cases))) as pool:  # what still runs when we leave is ended
        found = pool.imap_unordered(_check, range(len(cases))) if race else pool.imap(_check, range(len(cases)))
        for number, result in found:
            if not result.ok:  # once more, here: a counterexample with its events is not sent between processes
                case, how, _ = cases[number]
                return Inquiry(system, case, how, symmetry, limit, progress).result()
            results.append(result)
            if progress is not None:
                progress(sum([result.states for result in results]), len(cases) - len(results))
            if race and result.complete:
                return merged([result], time() - start)
    return merged(results[:1] if race else results, time() - start)


def split(bounds: Bounds, n: int) -> list[Bounds]:
    """The cases: what is asked for, request by request, and whom the one fault strikes."""
    menus = bounds.menus or [[(0,)]] * n
    sequences = [list(product(menu, repeat=bounds.requests)) for menu in menus]
    count = 1
    for choices in sequences:
        count *= len(choices)
    cases = [bounds]
    if 1 < count <= MOST_CASES:
        cases = []
        for combination in product(*sequences):
            cases.append(bounds.copy())
            cases[-1].menus = [list(wants) for wants in combination]
            cases[-1].in_turn = True
    if bounds.crashes + bounds.losses + bounds.duplicates + bounds.suspicions != 1:
        return cases
    struck: list[Bounds] = []
    for case in cases:
        for process in range(n):
            struck.append(case.copy())
            struck[-1].victim = process
    return struck


def merged(results: list[CheckResult], seconds: float) -> CheckResult:
    """One result of all cases: what was counted added up, the extremes of the costs."""
    states = sum([result.states for result in results])
    least = [result.least_messages for result in results if result.least_messages is not None]
    most = [result.most_messages for result in results if result.most_messages is not None]
    return replace(
        results[0],
        states=states,
        transitions=sum([result.transitions for result in results]),
        depth=max([result.depth for result in results]),
        complete=all([result.complete for result in results]),
        reduced=any([result.reduced for result in results]),
        seconds=seconds,
        states_per_second=states / seconds if seconds > 0 else 0.0,
        least_messages=min(least) if len(least) == len(results) else None,
        most_messages=max(most) if len(most) == len(results) else None,
    )


_INHERITED: tuple[System, list[Case], bool, int] | None = None


def _check(number: int) -> tuple[int, CheckResult]:
    assert _INHERITED is not None
    system, cases, symmetry, limit = _INHERITED
    bounds, reduce, with_side_cases = cases[number]
    return number, Inquiry(system, bounds, reduce, symmetry, limit, None).result(with_side_cases).without_events()
