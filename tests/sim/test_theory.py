"""The engine against theory: queues with known formulas, and the bag of messages against the queue of arrivals."""

from __future__ import annotations

from math import exp, sqrt
from pathlib import Path

import pytest
from librt.random import Random
from toys import Announcer, drive

from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.kernel.errors import ConfigError
from congenial.sim.chance import (
    Constant,
    Distribution,
    Exponential,
    LogNormal,
    Uniform,
    exponential,
    parse_distribution,
)
from congenial.sim.engine import Engine
from congenial.sim.simulate import simulate
from congenial.sim.statistics import half_width, mean
from congenial.sim.workload import ClosedLoop, GroupChoice, parse_skew
from congenial.systems.streams import stream
from congenial.systems.system import System


def repairman(n: int, think: float, hold: float) -> tuple[float, float]:
    """M/M/1//n: mean wait and throughput of n customers that think, then queue for one server (mean value analysis)."""
    queue = response = throughput = 0.0
    for customers in range(1, n + 1):
        response = hold * (1 + queue)
        throughput = customers / (think + response)
        queue = throughput * response
    return response - hold, throughput


@pytest.mark.parametrize(("n", "think"), [(2, 1.0), (10, 8.0), (30, 40.0)])
def test_a_central_lock_without_delays_is_a_machine_repairman(n: int, think: float) -> None:
    """Exponential thinking and holding: the wait is that of the M/M/1//n queue, whatever the order of service."""
    result = simulate(
        "maekawa",
        nodes=n,
        requests=100_000,
        warmup=100.0,
        until=3000.0,  # while all are still at it
        think=think,
        hold="exponential:1",
        delay="constant:0",
        options={"quorums": "singleton"},
        repeat=8,
    )
    wait, throughput = repairman(n, think, 1.0)
    assert abs(result.waiting_time_mean - wait) < 2 * result.intervals["waiting_time_mean"] + 0.01 * wait
    assert abs(result.throughput - throughput) < 2 * result.intervals["throughput"] + 0.01 * throughput
    assert result.intervals["waiting_time_mean"] < 0.15 * wait


def test_one_process_alone_never_waits() -> None:
    result = simulate("suzuki-kasami", nodes=1, requests=4000, think=3, hold="exponential:1")
    assert result.waiting_time_max == 0.0
    assert result.throughput == pytest.approx(1 / 4, rel=0.06)


class Plain(Distribution):
    """Exponential, but the engine does not know: its messages go through the queue, each with its own delay."""

    def __init__(self, average: float) -> None:
        super().__init__("plain", average)

    def draw(self, rng: Random) -> float:
        return exponential(rng, self.mean)


def delays(delay: Distribution) -> list[float]:
    """How long each message took, with many on their way at the same time."""
    run = drive(Announcer, 6, [(0.5 * k, k % 6, 0.0) for k in range(600)], delay)
    sent = {event.id: event.t for event in run.of("send")}
    return [event.t - sent[event.id] for event in run.of("deliver")]


@pytest.mark.parametrize("delay", [Exponential(10.0), Plain(10.0)], ids=["bag", "queue"])
def test_delays_are_exponential(delay: Distribution) -> None:
    found = delays(delay)
    count = len(found)
    assert count == 3000
    assert mean(found) == pytest.approx(10.0, abs=4 * 10 / sqrt(count))
    assert mean([d * d for d in found]) == pytest.approx(200.0, rel=0.2)
    for limit in (1.0, 5.0, 10.0, 30.0):
        share = len([d for d in found if d > limit]) / count
        expected = exp(-limit / 10)
        assert share == pytest.approx(expected, abs=4 * sqrt(expected * (1 - expected) / count))


def waits(delay: Distribution, seeds: range) -> list[float]:
    means = []
    for seed in seeds:
        load = ClosedLoop(6, 60, Exponential(20.0), Uniform(0, 4), GroupChoice(1))
        engine = Engine(System(SuzukiKasami, 6), load, delay, seed)
        engine.run()
        means.append(mean(list(engine.meter.waits)))
    return means


def test_bag_and_queue_give_runs_of_the_same_distribution() -> None:
    bag, queue = waits(Exponential(10.0), range(24)), waits(Plain(10.0), range(100, 124))
    assert abs(mean(bag) - mean(queue)) < 1.5 * sqrt(half_width(bag) ** 2 + half_width(queue) ** 2)
    assert half_width(bag) < 0.05 * mean(bag)


@pytest.mark.parametrize(
    ("delay", "average", "spread"),
    [
        (Constant(3.0), 3.0, 0.0),
        (Uniform(2.0, 10.0), 6.0, 8 / sqrt(12)),
        (Exponential(4.0), 4.0, 4.0),
        (LogNormal(5.0, 0.8), 5.0, 5 * sqrt(exp(0.64) - 1)),
    ],
    ids=str,
)
def test_distributions_have_the_mean_and_spread_they_promise(
    delay: Distribution, average: float, spread: float
) -> None:
    rng = stream(1, 0)
    drawn = [delay.draw(rng) for _ in range(20000)]
    assert delay.mean == pytest.approx(average)
    assert mean(drawn) == pytest.approx(average, abs=4 * spread / sqrt(20000) + 1e-12)
    assert sqrt(mean([(value - average) ** 2 for value in drawn])) == pytest.approx(spread, rel=0.08)
    assert min(drawn) >= 0


def test_measured_delays_are_drawn_evenly(tmp_path: Path) -> None:
    path = tmp_path / "delays.txt"
    path.write_text("1 2, 3\n6", encoding="utf-8")
    delay = parse_distribution(f"file:{path}", "--delay")
    assert delay.mean == 3.0
    rng = stream(1, 0)
    drawn = [delay.draw(rng) for _ in range(8000)]
    assert set(drawn) == {1.0, 2.0, 3.0, 6.0}
    assert mean(drawn) == pytest.approx(3.0, abs=0.1)
    run = drive(Announcer, 2, [(10.0 * k, 0, 0.0) for k in range(50)], delay)
    assert {round(t % 10, 6) for t in run.times("deliver", 1)} <= {1.0, 2.0, 3.0, 6.0}


@pytest.mark.parametrize("text", ["", "1 two", "-1 2"])
def test_a_file_without_delays_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "delays.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"delays\.txt should hold"):
        parse_distribution(f"file:{path}", "--delay")


@pytest.mark.parametrize(
    "text", ["-1", "exponential:-1", "uniform:3", "uniform:5,1", "gamma:1", "soon", "constant:nan", "lognormal:1"]
)
def test_what_is_no_distribution_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--delay"):
        parse_distribution(text, "--delay")


def test_a_bare_number_is_a_mean() -> None:
    assert str(parse_distribution("5", "--delay")) == "exponential:5"
    assert str(parse_distribution("5", "--hold", "uniform")) == "uniform:0,10"


def test_skew_gives_some_groups_most_requests() -> None:
    choice = GroupChoice(10, "20/80")
    rng = stream(1, 0)
    drawn = [choice.draw(rng)[0] for _ in range(10000)]
    hot = len([group for group in drawn if group < 2])
    assert hot == pytest.approx(8000, abs=200)
    assert set(drawn) == set(range(10))


@pytest.mark.parametrize("text", ["20", "a/b", "0/50", "120/10", "10/-1", "1/2/3"])
def test_what_is_no_skew_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="skew"):
        parse_skew(text)


def test_two_algorithms_with_equal_seeds_meet_the_same_requests() -> None:
    """Every process draws its thinking and holding from a stream of its own."""
    light = {"nodes": 5, "requests": 3, "think": 1e6, "hold": 5}
    ricart, raymond = simulate("ricart-agrawala", seed=9, **light), simulate("raymond-tree", seed=9, **light)
    assert ricart.simulated_time == pytest.approx(raymond.simulated_time, abs=1000)
