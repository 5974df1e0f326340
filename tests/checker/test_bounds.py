"""`Bounds`: as a whole, field by field, and what is refused."""

from __future__ import annotations

import doctest
from dataclasses import fields, replace
from typing import Any, get_type_hints

import pytest

from congenial.checker import bounds as bounds_module
from congenial.checker import check as check_module
from congenial.checker import counterexample, replay, result
from congenial.checker import fuzz as fuzz_module
from congenial.checker.bounds import Bounds, BoundsFields, menus
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.checker.rules import Rules
from congenial.cli.bounds import bounds as options
from congenial.kernel.errors import ConfigError
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System


def test_the_keywords_are_the_fields() -> None:
    assert get_type_hints(BoundsFields) == get_type_hints(Bounds)
    assert list(get_type_hints(BoundsFields)) == [field.name for field in fields(Bounds)]


def test_the_options_of_the_command_line_are_the_fields() -> None:
    assert Bounds(**options()) == Bounds()


def test_bounds_and_keywords_come_to_the_same() -> None:
    whole = check("token-gme", nodes=2, bounds=Bounds(requests=1, groups=2))
    by_keywords = check("token-gme", nodes=2, requests=1, groups=2)
    both = check("token-gme", nodes=2, bounds=Bounds(requests=7, groups=2), requests=1)
    assert whole.states == by_keywords.states == both.states
    assert fuzz("token-gme", nodes=3, runs=2, bounds=Bounds(requests=1)).entries == 2 * 3
    assert fuzz("token-gme", nodes=3, runs=2).entries == 2 * 3 * 3


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"requests": 0}, "requests must be at least 1, not 0"),
        ({"groups": 0}, "groups must be"),
        ({"crashes": -1}, "crashes must not be negative, and is -1"),
        ({"losses": "1"}, "losses must be a whole number, not '1'"),
        ({"order": "lifo"}, "order must be any or fifo, not 'lifo'"),
        ({"timers": "never"}, "timers must be free"),
        ({"wants": "0;x"}, "wants '0;x' is not like"),
        ({"wants": "0"}, "each of the 2 processes"),
        ({"wants": "0;-1"}, "should name groups that there are"),
        ({"wants": "0;2", "groups": 2}, "should name groups that there are: 0..1, since groups is 2"),
        ({"wants": [[(0,)], []]}, "each of the 2 processes"),
        ({"operations": 1}, "operations are for weak exclusion"),
        ({"limit": 0}, "limit must be"),
        ({"jobs": 0}, "jobs must be"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        check("suzuki-kasami", nodes=2, **given)


def test_an_unknown_keyword_is_refused() -> None:
    with pytest.raises(ConfigError, match="there is no parameter 'looses'"):
        check("suzuki-kasami", nodes=2, looses=1)  # type: ignore[call-arg]


def test_wants_as_a_string_and_as_values() -> None:
    asked: Any = [[(0,)], [(1,), (0, 2)]]
    assert menus("0;1,2|0", 2, None) == menus(asked, 2, 3) == asked
    assert menus("", 2, 3) == [[(0,), (1,), (2,)]] * 2


def test_rules_are_as_the_algorithm_needs_them_unless_given() -> None:
    needs_fifo = System(ALGORITHMS["maekawa"], 3)
    assert needs_fifo.spec.fifo
    assert Bounds().rules(needs_fifo) == Rules(menus=[[(0,)]] * 3, fifo=True)
    assert Bounds(order="any").rules(needs_fifo) == Rules(menus=[[(0,)]] * 3)
    assert Bounds(timers="quiet").rules(needs_fifo).quiet
    assert replace(Bounds(), crashes=2).rules(needs_fifo).faults == 2


@pytest.mark.parametrize("module", [bounds_module, check_module, counterexample, fuzz_module, replay, result])
def test_the_examples_in_docstrings(module: Any) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0
