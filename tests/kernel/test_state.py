"""A node's state as a value: frozen, compared, hashed and put back, without code in any algorithm."""

from __future__ import annotations

import os
import random
import re
import socket
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial import check, fuzz, simulate
from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala
from congenial.algorithms.token.suzuki_kasami import Privilege, SuzukiKasami
from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out, Outbox
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec
from congenial.kernel.state import (
    attributes,
    copy_of,
    durable_state,
    freeze,
    node_from,
    restore_durable,
    state_of,
    thaw,
)
from congenial.kernel.trace import Trace
from congenial.problems.mutex import MUTEX
from congenial.sim.scenario import Scenario
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.floats(allow_nan=False))
PLAIN = st.recursive(
    st.one_of(SCALARS, st.builds(Privilege, st.just((1, 2)), st.just((0, 0)), st.integers())),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.integers(), inner, max_size=4),
        st.dictionaries(st.text(max_size=3), inner, max_size=4),
        st.sets(st.integers(), max_size=4),
        st.frozensets(st.integers(), max_size=4),
    ),
    max_leaves=6,
)


@given(PLAIN)
def test_thawing_gives_back_what_was_frozen(value: Any) -> None:
    frozen = freeze(value)
    hash(frozen)
    thawed = thaw(frozen)
    assert thawed == value
    assert type(thawed) is type(value)
    assert freeze(thawed) == frozen


@given(PLAIN, PLAIN)
def test_frozen_values_are_equal_exactly_if_the_values_are(one: Any, other: Any) -> None:
    assert (freeze(one) == freeze(other)) == (marked(one) == marked(other))


def marked(value: Any) -> Any:
    """The value with its frozen sets marked: to Python they equal sets, but a node that holds one acts differently."""
    if isinstance(value, frozenset):
        return ("frozen", set(value))
    if isinstance(value, dict):
        return {key: marked(member) for key, member in value.items()}
    return type(value)([marked(member) for member in value]) if isinstance(value, (list, tuple)) else value


def test_a_frozen_set_is_not_a_set() -> None:
    assert freeze({0}) != freeze(frozenset({0}))


@given(st.sets(st.integers()), st.randoms(use_true_random=False))
def test_the_order_of_putting_in_does_not_matter(members: set[int], rng: Any) -> None:
    shuffled = list(members)
    rng.shuffle(shuffled)
    assert freeze(dict.fromkeys(shuffled, 1)) == freeze(dict.fromkeys(sorted(members), 1))
    assert freeze(set(shuffled)) == freeze(members)


def test_a_list_is_not_a_tuple() -> None:
    assert freeze([1, 2]) != freeze((1, 2))
    assert freeze(set()) != freeze([])
    assert freeze({}) != freeze(())


def test_thawed_values_share_nothing_mutable() -> None:
    frozen = freeze({1: [[2]]})
    first, second = thaw(frozen), thaw(frozen)
    assert isinstance(first, dict)
    first[1][0].append(3)
    assert second == {1: [[2]]}


@pytest.mark.parametrize("value", [lambda: 1, print, object(), iter([1]), [open]])
def test_what_is_no_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(ContractError, match="plain data only"):
        freeze(value)


class Colour(Enum):
    RED = 1


class Own:
    """Knows itself."""

    def __init__(self) -> None:
        self.me = self


class Tag:
    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class Careless(Node):
    durable = ("kept",)

    def __init__(self, kept: object, other: object = None) -> None:
        super().__init__(0, 2)
        self.kept = kept
        self.other = other


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: open(os.devnull), r"is a _io.TextIOWrapper:"),
        (lambda: open(os.devnull, "rb"), r"is a _io.BufferedReader:"),
        (lambda: socket.socket(), r"is a socket.socket:"),
        (lambda: random.Random(1), r"is a random.Random:"),
        (lambda: OrderedDict({1: 2}), r"is a collections.OrderedDict:"),
        (lambda: ValueError("no"), r"is a ValueError:"),
        (lambda: Colour.RED, r"is a \S*Colour:"),
        (lambda: [print], r"\[0\] is <built-in function print>:"),
        (lambda: {1, "2"}, r"is a set whose members cannot be sorted"),
        (lambda: Tag(open(os.devnull)), r".value is a _io.TextIOWrapper:"),
        (lambda: ({3: Tag(open(os.devnull))},), r"\[0\]\[3\].value is a _io.TextIOWrapper:"),
        (lambda: Own(), r"is a \S*Own that holds itself"),
    ],
)
def test_what_a_node_must_not_keep_is_named_with_its_place(make: Callable[[], Any], what: str) -> None:
    thing = make()
    for act in (state_of, copy_of):
        with pytest.raises(ContractError, match=rf"^Careless.other ?{what}"):
            act(Careless(None, thing))
    with pytest.raises(ContractError, match=rf"^Careless.kept ?{what}"):
        durable_state(Careless(thing))
    if hasattr(thing, "close"):
        thing.close()


def test_objects_with_attributes_only_are_plain_data() -> None:
    for thing in (Tag([1]), Tag(Tag({2}))):
        assert freeze(thaw(freeze(thing))) == freeze(thing)
    with pytest.raises(ContractError, match="plain data only"):
        freeze(object())


def nodes_in_many_states(name: str) -> list[Node]:
    """The nodes of a run, stopped at several times."""
    nodes: list[Node] = []
    for until in (1.0, 30.0, 75.0, 160.0):
        engine = Scenario(name, nodes=7, requests=5, think=20, hold=20, until=until).engine(3, Trace())
        engine.run()
        nodes += engine.nodes
    return nodes


@pytest.mark.parametrize("name", ALGORITHMS)
class TestEveryAlgorithm:
    def test_a_copy_is_in_the_same_state_and_of_the_same_class(self, name: str) -> None:
        states = set()
        for node in nodes_in_many_states(name):
            copy = copy_of(node)
            assert type(copy) is type(node)
            assert copy is not node
            assert state_of(copy) == state_of(node)
            assert state_of(node_from(state_of(node))) == state_of(node)
            states.add(state_of(node))
        assert len(states) > 7  # the states differ, and can be told apart

    def test_a_copy_goes_its_own_way(self, name: str) -> None:
        node = System(ALGORITHMS[name], 7).node(3)
        before = state_of(node)
        copy = copy_of(node)
        first, second = Outbox(), Outbox()
        copy.request((0,), first)
        assert state_of(node) == before
        assert state_of(copy) != before
        node.request((0,), second)
        assert state_of(node) == state_of(copy)
        assert first.sent == second.sent

    def test_all_attributes_are_known(self, name: str) -> None:
        node = System(ALGORITHMS[name], 7).node(3)
        assert {"me", "n", "phase"} < set(attributes(node))
        for attribute in attributes(node):
            getattr(node, attribute)


class Counting(RicartAgrawala):
    """An interpreted variant of an algorithm of the catalogue, with state of its own."""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.seen: dict[int, list[int]] = {}

    def receive(self, src: int, msg: Message, out: Any) -> None:
        self.seen.setdefault(src, []).append(len(self.seen))
        super().receive(src, msg, out)


class Slotted(Node):
    __slots__ = ("level",)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.level = [1, 2]


def test_interpreted_variants_keep_the_state_of_both() -> None:
    engine = Scenario(Counting, nodes=4, requests=5, until=100.0).engine(1)
    engine.run()
    for node in engine.nodes:
        copy: Any = copy_of(node)
        assert "seen" in attributes(node)
        assert "missing" in attributes(node)
        assert state_of(copy) == state_of(node)
        copy.seen[99] = []
        assert state_of(copy) != state_of(node)


def test_slots_are_state_too() -> None:
    node = Slotted(1, 3)
    copy = copy_of(node)
    assert copy.level == [1, 2]
    copy.level.append(3)
    assert node.level == [1, 2]


def test_state_tells_classes_apart() -> None:
    assert state_of(Counting(0, 3)) != state_of(RicartAgrawala(0, 3))


@dataclass
class Ledger:
    entries: list[int]


class Bookkeeper(Node):
    durable = ("ledger",)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.ledger = Ledger([me])
        self.scratch = 0


def test_records_are_state_too() -> None:
    node = Bookkeeper(1, 2)
    copy = copy_of(node)
    copy.ledger.entries.append(5)
    assert node.ledger.entries == [1]


def test_durable_state_is_what_the_class_names() -> None:
    node = Bookkeeper(1, 2)
    node.ledger.entries.append(7)
    node.scratch = 9
    saved = durable_state(node)
    node.ledger.entries.append(8)
    fresh = Bookkeeper(1, 2)
    restore_durable(fresh, saved)
    assert fresh.ledger.entries == [1, 7]
    assert fresh.scratch == 0
    assert durable_state(SuzukiKasami(0, 2)) == ()


class Leaky(Node):
    """Keeps an open file, from the beginning or from its first request on."""

    durable = ("kept",)
    spec = Spec("leaky", "Leaky", MUTEX)
    at_once = True

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.kept = open(os.devnull) if type(self).at_once else None

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.kept = open(os.devnull)
        out.save()
        self.enter(out)

    def release(self, out: Out) -> None:
        self.leave()


class LeakyLater(Leaky):
    at_once = False


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("kind", [Leaky, LeakyLater])
def test_a_file_as_node_state_is_refused_by_every_driver(kind: type[Node]) -> None:
    complaint = rf"{kind.__name__}.kept is a _io.TextIOWrapper: a node's state may hold plain data only"
    if kind is Leaky:
        with pytest.raises(ContractError, match=complaint):
            check(kind, nodes=1, requests=1)
        with pytest.raises(ContractError, match=complaint):
            fuzz(kind, nodes=1, requests=1, runs=1)
        with pytest.raises(ContractError, match=complaint):
            simulate(kind, nodes=1, requests=1)
    else:  # they show the run that led there
        for found in (check(kind, nodes=1, requests=1), fuzz(kind, nodes=1, requests=1, runs=1)):
            assert found.counterexample is not None
            assert found.counterexample.kind == "illegal step"
            assert re.search(complaint, found.counterexample.text)
        violation = simulate(kind, nodes=1, requests=1).violation
        assert violation is not None
        assert re.match(complaint, violation)
