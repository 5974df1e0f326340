"""Checks and random runs that a page starts. Each runs in a process of its own, so that the studio keeps answering. It
ends when the page cancels it, when the next one starts, or when the studio is gone.

The process (`python -m congenial.studio.checks`) reads what to do from its input, as JSON. It writes a line of JSON now
and then: how far it is, and at last what came of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from threading import Thread
from time import monotonic
from typing import Any

from congenial.checker.check import check
from congenial.checker.counterexample import Counterexample
from congenial.checker.fuzz import fuzz
from congenial.kernel.errors import CongenialError
from congenial.studio.explore import as_json

MOST_STATES = 3_000_000
PAUSE = 0.2  # seconds between two lines


class Check:
    """A check or random runs under way, or what came of them."""

    def __init__(self, order: dict[str, object]) -> None:
        self.said: dict[str, Any] = {"running": True, "seen": 0, "pending": 0}
        self.began = monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "congenial.studio.checks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order))
        self.process.stdin.close()
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said = json.loads(line)
        self.process.stdout.close()
        self.process.wait()
        if self.said["running"]:  # it has ended without a last word
            self.said = {"running": False, "error": "it was cancelled"}

    def state(self) -> dict[str, Any]:
        """How far it is, or what came of it."""
        seconds = monotonic() - self.began
        return {**self.said, "seconds": self.said.get("seconds", seconds)}

    def cancel(self) -> None:
        if self.process.poll() is None:
            self.process.kill()


# -- the process -----------------------------------------------------------------------------------------------


class Teller:
    """Writes how far it is, not too often."""

    def __init__(self) -> None:
        self.last = 0.0

    def states(self, seen: int, pending: int) -> None:
        if monotonic() > self.last + PAUSE:
            self.last = monotonic()
            tell({"running": True, "seen": seen, "pending": pending})

    def runs(self, done: int) -> None:
        self.states(done, 0)


def tell(what: dict[str, object]) -> None:
    print(json.dumps(what), flush=True)


def work(order: dict[str, Any]) -> dict[str, object]:
    """Do what was ordered; what came of it."""
    common = {"nodes": order["nodes"], "options": order["options"], **order["bounds"]}
    found: Counterexample | None
    if order["kind"] == "fuzz":
        random = fuzz(order["algorithm"], runs=order["runs"], progress=Teller().runs, **common)
        found = random.counterexample
        told: dict[str, object] = {"verdict": random.verdict(), "seen": random.runs, "seconds": random.seconds}
    else:
        result = check(order["algorithm"], limit=MOST_STATES, progress=Teller().states, **common)
        found = result.counterexample
        told = {
            "verdict": result.verdict(), "seen": result.states, "seconds": result.seconds, "depth": result.depth,
            "transitions": result.transitions,
        }  # fmt: skip
    path = None if found is None else [as_json(step) for step in found.actions]
    return {"running": False, "ok": found is None, "path": path, **told}


def main() -> None:
    try:
        tell(work(json.loads(sys.stdin.read())))
    except CongenialError as error:
        tell({"running": False, "error": str(error)})
    except MemoryError:
        tell({"running": False, "error": "there is not enough memory for this: ask for fewer nodes or requests"})
    except (BrokenPipeError, KeyboardInterrupt):  # nobody listens any more
        sys.stderr.close()


if __name__ == "__main__":
    main()
