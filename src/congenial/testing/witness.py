"""A witness: a process outside the cluster to which holders report, and which judges for itself.

A holder reports that it has entered after it has, and that it leaves before it does, and each time waits to be
answered. So whoever the witness sees inside together were inside together. Nothing of the cluster's own bookkeeping is
believed; only names are compared.

Reports are lines of JSON: {"do": "enter", "lock": ..., "who": ..., "group": ..., "fence": ..., "limit": ...}. A holder
without a group is alone; a `limit` is a semaphore's. The answer to each is "ok" or what is wrong.

It is also a resource that honours fences, as one must where exclusion is weak. The upper bits of a fence are an era:
who enters in a later one supersedes those who are inside since an earlier one, and what they still want is refused as
"outdated", which is no violation. Under each lock there is a number to `read` and to `write`: who is alone inside
reads it and writes one more. If the number has changed meanwhile, something was lost.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from congenial.net.roster import FENCE_BITS

OUTDATED = "outdated"


class Outdated(Exception):
    """Refused for its fence: somebody in a later era has been here."""


class Scene:
    """What the witness has seen of one lock."""

    def __init__(self) -> None:
        self.inside: dict[str, str | None] = {}  # group of each holder; None: it is alone
        self.superseded: dict[str, int] = {}  # who have yet to leave, but somebody came in a later era; their fences
        self.fences: dict[str, int] = {}  # of those inside
        self.supersessions: list[str] = []
        self.refused = 0
        self.value = 0
        self.group: str | None = None  # of the present session, or of the last one
        self.fence = 0  # the largest so far
        self.floor = 0  # what fences of the present session must not fall below
        self.entries = 0
        self.sessions = 0
        self.most = 0  # inside at once

    def enter(self, who: str, group: str | None, fence: int, limit: int) -> str:
        """Record an entry; what is wrong with it, or nothing."""
        if fence and fence >> FENCE_BITS < self.fence >> FENCE_BITS:
            self.refused += 1
            self.superseded[who] = fence
            return OUTDATED
        for early in [early for early in self.inside if self.fences[early] >> FENCE_BITS < fence >> FENCE_BITS]:
            del self.inside[early]
            self.superseded[early] = self.fences.pop(early)
            self.supersessions.append(early)
        wrong = self._judge(who, group, fence, limit)
        if not self.inside:
            self.sessions += 1
            self.group = group
            self.floor = fence
        self.inside[who] = group
        self.fences[who] = fence
        self.fence = max(self.fence, fence)
        self.entries += 1
        self.most = max(self.most, len(self.inside))
        return wrong

    def leave(self, who: str) -> str:
        if self.superseded.pop(who, None) is not None:
            return ""
        self.fences.pop(who, None)
        return "" if self.inside.pop(who, who) != who else f"{who} leaves without being inside"

    def use(self, who: str, fence: int, value: int | None) -> str:
        """Read the number (None), or write one; what is wrong, or nothing."""
        if fence < self.fence:
            self.refused += 1
            return OUTDATED
        self.fence = fence
        if value is not None:
            if value != self.value + 1:
                return f"{who} writes {value} over {self.value}: what others wrote is lost"
            self.value = value
        return ""

    def _judge(self, who: str, group: str | None, fence: int, limit: int) -> str:
        if who in self.inside:
            return f"{who} enters twice"
        if limit:
            return f"{who} is one too many for {limit}" if len(self.inside) >= limit else ""
        others = set(self.inside.values())
        if self.inside and (group is None or others != {group}):
            return f"{who} enters {group!r} while {', '.join(self.inside)} are inside for {others}"
        if not fence:
            return ""  # the algorithm gives none
        if self.inside:
            return f"{who} has fence {fence}, below its session's {self.floor}" if fence < self.floor else ""
        if fence < self.fence or (fence == self.fence and (group is None or group != self.group)):
            return f"{who} has fence {fence}, not above {self.fence} of an earlier session"
        return ""


class Witness:
    """Listens on a Unix socket."""

    def __init__(self, on_report: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.scenes: dict[str, Scene] = {}
        self.violations: list[str] = []
        self.superseded: list[str] = []  # holders over whose heads others came in, in a later era
        self.reports = 0
        self.on_report = on_report
        self.writers: set[asyncio.StreamWriter] = set()
        self.server: asyncio.Server | None = None

    async def start(self, path: str | Path) -> None:
        self.server = await asyncio.start_unix_server(self._listen, str(path))

    async def close(self) -> None:
        if self.server is not None:
            self.server.close()
        for writer in list(self.writers):
            writer.close()
        await asyncio.sleep(0)

    def judge(self, report: dict[str, Any]) -> str:
        scene = self.scenes.setdefault(report["lock"], Scene())
        if report["do"] == "enter":
            known = len(scene.supersessions)
            wrong = scene.enter(report["who"], report.get("group"), report["fence"], report.get("limit", 0))
            self.superseded += scene.supersessions[known:]
        elif report["do"] == "leave":
            wrong = scene.leave(report["who"])
        else:
            wrong = scene.use(report["who"], report["fence"], report.get("value"))
        if wrong and wrong != OUTDATED:
            self.violations.append(f"{report['lock']}: {wrong}")
        return wrong

    def summary(self) -> dict[str, dict[str, int]]:
        return {
            lock: {
                "entries": scene.entries,
                "sessions": scene.sessions,
                "most": scene.most,
                "inside": len(scene.inside),
                "superseded": len(scene.supersessions),
                "refused": scene.refused,
                "value": scene.value,
            }
            for lock, scene in self.scenes.items()
        }

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        mine: set[tuple[str, str]] = set()
        try:
            while line := await reader.readline():
                report = json.loads(line)
                self.reports += 1
                if report["do"] in ("read", "write"):
                    answer = self.judge(report) or f"ok {self.scenes[report['lock']].value}"
                elif report["do"] in ("enter", "leave"):
                    answer = self.judge(report) or "ok"
                    (mine.add if report["do"] == "enter" else mine.discard)((report["lock"], report["who"]))
                elif report["do"] == "verdict":
                    told = {"violations": self.violations, "scenes": self.summary(), "superseded": self.superseded}
                    answer = json.dumps(told)
                else:
                    answer = "ok"
                if self.on_report is not None:
                    self.on_report(report)
                writer.write(answer.encode() + b"\n")
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            for lock, who in mine:  # a reporter that is gone holds nothing any more
                self.scenes[lock].leave(who)
            self.writers.discard(writer)
            writer.close()


class Reporter:
    """A holder's line to the witness; one report at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.turn = asyncio.Lock()

    async def __aenter__(self) -> Reporter:
        self.reader, self.writer = await asyncio.open_unix_connection(self.path)
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.writer.close()

    async def tell(self, do: str, **report: Any) -> int:
        """Report, and wait for the answer, even if cancelled meanwhile: what has been said has been said. Answers with
        the number that was read or written."""
        telling = asyncio.ensure_future(self._ask({"do": do, **report}))
        try:
            answer = await asyncio.shield(telling)
        except asyncio.CancelledError:
            await asyncio.wait([telling])
            raise
        if answer == OUTDATED:
            raise Outdated(f"{report['who']} has outdated fence {report['fence']} for {report['lock']}")
        word, _, number = answer.partition(" ")
        if word != "ok":
            raise AssertionError(f"the witness objects: {answer or 'it is gone'}")
        return int(number or 0)

    async def verdict(self) -> dict[str, Any]:
        """All that the witness has seen: `violations`, and `scenes` by lock."""
        verdict: dict[str, Any] = json.loads(await self._ask({"do": "verdict"}))
        return verdict

    async def _ask(self, report: dict[str, Any]) -> str:
        async with self.turn:
            self.writer.write(json.dumps(report).encode() + b"\n")
            return (await self.reader.readline()).decode().strip()


async def _watch(path: str) -> None:
    await Witness().start(path)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_watch(sys.argv[1]))
