"""A witness: a process outside the cluster that holders report to, and that judges for itself.

A holder reports that it has entered after it has, and that it leaves before it does, and each time waits for an
answer. So any two holders that the witness sees inside together were inside together. The witness believes nothing of
the cluster's own bookkeeping; it only compares names and fences.

Reports are lines of JSON: {"do": "enter", "lock": ..., "who": ..., "group": ..., "fence": ..., "limit": ...}. A holder
without a group must be alone; a `limit` is a semaphore's; `until` says when the holder's lease ends, by the monotonic
clock of this machine. The answer to each is "ok" or what is wrong.

The witness is also a resource that honours fences, as a resource must where exclusion is weak. The upper bits of a
fence are an era: an entry in a later era supersedes the holders that are inside since an earlier one. What those still
ask for is refused as "outdated", which is no violation. Under each lock there is a number to `read` and to `write`: a
holder that is alone inside reads it and writes one more. If the number has changed meanwhile, a write was lost.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from congenial.testing.scene import OUTDATED, Scene

LONGEST_ANSWER = 1 << 28  # bytes: a verdict on very many locks


class Outdated(Exception):
    """Refused because of its fence: a holder of a later era has been here."""


class Witness:
    """Listens on a Unix socket."""

    def __init__(self, on_report: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.scenes: dict[str, Scene] = {}
        self.violations: list[str] = []
        self.met: dict[str, list[str]] = {}  # by violation: the holders that were inside
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
        until = report.get("until", -math.inf)
        if report["do"] == "enter":
            known = len(scene.superseded)
            wrong = scene.enter(
                report["who"], report.get("group"), report["fence"], report.get("limit", 0), until, time.monotonic()
            )
            self.superseded += scene.superseded[known:]
        elif report["do"] == "leave":
            wrong = scene.leave(report["who"])
        else:
            wrong = scene.use(report["who"], report["fence"], report.get("value"), until, time.monotonic())
        if wrong and wrong != OUTDATED:
            self.violations.append(f"{report['lock']}: {wrong}")
            self.met[self.violations[-1]], scene.met = scene.met, []
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
                    told = {"violations": self.violations, "met": self.met, "superseded": self.superseded}
                    answer = json.dumps({**told, "scenes": self.summary()})
                else:
                    answer = "ok"
                if self.on_report is not None:
                    self.on_report(report)
                writer.write(answer.encode() + b"\n")
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            for lock, who in mine:  # a reporter that is gone no longer holds anything
                self.scenes[lock].leave(who)
            self.writers.discard(writer)
            writer.close()


class Reporter:
    """A holder's line to the witness; one report at a time."""

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self.turn = asyncio.Lock()

    async def __aenter__(self) -> Reporter:
        self.reader, self.writer = await asyncio.open_unix_connection(self.path, limit=LONGEST_ANSWER)
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
        """All that the witness has seen: `violations`, the holders that were `met` in each, and `scenes` by lock."""
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
