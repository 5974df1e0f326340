"""Three processes, two groups, two requests each: every run of the group algorithms, two processes against one."""

from __future__ import annotations

import pytest

from congenial.checker.check import check


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "requests"),
    [
        ("ra1", 2),
        ("ra2", 1),
        ("token-gme", 2),
        ("token-gme-fifo", 2),
        ("token-gme-types", 2),
        ("token-gme-bounded", 2),
        ("tqgmx", 2),
        ("surrogate-a", 2),
        ("surrogate-b", 2),
        ("surrogate", 2),
        ("surrogate-types", 2),
        ("surrogate-concurrent", 1),
        ("surrogate-information", 1),
        ("surrogate-solitary", 1),
        ("drs-gme", 2),
        ("drs-gme-faults", 1),
        ("drs-gme-extended", 1),
        ("drs-gme-extended-faults", 1),
        ("home-gme", 1),
    ],
)
def test_every_run_was_seen(name: str, requests: int) -> None:
    result = check(name, nodes=3, requests=requests, groups=2, wants="0;1;0", reduce=False, limit=1_000_000)
    assert result.ok
    assert result.complete


@pytest.mark.deep
@pytest.mark.parametrize(
    ("wants", "vectors", "states"),
    [
        ("0;1;0", "full", 602_193),
        ("0;1;0", "compressed", 6_116_069),
        ("0;1;2", "full", 59_810),
        ("0;1;2", "compressed", 435_325),
    ],
)
def test_every_run_of_ra2_with_two_requests_was_seen(wants: str, vectors: str, states: int) -> None:
    """With compressed vectors the states differ in what was last sent to each process, too."""
    options = {"vectors": vectors}
    result = check("ra2", nodes=3, requests=2, groups=3, wants=wants, reduce=False, options=options)
    assert result.ok
    assert result.complete
    assert result.states == states


def test_a_side_case_that_reaches_the_limit_leaves_the_verdict_open() -> None:
    """All runs with a group for each are 4,096 states, those in which all ask for one group and stay are 24,075."""
    result = check("ra2", nodes=3, requests=1, groups=3, wants="0;1;2", reduce=False, limit=10_000)
    assert result.ok
    assert result.states < 10_000
    assert not result.complete


def test_a_small_limit_does_not_call_for_the_reduction() -> None:
    result = check("ra1", nodes=2, requests=1, groups=2, limit=100_000)
    assert result.complete
    assert not result.reduced
