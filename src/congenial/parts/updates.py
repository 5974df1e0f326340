"""Updates: what is known of other processes, told to each reader once.

For every process a growing number is known, such as the last of its requests that is over. Each reader is told only
what it has not been told before. Over FIFO channels it then always knows what it would know from complete lists.
"""

from __future__ import annotations

from typing import TypeAlias

from mypy_extensions import mypyc_attr

Items: TypeAlias = tuple[tuple[int, int], ...]
"""Processes and their numbers, as they travel."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Updates:
    def __init__(self) -> None:
        self.known: dict[int, int] = {}  # by process
        self.untold: dict[int, set[int]] = {}  # by reader: the processes whose numbers have grown since it was told

    def learn(self, process: int, number: int) -> None:
        if number > self.known.get(process, 0):
            self.known[process] = number
            for reader in sorted(self.untold):
                self.untold[reader].add(process)

    def tell(self, reader: int) -> Items:
        """What a reader has not been told yet; it counts as told from now on. A reader is not told about itself."""
        processes = sorted(self.untold[reader]) if reader in self.untold else sorted(self.known)
        self.untold[reader] = set()
        return tuple([(process, self.known[process]) for process in processes if process != reader])
