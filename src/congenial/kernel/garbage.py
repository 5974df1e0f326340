"""Fewer searches for garbage, while a simulation or an exploration runs.

Both make millions of objects. A simulation's objects are freed with the last reference to them, and an exploration
keeps nearly all of its objects. So searching them for cycles finds nothing, and would take a tenth of the time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

THRESHOLDS: Final = (100_000, 1_000_000, 1_000_000)  # new objects that are looked through; survivors hardly ever are

_usual: list[tuple[int, int, int]] = [gc.get_threshold()]  # the last thresholds that were not ours
_running: list[None] = []  # one item for each run that goes on, in any thread


@contextmanager
def fewer_collections() -> Iterator[None]:
    """For as long as this lasts. The last of several runs in threads restores the usual thresholds."""
    thresholds = gc.get_threshold()
    if thresholds != THRESHOLDS:
        _usual[0] = thresholds
    _running.append(None)
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        _running.pop()
        if not _running:
            gc.set_threshold(*_usual[0])
