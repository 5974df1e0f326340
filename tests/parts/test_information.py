"""Information structures: what is built, what is refused, and that the refusals are neither too few nor too many."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from random import Random
from typing import Any, ClassVar

import pytest

from congenial.algorithms.permission.sanders import SPEC, Sanders
from congenial.checker.check import check
from congenial.kernel.errors import ConfigError
from congenial.kernel.spec import Option, Spec
from congenial.parts.quorums.constructions import build_quorums
from congenial.parts.quorums.information import Information, build_information

NAMES = ["clusters", "clusters:2", "ricart-agrawala", "maekawa", "maekawa:majority", "centralised", "everybody"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n", [2, 3, 7, 10, 25])
def test_the_structures_are_what_sanders_asks_for(name: str, n: int) -> None:
    """Both conditions, pair by pair, as they are written."""
    made = build_information(name, n)
    informs, asks = [set(made.informs(i)) for i in range(n)], [set(made.asks(i)) for i in range(n)]
    for i in range(n):
        assert informs[i] <= asks[i]
        assert made.status(i) == {j for j in range(n) if i in informs[j]}
    for i, j in combinations(range(n), 2):
        mutual = i in asks[j] and j in asks[i] and i in informs[i] and j in informs[j]
        assert informs[i] & informs[j] or mutual


def test_the_known_algorithms_sets() -> None:
    everybody = tuple(range(7))
    agreed = build_information("ricart-agrawala", 7)
    assert [(agreed.informs(i), agreed.asks(i)) for i in range(7)] == [((i,), everybody) for i in range(7)]
    quorums, made = build_quorums("plane", 7), build_information("maekawa:plane", 7)
    assert [made.informs(i) for i in range(7)] == [made.asks(i) for i in range(7)] == quorums.sets
    central = build_information("centralised", 3)
    assert [central.asks(i) for i in range(3)] == [(0,)] * 3
    assert central.status(0) == {0, 1, 2}
    assert central.status(1) == frozenset()


def test_clusters() -> None:
    made = build_information("clusters:2", 5)  # 0 1 2 and 3 4
    assert [made.informs(i) for i in range(5)] == [(0,), (0, 1), (0, 2), (3,), (3, 4)]
    assert made.asks(1) == (0, 1, 3, 4)
    assert made.asks(4) == (0, 1, 2, 3, 4)
    assert made.solitary == {0, 3}
    assert made.sizes() == {"i": 1, "i_min": 0, "r": 4, "r_min": 2}


@pytest.mark.parametrize("text", ["rings", "maekawa:rings", "clusters:0", "clusters:9", "clusters:x", "everybody:2"])
def test_what_cannot_be_built_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown|between 1 and 7|takes no argument"):
        build_information(text, 7)


def test_refusals_say_what_is_wrong() -> None:
    with pytest.raises(ConfigError, match="process 1 informs 0 without asking it"):
        Information("odd", [[0], [0, 1]], [[0, 1], [1]])
    with pytest.raises(ConfigError, match="processes 0 and 2 inform nobody in common"):
        Information("odd", [[0], [0, 1], [1]], [[0, 1, 2], [0, 1], [1]])
    with pytest.raises(ConfigError, match=r"request set of process 1 names process 2; there are only 0\.\.1"):
        Information("odd", [[0], [0]], [[0], [0, 2]])
    with pytest.raises(ConfigError, match="2 inform sets, but 1 request sets"):
        Information("odd", [[0], [0]], [[0]])


def test_equal_sets_are_kept_once() -> None:
    made = build_information("ricart-agrawala", 3000)
    assert made.asks(7) is made.asks(8)


# -- the conditions are the right ones ---------------------------------------------------------------------


class Loose:
    """Sets that nobody has verified."""

    def __init__(self, informs: list[tuple[int, ...]], asks: list[tuple[int, ...]]) -> None:
        self.informs = informs
        self.asks = asks

    def verified(self) -> bool:
        try:
            Information("loose", self.informs, self.asks)
        except ConfigError:
            return False
        return True


class Unverified(Sanders):
    """Sanders' algorithm over any sets at all."""

    def __init__(self, me: int, n: int, structure: Any) -> None:
        super().__init__(me, n, build_information("everybody", n))
        self.informs = structure.informs[me]
        self.asks = structure.asks[me]
        self.status = frozenset([other for other in range(n) if me in structure.informs[other]])
        self.solitary = frozenset([other for other in range(n) if structure.informs[other] == (other,)])


def verdict(loose: Loose, requests: int) -> str:
    class Made(Unverified):
        spec: ClassVar[Spec] = replace(
            SPEC, messages=None, waiting=None, options=(Option("structure", "", "", lambda text, n: loose),)
        )

    found = check(Made, nodes=len(loose.informs), requests=requests).counterexample
    return "" if found is None else found.kind


def subsets(n: int) -> list[tuple[int, ...]]:
    return [members for size in range(n + 1) for members in combinations(range(n), size)]


def test_of_all_structures_of_two_processes_exactly_the_good_ones_pass() -> None:
    passed = 0
    for informs in product(subsets(2), repeat=2):
        for asks in product(subsets(2), repeat=2):
            loose = Loose(list(informs), list(asks))
            kind = verdict(loose, 2)
            assert (kind == "") == loose.verified(), (informs, asks, kind)
            passed += kind == ""
    assert passed == 18


def test_random_structures_of_three_processes_pass_if_they_are_good_and_are_unsafe_if_not() -> None:
    rng = Random(3)
    counts = {True: 0, False: 0}
    while min(counts.values()) < 25:
        asks = [rng.choice(subsets(3)) for _ in range(3)]
        informs = [tuple([member for member in members if rng.random() < 0.6]) for members in asks]
        loose = Loose(informs, asks)
        good = loose.verified()
        if counts[good] < 25:
            counts[good] += 1
            assert verdict(loose, 1) == ("" if good else "safety"), (informs, asks)
