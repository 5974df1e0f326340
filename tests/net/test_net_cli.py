"""The command line, end to end: nodes as processes, commands under locks, status, certificates, the demo."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from netlab import answers

from congenial.cli.demo import NEXT
from congenial.net.config import free_addresses
from pages import ROOT

ENV = {**os.environ, "COLUMNS": "160"}


class Machine:
    """A machine with nodes a, b and c, one folder for all of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes: dict[str, subprocess.Popen[str]] = {}
        addresses = dict(zip("abc", free_addresses(3), strict=True))
        lines = ['cluster = "test"', "[nodes]", *[f'{name} = "{where}"' for name, where in addresses.items()]]
        self.write("\n".join([*lines, "[timing]", "heartbeat = 0.2", "suspect_after = 1.0"]))

    def write(self, text: str) -> None:
        (self.folder / "cluster.toml").write_text(text)

    def socket(self, name: str) -> Path:
        return self.folder / f"congenial-test-{name}.sock"

    def start(self) -> None:
        for name in "abc":
            words = [sys.executable, "-m", "congenial", "node", "--name", name, "--log-json"]
            env = {**ENV, "XDG_RUNTIME_DIR": str(self.folder)}
            log = open(self.folder / f"{name}.log", "w")
            self.nodes[name] = subprocess.Popen(words, cwd=self.folder, env=env, text=True, stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while not all(answers(self.socket(name)) for name in "abc"):
            assert time.monotonic() < deadline, self.logs()
            time.sleep(0.05)

    def logs(self) -> str:
        return "\n".join([path.read_text() for path in self.folder.glob("*.log")])

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "congenial", *words]

    def run(self, *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        env = {**ENV, "XDG_RUNTIME_DIR": str(self.folder)}
        return subprocess.run(
            self.command(*words), cwd=self.folder, env=env, text=True, capture_output=True, timeout=timeout
        )

    def spawn(self, *words: str) -> subprocess.Popen[str]:
        env = {**ENV, "XDG_RUNTIME_DIR": str(self.folder)}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(*words), cwd=self.folder, env=env, text=True, stdin=pipe, stdout=pipe, stderr=pipe
        )

    def stop(self) -> None:
        for node in self.nodes.values():
            if node.poll() is None:
                node.send_signal(signal.SIGTERM)
        for node in self.nodes.values():
            node.wait(20)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    try:
        yield made
    finally:
        for node in made.nodes.values():
            if node.poll() is None:
                node.kill()
                node.wait()


def test_a_node_that_takes_part_no_more_ends_and_says_why(machine: Machine) -> None:
    described = (machine.folder / "cluster.toml").read_text()
    machine.write('state = "state-{name}"\n' + described)
    machine.start()
    assert machine.run("lock", "x", "--node", "a", "--", "true").returncode == 0, machine.logs()
    shutil.rmtree(machine.folder / "state-a")
    assert machine.nodes["a"].wait(60) == 1
    last = (machine.folder / "a.log").read_text().splitlines()[-1]
    assert last.startswith("congenial: ")
    assert "state-a" in last
    assert machine.run("lock", "x", "--node", "b", "--timeout", "60", "--", "true").returncode == 0, machine.logs()


def test_a_node_enters_and_gets_a_vote(machine: Machine) -> None:
    machine.start()
    (place,) = re.findall(r'^a = "(.*)"$', (machine.folder / "cluster.toml").read_text(), re.MULTILINE)
    machine.nodes["d"] = machine.spawn("node", "--name", "d", "--seeds", place)
    assert machine.nodes["d"].stdout is not None
    assert machine.nodes["d"].stdout.readline().startswith("node d of 'test' listens on 127.0.0.1:")
    assert machine.run("lock", "x", "--node", "d", "--timeout", "30", "--", "true").returncode == 0, machine.logs()
    told = json.loads(machine.run("members", "--node", "a", "--json").stdout)
    assert [(member["name"], member["voter"], member["present"]) for member in told] == [
        ("a", True, True),
        ("b", True, True),
        ("c", True, True),
        ("d", False, True),
    ]
    promoted = machine.run("members", "--promote", "d", "--node", "a")
    assert promoted.returncode == 0, promoted.stderr
    assert [line.split()[2] for line in promoted.stdout.splitlines() if " here" in line].count("yes") == 3
    refused = machine.run("members", "--remove", "d", "--node", "a")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "stop it first" in refused.stderr
    machine.nodes["d"].send_signal(signal.SIGTERM)
    assert machine.nodes["d"].wait(30) == 0
    told = json.loads(machine.run("members", "--node", "b", "--json").stdout)
    assert [member["name"] for member in told if member["voter"]] == ["a", "b", "c"]


def test_nodes_locks_and_status(machine: Machine) -> None:
    machine.start()
    show = "import os; print(os.environ['CONGENIAL_LOCK'], os.environ['CONGENIAL_FENCE'])"
    first = machine.run("lock", "nightly", "--node", "a", "--", sys.executable, "-c", show)
    assert first.returncode == 0, first.stderr + machine.logs()
    second = machine.run("lock", "nightly", "--node", "b", "--timeout", "10", "--", sys.executable, "-c", show)
    (name, one), (_, two) = first.stdout.split(), second.stdout.split()
    assert name == "nightly"
    assert int(two) > int(one)
    assert machine.run("lock", "x", "--node", "c", "--", sys.executable, "-c", "raise SystemExit(7)").returncode == 7
    assert machine.run("lock", "x", "--node", "c", "--", "sh", "-c", "kill -9 $$").returncode == 137
    missing = machine.run("lock", "x", "--node", "c", "--", "no-such-command")
    assert missing.returncode == 127
    assert "cannot run no-such-command" in missing.stderr

    holder = machine.spawn("lock", "jukebox", "--group", "disc-7", "--node", "a", "--", "sh", "-c", "echo in; cat")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "in\n"
    together = machine.run("lock", "jukebox", "--group", "disc-7", "--node", "b", "--timeout", "10", "--", "echo", "hi")
    assert together.stdout == "hi\n"
    counted = machine.run("lock", "gpus", "--semaphore", "2", "--node", "c", "--timeout", "10", "--", "echo", "one")
    assert (counted.returncode, counted.stdout) == (0, "one\n"), counted.stderr
    disputed = machine.run("lock", "gpus", "--semaphore", "3", "--node", "c", "--", "echo", "never")
    assert (disputed.returncode, disputed.stdout) != (0, "never\n")
    assert "lets in 2 at a time, not 3" in disputed.stderr
    alone = machine.run("lock", "jukebox", "--exclusive", "--node", "c", "--timeout", "0.3", "--", "echo", "never")
    assert alone.returncode == 124
    assert alone.stdout == ""
    assert "could not be acquired within 0.3 s" in alone.stderr

    told = json.loads(machine.run("status", "--node", "b", "--json").stdout)
    assert list(told) == ["a", "b", "c"]
    assert told["a"]["locks"]["jukebox"]["group"] == "disc-7"
    assert told["a"]["locks"]["jukebox"]["holders"] == 1
    told = json.loads(machine.run("status", "--node", "b", "--lock", "jukebox", "--json").stdout)
    assert [list(status["locks"]) for status in told.values()] == 3 * [["jukebox"]]
    machine.run("lock", "nightly", "--node", "a", "--timeout", "10", "--", "true")  # it may be forgotten by now
    short = machine.run("status", "--node", "b", "--top", "1")
    assert "more at a" in short.stdout, short.stderr
    wrong = machine.run("status", "--node", "b", "--top", "-1")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "must be a number of locks" in wrong.stderr
    table = machine.run("status", "--node", "a").stdout
    assert "b up, c up" in table
    assert "disc-7" in table

    both = machine.run("lock", "x", "--shared", "--exclusive", "--node", "a", "--", "true")
    assert both.returncode == 2
    assert "choose one of" in both.stderr
    which = machine.run("lock", "x", "--", "true")
    assert which.returncode == 2
    assert "3 nodes of 'test' on this machine" in which.stderr

    machine.nodes["a"].kill()  # the node dies: its programs lose their locks, and are ended
    assert holder.wait(20) == 75
    assert holder.stderr is not None
    assert "is lost" in holder.stderr.read()
    deadline = time.monotonic() + 20
    while "peer.away" not in machine.logs() and time.monotonic() < deadline:
        time.sleep(0.05)  # the others take a moment to be sure that it is gone
    machine.stop()
    assert [node.returncode for name, node in machine.nodes.items() if name != "a"] == [0, 0]
    assert not machine.socket("b").exists()
    events = [json.loads(line)["event"] for line in machine.logs().splitlines() if line.startswith("{")]
    assert "cluster.open" in events
    assert "peer.away" in events


@pytest.mark.deep
def test_certificates_from_the_command_line_secure_a_cluster(machine: Machine) -> None:
    text = (machine.folder / "cluster.toml").read_text()
    machine.write(text + '\n[tls]\nca = "certs/ca.pem"\ncertificate = "certs/{name}.pem"\nkey = "certs/{name}.key"\n')
    early = machine.run("node", "--name", "a")
    assert early.returncode == 2
    assert "congenial certs" in early.stderr
    made = machine.run("certs")
    assert made.returncode == 0, made.stderr
    assert (machine.folder / "certs" / "b.key").exists()
    machine.start()
    done = machine.run("lock", "x", "--node", "b", "--timeout", "20", "--", "echo", "safe")
    assert done.stdout == "safe\n", done.stderr + machine.logs()
    machine.stop()


def test_mistakes_are_said_in_one_line(machine: Machine) -> None:
    for words, what in (
        (("node", "--name", "z"), "'z' is not a node"),
        (("status",), "start one with `congenial node`"),
        (("status", "--config", "none.toml"), "cannot read none.toml"),
        (("lock", "x", "--socket", "none.sock", "--", "true"), "no node is listening on none.sock"),
    ):
        ended = machine.run(*words)
        assert ended.returncode in (1, 2, 125)
        assert what in ended.stderr
        assert len(ended.stderr.splitlines()) == 1
    machine.write('[nodes]\na = "127.0.0.1"\n')
    assert "is not an address" in machine.run("node", "--name", "a").stderr
    machine.write('colour = "red"\n[nodes]\na = "127.0.0.1:7101"\n')
    assert "unknown setting colour" in machine.run("node", "--name", "a").stderr
    machine.write('[timing]\npatience = 3\n[nodes]\na = "127.0.0.1:7101"\n')
    assert "timing.patience = 3: unknown setting" in machine.run("node", "--name", "a").stderr
    machine.write('[nodes]\na = "10.0.0.1:7101"\n')
    assert "insecure = true" in machine.run("node", "--name", "a").stderr


@pytest.mark.deep
def test_the_demo_ends_without_a_violation(machine: Machine) -> None:
    ended = machine.run("demo", "--seconds", "2")
    assert ended.returncode == 0, ended.stderr
    rows = dict([line.rsplit(maxsplit=1) for line in ended.stdout.splitlines() if line[-1].isdigit()])
    assert rows["violations, as seen by the witness"] == "0"
    assert int(rows["entries"]) > 10
    assert int(rows["most listeners together"]) >= 2
    assert "the recording: jukebox.html" in ended.stdout
    page = (machine.folder / "jukebox.html").read_text()
    assert f"{rows['entries']} entries, no violation, as seen by the witness" in page
    assert ended.stdout.splitlines()[-1] == NEXT, "it ends by saying where to go next"
    assert [name for name in re.findall(r"docs/[\w.-]+", NEXT) if not (ROOT / name).is_file()] == []


@pytest.mark.deep
def test_the_demo_can_be_interrupted(machine: Machine) -> None:
    demo = machine.spawn("demo", "--seconds", "60")
    try:
        time.sleep(4)  # its nodes are there, or about to come
        assert demo.poll() is None
        demo.send_signal(signal.SIGINT)
        out, err = demo.communicate(timeout=60)
    finally:
        demo.kill()
        demo.wait()
    assert (demo.returncode, out, err) == (1, "", "congenial: interrupted\n")
