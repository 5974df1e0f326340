"""Long work that a page starts. Each piece runs in a process of its own, so that the studio keeps answering. It ends
when the page cancels it, when the next one of its kind starts, or when the studio is gone.

The process (`python -m congenial.studio.checks`, for instance) reads what to do from its input, as JSON. It writes a
line of JSON now and then: how far it is, and at last what came of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from threading import Thread
from time import monotonic
from typing import Any

from congenial.kernel.errors import CongenialError

PAUSE = 0.2  # seconds between two lines


class Task:
    """Work under way, or what came of it. `module` is the one that does it; `first` is what can be said immediately."""

    def __init__(self, module: str, order: dict[str, object], first: dict[str, object]) -> None:
        self.said: dict[str, Any] = {"running": True, **first}
        self.began = monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"congenial.studio.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order))
        self.process.stdin.close()
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said = {**self.said, **json.loads(line)}
        self.process.stdout.close()
        self.process.wait()
        if self.said["running"]:  # it has ended without a last word
            self.said = {**self.said, "running": False, "error": "it was cancelled"}

    def state(self) -> dict[str, Any]:
        """How far it is, or what came of it."""
        seconds = monotonic() - self.began
        return {**self.said, "seconds": self.said.get("seconds", seconds)}

    def cancel(self) -> None:
        if self.process.poll() is None:
            self.process.kill()


# -- in the process --------------------------------------------------------------------------------------------


class Pace:
    """Says when it is time for another line."""

    def __init__(self) -> None:
        self.last = 0.0

    def due(self) -> bool:
        if monotonic() < self.last + PAUSE:
            return False
        self.last = monotonic()
        return True


def tell(what: dict[str, object]) -> None:
    print(json.dumps(what), flush=True)


def carry_out(work: Callable[[Any], dict[str, object]]) -> None:
    """Do what the input says, and write what came of it."""
    try:
        tell({"running": False, **work(json.loads(sys.stdin.read()))})
    except CongenialError as error:
        tell({"running": False, "error": str(error)})
    except MemoryError:
        tell({"running": False, "error": "there is not enough memory for this: ask for fewer nodes or requests"})
    except (BrokenPipeError, KeyboardInterrupt):  # nobody is left to listen
        sys.stderr.close()
