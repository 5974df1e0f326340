"""The garbage collector's thresholds are raised for runs, and restored by the last of them."""

from __future__ import annotations

import gc

import pytest

from congenial.kernel.garbage import THRESHOLDS, fewer_collections

USUAL = (701, 11, 9)


def test_thresholds_are_restored_after_an_error() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(*USUAL)
        with pytest.raises(ZeroDivisionError), fewer_collections():
            assert gc.get_threshold() == THRESHOLDS
            raise ZeroDivisionError
        assert gc.get_threshold() == USUAL
    finally:
        gc.set_threshold(*before)


def test_runs_that_overlap_leave_nothing_behind() -> None:
    """As those of two threads: the first to begin is the first to end."""
    before = gc.get_threshold()
    try:
        gc.set_threshold(*USUAL)
        first, second = fewer_collections(), fewer_collections()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert gc.get_threshold() == THRESHOLDS
        second.__exit__(None, None, None)
        assert gc.get_threshold() == USUAL
    finally:
        gc.set_threshold(*before)
