"""Every group algorithm under random schedules: safe at every step, and nobody is left waiting."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from schedules import Run, at_random

from congenial.algorithms.group.ra2 import Reply, Request
from congenial.kernel.message import integers
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS

VARIANTS: list[tuple[str, dict[str, str]]] = [
    ("ra1", {}),
    ("ra2", {"vectors": "full"}),
    ("ra2", {"vectors": "compressed"}),
    ("token-gme", {}),
    ("token-gme-fifo", {}),
    ("token-gme-types", {}),
    ("token-gme-bounded", {"limit": "2"}),
    ("token-gme-bounded", {"limit": "3", "selection": "fifo"}),
    ("drs-gme", {}),
    ("drs-gme-extended", {}),
    ("drs-gme-extended-faults", {}),
    ("home-gme", {}),
    ("home-gme", {"leaders": "1", "selection": "fifo"}),
    ("home-gme", {"leaders": "5", "selection": "overdue"}),
]
SETS = ("token-gme-types", "drs-gme-extended", "drs-gme-extended-faults", "home-gme")
NAMES = ["-".join([name, *options.values()]) for name, options in VARIANTS]


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=NAMES)
@given(
    seed=st.integers(0, 2**32), n=st.integers(1, 5), groups=st.integers(1, 3), fifo=st.booleans(), requests=st.just(4)
)
def test_any_schedule(
    name: str, options: dict[str, str], seed: int, n: int, groups: int, fifo: bool, requests: int
) -> None:
    fifo = fifo or ALGORITHMS[name].spec.fifo
    at_random(Run(name, n, **options), Random(seed), groups, requests, fifo, sets=name in SETS)


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=NAMES)
@pytest.mark.parametrize(
    ("n", "groups", "skew"), [(2, 2, ""), (7, 3, ""), (12, 2, "50/90"), (25, 50, "20/80"), (40, 8, "")]
)
def test_long_runs(name: str, options: dict[str, str], n: int, groups: int, skew: str) -> None:
    for seed, delay in enumerate(("1", "10", "lognormal:5,1.5")):
        result = simulate(
            name, nodes=n, groups=groups, skew=skew, options=options, seed=seed, delay=delay, requests=200 // n + 5
        )
        assert result.ok, result.verdict()
        assert result.entries == result.requests


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=NAMES)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 6))
def test_concurrent_entry(name: str, options: dict[str, str], seed: int, n: int) -> None:
    """All ask for one group, nobody leaves: all get in."""
    run = Run(name, n, **options)
    rng = Random(seed)
    todo = list(range(n))
    while todo or run.under_way:
        if todo and rng.random() < 0.3:
            run.ask(todo.pop(rng.randrange(len(todo))), 1)
        elif run.under_way:
            at = rng.randrange(len(run.under_way))
            if ALGORITHMS[name].spec.fifo:
                run.deliver_between(*run.under_way[at][:2])
            else:
                run.deliver(at)
    assert run.inside() == list(range(n))


@given(seed=st.integers(0, 2**32), n=st.integers(2, 6), groups=st.integers(1, 3))
def test_compressed_vectors_change_nothing_but_the_size(seed: int, n: int, groups: int) -> None:
    """Mittal & Mohan 2007, section 4: Singhal and Kshemkalyani's scheme over FIFO channels."""
    full, compressed = Run("ra2", n, vectors="full"), Run("ra2", n, vectors="compressed")
    at_random(full, Random(seed), groups, 5, fifo=True)
    at_random(compressed, Random(seed), groups, 5, fifo=True)
    assert full.entries == compressed.entries
    assert len(full.sent) == len(compressed.sent)
    replies = [sum([integers(msg.vf) for msg in run.sent if isinstance(msg, Reply)]) for run in (full, compressed)]
    assert replies[1] < replies[0]
    requests = [sum([integers(msg.vsn) for msg in run.sent if isinstance(msg, Request)]) for run in (full, compressed)]
    assert requests[1] <= requests[0]
