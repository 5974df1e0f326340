"""Leases under random schedules: nothing is served while programs may rely on a lease of another process."""

from __future__ import annotations

import lease_schedules
import pytest

from congenial.parts.views import View


def test_nothing_is_served_too_early() -> None:
    look_at(range(1, 101))


@pytest.mark.deep
def test_nothing_is_served_too_early_in_many_schedules() -> None:
    look_at(range(10_000, 15_000))


def look_at(seeds: range) -> None:
    worlds = [lease_schedules.run(seed) for seed in seeds]
    assert [world.fault for world in worlds if world.fault] == [], (
        "python tests/net/lease_schedules.py --seed ... --story"
    )
    assert sum([world.served for world in worlds]) > 2 * len(worlds)


def test_equal_seeds_give_equal_schedules() -> None:
    assert lease_schedules.run(7).story == lease_schedules.run(7).story != lease_schedules.run(8).story


def test_a_process_that_forgets_what_it_has_granted_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge judges."""
    follow = lease_schedules.Process.follow

    def forgetful(process: lease_schedules.Process, view: View) -> None:
        process.grants.granted.clear()
        follow(process, view)

    monkeypatch.setattr(lease_schedules.Process, "follow", forgetful)
    assert any(lease_schedules.run(seed).fault for seed in range(1000))


def test_seconds_of_another_clock_that_are_taken_for_seconds_here_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = lease_schedules.Process.begin

    def naive(process: lease_schedules.Process, view: View) -> None:
        begin(process, view)
        process.grants.drift = 0.0

    monkeypatch.setattr(lease_schedules.Process, "begin", naive)
    assert any(lease_schedules.run(seed).fault for seed in range(800, 2000))
