"""The witness of a cluster: what it lets pass, and what it objects to."""

from __future__ import annotations

import pytest

from congenial.net.roster import FENCE_BITS
from congenial.testing.scene import OUTDATED, Scene

ERA = 1 << FENCE_BITS


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_one_after_the_other(scene: Scene) -> None:
    for fence in range(1, 5):
        who = f"task {fence % 2}"
        assert scene.enter(who, None, fence, 0) == ""
        assert scene.inside == [who]
        assert scene.leave(who) == ""
    assert (scene.entries, scene.sessions, scene.most) == (4, 4, 1)


def test_a_group_is_inside_together_with_fences_in_any_order(scene: Scene) -> None:
    assert scene.enter("a", "red", 5, 0) == ""
    assert scene.enter("b", "red", 9, 0) == ""
    assert scene.enter("c", "red", 7, 0) == ""  # it reported later than it entered
    assert scene.enter("d", "red", 4, 0) == "d has fence 4, below its session's 5"
    assert (scene.entries, scene.sessions, scene.most) == (3, 1, 3)
    for who in "abcd":
        assert scene.leave(who) == ""
    assert scene.enter("e", "blue", 9, 0) == "e has fence 9, not above 9 of an earlier session"
    assert scene.enter("f", "red", 9, 0) == ""  # the group's own
    assert scene.leave("f") == ""
    assert scene.enter("g", "red", 8, 0) == "g has fence 8, not above 9 of an earlier session"


def test_a_holder_without_a_group_is_alone(scene: Scene) -> None:
    assert scene.enter("a", None, 1, 0) == ""
    assert scene.enter("b", None, 2, 0) == "b enters None while a are inside for None"
    assert scene.enter("c", "red", 2, 0) == "c enters 'red' while a are inside for None"
    assert scene.enter("a", None, 2, 0) == "a enters twice"
    assert scene.leave("a") == ""
    assert scene.enter("a", None, 1, 0) == "a has fence 1, not above 1 of an earlier session"
    assert scene.leave("nobody") == "nobody leaves without being inside"


def test_algorithms_without_fences(scene: Scene) -> None:
    for who in "ab":
        assert scene.enter(who, "red", 0, 0) == ""
    assert scene.enter("c", "blue", 0, 0) == "c enters 'blue' while a, b are inside for 'red'"
    assert scene.leave("a") == scene.leave("b") == scene.leave("c") == ""
    assert scene.enter("c", "blue", 0, 0) == ""


def test_a_semaphore_counts_only(scene: Scene) -> None:
    assert scene.enter("a", None, 7, 2) == ""
    assert scene.enter("b", None, 3, 2) == ""
    assert scene.enter("c", None, 8, 2) == "c is one too many for 2"
    assert scene.leave("a") == ""
    assert scene.enter("c", None, 8, 2) == ""
    assert scene.most == 2


def test_a_later_era_supersedes(scene: Scene) -> None:
    assert scene.enter("a", "red", ERA + 5, 0) == ""
    assert scene.enter("b", "red", ERA + 5, 0) == ""
    assert scene.enter("c", None, 2 * ERA + 1, 0) == ""
    assert scene.superseded == ["a", "b"]
    assert scene.inside == ["c"]
    assert scene.enter("d", None, ERA + 9, 0) == OUTDATED
    assert scene.leave("a") == scene.leave("d") == ""
    assert scene.inside == ["c"]
    assert scene.enter("b", None, 3 * ERA + 1, 0) == ""  # it has never said that it has left
    assert scene.superseded == ["a", "b", "c"]
    assert scene.inside == ["b"]
    assert (scene.refused, scene.entries, scene.sessions) == (1, 4, 3)


def test_the_number_is_for_the_latest_fence(scene: Scene) -> None:
    assert scene.use("a", ERA + 5, None) == ""
    assert scene.use("b", 2 * ERA + 1, 1) == ""
    assert scene.use("a", ERA + 5, 1) == OUTDATED
    assert scene.use("b", 2 * ERA + 1, 1) == "b writes 1 over 1: what others wrote is lost"
    assert scene.value == 1


def test_a_lease_must_have_ended_before_a_later_era_supersedes_its_holder(scene: Scene) -> None:
    assert scene.enter("a", None, ERA + 1, 0, until=20.0, now=10.0) == ""
    assert scene.enter("b", None, 2 * ERA + 1, 0, until=30.0, now=19.0) == "b enters while the lease of a lasts"
    assert scene.enter("c", None, 3 * ERA + 1, 0, until=40.0, now=30.0) == ""
    assert scene.use("a", ERA + 1, 1, until=20.0, now=30.0) == OUTDATED
    assert scene.use("b", 2 * ERA + 1, 1, until=30.5, now=30.0) == "b is outdated while its lease lasts"
    assert scene.leave("c") == ""
    assert scene.enter("d", None, 4 * ERA + 1, 0, until=50.0, now=31.0) == "", "c has left"


def test_a_group_may_go_on_in_a_later_era_while_leases_of_its_holders_last(scene: Scene) -> None:
    assert scene.enter("a", "red", ERA + 1, 0, until=20.0, now=10.0) == ""
    assert scene.enter("b", "red", 2 * ERA + 1, 0, until=30.0, now=11.0) == ""
    assert scene.enter("c", "blue", 3 * ERA + 1, 0, until=30.0, now=12.0) == "c enters while the lease of b lasts"
