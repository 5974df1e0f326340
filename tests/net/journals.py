"""What the members' journals say (`troubled_node.py`), judged: all replicas of the guarded object went through the same
states, no operation with an answer is missing, and none that was lost is there."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

LOST_STATE = "guarded.lost"  # in a log: so few members had the object that the others went on without its latest state


class Journals:
    def __init__(self) -> None:
        self.blocked: list[tuple[str, float, float]] = []  # a member, and from when until when
        self.expired: set[str] = set()  # holders whose lease ran out
        self.operations = 0  # with an answer
        self.lost = 0
        self.violations: list[str] = []
        self.states: defaultdict[int, set[str]] = defaultdict(set)  # digests after so many operations
        self.forks = 0  # how often some replicas may have gone another way

    def read(self, folder: Path) -> None:
        logs = [path.read_text(errors="replace") for path in folder.glob("*.log")]
        self.forks = sum([log.count(LOST_STATE) for log in logs])
        for path in sorted(folder.glob("*.journal")):
            self._read_journal(path)
        for count, digests in sorted(self.states.items()):
            if len(digests) > 1 + self.forks:
                self.violations.append(f"after {count} operations the replicas are not alike: {sorted(digests)}")
                break

    def _read_journal(self, path: Path) -> None:
        answered: dict[str, int] = {}  # the last operation of each life of the member that was answered
        lost: set[tuple[str, int]] = set()
        for line in path.read_text().splitlines():
            what, life, *more = json.loads(line)
            if what == "replica" and more[0]:
                self.states[more[0]].add(more[1])
            elif what == "answer":
                number, count, before, after, last = more
                self.operations += 1
                self.states[count].add(after)
                if count > 1:
                    self.states[count - 1].add(before)
                if (life, last) in lost:
                    self.violations.append(f"operation {last} of {life} was executed, and its writer was told: lost")
                if last < answered.get(life, 0) and not self.forks:
                    self.violations.append(f"operation {answered[life]} of {life} had an answer, and is gone")
                answered[life] = number
            elif what == "lost":
                self.lost += 1
                lost.add((life, more[0]))
            elif what == "expired":
                self.expired.add(more[0])
            elif what == "blocked":
                self.blocked.append((life.partition("/")[0], more[0], more[1]))
