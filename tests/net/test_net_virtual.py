"""Real members in virtual time: minutes of chaos in seconds, and equal seeds give equal runs."""

from __future__ import annotations

from functools import cache

import pytest
import virtual_chaos
from netlab import clusters
from netlab import run as run_story

from congenial.net.wire import Hello

DEEP = [pytest.param(seed, marks=pytest.mark.deep) for seed in (4, 36, 56)]
minute = cache(virtual_chaos.run)


@pytest.mark.parametrize("seed", [31, *DEEP])  # once a founder or all of them got no lock any more, in the end
def test_a_minute_of_chaos(seed: int) -> None:
    check(seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_another_minute_of_chaos(seed: int) -> None:
    check(seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", [1, 3, 5])
def test_a_minute_of_chaos_with_programs_that_disagree_on_a_semaphore(seed: int) -> None:
    world = virtual_chaos.run(seed, disputes=True)
    assert world.violations == [], f"python tests/net/virtual_chaos.py --disputes --runs 1 --seed {seed} --story"
    assert world.done["ConfigError"] > 10


@pytest.mark.parametrize("seed", [5, *[pytest.param(seed, marks=pytest.mark.deep) for seed in range(6, 30)]])
def test_a_minute_of_chaos_in_which_members_are_soon_forgotten(seed: int) -> None:
    """After less than a second instead of a minute. Once those without votes were not let in again."""
    squeezed_minute(seed, {"membership.STRANGER": 0.8})


def check(seed: int) -> None:
    world = minute(seed)
    assert world.violations == [], f"python tests/net/virtual_chaos.py --runs 1 --seed {seed} --story"
    assert world.done["entered"] > 100
    assert sum(world.faults.values()) > 10


AT_A_TIME = ("MOVED", "SERVED", "HELD", "TOLD")
SQUEEZES: dict[str, tuple[dict[str, float], int]] = {
    "moves one at a time": ({f"viewed.{what}_AT_A_TIME": 1 for what in AT_A_TIME}, 0),
    "forgets quickly": ({"kept.IDLE_TIME": 0.1, "kept.MOST_IDLE": 4}, 0),
    "more objects than idle locks": ({"kept.MOST_IDLE": 4}, 6),
    "drops what is not acknowledged": ({"link.MOST_UNACKNOWLEDGED": 3}, 0),
}


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("what", SQUEEZES)
def test_a_minute_of_chaos_with_squeezed_limits(what: str, seed: int) -> None:
    """Once a reader entered with the token of a writer, in the first of them with seed 103."""
    squeezed_minute(seed, *SQUEEZES[what])


def squeezed_minute(seed: int, limits: dict[str, float], objects: int = 0) -> None:
    world = virtual_chaos.run(seed, limits, objects)
    squeeze = " ".join([f"{name}={value}" for name, value in limits.items()])
    again = f"python tests/net/virtual_chaos.py --runs 1 --seed {seed} --story --objects {objects} --squeeze {squeeze}"
    assert world.violations == [], again
    assert world.done["entered"] > 100


def test_equal_seeds_give_equal_runs() -> None:
    first, again = minute(31), virtual_chaos.run(31)
    assert first.story == again.story
    assert (first.done, first.loop.steps) == (again.done, again.loop.steps)
    assert first.story != virtual_chaos.run(8).story


def test_what_was_told_to_an_earlier_life_of_a_peer_does_not_count_for_the_next_one() -> None:
    """Once a member that had just been restarted was told that it had missed what its earlier life was told, if two
    connections were made at the same time; and then the two refused each other forever."""

    async def story() -> None:
        async with clusters(2) as (a, b):
            membership = a._host.membership
            link = membership.link_to[1]
            for _ in range(20):
                for member in (a, b):
                    async with member.mutex("x"):
                        pass
            link.acked = link.sent = max(link.sent, 1)
            known = membership.roster.known(1)
            same = membership.hello(link, called(known))
            assert (same.expected, same.dropped) == (known, link.acked)
            other = membership.hello(link, called(known + 1))
            assert (other.expected, other.received, other.dropped) == (known + 1, 0, 0)

    def called(incarnation: int) -> Hello:
        return Hello("congenial", "b", "a", ("a", "b"), "", incarnation, 0, 0, ())

    run_story(story())
