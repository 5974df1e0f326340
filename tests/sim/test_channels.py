"""FIFO channels with exponential delays, against delays that are drawn when a message is sent."""

from __future__ import annotations

from itertools import pairwise
from math import sqrt
from random import Random

import librt.random
import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.sim.channels import MOST_DENSE, ChannelOrder, OrderedBag
from congenial.sim.events import PROCESS_BITS
from congenial.sim.queue import Bag

MEAN = 2.0
OTHER = 1000 << PROCESS_BITS  # the message on the other channel
SENT = (0.0, 0.5, 1.0, 4.0, 4.0, 9.0)  # times at which messages are sent on one channel


def arrivals_from_the_bag(rng: Random, seed: int) -> list[float]:
    """Messages on one channel, beside one on another; `rng` draws which message of the bag is the next and when."""
    bag = Bag()
    ordered = OrderedBag(2, MEAN, bag, librt.random.Random(seed))
    now, sent, arrived = 0.0, 0, []
    ordered.put(1, OTHER, now)
    while len(arrived) < len(SENT):
        arrival = now + rng.expovariate(bag.size / MEAN) if bag.size else float("inf")
        if sent < len(SENT) and SENT[sent] <= arrival:
            now = SENT[sent]
            ordered.put(2, sent << PROCESS_BITS, now)
            sent += 1
            continue
        now = arrival
        item = bag.take(rng.randrange(bag.size))
        if item == OTHER:
            assert ordered.follow(1, now) == -1
            continue
        while item >= 0:
            assert item == len(arrived) << PROCESS_BITS  # in order
            arrived.append(now)
            item = ordered.follow(2, now)
    return arrived


def arrivals_drawn_at_once(rng: Random) -> list[float]:
    order = ChannelOrder(2)
    return [order.after(2, time + rng.expovariate(1 / MEAN)) for time in SENT]


def statistics_of(arrivals: list[float]) -> list[float]:
    """When each arrives, whether it arrives together with the one before, and products of neighbours."""
    together = [float(a == b) for a, b in pairwise(arrivals)]
    products = [a * b for a, b in pairwise(arrivals)]
    return [*arrivals, *together, *products]


def test_runs_have_the_same_distribution() -> None:
    rng, runs = Random(3), 20_000
    one = [statistics_of(arrivals_from_the_bag(rng, seed)) for seed in range(runs)]
    other = [statistics_of(arrivals_drawn_at_once(rng)) for _ in range(runs)]
    for here, there in zip(zip(*one, strict=True), zip(*other, strict=True), strict=True):
        means = sum(here) / runs, sum(there) / runs
        variance = sum([(x - means[0]) ** 2 for x in here]) / runs + sum([(x - means[1]) ** 2 for x in there]) / runs
        assert abs(means[0] - means[1]) < 4 * sqrt(variance / runs)


@pytest.mark.parametrize(("n", "mean"), [(4, MEAN), (4, 0.0), (MOST_DENSE + 1, MEAN)])
@given(st.lists(st.one_of(st.integers(0, 3), st.none()), max_size=200), st.randoms(use_true_random=False))
def test_every_channel_keeps_its_order(n: int, mean: float, steps: list[int | None], rng: Random) -> None:
    """A number sends a message to that process; None lets one arrive that is first on its channel."""
    bag = Bag()
    ordered = OrderedBag(n, mean, bag, librt.random.Random(7))
    under_way: list[list[int]] = [[], [], [], []]
    for at, step in enumerate([*steps, *[None] * len(steps)]):
        if step is not None:
            ordered.put(n + step, at << PROCESS_BITS | step, float(at))
            under_way[step].append(at)
        elif bag.size:
            item = bag.take(rng.randrange(bag.size))
            channel = item & 3
            while item >= 0:
                assert item >> PROCESS_BITS == under_way[channel].pop(0)
                item = ordered.follow(n + channel, float(at))
        assert bag.size == sum([bool(messages) for messages in under_way])  # the first of each channel
    assert under_way == [[], [], [], []]
