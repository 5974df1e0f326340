"""Metrics, against runs small enough to compute by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from toys import Announcer, drive

from congenial.kernel.errors import ConfigError
from congenial.sim.result import MEASURES, Result
from congenial.sim.simulate import simulate
from congenial.sim.statistics import half_width, jain, mean, percentile, student_t

ARRIVALS = """time,process,group,hold
0,0,0,4
1,1,0,2
1.5,2,0,3
20,0,0,1
"""


@pytest.fixture
def tiny(tmp_path: Path) -> dict[str, Any]:
    """Suzuki-Kasami with three processes, every message takes one unit. Process 0 has the token.

    0 is inside from 0 to 4. 1 asks at 1, has the token at 5, leaves at 7. 2 asks at 1.5, has the token at 8, leaves at
    11. 0 asks again at 20; 2 hears that at 21; 0 has the token at 22 and leaves at 23.
    """
    path = tmp_path / "arrivals.csv"
    path.write_text(ARRIVALS, encoding="utf-8")
    return {"nodes": 3, "load": str(path), "delay": "constant:1"}


def test_a_tiny_run(tiny: dict[str, Any]) -> None:
    result = simulate("suzuki-kasami", **tiny)
    assert result.ok
    assert (result.requests, result.entries, result.sessions) == (4, 4, 4)
    assert result.messages_by_kind == {"Privilege": 3, "Request": 6}
    assert result.messages == result.deliveries == 9
    assert result.messages_per_entry == 9 / 4
    assert result.integers_per_entry == (6 * 1 + (1 + 3 + 1) + (0 + 3 + 1) + (0 + 3 + 1)) / 4
    # waits: 0, 4, 6.5 and 2
    assert result.waiting_time_mean == 12.5 / 4
    assert result.waiting_time_p50 == 3.0
    assert result.waiting_time_p90 == pytest.approx(4 + 0.7 * 2.5)
    assert result.waiting_time_p99 == pytest.approx(4 + 0.97 * 2.5)
    assert result.waiting_time_max == 6.5
    # 4 to 5 and 7 to 8; at 11 no process waits
    assert result.sync_delay_mean == result.sync_delay_min == result.sync_delay_max == 1.0
    # only the last request is made when no other process waits or is inside; it costs two requests and the token
    assert (result.lone_entries, result.free_entries) == (1, 0)
    assert result.lone_cost_min == result.lone_cost_max == 3
    assert result.simulated_time == 23.0
    assert result.throughput == 4 / 23
    assert (result.concurrency_mean, result.concurrency_max) == (1.0, 1.0)
    assert result.fairness == pytest.approx((1 + 4 + 6.5) ** 2 / (3 * (1 + 16 + 42.25)))


def test_entries_without_competition() -> None:
    """One process after the other: the first has the token, and every other one costs n messages."""
    result = simulate("suzuki-kasami", nodes=4, load="turns", requests=2)
    assert (result.lone_entries, result.free_entries) == (8, 1)
    assert (result.lone_cost_min, result.lone_cost_max) == (4, 4)
    path = simulate("raymond-tree", nodes=5, load="turns", requests=1, options={"tree": "line"})
    assert (path.lone_cost_min, path.lone_cost_max) == (2, 2)
    busy = simulate("suzuki-kasami", nodes=4, think=0, requests=20)
    assert busy.lone_entries <= 1, "at most the first"


def test_the_warm_up_is_not_counted(tiny: dict[str, Any]) -> None:
    """From time 6 on, when process 1 is inside: the token goes from 1 to 2 and, after a request, to 0."""
    result = simulate("suzuki-kasami", warmup=6.0, **tiny)
    assert result.entries == result.sessions == 2
    assert result.messages_by_kind == {"Privilege": 2, "Request": 2}
    assert result.deliveries == 4
    assert result.integers_per_entry == (2 * 1 + 4 + 4) / 2
    assert result.waiting_time_mean == (6.5 + 2) / 2
    assert result.sync_delay_mean == 1.0
    assert result.throughput == 2 / (23 - 6)
    assert (result.concurrency_mean, result.concurrency_max) == (1.0, 1.0)
    assert result.fairness == pytest.approx((6.5 + 2) ** 2 / (2 * (6.5**2 + 2**2)))
    assert result.simulated_time == 23.0


def test_bandwidth_lengthens_the_tiny_run(tiny: dict[str, Any]) -> None:
    """Ten integers per unit: requests take 1.1; the token 1.5 to process 1, then 1.4 and 1.4."""
    result = simulate("suzuki-kasami", bandwidth=10.0, **tiny)
    assert result.waiting_time_max == pytest.approx(4 + 1.5 + 2 + 1.4 - 1.5)
    assert result.simulated_time == pytest.approx(20 + 1.1 + 1.4 + 1)


def test_concurrency_is_averaged_over_the_time_when_somebody_is_inside() -> None:
    meter = drive(Announcer, 3, [(0.0, 0, 4.0), (1.0, 1, 2.0), (10.0, 2, 2.0)]).engine.meter
    assert meter.mean_inside() == (4 + 2 + 2) / (4 + 2)
    assert meter.most_inside == 2
    assert meter.sessions == 2


def test_concurrency_across_the_end_of_the_warm_up() -> None:
    """From 2 to 3 two are inside, from 3 to 4 one."""
    meter = drive(Announcer, 2, [(0.0, 0, 4.0), (1.0, 1, 2.0)], warmup=2.0).engine.meter
    assert meter.mean_inside() == (2 + 1) / 2
    assert meter.most_inside == 2
    assert meter.entries == 0


class TestRecordedArrivals:
    def run(self, path: Path, text: str, **parameters: Any) -> Result:
        file = path / "arrivals.csv"
        file.write_text(text, encoding="utf-8")
        return simulate("suzuki-kasami", nodes=2, load=str(file), delay="constant:1", **parameters)

    def test_group_and_hold_may_be_absent(self, tmp_path: Path) -> None:
        result = self.run(tmp_path, "time,process\n5,0\n", hold="constant:3")
        assert result.simulated_time == 8.0

    def test_a_busy_process_asks_later(self, tmp_path: Path) -> None:
        result = self.run(tmp_path, "time,process,hold\n0,0,5\n2,0,5\n")
        assert result.entries == 2
        assert result.simulated_time == 10.0

    @pytest.mark.parametrize(
        "text",
        ["time,who\n1,2\n", "time,process\n1,7\n", "time,process\n-1,0\n", "time,process\nsoon,0\n", "time\n1\n"],
    )
    def test_what_is_no_arrival_is_refused(self, tmp_path: Path, text: str) -> None:
        with pytest.raises(ConfigError, match=r"arrivals\.csv should be CSV with the columns time, process"):
            self.run(tmp_path, text)

    def test_a_missing_file_is_named(self) -> None:
        with pytest.raises(ConfigError, match=r"nowhere\.csv"):
            simulate("suzuki-kasami", load="nowhere.csv")


class TestStatistics:
    def test_percentiles_are_interpolated(self) -> None:
        assert percentile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
        assert percentile([1.0, 2.0, 3.0, 4.0], 1.0) == 4.0
        assert percentile([7.0], 0.99) == 7.0
        assert percentile([], 0.5) == 0.0

    def test_jain(self) -> None:
        assert jain([3.0, 3.0, 3.0]) == 1.0
        assert jain([5.0, 0.0, 0.0, 0.0]) == 0.25
        assert jain([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
        assert jain([]) == 1.0

    @pytest.mark.parametrize(
        ("freedom", "table", "tolerance"),
        [
            (1, 12.7062, 1e-4),
            (2, 4.3027, 1e-4),
            (3, 3.1824, 1e-2),
            (4, 2.7764, 5e-3),
            (6, 2.4469, 1e-3),
            (10, 2.2281, 1e-3),
            (30, 2.0423, 1e-3),
            (100, 1.9840, 1e-3),
        ],
    )
    def test_student_t_against_the_table(self, freedom: int, table: float, tolerance: float) -> None:
        assert student_t(freedom) == pytest.approx(table, rel=tolerance)

    def test_half_width_by_hand(self) -> None:
        """Mean 4, variance 10, five values: t(4) * sqrt(10/5)."""
        assert half_width([0.0, 2.0, 4.0, 6.0, 8.0]) == pytest.approx(2.7764 * 2**0.5, rel=5e-3)
        assert half_width([1.0]) == float("inf")
        assert half_width([2.0, 2.0, 2.0]) == 0.0

    def test_means(self) -> None:
        assert mean([1.0, 2.0, 6.0]) == 3.0
        assert mean([]) == 0.0


class TestReplications:
    def test_counts_add_up_and_measures_are_averaged(self) -> None:
        singles = [simulate("maekawa", nodes=7, requests=10, seed=seed) for seed in (4, 5, 6)]
        together = simulate("maekawa", nodes=7, requests=10, seed=4, repeat=3)
        assert together.runs == 3
        assert together.seed == 4
        assert together.entries == 210
        assert together.messages == sum(single.messages for single in singles)
        for measure in MEASURES:
            values = [float(getattr(single, measure)) for single in singles]
            assert getattr(together, measure) == pytest.approx(sum(values) / 3)
            assert together.intervals[measure] == pytest.approx(half_width(values))

    def test_precision_repeats_until_the_intervals_are_narrow(self) -> None:
        result = simulate("maekawa", nodes=7, requests=20, precision=0.02)
        assert 3 <= result.runs < 100
        for measure in ("messages_per_entry", "waiting_time_mean", "throughput"):
            assert result.intervals[measure] <= 0.02 * getattr(result, measure)
        shorter = simulate("maekawa", nodes=7, requests=20, repeat=result.runs - 1)
        watched = ("messages_per_entry", "waiting_time_mean", "throughput")
        assert result.runs == 3 or any(shorter.intervals[m] > 0.02 * getattr(shorter, m) for m in watched)

    def test_a_single_run_has_no_intervals(self) -> None:
        assert simulate("maekawa", nodes=7, requests=2).intervals == {}

    def test_a_failing_run_ends_the_series(self) -> None:
        result = simulate("suzuki-kasami", nodes=5, requests=10, loss=("0.5",), repeat=10)
        assert result.runs == 1
        assert not result.ok
