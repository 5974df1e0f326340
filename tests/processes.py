"""Every process that a test starts ends with the test, whatever happens.

`tests/conftest.py` puts `Watched` in the place of `subprocess.Popen`. Each process then leads a session of its own, and
when the test is over, passed or failed, everything in that session is killed: the process and all that it has started.
It also puts `fork` in the place of `os.fork`: children that are still there are killed as well.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar


class Watched(subprocess.Popen[Any]):
    started: ClassVar[list[Watched]] = []

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("start_new_session", True)
        if options["start_new_session"] and options.get("process_group") == 0:
            del options["process_group"]  # the leader of a session leads a group of its own, and may not ask for one
        with interruptible():
            super().__init__(*args, **options)
        Watched.started.append(self)


forked: list[int] = []  # the children by `os.fork`
_fork = os.fork


def fork() -> int:
    child = _fork()
    if child:
        forked.append(child)
    else:
        forked.clear()
    return child


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Start processes that Ctrl-C interrupts, even if it is ignored here, as it is under nohup and in the background.

    A process inherits that a signal is ignored, and Python then installs no handler for it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    else:
        yield


def end_all() -> None:
    """Kill what the test has started and left running."""
    leaders = {process.pid for process in Watched.started}
    ended = {process.pid for process in Watched.started if process.poll() is not None}
    for pid in running() if leaders else []:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) in leaders and pid not in ended:  # the number of one that has ended may be another's now
                os.kill(pid, signal.SIGKILL)
    for process in Watched.started:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()
    Watched.started.clear()
    for child in multiprocessing.active_children():
        child.kill()
        child.join()
    for pid in forked:
        with contextlib.suppress(ChildProcessError):  # the test has waited for it
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    forked.clear()


def running() -> list[int]:
    """All processes of the machine."""
    if os.path.exists("/proc/self"):
        return [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [int(word) for word in subprocess.check_output(["ps", "-A", "-o", "pid="]).split()]
