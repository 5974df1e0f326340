"""Hops measured with unit delays, against what each algorithm's `Spec` claims."""

from __future__ import annotations

import pytest

from congenial.sim.hops import Spread, measure_hops
from congenial.systems.catalogue import ALGORITHMS, SOUND
from congenial.systems.system import System


@pytest.mark.parametrize("name", list(SOUND))
def test_claims_hold(name: str) -> None:
    for nodes in (2, 5, 7, 12, 13):
        hops = measure_hops(name, nodes, groups=3)
        assert hops.waiting is not None
        assert hops.waiting.kept, hops.waiting
        several = System(ALGORITHMS[name], nodes).problem.capacity > 1
        if not several:  # where k processes may enter, the section is hardly ever empty
            assert hops.sync_delay is not None
            assert hops.sync_delay.kept, hops.sync_delay


@pytest.mark.parametrize("tree", ["star", "line", "random"])
def test_raymond_on_other_trees(tree: str) -> None:
    hops = measure_hops("raymond-tree", 9, options={"tree": tree})
    assert hops.waiting is not None
    assert hops.sync_delay is not None
    assert hops.waiting.kept
    assert hops.sync_delay.kept


def test_raymond_on_a_line_by_hand() -> None:
    """0-1-2, the token at 0: the requests of 0, 1, 2 take 0, 2, 2 hops, and then 0 is two edges away, 1 and 2 one."""
    waiting = measure_hops("raymond-tree", 3, options={"tree": "line"}).waiting
    assert waiting is not None
    assert (waiting.least, waiting.most) == (0, 4)
    assert waiting.mean == pytest.approx((0 + 2 + 2 + 3 * (4 + 2 + 2)) / 12)


def test_alone_there_is_no_handing_over() -> None:
    hops = measure_hops("suzuki-kasami", 1)
    assert hops.sync_delay is None
    assert hops.waiting is not None
    assert hops.waiting.most == 0


def test_a_law_is_kept_between_its_bounds() -> None:
    law = ALGORITHMS["raymond-tree"].spec.sync_delay  # 1 .. D
    for least, most, kept in ((1, 4, True), (2, 3, True), (0.5, 4, False), (1, 4.1, False)):
        assert Spread(least, most, most, law, {"n": 9, "D": 4}).kept is kept
    assert Spread(0, 0, 0, None, {}).kept is None
