"""The timeline of one lock: who held it when, and who waited, as far as it was seen while a page looked.

Each look tells which tasks are inside and which wait, and since when. So the beginning of what was seen is exact, and
its end lies between two looks. An entry that is over before the next look is not seen, but counted: `unseen`.
"""

from __future__ import annotations

from typing import Any

KEPT_FOR = 900.0  # seconds
MOST_SPANS = 500

LockStatus = dict[str, Any]
Key = tuple[str, str, float, str | None, int]


class Span:
    """A task inside, or waiting, from one moment to another."""

    def __init__(self, node: str, kind: str, told: LockStatus, now: float) -> None:
        self.node = node
        self.kind = kind
        self.group = told["group"]
        self.fence = fence_text(told.get("fence"))
        self.start = now - told["for"]
        self.end: float | None = None

    def row(self) -> list[Any]:
        end = None if self.end is None else round(self.end, 3)
        return [self.node, self.kind, self.group, self.fence, round(self.start, 3), end]


class Story:
    def __init__(self, now: float) -> None:
        self.began = self.looked = now
        self.open: dict[Key, Span] = {}
        self.ended: list[Span] = []
        self.entries: dict[str, int] = {}
        self.unseen = 0
        self.now: dict[str, LockStatus] = {}

    def hear(self, told: dict[str, LockStatus | None], now: float) -> None:
        """What each node that answers says about the lock now; None: it does not know it."""
        self.now = {node: seen for node, seen in told.items() if seen is not None}
        present: dict[Key, Span] = {}
        for node, seen in self.now.items():
            for kind in ("inside", "waiting"):
                for one in seen.get(kind, []):
                    key = (node, kind, one["since"], one["group"], 0)
                    while key in present:  # clocks are coarse
                        key = (*key[:4], key[4] + 1)
                    present[key] = self.open.get(key) or Span(node, kind, one, now)
            self._count(node, seen["entries"], present)
        entered = [span.start for key, span in present.items() if span.kind == "inside" and key not in self.open]
        for key, span in self.open.items():
            if key not in present:
                self._end(span, told, entered, now)
        self.open = present
        self.ended = [span for span in self.ended if (span.end or now) > now - KEPT_FOR][-MOST_SPANS:]
        self.looked = now

    def _end(self, span: Span, told: dict[str, LockStatus | None], entered: list[float], now: float) -> None:
        """It was over some time after the last look: when the next task entered, if one did."""
        if span.node not in told:
            span.end = self.looked  # the node no longer answers
        else:
            span.end = min([start for start in entered if start >= self.looked], default=now)
        span.end = max(span.end, span.start)
        self.ended.append(span)

    def _count(self, node: str, entries: int, present: dict[Key, Span]) -> None:
        """Entries that no look has seen."""
        before = self.entries.get(node)
        self.entries[node] = entries
        if before is not None and entries > before:
            seen = [key for key in present if key[:2] == (node, "inside") and key not in self.open]
            self.unseen += max(0, entries - before - len(seen))

    def document(self, now: float) -> dict[str, Any]:
        spans = sorted([*self.ended, *self.open.values()], key=lambda span: span.start)
        return {
            "began": round(self.began, 3),
            "known": bool(self.now),
            "k": next((seen["k"] for seen in self.now.values() if "k" in seen), None),
            "entries": sum([seen["entries"] for seen in self.now.values()]),
            "inside": self._tasks("inside"),
            "waiting": self._tasks("waiting"),
            "holders": sum([seen["holders"] for seen in self.now.values()]),
            "queue": sum([seen["queue"] for seen in self.now.values()]),
            "trouble": next((seen["trouble"] for seen in self.now.values() if seen.get("trouble")), ""),
            "unseen": self.unseen,
            "spans": [span.row() for span in spans],
        }

    def _tasks(self, kind: str) -> list[LockStatus]:
        """Those inside, or those that wait, the longest first."""
        told = [
            {"node": node, **one, "fence": fence_text(one.get("fence"))}
            for node, seen in self.now.items()
            for one in seen.get(kind, [])
        ]
        return sorted(told, key=lambda one: -one["for"])


def fence_text(fence: int | None) -> str:
    """Fences are larger than the numbers of a browser."""
    return "" if fence is None else str(fence)
