"""Whatever is asked wrongly ends with an exit code and one clear line, never with a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest
from shell import Run

REFUSED = {
    "an unknown algorithm": ("sim mekawa", "unknown algorithm 'mekawa': did you mean 'maekawa'?"),
    "no algorithm at all": ("sim", "Missing argument 'algorithm'"),
    "an unknown subcommand": ("smi", "No such command 'smi'"),
    "an unknown option": ("sim maekawa --bogus", "No such option: --bogus"),
    "a word for a number": ("sim maekawa --nodes many", "Invalid value for '--nodes'"),
    "negative nodes": ("sim maekawa --nodes -3", "nodes must be at least 1, not -3"),
    "no groups": ("sim maekawa --groups 0", "groups must be at least 1, not 0"),
    "negative requests": ("sim maekawa --requests -1", "requests must be at least 1, not -1"),
    "negative thinking": ("sim maekawa --think -5", "think '-5'"),
    "negative holding": ("sim maekawa --hold -5", "hold '-5'"),
    "negative delay": ("sim maekawa --delay constant:-5", "delay 'constant:-5'"),
    "negative bandwidth": ("sim maekawa --bandwidth -5", "bandwidth must not be negative"),
    "negative detection": ("sim maekawa --detection -5", "detection must not be negative"),
    "a huge seed": ("sim maekawa --seed 99999999999999999999", "seed must fit into 64 bits"),
    "a skew that is none": ("sim maekawa --skew often", "skew 'often' is not like 20/80"),
    "a skew above 100": ("sim maekawa --skew 20/800", "skew '20/800' is not like 20/80"),
    "a setting that is none": ("sim maekawa --set fast", "--set 'fast' is not like name=value"),
    "another's option": ("sim maekawa --tree star", "maekawa has no option tree (it has: quorums)"),
    "nobody's option": ("compare maekawa suzuki-kasami --tree star", "none of maekawa, suzuki-kasami has an option"),
    "a loss above 1": ("sim maekawa --loss 2", "a share of messages lies between 0 and 1"),
    "a crash of nobody": ("sim maekawa --crash 99@3", "crash '99@3': 99 is not a process (0..9)"),
    "an unreadable delay file": ("sim maekawa --delay file:no/such", "cannot read the delays in no/such"),
    "an unreadable load": ("sim maekawa --load no/such.csv", "cannot read the arrivals in no/such.csv"),
    "an unwritable trace": ("sim maekawa --trace no/such/place", "cannot write the trace to no/such/place"),
    "a trace of several runs": ("sim maekawa --trace t --repeat 2", "trace goes with a single run"),
    "no such file": ("sim no/such.py:Node", "there is no file no/such.py"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_refused(run: Run, command: str, reason: str) -> None:
    assert reason in run(*command.split()).refused()


@pytest.mark.parametrize(
    "command", ["sim mekawa", "sim maekawa --nodes -3", "sim", "sim maekawa --trace no/such/place"]
)
def test_refused_in_a_real_process(spawn: Run, command: str) -> None:
    spawn(*command.split()).refused()


def test_a_file_without_the_class(run: Run, central_lock: str) -> None:
    assert "has no Node class 'CentralLockX'; it has: CentralLock" in run("sim", central_lock + "X").refused()


def test_a_file_with_a_syntax_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("def f(:\n")
    assert "SyntaxError: invalid syntax (wrong.py, line 1)" in run("sim", f"{path}:Wrong").refused()


def own(tmp_path: Path, body: str) -> str:
    path = tmp_path / "own.py"
    path.write_text(f"from congenial import Node\n\n\nclass Own(Node):\n    {body}\n")
    return f"{path}:Own"


def test_a_node_that_raises(run: Run, tmp_path: Path) -> None:
    ended = run("sim", own(tmp_path, "def request(self, groups, out): 1 / 0"), "--nodes", "2")
    assert ended.code == 1
    verdict = ended.out.splitlines()[-1]
    assert verdict.startswith("VIOLATION: ")
    assert "division by zero" in verdict
    assert "Traceback" not in ended.out + ended.err


def test_a_node_that_lacks_a_method(spawn: Run, tmp_path: Path) -> None:
    ended = spawn("sim", own(tmp_path, "pass"), "--nodes", "2")
    assert ended.code == 1
    assert "Own does not say what a request does" in ended.out.splitlines()[-1]
    assert "Traceback" not in ended.out + ended.err


def test_a_node_that_cannot_be_made(run: Run, tmp_path: Path) -> None:
    line = run("sim", own(tmp_path, "def __init__(self): pass")).refused()
    assert "Own(0, 10) cannot be made: TypeError" in line


def test_hops_of_a_node_that_raises(run: Run, tmp_path: Path) -> None:
    line = run("sim", own(tmp_path, "def request(self, groups, out): 1 / 0"), "--hops").refused(code=1)
    assert "division by zero" in line


def test_hops_of_a_node_that_never_enters(run: Run, tmp_path: Path) -> None:
    line = run("sim", own(tmp_path, "def request(self, groups, out): self.wait()"), "--hops", "-n", "2").refused(code=1)
    assert "these wait: 0, 1" in line


def test_ctrl_c(tmp_path: Path) -> None:
    trace = tmp_path / "started"
    words = ("sim", "ricart-agrawala", "--nodes", "200", "--requests", "100", "--trace", str(trace))  # minutes
    process = subprocess.Popen(
        [sys.executable, "-m", "congenial", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until = monotonic() + 60
    while not (trace.exists() and trace.stat().st_size):
        assert process.poll() is None, "it ended before it could be interrupted"
        assert monotonic() < until, "it does not start"
        sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (1, "", "congenial: interrupted\n")


def test_a_reader_that_has_seen_enough() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "congenial", "list", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=30) == 1
