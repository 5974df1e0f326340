"""How saved state is written: it comes back as it was, and nothing else is taken for it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.algorithms.token.suzuki_kasami import Privilege
from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message
from congenial.kernel.part import Part
from congenial.kernel.state import durable_state, freeze
from congenial.kernel.trace import Trace
from congenial.net.saved import PLAIN, UnreadableState, form_of
from congenial.sim.scenario import Scenario
from congenial.systems.catalogue import SOUND, find_algorithm


@dataclass(frozen=True)
class Pair:
    left: int
    right: tuple[int, ...]


@dataclass(frozen=True)
class Boxed(Message):
    pair: Pair
    inner: Message | None


class Shelf(Part):
    def __init__(self, things: list[object]) -> None:
        self.things = things


PAIRS = st.builds(Pair, st.integers(), st.lists(st.integers(), max_size=3).map(tuple))
PRIVILEGES = st.builds(Privilege, st.just((1, 2)), st.just((0, 0)), st.integers())
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.binary(max_size=5), st.floats(allow_nan=False)
)
VALUES = st.recursive(
    st.one_of(SCALARS, PAIRS, PRIVILEGES, st.builds(Boxed, PAIRS, st.one_of(st.none(), PRIVILEGES)), st.just(Shelf)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.one_of(st.integers(), st.booleans()), inner, max_size=4),
        st.dictionaries(st.tuples(st.integers(), st.text(max_size=3)), inner, max_size=4),
        st.sets(st.integers(), max_size=4),
        st.frozensets(st.tuples(st.integers(), st.integers()), max_size=4),
        st.builds(Shelf, st.lists(inner, max_size=3)),
    ),
    max_leaves=8,
)


def kinds(value: Any) -> Any:
    """True is equal to 1 and 1 to 1.0: the type tells them apart."""
    return (type(value), tuple([kinds(member) for member in value])) if isinstance(value, tuple) else type(value)


@given(VALUES)
def test_what_was_written_is_read(value: Any) -> None:
    frozen = freeze(value)
    again = PLAIN.decode(PLAIN.encode(frozen))
    assert again == frozen
    assert kinds(again) == kinds(frozen)


@pytest.mark.parametrize(
    "name", [*[name for name in SOUND if SOUND[name].durable], "token-gme+epochs", "srimani-reddy+epochs"]
)
def test_the_state_of_every_algorithm_is_written_and_read(name: str) -> None:
    assert find_algorithm(name).durable
    for until in (1.0, 30.0, 160.0):
        engine = Scenario(name, nodes=5, requests=5, think=20, hold=20, until=until).engine(3, Trace())
        engine.run()
        for node in engine.nodes:
            saved = durable_state(node)
            form = form_of(node)
            assert form.decode(form.encode(saved)) == saved


@given(
    st.one_of(st.binary(max_size=60), VALUES.map(lambda value: PLAIN.encode(freeze(value))).map(lambda raw: raw[:-1]))
)
def test_anything_else_is_refused(raw: bytes) -> None:
    try:
        PLAIN.decode(raw)
    except UnreadableState:
        pass


@pytest.mark.parametrize(
    "plain",
    [
        {"a": 1},
        [99, 1],
        [],
        ["list"],
        [6, "os:environ", "x", 1],
        [8, "os:system", "true"],
        [8, "builtins:eval", "1"],
        [8, "subprocess:Popen", ["true"]],
        [7, "no.such.module:Thing"],
        [7, 5],
        [8, "congenial.kernel.errors:ContractError", "x"],
        [6, f"{__name__}:Shelf", "things"],
        [8, f"{__name__}:Pair", 1],
        [9, 5],
    ],
)
def test_only_plain_data_is_read(plain: Any) -> None:
    with pytest.raises(UnreadableState):
        PLAIN.decode(msgspec.msgpack.encode(plain))


def test_only_plain_data_is_written() -> None:
    @dataclass(frozen=True)
    class Local(Message):
        number: int

    with open(os.devnull) as file:
        for value in (file, object(), [1], {1: 2}, Local(1), (1, Local(2)), file.fileno, print):
            with pytest.raises(ContractError):
                PLAIN.encode(value)
