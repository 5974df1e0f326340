"""The front door: which names are public, and that the example in each one's docstring runs."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
import tomllib
import typing
from pathlib import Path
from typing import Any

import pytest

import congenial
from places import with_free_addresses

PUBLIC = {
    "GROUP",
    "KMUTEX",
    "MUTEX",
    "WEAK",
    "AllOf",
    "Arrival",
    "BarrierBroken",
    "BlockingAllOf",
    "BlockingBarrier",
    "BlockingClient",
    "BlockingCluster",
    "BlockingCondition",
    "BlockingEvent",
    "BlockingGuarded",
    "BlockingHeld",
    "BlockingLatch",
    "BlockingLead",
    "BlockingLock",
    "BlockingOnce",
    "BlockingSection",
    "Bounds",
    "CheckResult",
    "Client",
    "Cluster",
    "ClusterBarrier",
    "ClusterCondition",
    "ClusterConfig",
    "ClusterDegraded",
    "ClusterEvent",
    "Comparison",
    "ConfigError",
    "CongenialError",
    "Constant",
    "ContractError",
    "Counterexample",
    "Distribution",
    "Effect",
    "Estimate",
    "Event",
    "Exponential",
    "FuzzResult",
    "Groups",
    "Guarded",
    "Held",
    "IllegalStep",
    "Interchangeable",
    "Latch",
    "Law",
    "Lead",
    "Lock",
    "LockLost",
    "LockTimeout",
    "LogNormal",
    "Loss",
    "Machine",
    "Measured",
    "Member",
    "Message",
    "MessageFault",
    "Node",
    "NotHeld",
    "Once",
    "Option",
    "Out",
    "Outage",
    "Outbox",
    "Part",
    "Partition",
    "Problem",
    "ProtocolError",
    "RandomOutages",
    "RandomPartitions",
    "RemoteHeld",
    "RemoteLock",
    "Replay",
    "Reproduction",
    "Resource",
    "Result",
    "SafetyViolation",
    "Scenario",
    "Section",
    "Spec",
    "Status",
    "Sweep",
    "SweepResult",
    "ThreadedCluster",
    "ThreadedGuarded",
    "ThreadedHeld",
    "ThreadedLock",
    "ThreadedSection",
    "Timing",
    "Tls",
    "UnexpectedMessage",
    "Uniform",
    "WouldDeadlock",
    "__version__",
    "check",
    "compare",
    "connect",
    "connect_blocking",
    "fuzz",
    "join",
    "join_blocking",
    "replay",
    "reproduce",
    "simulate",
    "sweep",
}
NAMED = (ast.ClassDef, ast.FunctionDef)
NO_DOCSTRING = {"Groups", "__version__"}  # a type alias and a string


def test_the_public_names() -> None:
    assert set(congenial.__all__) == PUBLIC
    assert dir(congenial) == sorted(PUBLIC)
    assert not hasattr(congenial, "simulator")


def docstring(thing: Any) -> str:
    """As it stands in the source."""
    if not hasattr(thing, "__qualname__"):
        thing = type(thing)
    source = Path(__file__).parents[1] / "src" / Path(*thing.__module__.split("."))
    tree = ast.parse(source.with_suffix(".py").read_text(encoding="utf-8"))
    *_overloads, found = [node for node in tree.body if isinstance(node, NAMED) and node.name == thing.__name__]
    return ast.get_docstring(found) or ""


@pytest.mark.parametrize("name", sorted(PUBLIC - NO_DOCSTRING))
def test_each_has_an_example_that_runs(name: str) -> None:
    text = with_free_addresses(docstring(getattr(congenial, name)))
    names = {public: getattr(congenial, public) for public in congenial.__all__}
    example = doctest.DocTestParser().get_doctest(text, {**names, "__name__": "__main__"}, name, None, 0)
    assert example.examples, f"{name} has no example"
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    report: list[str] = []
    doctest.DocTestRunner(optionflags=flags).run(example, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("name", sorted(PUBLIC - NO_DOCSTRING))
def test_help_shows_the_docstring(name: str) -> None:
    """Also where classes are compiled: `setup.py` keeps the docstrings of public ones."""
    thing = getattr(congenial, name)
    assert inspect.getdoc(thing if hasattr(thing, "__qualname__") else type(thing)) == docstring(thing)


def test_nothing_else_is_needed_to_use_them() -> None:
    """Every class of this package that a public function takes or returns is public itself."""
    private: dict[str, list[str]] = {}
    for name in congenial.__all__:
        thing = getattr(congenial, name)
        if inspect.isfunction(thing):
            for what in _mentioned(typing.get_type_hints(thing)):
                if what.__module__.startswith("congenial.") and getattr(congenial, what.__name__, None) is not what:
                    private.setdefault(f"{what.__module__}.{what.__name__}", []).append(name)
    assert private == {}


FOR_OTHER_MODULES = {  # public to the package, not to its users
    "Bounds.rules",
    "Client.ask",
    "Client.tell",
    "ClusterConfig.semaphore_system",
    "ClusterConfig.system",
    "Reproduction.evidence",
    "Scenario.engine",
    "Scenario.faults",
    "Scenario.keeps_order",
    "Scenario.system",
    "Scenario.workload",
    "Sweep.replication",
    "SweepResult.of",
}
MADE_BY_USERS = ("Bounds", "ClusterConfig", "Scenario", "Spec", "Sweep", "Timing", "Tls")


def test_nor_to_use_their_methods() -> None:
    """Nor what users get by calling methods, or give when they make something. (Compiled methods have no hints.)"""
    private: dict[str, set[str]] = {}
    for name, thing in [(name, getattr(congenial, name)) for name in congenial.__all__]:
        for kind in thing.__mro__ if isinstance(thing, type) else ():
            for attribute, what in vars(kind).items() if kind.__module__.startswith("congenial.") else ():
                public = not attribute.startswith("_") or (attribute == "__init__" and name in MADE_BY_USERS)
                call = what.fget if isinstance(what, property) else getattr(what, "__func__", what)
                if public and callable(call) and f"{name}.{attribute}" not in FOR_OTHER_MODULES:
                    hints = {at: hint for at, hint in hints_of(call).items() if at != "self"}
                    for used in _mentioned(hints):
                        if used.__module__.startswith("congenial.") and used.__name__ not in congenial.__all__:
                            private.setdefault(used.__name__, set()).add(f"{name}.{attribute}")
    assert private == {}


def hints_of(call: Any) -> dict[str, object]:
    try:
        return typing.get_type_hints(call)
    except (NameError, TypeError):  # a name that only type checkers know; a compiled method
        return {}


def test_the_list_of_methods_for_other_modules_is_true() -> None:
    for name in FOR_OTHER_MODULES:
        kind, _, method = name.partition(".")
        assert callable(getattr(getattr(congenial, kind), method))


def _mentioned(hints: dict[str, object]) -> set[type]:
    found: set[type] = set()
    todo = list(hints.values())
    while todo:
        hint = todo.pop()
        if typing.is_typeddict(hint):
            todo.extend(typing.get_type_hints(hint).values())
        elif isinstance(hint, type) and not typing.get_args(hint):
            found.add(hint)
        else:
            for part in typing.get_args(hint):
                todo.extend(part if isinstance(part, list) else [part])
    return found


def test_results_print_what_came_of_them() -> None:
    """`print` shows a verdict in words, and for a run that goes wrong its diagram, not the fields of a dataclass."""
    sound = congenial.check("suzuki-kasami", nodes=2, requests=1)
    assert str(sound) == f"suzuki-kasami, 2 processes, 1 request each: {sound.verdict()}"
    broken = congenial.check("suzuki-kasami", nodes=2, requests=1, losses=1)
    assert broken.counterexample is not None
    first, *diagram, last = str(broken).splitlines()
    assert first == "suzuki-kasami, 2 processes, 1 request each:"
    assert last == broken.verdict()
    assert any(["asks" in line for line in diagram])
    assert str(broken) == f"{first}\n{broken.counterexample}"
    runs = congenial.fuzz("suzuki-kasami", nodes=3, runs=10)
    assert str(runs) == f"suzuki-kasami, 3 processes, 3 requests each: {runs.verdict()}"
    failed = congenial.fuzz("suzuki-kasami", nodes=3, runs=20, losses=1)
    assert str(failed) == f"suzuki-kasami, 3 processes, 3 requests each:\n{failed.counterexample}"


def test_a_counterexample_can_be_kept_and_run_again(tmp_path: Path) -> None:
    file = tmp_path / "lost.ndjson"
    assert congenial.check("suzuki-kasami", nodes=2, requests=1, trace=file).ok
    assert not file.exists()
    for jobs in (1, 2):
        checked = congenial.check("kakugawa", nodes=3, options={"k": "2"}, requests=1, losses=1, trace=file, jobs=jobs)
        assert checked.counterexample is not None
        assert congenial.replay(file).verdict() == checked.verdict()
        file.unlink()
    walked = congenial.fuzz("suzuki-kasami", nodes=3, runs=20, losses=1, order="fifo", trace=str(file))
    assert walked.counterexample is not None
    again = congenial.replay(file)
    assert (again.kind, again.text) == (walked.counterexample.kind, walked.counterexample.text)


@pytest.mark.parametrize("run", [congenial.check, congenial.fuzz, congenial.simulate])
def test_a_trace_is_named_by_a_text_or_a_path(run: Any) -> None:
    assert typing.get_type_hints(run)["trace"] == str | Path


def test_a_replay_prints_its_verdict(tmp_path: Path) -> None:
    congenial.simulate("suzuki-kasami", nodes=3, requests=2, trace=tmp_path / "run.ndjson")
    assert str(congenial.replay(tmp_path / "run.ndjson")) == "nothing wrong in this run"


def test_importing_the_package_does_not_load_the_simulator_or_the_command_line() -> None:
    heavy = (
        "congenial.sim",
        "congenial.checker",
        "congenial.lab",
        "congenial.studio",
        "typer",
        "rich",
        "asyncio",
        "msgspec",
    )
    check = f"import sys, congenial; print([m for m in sys.modules if m.startswith({heavy})])"
    ended = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_the_version_is_in_one_place() -> None:
    about = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    assert "version" not in about["project"]
    assert about["project"]["dynamic"] == ["version"]
    assert about["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "congenial.__version__"}


def test_the_lazy_names_are_those_that_a_type_checker_sees() -> None:
    tree = ast.parse(Path(congenial.__file__).read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen == congenial.LAZY
