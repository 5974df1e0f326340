"""Every process that a test starts ends with the test, whatever happens.

`tests/conftest.py` puts `Watched` in the place of `subprocess.Popen`. Each process then leads a session of its own, and
when the test is over, passed or failed, everything in that session is killed: the process and all that it has started.
It also puts `fork` in the place of `os.fork`: children that are still there are killed as well. If the tests are killed
themselves, by SIGTERM or SIGKILL, a process beside them does it: the guard, which is this file run as a program.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import select
import signal
import subprocess
import sys
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
        tell_guard(f"session {self.pid}")


forked: list[int] = []  # the children by `os.fork`
_fork = os.fork


def fork() -> int:
    child = _fork()
    if child:
        forked.append(child)
        tell_guard(f"process {child}")
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
    ended = {process.pid for process in Watched.started if process.poll() is not None}
    kill_sessions({process.pid for process in Watched.started}, ended)
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
    tell_guard("none")


def kill_sessions(leaders: set[int], ended: set[int]) -> None:
    """Kill all processes of these sessions. The number of one that has ended may be another's now."""
    for pid in running() if leaders else []:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if os.getsid(pid) in leaders and pid not in ended:
                os.kill(pid, signal.SIGKILL)


def running() -> list[int]:
    """All processes of the machine."""
    if os.path.exists("/proc/self"):
        return [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return [int(word) for word in subprocess.check_output(["ps", "-A", "-o", "pid="]).split()]


# -- if the tests are killed -------------------------------------------------------------------------------

_guard: list[int] = []  # where to write to the guard


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Have a guard, which learns of every process that is started, and kills those that outlive this one."""
    command = [sys.executable, __file__, str(os.getpid())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as guard:
        assert guard.stdin is not None
        _guard.append(guard.stdin.fileno())
        try:
            yield
        finally:
            tell_guard("end")
            _guard.clear()


def tell_guard(line: str) -> None:
    for pipe in _guard:
        with contextlib.suppress(BrokenPipeError):
            os.write(pipe, f"{line}\n".encode())


def stand_guard(parent: int) -> None:
    """In the guard: wait until the tests say that they end, or do not. A child of theirs may have the pipe, too, so its
    end says nothing."""
    left: set[tuple[str, int]] = set()
    text = b""
    alone = False
    while not alone:
        alone = os.getppid() != parent  # then what was said before is still to be read
        while select.select([0], [], [], 0 if alone else 0.5)[0] and (more := os.read(0, 1 << 16)):
            *lines, text = (text + more).split(b"\n")
            for line in lines:
                what, _, number = line.decode().partition(" ")
                if what == "end":
                    return
                if what == "none":
                    left.clear()
                else:
                    left.add((what, int(number)))
    kill_sessions({number for what, number in left if what == "session"}, set())
    for what, number in left:
        if what == "process":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)


if __name__ == "__main__":
    stand_guard(int(sys.argv[1]))
