"""Every option and argument of every command of the laboratory is given what it cannot take. The answer is exit code 2
and one line that says what is wrong. An option without a row here fails the test.

The commands of the network have their rows in tests/net/."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_lines import Parameter, commands, furnish
from shell import Run

NETWORK = {"node", "lock", "status", "members", "certs", "demo"}

WHOLE = ("x", "", "1.5", "nan", "inf", "-1", "0", "1e3", "99999999999999999999", "1" * 5000)
FROM_0 = tuple([text for text in WHOLE if text != "0"])
SEED = ("x", "", "1.5", "nan", "99999999999999999999", "-99999999999999999999", "1" * 5000)
AMOUNT = ("x", "", "nan", "inf", "-inf", "-1", "1e400", "--")
TIME = ("x", "", "nan", "-inf", "-1")
ABOVE_0 = (*AMOUNT, "0")
DISTRIBUTION = (
    "x", "", "nan", "inf", "-1", "uniform:1", "uniform:5,1", "constant:", "constant:nan", "gamma:1,2", "file:",
    "file:no/such", "file:binary", "file:folder", "file:old.txt",
)  # fmt: skip
SHARE = ("x", "", "nan", "-0.1", "1.1", "0.1@5-1", "0.1@x", "0.1@nan", "@")
OUTAGE = ("x", "", "9@1", "-1@1", "0@5-1", "0@nan", "0@x", "0/1", "1/0", "nan/1", "x/1", "0.5@1", "@1")
PARTITION = (*OUTAGE, "0,1@10", "0@1", "0|0@1", "0|@1", "|@1", "0,1,2@5-9")
ALGORITHM = (
    "", "no-such", "+", "lamport+", "lamport+x", "own.py", "own.py:", "own.py:Nothing", "own.py:not a name",
    "missing.py:Own", "broken.py:Own", "raises.py:Own", "folder:Own", "binary:Own", "own.py:Mutable", "own.py:Unmade",
    "own.py:Ping", "x" * 300,
)  # fmt: skip
SETTING = ("x", "", "=", "=1", "no-such=1", "k=x")
CHOICE = ("x", "FIFO", "0")
OUTPUT = ("no/such/place", "folder", "/proc/x")
DETECTOR = ("x", "heartbeat", "heartbeat:0,1", "heartbeat:1", "heartbeat:nan,1", "heartbeat:1,inf", "sonar:1,2")
FOLDER = ("old.txt", "old.txt/x", "/proc/x")

SCENARIO: dict[str, tuple[str, ...]] = {
    "nodes": WHOLE, "groups": WHOLE, "requests": WHOLE, "think": DISTRIBUTION, "hold": DISTRIBUTION,
    "skew": ("x", "20", "20/800", "0/10", "nan/10", "20/80/3", "20/80"),  # the last for want of groups
    "load": ("", "x", "no/such.csv", "CLOSED", "broken.csv"), "delay": DISTRIBUTION, "bandwidth": AMOUNT, "fifo": (),
    "quorums": ("x", "grid"), "tree": ("x", "star"), "settings": SETTING, "loss": SHARE, "duplicate": SHARE,
    "reorder": SHARE, "crash": OUTAGE, "pause": OUTAGE, "partition": PARTITION, "suspect": OUTAGE,
    "detector": DETECTOR, "detection": (*AMOUNT, "5"), "warmup": (*AMOUNT, "1000000"), "until": TIME,
    "seed": SEED, "repeat": WHOLE, "precision": AMOUNT, "json": (),
}  # fmt: skip
BOUNDS: dict[str, tuple[str, ...]] = {
    "nodes": WHOLE, "requests": WHOLE, "groups": WHOLE, "wants": ("x", "0", "0;x", "0;-1", "0;;0", "0;0;0;0", ";"),
    "order": CHOICE, "crashes": FROM_0, "losses": FROM_0, "duplicates": FROM_0, "suspicions": FROM_0,
    "lasting": (), "timers": CHOICE, "recovery": (), "operations": (*FROM_0, "1"), "options": SETTING,
    "trace": OUTPUT, "svg": OUTPUT, "html": OUTPUT, "json": (), "jobs": WHOLE, "algorithm": ALGORITHM,
}  # fmt: skip

TABLE: dict[str, tuple[str, dict[str, tuple[str, ...]]]] = {
    "list": ("", {"json": (), "markdown": ()}),
    "sim": ("lamport -n 3 -r 1", {**SCENARIO, "algorithm": ALGORITHM, "trace": OUTPUT, "html": OUTPUT, "hops": ()}),
    "compare": (
        "lamport -n 3 -r 1",
        {**SCENARIO, "algorithms": tuple([name for name in ALGORITHM if name]), "jobs": FROM_0, "markdown": ()},
    ),
    "check": (
        "lamport --nodes 2 --requests 1",
        {**BOUNDS, "reduce": (), "symmetry": (), "limit": WHOLE, "cluster": ("x",)},
    ),
    "fuzz": ("lamport --nodes 2 --requests 1 --runs 1", {**BOUNDS, "runs": WHOLE, "seed": SEED}),
    "replay": (
        "run.ndjson",
        {"file": ("", "no/such", "folder", "binary", "broken.json", "old.txt", "sweep.toml"),
         "svg": (*OUTPUT, "run.ndjson"), "html": (*OUTPUT, "run.ndjson"), "json": ()},
    ),
    "sweep": (
        "-a lamport --vary nodes=2 --jobs 1",
        {
            "file": ("", "no/such", "folder", "binary", "broken.json", "sweep.toml"),  # the last beside --vary
            "algorithms": (*ALGORITHM, " ", "lamport x", "lamport x=1", "lamport"),
            "vary": ("x", "", "=", "x=1", "groups=", "groups=x", "groups=1,1", "nodes=3", "loss=2", "delay=-1"),
            "fixed": ("x", "", "=", "x=1", "nodes=2", "requests=x", "think=-1", "until=nan", "fifo=2", "seed=3"),
            "metrics": ("x", ""), "precision": ABOVE_0, "least": (*WHOLE, "1"), "most": (*WHOLE, "1"), "seed": SEED,
            "jobs": FROM_0, "cluster": ("x",), "out": FOLDER, "json": (), "markdown": (),
        },
    ),
    "reproduce": (
        "wme",
        {
            "targets": ("", "no-such", "wme/9", "/", "wme/table1/"), "quick": (), "claims": (), "jobs": FROM_0,
            "cluster": (), "out": FOLDER, "docs": FOLDER, "json": (), "markdown": (),
        },
    ),
    "studio": (
        "",
        {
            "names": (
                *[name for name in ALGORITHM if name not in ("own.py:Mutable", "own.py:Unmade")],
                "no-such.ndjson", "empty.ndjson",
            ),
            "host": ("", "a b", "999.1.1.1", "::1::", "x" * 300), "port": ("x", "", "-1", "65536", "1.5"),
            "runs": ("no-such-folder", "own.py", "x" * 300), "config": ("no-such.toml", "own.py"),
            "node": ("no-such", "a b"), "socket": ("x" * 200,), "slow": ("-1", "nan", "x", ""),
        },
    ),
    "detector": (
        "heartbeat:10,30 -n 2 --runs 1",
        {
            "detectors": (*DETECTOR, ""), "nodes": (*WHOLE, "1", "100000"), "delay": DISTRIBUTION, "loss": SHARE,
            "pause": OUTAGE, "duration": AMOUNT, "runs": WHOLE, "seed": SEED, "json": (),
        },
    ),
}  # fmt: skip
FLAGS = ("--bogus", "--json=x", "--json=")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    furnish(tmp_path)
    (tmp_path / "empty.ndjson").write_text("")
    (tmp_path / "broken.csv").write_text("time,process\n0,x\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_and_option_has_a_row() -> None:
    known = commands()
    assert set(known) - NETWORK == set(TABLE)
    for command, (_, rows) in TABLE.items():
        assert set(rows) == {parameter.name for parameter in known[command]}, command
        for parameter in known[command]:
            assert (
                rows[parameter.name] or parameter.kind is bool or (command, parameter.name) == ("reproduce", "cluster")
            )


CASES = [
    parameter
    for command, parameters in commands().items()
    for parameter in parameters
    if command in TABLE and TABLE[command][1].get(parameter.name)
]


@pytest.mark.parametrize("parameter", CASES, ids=[f"{case.command}-{case.name}" for case in CASES])
def test_what_is_wrong_is_refused(run: Run, here: Path, parameter: Parameter) -> None:
    right, rows = TABLE[parameter.command]
    before = contents(here)
    for text in rows[parameter.name]:
        given = [f"{parameter.flags[-1]}={text}"] if parameter.flags else ["--", text]
        base = right.split()
        if not parameter.flags and not parameter.several and parameter.required:
            base = base[1:]  # the wrong one stands in the place of the right one
        ended = run(parameter.command, *base, *given)
        said = ended.refused()
        assert len(said) < 700, said
        assert contents(here) == before, f"{given} was refused, but has changed files"


@pytest.mark.parametrize("command", TABLE)
@pytest.mark.parametrize("flag", FLAGS)
def test_flags_take_no_values_and_are_known(run: Run, here: Path, command: str, flag: str) -> None:
    run(command, *TABLE[command][0].split(), flag).refused()


@pytest.mark.parametrize("command", ["sim", "compare", "check", "fuzz", "replay", "reproduce", "detector", "sweep"])
def test_nothing_at_all_is_not_enough(run: Run, here: Path, command: str) -> None:
    run(command).refused()


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
