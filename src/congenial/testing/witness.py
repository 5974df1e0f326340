"""A witness: a process outside the cluster that holders report to, and that judges for itself.

A holder reports that it has entered after it has, and that it leaves before it does, and each time waits for an
answer. So any two holders that the witness sees inside together were inside together. The witness believes nothing of
the cluster's own bookkeeping; it only compares names and fences.

Reports are lines of JSON: {"do": "enter", "lock": ..., "who": ..., "group": ..., "fence": ..., "limit": ...}. A holder
without a group must be alone; a `limit` is a semaphore's. The answer to each is "ok" or what is wrong.

The witness is also a resource that honours fences, as a resource must where exclusion is weak. The upper bits of a
fence are an era: an entry in a later era supersedes the holders that are inside since an earlier one. What those still
ask for is refused as "outdated", which is no violation. Under each lock there is a number to `read` and to `write`: a
holder that is alone inside reads it and writes one more. If the number has changed meanwhile, a write was lost.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from congenial.kernel.errors import ContractError, SafetyViolation
from congenial.kernel.judge import Judge
from congenial.kernel.problem import Problem
from congenial.net.roster import FENCE_BITS

OUTDATED = "outdated"


class Outdated(Exception):
    """Refused because of its fence: a holder of a later era has been here."""


class ReportedExclusion(Problem):
    """What a lock promises to outsiders: one group inside, or at most `capacity` holders. Members of a group report
    their entries one by one, so within a session fences may come in any order from the `floor` on."""

    def __init__(self) -> None:
        super().__init__("reported", groups=True, concurrent_entry=False)
        self.floor = 0  # the fence of the session's first entry; 0: no session is open

    def admits(self, inside: int, current: int, group: int) -> bool:
        return inside < self.capacity if self.capacity else inside == 0 or group == current

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        if self.capacity:
            return True  # permits of a semaphore are given independently
        return fence >= self.floor if self.floor else super().may_follow(last_fence, last_group, fence, group)

    def era(self, fence: int) -> int:
        return fence >> FENCE_BITS


class Scene:
    """What the witness has seen of one lock. The judge decides; the scene knows names and keeps count."""

    def __init__(self) -> None:
        self.problem = ReportedExclusion()
        self.judge = Judge(self.problem, 0)
        self.processes: dict[str, int] = {}  # the judge's number of each holder
        self.groups: dict[str, int] = {}  # the judge's number of each group, an even one
        self.loners = 0  # holders without a group so far
        self.intruders: set[str] = set()  # should not have entered, and have yet to leave
        self.superseded: list[str] = []
        self.refused = 0
        self.value = 0
        self.fence = 0  # the largest that the resource has seen
        self.entries = 0
        self.sessions = 0
        self.most = 0  # inside at once

    @property
    def inside(self) -> list[str]:
        """The holders that are inside and not superseded."""
        names = list(self.processes)
        return [names[process] for process in self.judge.holders()]

    def enter(self, who: str, group: str | None, fence: int, limit: int) -> str:
        """Record an entry; what is wrong with it, or nothing."""
        judge = self.judge
        era = self.problem.era(fence)
        process = self._process(who)
        if era > judge.era:
            self.superseded += self.inside
        if judge.holds[process] >= 0 and judge.eras[process] < max(era, judge.era):
            judge.leave(process)  # it was superseded, and comes back without having said that it has left
        opens = judge.inside == 0 or era > judge.era
        if opens:
            self.problem.floor = 0
        self.problem.capacity = limit
        number = self._group(group)
        try:
            judge.ask(process, (number,))
            judge.enter(process, number, fence)
        except ContractError:
            return f"{who} enters twice"
        except SafetyViolation:
            judge.crash(process)  # it does not wait for another chance
            self.intruders.add(who)
            return self._why(who, group, number, fence)
        if era < judge.era:
            self.refused += 1
            return OUTDATED
        if opens:
            self.sessions += 1
            self.problem.floor = fence
        self.fence = max(self.fence, fence)
        self.entries += 1
        self.most = max(self.most, judge.inside)
        return ""

    def leave(self, who: str) -> str:
        """Record that a holder leaves; what is wrong with it, or nothing."""
        if who in self.intruders:
            self.intruders.remove(who)
            return ""
        try:
            self.judge.leave(self._process(who))
        except ContractError:
            return f"{who} leaves without being inside"
        return ""

    def use(self, who: str, fence: int, value: int | None) -> str:
        """Read the number (None), or write one; what is wrong, or nothing. This is the resource, not the judge: it
        looks at fences alone, not at who is inside."""
        if fence < self.fence:
            self.refused += 1
            return OUTDATED
        self.fence = fence
        if value is not None:
            if value != self.value + 1:
                return f"{who} writes {value} over {self.value}: what others wrote is lost"
            self.value = value
        return ""

    def _process(self, who: str) -> int:
        if who not in self.processes:
            self.processes[who] = self.judge.add_process()
        return self.processes[who]

    def _group(self, group: str | None) -> int:
        """The judge's number of a group. A holder without one is, each time, a group of its own."""
        if group is None:
            self.loners += 1
            return 2 * self.loners + 1
        return self.groups.setdefault(group, 2 * len(self.groups))

    def _why(self, who: str, group: str | None, number: int, fence: int) -> str:
        """Why the judge objects, by name."""
        judge = self.judge
        if not self.problem.admits(judge.inside, judge.current, number):
            if self.problem.capacity:
                return f"{who} is one too many for {self.problem.capacity}"
            current = next((name for name, number in self.groups.items() if number == judge.current), None)
            return f"{who} enters {group!r} while {', '.join(self.inside)} are inside for {current!r}"
        if self.problem.floor:
            return f"{who} has fence {fence}, below its session's {self.problem.floor}"
        return f"{who} has fence {fence}, not above {judge.fence} of an earlier session"


class Witness:
    """Listens on a Unix socket."""

    def __init__(self, on_report: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.scenes: dict[str, Scene] = {}
        self.violations: list[str] = []
        self.superseded: list[str] = []  # holders that others superseded, in a later era
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
            known = len(scene.superseded)
            wrong = scene.enter(report["who"], report.get("group"), report["fence"], report.get("limit", 0))
            self.superseded += scene.superseded[known:]
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
                "superseded": len(scene.superseded),
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
            for lock, who in mine:  # a reporter that is gone does not hold anything any more
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
        """Report, and wait for the answer, even if cancelled meanwhile: a report stands once made. Returns the number
        that was read or written."""
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
