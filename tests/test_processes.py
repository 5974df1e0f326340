"""No process outlives its test, and Ctrl-C reaches the processes of tests wherever the tests run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from processes import end_all

HERE = Path(__file__).parent


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("script", ["sleep 100 & echo $!; sleep 100", "sleep 100 & echo $!"])
def test_a_process_and_its_children_are_killed(script: str) -> None:
    process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    assert alive(child)
    end_all()
    assert process.returncode is not None
    until = monotonic() + 20
    while alive(child):  # it is reaped by another process
        assert monotonic() < until
        sleep(0.01)


def test_a_forked_child_is_killed_whether_the_test_has_waited_for_it_or_not() -> None:
    children = []
    for waits in (True, False):
        child = os.fork()
        if not child:
            if not waits:
                sleep(100)
            os._exit(0)
        children.append(child)
        if waits:
            os.waitpid(child, 0)
    assert alive(children[1])
    end_all()
    assert not any([alive(child) for child in children])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_tests_that_are_killed_leave_no_process_behind(number: int) -> None:
    program = (
        "import os, time; from processes import Watched, fork, guarded\n"
        "with guarded():\n"
        "    session = Watched(['sleep', '100']).pid\n"
        "    child = fork()\n"
        "    if child: print(session, child, flush=True)\n"
        "    time.sleep(100)\n"
    )
    tests = subprocess.Popen([sys.executable, "-c", program], cwd=HERE, stdout=subprocess.PIPE, text=True)
    assert tests.stdout is not None
    started = [int(word) for word in tests.stdout.readline().split()]
    assert len(started) == 2
    tests.send_signal(number)
    tests.wait()
    until = monotonic() + 20
    while any(map(alive, started)):
        assert monotonic() < until
        sleep(0.01)


def test_ctrl_c_is_not_ignored_although_it_is_here() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        command = [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGINT).__name__)"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.stdout == "default_int_handler\n"
