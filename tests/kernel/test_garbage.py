"""The garbage collector's thresholds are raised for runs, and restored by the last of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from congenial.kernel.garbage import THRESHOLDS, fewer_collections

USUAL = (701, 11, 9)


@pytest.fixture(autouse=True)
def usual_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def fail() -> None:
    assert gc.get_threshold() == THRESHOLDS
    raise ZeroDivisionError


def test_thresholds_are_restored_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), fewer_collections():
        fail()
    assert gc.get_threshold() == USUAL


def test_runs_that_overlap_leave_nothing_behind() -> None:
    """As those of two threads: the first to begin is the first to end."""
    first, second = fewer_collections(), fewer_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold() == THRESHOLDS
    second.__exit__(None, None, None)
    assert gc.get_threshold() == USUAL
