"""All commands with their options, as their signatures declare them, and random command lines made of these.

A command line is drawn from a seed: mostly what the options are meant for, now and then something else. `judge` says
what is wrong with how a command ended, whatever it was asked.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from congenial.checker.check import check
from congenial.checker.replay import write_trace
from congenial.cli import SUBCOMMANDS, main
from congenial.lab.parameters import METRICS

SECONDS = 6.0  # after which a command is ended; that is no fault
MEMORY = 2 << 30  # bytes; a command that needs more must have said so before


# -- what there is ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """An option or an argument of a command. `flags` are its names on the command line; an argument has none."""

    command: str
    name: str
    kind: type
    flags: tuple[str, ...]
    several: bool
    required: bool


def commands() -> dict[str, list[Parameter]]:
    """The parameters of every command."""
    return {name: _parameters(name) for name in SUBCOMMANDS}


def _parameters(command: str) -> list[Parameter]:
    found = []
    function = import_module(f"congenial.cli.{command}").command
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        declared, info = typing.get_args(parameter.annotation)
        kinds = [declared]
        if typing.get_origin(declared) in (typing.Union, types.UnionType):
            kinds = [part for part in typing.get_args(declared) if part is not type(None)]
        several = typing.get_origin(kinds[0]) is list
        kind = typing.get_args(kinds[0])[0] if several else kinds[0]
        flags: tuple[str, ...] = ()
        if type(info).__name__ == "OptionInfo":
            words = info.param_decls or (f"--{name.replace('_', '-')}",)
            flags = tuple([flag for word in words for flag in word.split("/") if flag.startswith("-")])
        found.append(Parameter(command, name, kind, flags, several, parameter.default is parameter.empty))
    return found


# -- what they can be given --------------------------------------------------------------------------------------

ALGORITHMS = (
    "suzuki-kasami", "ricart-agrawala", "maekawa", "raymond-tree", "token-gme", "raymond-k", "wme-1", "lamport",
    "maekawa+epochs", "raymond-tree+restart", "naimi-trehel-recovery", "own.py:Own", "own.py:Raising", "own.py:Shy",
)  # fmt: skip
TIMES = ("1", "0", "10", "constant:2", "uniform:1,5", "exponential:3", "lognormal:5,1", "file:delays.txt")
WRITTEN = ("new.ndjson", "new.svg", "folder/new", "old.txt")
POOLS: dict[str, tuple[str, ...]] = {
    "algorithm": ALGORITHMS,
    "algorithms": (*ALGORITHMS, "maekawa quorums=grid", "raymond-k k=2"),
    "nodes": ("1", "2", "3", "4"),
    "groups": ("1", "2", "3"),
    "requests": ("1", "2"),
    "think": TIMES,
    "hold": TIMES,
    "delay": TIMES,
    "skew": ("20/80", "50/50", "100/0"),
    "load": ("closed", "burst", "single", "turns", "arrivals.csv"),
    "quorums": ("auto", "grid", "majority", "singleton", "plane"),
    "tree": ("star", "line", "balanced", "random"),
    "settings": ("k=2", "quorums=grid", "tree=line", "groups=2"),
    "options": ("k=2", "quorums=grid", "tree=line", "groups=2"),
    "loss": ("0.1", "0", "1", "0.5@1-20"),
    "duplicate": ("0.1", "0.2@5"),
    "reorder": ("0.1", "0.2@5-50"),
    "crash": ("0@5-50", "1@10", "0.001/5"),
    "pause": ("0@5-50", "1@10", "0.001/5"),
    "partition": ("0|1@5-50", "0,1|2@10", "0@3-9", "0.001/5"),
    "suspect": ("0@5-50", "1@10-11", "0.001/5"),
    "detector": ("heartbeat:5,20", "heartbeat:50,100"),
    "detectors": ("heartbeat:5,20", "heartbeat:50,100"),
    "detection": ("0", "5"),
    "warmup": ("0", "5"),
    "until": ("100", "1000", "inf"),
    "duration": ("0", "100", "1000"),
    "bandwidth": ("0", "10"),
    "seed": ("1", "7", "-3"),
    "repeat": ("1", "2"),
    "precision": ("0", "0.5", "0.9"),
    "least": ("2", "3"),
    "most": ("2", "3"),
    "limit": ("1", "100", "2000"),
    "runs": ("1", "3"),
    "jobs": ("1",),
    "wants": ("0;0;0", "0;1", "0;1;0,1", "0|1;0;1", "0"),
    "order": ("any", "fifo"),
    "timers": ("free", "quiet", "patient"),
    "crashes": ("0", "1"),
    "losses": ("0", "1"),
    "duplicates": ("0", "1"),
    "suspicions": ("0", "1"),
    "operations": ("0", "1"),
    "trace": WRITTEN,
    "svg": WRITTEN,
    "html": WRITTEN,
    "file": ("run.ndjson", "sweep.toml", "broken.json", "folder", "binary"),
    "vary": ("nodes=2,3", "groups=1,2", "requests=1,2", "delay=1;constant:2"),
    "fixed": ("requests=1", "nodes=2", "think=3", "until=100"),
    "metrics": tuple(METRICS),
    "out": ("results", "folder", "old.txt", "certs"),
    "docs": ("results", "folder"),
    "targets": ("token-gme/6a", "wme", "wme/table1", "survey/table2"),
    "cluster": ("tcp://127.0.0.1:1",),
    "config": ("cluster.toml", "broken.json", "folder"),
    "name": ("a", "b", "jobs"),
    "names": (*ALGORITHMS, "run.ndjson"),
    "words": ("true", "false", "nothing-of-the-kind"),
    "group": ("a", ""),
    "semaphore": ("1", "2"),
    "timeout": ("0", "0.1"),
    "conflict": ("9", "256"),
    "node": ("a", "b"),
    "socket": ("none.sock", "old.txt"),
    "state": ("state", "folder", "old.txt"),
    "metrics_port": ("0", "8"),
    "slow": ("0", "1", "nan"),
    "find": ("jobs", ""),
    "seeds": ("127.0.0.1:1", "nowhere", "127.0.0.1:1,127.0.0.1:2"),
    "address": ("127.0.0.1:7109", "nowhere"),
    "promote": ("a", "z"),
    "demote": ("a", "z"),
    "remove": ("a", "z"),
    "listen": ("127.0.0.1", "0.0.0.0"),
    "clients": ("127.0.0.1:0", "nowhere", "127.0.0.1:99999"),
    "socket_mode": ("600", "660", "999", "rw"),
    "socket_group": ("root", "no-such-group"),
    "port": ("0",),
    "seconds": ("1",),
    "lock": ("jobs",),
    "top": ("1", "20"),
    "host": ("localhost",),
}  # fmt: skip
WRONG = (
    "", " ", "x", "-1", "0", "1.5", "nan", "inf", "-inf", "1e400", "99999999999999999999", "1_0", "\u00e9\u4e16", "a b",
    "=", ":", "@", "|", "/", ",", ";", "-", "--", "..", "~", "no/such/place", "folder", "old.txt", "binary",
    "/proc/x", "/dev/full", "a\nb", "0@", "@1", "0@5-1", "0@nan", "0@inf", "0|0@1", "9@1", "1/0", "0/1", "k=", "=k",
    "nodes=", "nodes=x", "nodes=1,1", "seed=3", "uniform:5,1", "uniform:1", "constant:nan", "file:",
    "file:binary", "file:folder",
    "heartbeat:0,1", "heartbeat:1", "0;", ";", "0;9;0", "-1;0;0", "0,0;0;0", "own.py", "own.py:", "own.py:Nothing",
    "own.py:Mutable", "own.py:Loose", "own.py:Unmade", "own.py:not a name", "broken.py:Own", "missing.py:Own",
    "raises.py:Own", "folder:Own", ":Own", "lamport+", "+", "lamport+epochs+epochs", "lamport+nothing", "token-gme/",
    "all/", "\udce9", "x" * 300, "1" * 5000,
)  # fmt: skip
LARGE = ("100000", "1000000", "1000000000", "1e18")


def line_of(seed: int, table: dict[str, list[Parameter]], only: str = "") -> list[str]:
    """The command line of a seed: mostly sensible, with one or two things that are not."""
    rng = random.Random(seed)
    command = only or rng.choice(SUBCOMMANDS)
    words = [command]
    wrongs = rng.choice((0, 0, 1, 1, 1, 2))
    chosen = [
        parameter
        for parameter in table[command]
        if (parameter.required and rng.random() < 0.98)
        or rng.random() < 2.5 / len(table[command])
        or parameter.name in SMALL
    ]
    spoiled = [] if not chosen else rng.sample(chosen, min(len(chosen), wrongs))
    rest: list[str] = []
    for parameter in chosen:
        times = rng.choice((1, 1, 2)) if parameter.several else 1
        for _ in range(times):
            value = _value(rng, parameter, parameter in spoiled)
            if not parameter.flags:
                rest.append(value)
            elif parameter.kind is bool:
                words.append(rng.choice(parameter.flags))
            elif rng.random() < 0.2 and parameter.flags[-1].startswith("--"):
                words.append(f"{parameter.flags[-1]}={value}")
            else:
                words += [rng.choice(parameter.flags), value]
    if rng.random() < 0.02:
        words.insert(rng.randrange(1, len(words) + 1), rng.choice(("--bogus", "-z", "--", "--help")))
    return [*words, *(["--"] if command == "lock" and rng.random() < 0.7 else []), *rest]


SMALL = {"nodes", "requests", "runs", "limit", "jobs", "seconds", "duration", "least", "most", "until"}
"""Nearly always given, so that no command takes long."""


def _value(rng: random.Random, parameter: Parameter, spoil: bool) -> str:
    if not spoil:
        return rng.choice(POOLS.get(parameter.name, WRONG))
    if parameter.kind in (int, float) and rng.random() < 0.3:
        return rng.choice(LARGE)
    if rng.random() < 0.2:  # something near what is right
        text = rng.choice(POOLS.get(parameter.name, WRONG)) or "x"
        place = rng.randrange(len(text))
        return text[:place] + rng.choice(("", "-", ",", "@", "9", ".", "\t")) + text[place + rng.randrange(2) :]
    return rng.choice(WRONG)


# -- running one -------------------------------------------------------------------------------------------------

OWN = '''
from dataclasses import dataclass
from congenial import Message, Node

@dataclass(frozen=True)
class Ping(Message):
    number: int

@dataclass
class Changing(Message):
    number: int

class Own(Node):
    """Right for one process."""
    def request(self, groups, out):
        self.wait()
        self.enter(out, 0, groups[0])
    def release(self, out):
        self.leave()

class Raising(Own):
    messages = (Ping,)
    def request(self, groups, out):
        self.wait()
        out.broadcast(Ping(1))
    def receive(self, src, msg, out):
        return {}[src]

class Shy(Own):
    """Never enters."""
    def request(self, groups, out):
        self.wait()

class Mutable(Own):
    messages = (Changing,)

class Loose(Own):
    """Sends what it does not declare, and what can change."""
    def request(self, groups, out):
        self.wait()
        out.broadcast(Changing(1))
    def receive(self, src, msg, out):
        pass

class Unmade(Own):
    def __init__(self):
        pass
'''
CLUSTER = """
cluster = "fuzzed"
[nodes]
a = "127.0.0.1:1"
b = "127.0.0.1:2"
c = "127.0.0.1:3"
"""


def furnish(folder: Path) -> None:
    """What command lines may name."""
    (folder / "own.py").write_text(OWN)
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "raises.py").write_text("import nothing_of_the_kind\n")
    (folder / "broken.json").write_text('{"event": "begin", \n')
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "old.txt").write_text("valuable\n")
    (folder / "folder").mkdir()
    (folder / "delays.txt").write_text("1 2 3.5\n")
    (folder / "arrivals.csv").write_text("time,process,group,hold\n0,0,0,1\n1,0,0,2\n")
    (folder / "cluster.toml").write_text(CLUSTER)
    sweep = 'algorithms = ["lamport"]\nmost = 2\nleast = 2\n[vary]\nnodes = [2]\n[fixed]\nrequests = 1\n'
    (folder / "sweep.toml").write_text(sweep)
    found = check("suzuki-kasami", nodes=2, requests=1, losses=1).counterexample
    assert found is not None
    write_trace(folder / "run.ndjson", "suzuki-kasami", 2, {}, False, found.events)


@dataclass(frozen=True)
class Outcome:
    """How a command ended: with an exit code (None: it was still running and was killed), what it printed, and which
    files it has changed or made, outside what its own output options name as well."""

    code: int | None
    out: str
    err: str
    changed: tuple[str, ...]


class Place:
    """A furnished folder in which command lines run, each in a process of its own that was forked from this one."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="congenial-lines-"))
        self.folder = self.base / "here"
        self.folder.mkdir()
        (self.base / "tmp").mkdir()
        furnish(self.folder)
        self.before = self._contents()
        self.model = self.base / "model"
        shutil.copytree(self.folder, self.model)
        for name in SUBCOMMANDS:
            import_module(f"congenial.cli.{name}")
        for name in ("lab.api", "sim.detection", "net.locks", "net.service", "studio.pages"):
            import_module(f"congenial.{name}")

    def close(self) -> None:
        shutil.rmtree(self.base, ignore_errors=True)

    def run(self, words: list[str], seconds: float = SECONDS) -> Outcome:
        out, err = self.base / "out", self.base / "err"
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            self._be_the_command(words, out, err)
        code = None
        try:
            code = _end_of(child, seconds)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            if code is None:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(child, 0)
        after = self._contents()
        changed = tuple(sorted([name for name in {*after, *self.before} if after.get(name) != self.before.get(name)]))
        if changed:
            shutil.rmtree(self.folder)
            shutil.rmtree(self.base / "tmp")
            (self.base / "tmp").mkdir()
            shutil.copytree(self.model, self.folder)
        return Outcome(code, _text(out), _text(err), changed)

    def _be_the_command(self, words: list[str], out: Path, err: Path) -> typing.NoReturn:
        code = 99
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS) + 5, int(SECONDS) + 5))
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.chdir(self.folder)
            for number, path in ((1, out), (2, err)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            sys.stdout, sys.stderr = os.fdopen(1, "w", encoding="utf-8"), os.fdopen(2, "w", encoding="utf-8")
            os.environ.update(TMPDIR=str(self.base / "tmp"), HOME=str(self.base / "tmp"), COLUMNS="80")
            os.environ.pop("CONGENIAL_TRACEBACK", None)
            os.environ.pop("CONGENIAL_SOCKET", None)
            tempfile.tempdir = None
            try:
                main(words)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 98
            sys.stdout.flush()
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os._exit(code)

    def _contents(self) -> dict[str, str]:
        found = {}
        for top in (self.folder, self.base / "tmp"):
            for path in sorted(top.rglob("*")):
                if path.name.endswith(".pyc") or path.name == "__pycache__" or {".cache", ".config"} & {*path.parts}:
                    continue
                what = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "other"
                found[str(path.relative_to(self.base))] = what
        return found


@contextlib.contextmanager
def place() -> Iterator[Place]:
    made = Place()
    try:
        yield made
    finally:
        made.close()


def _end_of(child: int, seconds: float) -> int | None:
    until = time.monotonic() + seconds
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            return None
        time.sleep(0.002)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


# -- judging it --------------------------------------------------------------------------------------------------


def judge(words: list[str], ended: Outcome) -> str:
    """What is wrong with how a command ended, or nothing."""
    if ended.code is None:
        return ""  # it is at work: what it has been asked for takes long
    lines = ended.err.splitlines()
    if "Traceback" in ended.out + ended.err or "CONGENIAL_TRACEBACK" in ended.err:
        return "a traceback, or an error that nobody has thought of"
    if ended.code not in (0, 1, 2) and words[0] != "lock":
        return f"exit code {ended.code}"
    if ended.code == 2:
        if ended.out:
            return "it printed something and was refused"
        if len(lines) != 1 or not lines[0].startswith("congenial: "):
            return "not one line of error"
        if ended.changed:
            return f"refused, but it has changed {', '.join(ended.changed)}"
    if ended.code == 1 and not ended.out and (len(lines) != 1 or not lines[0].startswith("congenial: ")):
        return "no verdict, and not one line of error"
    if ended.code == 0 and len([line for line in lines if "interpreted" not in line]) > 1:
        return "more than one line on stderr"
    named = "\0".join(words)
    litter = [name for name in ended.changed if not _named(name, named)]
    return f"litter: {', '.join(litter)}" if litter else ""


def _named(changed: str, words: str) -> bool:
    top = Path(changed).parts
    if top[0] != "here":
        return False
    return any(part in words for part in top[1:]) or top[1] in DEFAULTS


DEFAULTS = ("runs", "certs", "jukebox.html")  # where sweep, reproduce, certs and demo write if told nothing else


def run_many(first: int, seconds: float, only: str = "", most: int = 1 << 60) -> tuple[int, list[str]]:
    """Run command lines of the seeds from `first` on; how many, and the faults found."""
    table = commands()
    faults: list[str] = []
    until = time.monotonic() + seconds
    seed = first
    with place() as here:
        while time.monotonic() < until and seed < first + most:
            words = line_of(seed, table, only)
            ended = here.run(words)
            wrong = judge(words, ended)
            if wrong:
                faults.append(
                    f"seed {seed}: {words!r}: {wrong} (code {ended.code})\n  {ended.err[-600:]}{ended.out[-200:]}"
                )
            if ended.code is None and __name__ == "__main__":
                print(f"slow: seed {seed}: {words!r}", flush=True)
            seed += 1
    return seed - first, faults


if __name__ == "__main__":
    import argparse

    parser = argparse.ArgumentParser(description="Run random command lines and look for faults.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    count, found = run_many(given.seed, given.seconds, given.only)
    for fault in found:
        print(fault)
    print(f"{count} command lines, {len(found)} faults")
