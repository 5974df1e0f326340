"""Mistakes that used to go unnoticed, or were noticed after long work: each is one line now, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_lines import furnish
from shell import Run

from congenial import ConfigError, ContractError, Message, Node, Scenario, check, fuzz, simulate
from congenial.testing import conformance


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


REFUSED = {
    "a partition that separates no process": ("sim lamport --partition 0,1@10", "separates no process from another"),
    "a partition of one process": ("sim lamport -n 1 --partition 0.1/5", "one process cannot be separated"),
    "a warm-up beyond the run": ("sim lamport -n 2 -r 1 --warmup 1e9", "warmup must end before the run, which is over"),
    "groups that there are not": ("check ra1 --groups 2 --wants 0;1;2", "should name groups that there are: 0..1"),
    "hops and a trace": ("sim lamport --hops --trace t", "--hops has its own runs"),
    "hops and repetitions": ("sim lamport --hops --repeat 3", "--hops has its own runs"),
    "hops and a page": ("sim lamport --hops --html t", "--hops has its own runs"),
    "a page of several runs": ("sim lamport --html t --repeat 2", "--html goes with a single run"),
    "a page over its trace": ("sim lamport --trace x --html x", "x is named twice"),
    "a page over what it shows": ("replay run.ndjson --html run.ndjson", "run.ndjson is named twice"),
    "a studio for nothing": ("studio no-such", "unknown algorithm 'no-such'"),
    "two forms at the same time": ("compare lamport --json --markdown", "--json and --markdown"),
    "requests in a burst": ("sim lamport --load burst --requests 5", "--requests has no effect with --load burst"),
    "skew of one group": ("sim lamport --skew 20/80", "--skew has no effect with one group"),
    "detection of nothing": ("sim lamport --detection 5", "--detection has no effect without --crash"),
    "disorder without order": ("sim lamport --unordered --reorder 0.1", "--reorder has no effect with --unordered"),
    "cuts of nobody": ("check lamport --lasting", "--lasting has no effect without --suspicions"),
    "recovery of nobody": ("check lamport --no-recovery", "--no-recovery has no effect without --crashes"),
    "an option twice": ("sim maekawa --set quorums=grid --set quorums=plane", "--set gives 'quorums' twice"),
    "an option in two ways": ("sim maekawa --quorums grid --set quorums=plane", "are the same"),
    "one file for two": ("check lamport --trace x --svg x", "x is named twice"),
    "a picture over its trace": ("replay run.ndjson --svg run.ndjson", "run.ndjson is named twice"),
    "a system too large": ("sim maekawa --nodes 100000", "would take about"),
    "a system too large to compare": ("compare lamport maekawa --nodes 100000", "CONGENIAL_MEMORY"),
    "a random run too large": ("fuzz ricart-agrawala --nodes 100000", "GB of memory"),
    "an exploration too large": ("check lamport --nodes 300", "nodes must be at most 255"),
    "a message that can change": ("sim own.py:Mutable", "message Changing can change: declare it with"),
    "a file with a mistake": ("sim broken.py:Own", "broken.py cannot be loaded: SyntaxError: invalid syntax"),
    "an import of nothing": ("sim raises.py:Own", "No module named 'nothing_of_the_kind' (raises.py, line 1"),
    "a name that is none": ("sim own.py:not-a-name", "'not-a-name' is no name of a class"),
}  # fmt: skip


@pytest.mark.parametrize(("command", "reason"), REFUSED.values(), ids=list(REFUSED))
def test_refused(run: Run, here: Path, command: str, reason: str) -> None:
    assert reason in run(*command.split()).refused()
    assert not (here / "t").exists()
    assert not (here / "x").exists()


def test_heartbeats_do_not_keep_a_run_going(run: Run, here: Path) -> None:
    """Their messages overlap, so there is always one under way."""
    ended = run("sim", "lamport", "-n", "3", "-r", "2", "--detector", "heartbeat:5,200")
    assert ended.out.splitlines()[-1] == "all 6 requests served, no violation"


def test_memory_can_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONGENIAL_MEMORY", "0.001")
    with pytest.raises(ConfigError, match=r"2000 processes of suzuki-kasami would take about .* more than 0.001 GB"):
        Scenario("suzuki-kasami", nodes=2000).system()
    monkeypatch.setenv("CONGENIAL_MEMORY", "100000")
    assert Scenario("suzuki-kasami", nodes=2000).system().n == 2000
    monkeypatch.setenv("CONGENIAL_MEMORY", "much")
    with pytest.raises(ConfigError, match="CONGENIAL_MEMORY must be a number"):
        Scenario("suzuki-kasami", nodes=2000).system()


@pytest.mark.parametrize("option", ["--svg", "--trace", "--html"])
@pytest.mark.parametrize("command", ["check", "fuzz"])
def test_a_file_that_cannot_be_written_is_found_out_before_the_work(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, command: str, option: str
) -> None:
    monkeypatch.setattr(f"congenial.checker.{command}.{command}", None)  # calling it would be the wrong error
    assert "cannot write the" in run(command, "lamport", option, "no/such/place").refused()
    assert "Is a directory" in run(command, "lamport", option, "folder").refused()


def test_a_node_whose_state_cannot_be_kept_makes_no_folder_for_its_socket(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("congenial.net.local.socket_path", None)  # calling it would be the wrong error
    assert "old.txt is no folder" in run("node", "--name", "a", "--state", "old.txt").refused()


class TestNothingIsLost:
    def test_by_a_trace_of_a_run_that_is_refused(self, run: Run, here: Path) -> None:
        run("sim", "lamport", "-n", "2", "-r", "1", "--warmup", "1e9", "--trace", "old.txt").refused()
        run("sim", "no-such", "--trace", "old.txt").refused()
        run("sim", "own.py:Unmade", "--trace", "old.txt").refused()
        assert (here / "old.txt").read_text() == "valuable\n"

    def test_by_a_check_that_finds_nothing(self, run: Run, here: Path) -> None:
        assert run("check", "lamport", "--nodes", "2", "--requests", "1", "--trace", "old.txt").code == 0
        assert (here / "old.txt").read_text() == "valuable\n"

    def test_a_run_that_ends_replaces_what_was_there(self, run: Run, here: Path) -> None:
        assert run("sim", "lamport", "-n", "2", "-r", "1", "--trace", "old.txt").code == 0
        assert json.loads((here / "old.txt").read_text().splitlines()[0])["event"] == "begin"
        assert not (here / "old.txt.part").exists()

    def test_by_a_sweep_into_the_folder_of_another(self, run: Run, here: Path) -> None:
        first = ("sweep", "-a", "lamport", "--vary", "nodes=2", "--fixed", "requests=1", "--jobs", "1", "--least", "2")
        assert run(*first, "--most", "2", "--out", "one").code == 0
        results = (here / "one" / "results.csv").read_bytes()
        for words, part in (
            (["-a", "maekawa", "--vary", "nodes=2", "--fixed", "requests=1"], "with other algorithms"),
            (["-a", "lamport", "--vary", "nodes=3", "--fixed", "requests=1"], "over other values"),
            (["-a", "lamport", "--vary", "groups=1", "--fixed", "requests=1"], "over other values"),
            (["-a", "lamport", "--vary", "nodes=2", "--fixed", "requests=2"], "with a different 'fixed'"),
            (["-a", "lamport", "--vary", "nodes=2", "--fixed", "requests=1", "--seed", "5"], "with a different 'seed'"),
        ):
            assert f"one holds another sweep, {part}" in run("sweep", *words, "--out", "one").refused()
        assert (here / "one" / "results.csv").read_bytes() == results
        (here / "two").mkdir()
        (here / "two" / "results.csv").write_text("mine\n")
        assert "two holds a results.csv that is not of this sweep" in run(*first, "--out", "two").refused()
        assert run(*first, "--most", "3", "--out", "one").code == 0, "the same sweep goes on"


class TestReplay:
    def test_of_another_size(self, run: Run, here: Path) -> None:
        lines = (here / "run.ndjson").read_text().splitlines()
        for nodes, reason in ((1, "there is no process 1 among the 1"), (0, "at least 1"), ("2", "a whole number")):
            first = json.loads(lines[0])
            first["fields"]["nodes"] = nodes
            (here / "other.ndjson").write_text("\n".join([json.dumps(first), *lines[1:]]))
            assert reason in run("replay", "other.ndjson").refused()

    def test_of_another_algorithm(self, run: Run, here: Path) -> None:
        text = (here / "run.ndjson").read_text().replace("suzuki-kasami", "raymond-tree")
        (here / "other.ndjson").write_text(text)
        assert "does not fit raymond-tree" in run("replay", "other.ndjson").refused()

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            ("[1]", "no JSON object"),
            ('{"event": "enter"}', "there is no 't'"),
            ('{"event": "sleep", "t": 1, "node": 0}', "unknown event 'sleep'"),
            ('{"event": ["x"], "t": 1, "node": 0}', "unknown event"),
            ('{"event": "request", "t": 1, "node": "x", "groups": [0]}', "node must be a whole number"),
            ('{"event": "request", "t": "x", "node": 0, "groups": [0]}', "t must be a number"),
            ('{"event": "request", "t": 1, "node": 0, "groups": 0}', "groups must be a list"),
            ('{"event": "request", "t": 1, "node": 0, "groups": ["x"]}', "groups must be a list"),
            ('{"event": "request", "t": 1, "node": 9, "groups": [0]}', "there is no process 9"),
            ('{"event": "deliver", "t": 1, "node": 0, "id": 1.5, "message": "x"}', "id must be a whole number"),
            ('{"event": "deliver", "t": 1, "node": 0, "id": 77, "message": "x"}', "does not fit suzuki-kasami"),
            ('{"event": "timer", "t": 1, "node": 0, "timer": 3}', "has no timer 3 set"),
            ('{"event": "exit", "t": 1, "node": 0}', "leaves without being inside"),
            ('{"event": "request", "t": 1, "node": 0, "colour": 1}', "colour"),
            ("[" * 100_000, "not a trace event"),
        ],
        ids=lambda text: text[:40],
    )
    def test_of_a_broken_line(self, run: Run, here: Path, line: str, reason: str) -> None:
        first = (here / "run.ndjson").read_text().splitlines()[0]
        (here / "broken.ndjson").write_text(f"{first}\n{line}\n")
        assert reason in run("replay", "broken.ndjson").refused()


class TestABugInAHandler:
    """The verdict says what, in which step, and where in the user's file."""

    LINE = str(1 + next(
        number
        for number, line in enumerate(__import__("command_lines").OWN.splitlines())
        if "return {}[src]" in line
    ))  # fmt: skip

    @pytest.mark.parametrize(
        "command",
        ["sim own.py:Raising -n 2 -r 1", "check own.py:Raising --nodes 2", "fuzz own.py:Raising --nodes 2 --runs 1"],
    )
    def test_on_the_command_line(self, run: Run, here: Path, command: str) -> None:
        ended = run(*command.split())
        assert ended.code == 1
        assert "Traceback" not in ended.out + ended.err
        verdict = next(line for line in ended.out.splitlines() if "KeyError" in line)
        assert f"own.py, line {self.LINE}, in receive" in verdict
        assert "process" in verdict

    def test_in_hops(self, run: Run, here: Path) -> None:
        line = run("sim", "own.py:Raising", "-n", "2", "--hops").refused(code=1)
        assert f"own.py, line {self.LINE}, in receive" in line

    def test_in_compare_and_sweep(self, run: Run, here: Path) -> None:
        ended = run("compare", "own.py:Raising", "-n", "2", "-r", "1")
        assert (ended.code, f"line {self.LINE}" in ended.out) == (1, True)
        words = ("sweep", "-a", "own.py:Raising", "--vary", "nodes=2", "--fixed", "requests=1", "--jobs", "1")
        assert f"line {self.LINE}, in receive" in run(*words).refused(code=1)


class TestContract:
    """A node class that cannot work is refused in every driver, before anything runs."""

    @pytest.mark.parametrize(
        ("attributes", "reason"),
        [
            ({"messages": (int,)}, "messages must name classes of messages"),
            ({"messages": 5}, "messages must be a tuple"),
            ({"durable": "count"}, "durable must be a tuple"),
            ({"durable": ("absent",)}, "durable names 'absent', which a new node does not have"),
            ({"made_of": (5,)}, "made_of must be a tuple of classes"),
            ({"spec": "my spec"}, "spec must be a Spec"),
            ({"request": 5}, "request must be a method"),
            ({"__init__": lambda self, me, n: None}, "must call super().__init__(me, n)"),
            ({"__init__": lambda self: None}, "cannot be made: TypeError"),
            ({"__init__": lambda self, me, n: 1 / 0}, "division by zero (test_silent_mistakes.py, line"),
            ({"__init__": lambda self, me, n: Node.__init__(self, n, me)}, "must leave me, n and phase"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )  # fmt: skip
    def test_wrong_declarations(self, attributes: dict[str, object], reason: str) -> None:
        broken = type("Broken", (Node,), attributes)
        for driver in (simulate, check, fuzz):
            with pytest.raises(ConfigError) as caught:
                driver(broken, nodes=2)  # type: ignore[operator]
            assert reason in str(caught.value)
        if attributes.get("messages") or attributes.get("spec"):
            with pytest.raises(ConfigError):
                conformance(broken)

    def test_a_message_that_is_no_dataclass(self) -> None:
        class Ping(Message):
            pass

        class Pinging(Node):
            messages = (Ping,)

        with pytest.raises(ConfigError, match="message Ping can change"):
            simulate(Pinging, nodes=2)

    def test_an_undeclared_message_that_can_change(self, run: Run, here: Path) -> None:
        for command in ("sim own.py:Loose -n 2 -r 1", "check own.py:Loose --nodes 2", "fuzz own.py:Loose --nodes 2"):
            ended = run(*command.split())
            assert ended.code == 1
            assert "message Changing can change: declare it with @dataclass(frozen=True)" in ended.out

    def test_a_file_in_the_state(self) -> None:
        class Logging(Node):
            def __init__(self, me: int, n: int) -> None:
                super().__init__(me, n)
                self.log = open(__file__)

        for driver in (simulate, check, fuzz):
            with pytest.raises(ContractError, match=r"Logging.log is a _io.TextIOWrapper: .* plain data only"):
                driver(Logging, nodes=1)  # type: ignore[operator]
