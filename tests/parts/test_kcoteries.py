"""k-coteries: the constructions keep the three conditions, by brute force; what breaks one is refused by its name."""

from __future__ import annotations

from itertools import combinations

import pytest

from congenial.kernel.errors import ConfigError
from congenial.parts.quorums.kcoteries import KCOTERIES, KCoterie, build_kcoterie
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System


def disjoint(sets: tuple[tuple[int, ...], ...]) -> bool:
    return len(set().union(*sets)) == sum(len(members) for members in sets)


def keeps_the_conditions(k: int, quorums: tuple[tuple[int, ...], ...]) -> bool:
    """As Kakugawa et al. write them down."""
    for some in combinations(quorums, k + 1):
        if disjoint(some):
            return False
    for h in range(1, k):
        for some in combinations(quorums, h):
            if disjoint(some) and not any(disjoint((*some, other)) for other in quorums):
                return False
    return not any(set(a) < set(b) for a in quorums for b in quorums)


@pytest.mark.parametrize("name", KCOTERIES)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_is_built_keeps_the_conditions(name: str, k: int) -> None:
    built = 0
    for n in range(1, 10):
        entries = min(k, n)
        size = n // (entries + 1) + 1
        if (name == "majority" and entries * size > n) or (name == "square" and n != entries**2):
            with pytest.raises(ConfigError, match="use coterie=blocks"):
                build_kcoterie(name, n, k)
            continue
        coterie = build_kcoterie(name, n, k)
        built += 1
        assert keeps_the_conditions(entries, coterie.quorums), (n, coterie.quorums)
        for process, home in enumerate(coterie.home):
            members = coterie.quorums[home]
            own = [len(quorum) for quorum in coterie.quorums if process in quorum]
            assert not own or (process in members and len(members) == min(own))
    assert built


@pytest.mark.parametrize(("n", "k", "size"), [(4, 2, 2), (5, 2, 2), (6, 2, 3), (7, 2, 3), (7, 3, 2), (9, 1, 5)])
def test_the_k_majority_coterie_is_there_where_n_allows_it(n: int, k: int, size: int) -> None:
    assert {len(members) for members in build_kcoterie("majority", n, k).quorums} == {size}


@pytest.mark.parametrize(("n", "k"), [(3, 2), (8, 3), (10, 4)])
def test_the_k_majority_coterie_is_refused_where_k_sets_do_not_fit(n: int, k: int) -> None:
    with pytest.raises(ConfigError, match=r"there is no k-majority coterie .* use coterie=blocks"):
        build_kcoterie("majority", n, k)


def test_what_has_too_many_quorums_is_refused() -> None:
    with pytest.raises(ConfigError, match="54627300 quorums, too many to be listed"):
        build_kcoterie("majority", 30, 2)


def test_blocks_are_there_for_thousands() -> None:
    coterie = build_kcoterie("blocks", 3000, 3)
    assert coterie.sizes()["q"] < 70


def test_the_survey_s_example() -> None:
    assert build_kcoterie("square", 4, 2).quorums == ((0, 1), (0, 2), (1, 3), (2, 3))


@pytest.mark.parametrize(
    ("n", "k", "sets", "what"),
    [
        (3, 2, [[0], [1], [2]], "3 of its quorums are disjoint .intersection"),
        (4, 3, [[0, 1], [0, 2], [1, 3], [2, 3]], "2 quorums can keep everybody else out .non-intersection"),
        (4, 2, [[0, 1], [2, 3], [1, 2]], "1 quorums can keep everybody else out .non-intersection"),
        (3, 1, [[0, 1], [0, 1, 2]], r"\(0, 1, 2\) contains \(0, 1\) .minimality"),
        (2, 1, [], "needs quorums"),
        (2, 1, [[0], []], "needs quorums"),
        (2, 1, [[0, 2]], r"outside of 0..1"),
    ],
)
def test_what_breaks_a_condition_is_refused_by_its_name(n: int, k: int, sets: list[list[int]], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        KCoterie("mine", n, k, sets)


def test_the_survey_s_condition_is_too_weak() -> None:
    """Velazquez 1993, section 6: for any h < k disjoint quorums there is another one that is disjoint from one of them.
    All pairs of five processes keep that for k = 3. But two processes keep all others out."""
    pairs = tuple(combinations(range(5), 2))
    for h in (1, 2):
        for some in [some for some in combinations(pairs, h) if disjoint(some)]:
            others = [other for other in pairs if other not in some]
            assert any([disjoint((other, one)) for other in others for one in some])
    with pytest.raises(ConfigError, match=r"2 quorums can keep everybody else out .non-intersection"):
        KCoterie("pairs", 5, 3, pairs)


def test_an_option_may_depend_on_another() -> None:
    system = System(ALGORITHMS["kakugawa"], 9, {"k": "3", "coterie": "square"})
    assert system.sizes == {"n": 9, "k": 3, "q": 3, "q_min": 3}
    assert system.problem.capacity == 3
    with pytest.raises(ConfigError, match="unknown k-coterie 'circle'"):
        System(ALGORITHMS["kakugawa"], 9, {"coterie": "circle"})
    with pytest.raises(ConfigError, match=r"needs n = k\*k = 4 processes, not 9"):
        System(ALGORITHMS["kakugawa"], 9, {"coterie": "square"})
