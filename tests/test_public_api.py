"""The front door: which names are public, and that the example in each one's docstring runs."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
import tomllib
import typing
from contextlib import suppress
from functools import cache
from importlib import import_module
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
    "Acquirable",
    "Action",
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
    "Claim",
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
    "Finding",
    "FuzzResult",
    "Groups",
    "Guarded",
    "Held",
    "IllegalStep",
    "Interchangeable",
    "Judged",
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
    "Record",
    "RemoteHeld",
    "RemoteLock",
    "Replay",
    "Replication",
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


FOR_OTHER_MODULES = {  # public to the package, not to its users
    "Bounds.rules",
    "Claim.criterion",
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


def test_nothing_else_is_needed_to_use_them() -> None:
    """Every class of this package that public functions and methods take or return, or that public attributes hold, is
    public itself."""
    private: dict[str, set[str]] = {}
    for name in congenial.__all__:
        for place, hints in _annotated(name, getattr(congenial, name)):
            if place not in FOR_OTHER_MODULES:
                for used in _mentioned(hints):
                    if used.__module__.startswith("congenial.") and getattr(congenial, used.__name__, None) is not used:
                        private.setdefault(f"{used.__module__}.{used.__name__}", set()).add(place)
    assert private == {}


def test_the_search_for_types_finds_them_all() -> None:
    """In compiled methods and dataclasses, under names that only type checkers know, in bases and in generics."""
    for name, place, used in [
        ("join", "join", "Cluster"),
        ("Node", "Node.receive", "Message"),
        ("Cluster", "Cluster.all", "Acquirable"),
        ("Reproduction", "Reproduction.results", "SweepResult"),
        ("Counterexample", "Counterexample.events", "Event"),
        ("Spec", "Spec.options", "Option"),
    ]:
        found = dict(_annotated(name, getattr(congenial, name)))[place]
        assert used in {what.__name__ for what in _mentioned(found)}


def test_the_list_of_what_is_for_other_modules_is_true() -> None:
    for name in FOR_OTHER_MODULES:
        kind = name.partition(".")[0]
        assert name in dict(_annotated(kind, getattr(congenial, kind)))


def _annotated(name: str, thing: Any) -> list[tuple[str, list[object]]]:
    """The places where a public function or class has types that its users see, and these types, as the source has
    them: compiled code keeps none."""
    if inspect.isroutine(thing):
        return [(name, _hints(_definition(thing), _names_in(thing.__module__)))]
    found: dict[str, list[object]] = {}
    for kind in thing.__mro__ if isinstance(thing, type) else ():
        if kind.__module__.startswith("congenial."):
            names = _names_in(kind.__module__)
            for node in _definition(kind).body:
                attributes = ast.walk(node) if _name_of(node) == "__init__" else []
                for each in (node, *[line for line in attributes if isinstance(line, ast.AnnAssign)]):
                    place = _name_of(each)
                    if not place.startswith("_") or (place == "__init__" and name in MADE_BY_USERS):
                        found.setdefault(f"{name}.{place}", []).extend(_hints(each, names))
    return list(found.items())


def _name_of(node: ast.AST) -> str:
    """Of a method, or of an attribute with a type; of anything else one that is not public."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name
    target = node.target if isinstance(node, ast.AnnAssign) else None
    return target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else "_"


def _definition(thing: Any) -> Any:
    """Of a class or a function, as it stands in the source. Overloads come before."""
    return [node for node in _tree(thing.__module__).body if getattr(node, "name", "") == thing.__name__][-1]


@cache
def _tree(module: str) -> ast.Module:
    source = Path(__file__).parents[1] / "src" / Path(*module.split("."))
    return ast.parse(source.with_suffix(".py").read_text(encoding="utf-8"))


@cache
def _names_in(module: str) -> dict[str, Any]:
    """What a module's names stand for, also those that only type checkers know."""
    names = dict(vars(import_module(module)))
    for node in _tree(module).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                with suppress(ImportError):  # of a library that is not installed
                    exec(ast.unparse(line), names)
    return names


def _hints(node: ast.AST, names: dict[str, Any]) -> list[object]:
    if isinstance(node, ast.AnnAssign):
        written = [node.annotation]
    else:
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        written = [each.annotation for each in every if each and each.annotation and each.arg not in ("self", "cls")]
        written += [node.returns] if node.returns else []
    return [eval(ast.unparse(each), names) for each in written]  # noqa: S307 (our own source)


def _mentioned(hints: list[object]) -> set[type]:
    found: set[type] = set()
    todo = list(hints)
    while todo:
        hint = todo.pop()
        if typing.is_typeddict(hint):
            todo.extend(typing.get_type_hints(hint).values())
        elif isinstance(hint, type) and not typing.get_args(hint):
            found.add(hint)
        else:
            for part in (typing.get_origin(hint), *typing.get_args(hint)):
                todo.extend(part if isinstance(part, list) else [] if part is None else [part])
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


def test_a_replay_prints_its_verdict(tmp_path: Path) -> None:
    congenial.simulate("suzuki-kasami", nodes=3, requests=2, trace=str(tmp_path / "run.ndjson"))
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
