"""Updates: what is known of other processes, told to each reader once.

For every process a growing number is known, such as the last of its requests that is over. Each reader is told only
what it has not been told before. Over FIFO channels it then always knows what it would know from complete lists.

Changes are dated, and so is what each reader was told last. So a change costs the same for any number of readers.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from mypy_extensions import i64, mypyc_attr

from congenial.parts.rows import place_in

Items: TypeAlias = tuple[tuple[int, int], ...]
"""Processes and their numbers, as they travel."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Updates:
    def __init__(self) -> None:
        self.processes: list[int] = []  # those of which something is known, in ascending order
        self.items: list[Any] = []  # each of them with its number; travels as it is, so that it is made once
        self.changed: list[i64] = []  # the date when each number last grew
        self.date: i64 = 0  # grows when a reader is told something
        self.told: dict[int, int] = {}  # by reader: it knows of all changes before this date

    @property
    def known(self) -> dict[int, int]:
        """The numbers, by process."""
        return dict(self.items)

    def learn(self, process: int, number: int) -> None:
        at = place_in(self.processes, process)
        if at == len(self.processes) or self.processes[at] != process:
            if number > 0:
                self.processes.insert(at, process)
                self.items.insert(at, (process, number))
                self.changed.insert(at, self.date)
        elif number > self.items[at][1]:
            self.items[at] = (process, number)
            self.changed[at] = self.date

    def tell(self, reader: int) -> Items:
        """What a reader has not been told yet; it counts as told from now on. A reader is not told about itself."""
        since: i64 = self.told.get(reader, 0)
        today = self.date
        own: i64 = place_in(self.processes, reader)
        if own < len(self.processes) and self.processes[own] != reader:
            own = -1  # nothing is known of the reader
        known = self.items
        items: list[Any] = []
        grown = False  # has any number grown since a reader was told something?
        at: i64 = 0
        for date in self.changed:
            if date >= since:
                if date == today:
                    grown = True
                if at != own:
                    items.append(known[at])
            at += 1
        if grown:
            self.date += 1
        self.told[reader] = self.date
        return tuple(items)
