"""What programs call: one definition of a cluster's settings, and the same methods with and without asyncio."""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from netlab import QUICK

import congenial
from congenial.net.blocking import BlockingCluster
from congenial.net.config import ClusterConfig, ClusterFields, Timing, config_of, free_addresses
from congenial.net.locks import Cluster
from places import with_free_addresses


class Sum:
    """Adds up operations."""

    def __init__(self) -> None:
        self.total = 0

    def apply(self, operation: int) -> int:
        self.total += operation
        return self.total


PRIMITIVES = ["barrier", "blocking", "condition", "event", "latch", "leading", "once", "together"]
MODULES = [
    *("config", "held", "locks", "joining", "blocking", "blocking_locks", "threaded"),
    *[f"primitives.{name}" for name in PRIMITIVES],
]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_in_docstrings_run(module: str) -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for found in examples_of(f"congenial.net.{module}"):
        for example in found.examples:
            example.source = with_free_addresses(example.source)
        runner.run(found)
    assert runner.tries > 0
    assert runner.failures == 0


def examples_of(module: str) -> Iterator[doctest.DocTest]:
    """From the source: a compiled class keeps no docstring."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).with_name(f"{module.rpartition('.')[2]}.py")
    names = vars(import_module(module))
    for part in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(part, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(part) or ""
            yield doctest.DocTestParser().get_doctest(text, dict(names), getattr(part, "name", module), str(path), 0)


def test_the_keyword_arguments_of_join_are_the_fields_of_a_config() -> None:
    declared = get_type_hints(ClusterConfig)
    accepted = get_type_hints(ClusterFields)
    assert ["nodes", *accepted] == [field.name for field in fields(ClusterConfig)]
    assert declared.pop("seeds") == tuple[str, ...]
    assert accepted.pop("seeds") == Sequence[str]  # a list will do
    for name, hint in accepted.items():
        assert hint in (declared[name], declared[name] | None), name


def test_a_config_comes_from_arguments_or_a_file_and_arguments_replace_what_is_in_it(tmp_path: Path) -> None:
    peers = {"a": "127.0.0.1:7101"}
    made = config_of(peers, None, {"cluster": "jukebox", "options": None, "timing": None})
    assert made == ClusterConfig(peers, cluster="jukebox")
    assert made.timing == Timing()
    path = tmp_path / "cluster.toml"
    path.write_text('cluster = "jukebox"\n[nodes]\na = "127.0.0.1:7101"\n')
    assert config_of(None, path, {}) == made
    assert config_of(None, made, {}) is made
    assert config_of(None, str(path), {"state": "here"}) == ClusterConfig(peers, cluster="jukebox", state="here")
    assert config_of({"b": "127.0.0.1:7102"}, made, {}).members == ("b",)
    with pytest.raises(congenial.ConfigError, match="name the members of the cluster"):
        congenial.join("a")
    with pytest.raises(TypeError, match="colour"):
        congenial.join("a", peers, colour="red")  # type: ignore[call-arg]


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_the_blocking_cluster_has_all_that_the_asynchronous_one_has() -> None:
    peers = {"a": free_addresses(1)[0]}

    async def of_asyncio() -> list[set[str]]:
        async with congenial.join("a", peers) as cluster:
            guarded = cluster.guarded("sum", Sum())
            lock = cluster.mutex("x")
            return [public(thing) for thing in (cluster, lock, await lock.acquire(), guarded, await guarded.acquire())]

    with congenial.join_blocking("a", peers) as cluster:
        guarded = cluster.guarded("sum", Sum())
        lock = cluster.mutex("x")
        blocking: list[Any] = [cluster, lock, lock.acquire(), guarded, guarded.acquire()]
        names = [public(thing) for thing in blocking]
    assert names == asyncio.run(of_asyncio())
    assert public(Cluster) <= names[0]
    assert public(BlockingCluster) <= names[0]


OF_ASYNCIO = (  # and the same for threads
    ("Lock", "BlockingLock"),
    ("Held", "BlockingHeld"),
    ("Guarded", "BlockingGuarded"),
    ("Section", "BlockingSection"),
    ("AllOf", "BlockingAllOf"),
    ("ClusterBarrier", "BlockingBarrier"),
    ("ClusterCondition", "BlockingCondition"),
    ("ClusterEvent", "BlockingEvent"),
    ("Latch", "BlockingLatch"),
    ("Lead", "BlockingLead"),
    ("Once", "BlockingOnce"),
)
OF_THE_LOOP = (  # and the same for a node with a thread of its own
    ("Lock", "ThreadedLock"),
    ("Held", "ThreadedHeld"),
    ("Guarded", "ThreadedGuarded"),
    ("Section", "ThreadedSection"),
)
OF_MEMBERS = (("Lock", "RemoteLock"), ("Held", "RemoteHeld"))  # and the same for programs that use a node
CLUSTERS = (("Cluster", "BlockingCluster"), ("Cluster", "ThreadedCluster"))


@pytest.mark.parametrize(("one", "other"), [*CLUSTERS, *OF_ASYNCIO, *OF_THE_LOOP, *OF_MEMBERS])
def test_what_two_forms_have_in_common_is_called_in_the_same_way(one: str, other: str) -> None:
    model, like = getattr(congenial, one), getattr(congenial, other)
    names = calls(model) - {"state_class"}  # what a primitive tells the package about itself
    assert names
    assert names <= calls(like)
    for name in sorted(names):
        both = [getattr(model, name), getattr(like, name)]
        if all(map(inspect.isfunction, both)):  # a compiled one does not tell its parameters
            assert parameters(both[0]) == parameters(both[1]), name


def calls(kind: type) -> set[str]:
    return {name for name in public(kind) if callable(getattr(kind, name))}


def parameters(call: Any) -> list[tuple[object, ...]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(call).parameters.values()]


def test_a_program_that_uses_a_node_has_all_but_what_takes_part() -> None:
    taking_part = {"guarded", "leave", "ready", "status", "wait_ended"}
    assert calls(Cluster) - calls(congenial.Client) == {"start", "close"} | taking_part
    assert calls(BlockingCluster) - calls(congenial.BlockingClient) == taking_part


def test_a_guarded_object_can_be_used_without_asyncio() -> None:
    peers = dict(zip("ab", free_addresses(2), strict=True))
    with (
        congenial.join_blocking("a", peers, timing=QUICK) as a,
        congenial.join_blocking("b", peers, timing=QUICK) as b,
    ):
        here, there = a.guarded("sum", Sum()), b.guarded("sum", Sum())
        with here as section:
            assert section.issue(5) == 5
            assert section.issue(2) == 7
        with there as section:
            assert section.issue(1) == 8
        assert there.replica.total == 8
        there.replica.total = 100  # of a copy
        assert there.replica.total == 8
        section = here.acquire()
        section.release()
        with pytest.raises(congenial.NotHeld):
            section.issue(1)
        told = a.status_of_all()
        assert set(told) == {"a", "b"}
        assert told["b"] is not None
        assert told["b"]["name"] == "b"
