"""What an exploration keeps in blocks comes out as it went in, however much it is."""

from __future__ import annotations

from random import Random

from librt.vecs import vec
from mypy_extensions import i64

from congenial.checker.edges import BLOCK, SHORT, Edges
from congenial.checker.frontier import BLOCK as WORDS
from congenial.checker.frontier import Frontier


def random_state(rng: Random, most: int) -> list[int]:
    return [rng.randrange(1 << 30) for _ in range(rng.randrange(most))]


def test_states_are_taken_in_the_order_in_which_they_were_added() -> None:
    rng = Random(1)
    frontier = Frontier()
    for _ in range(3):  # levels
        added: list[list[int]] = []
        taken: list[list[int]] = []
        words = 0
        while words < 4 * WORDS:
            state = random_state(rng, 3000 if rng.random() < 0.01 else 30)
            added.append(state)
            words += len(state)
            frontier.add(vec[i64](state))
            if rng.random() < 0.3:
                taken.append(list(frontier.take()))
        while not frontier.is_empty:
            taken.append(list(frontier.take()))
        assert taken == added
        frontier.clear()


def test_a_state_may_be_larger_than_a_block() -> None:
    frontier = Frontier()
    states = [[1, 2, 3], list(range(WORDS)), list(range(3 * WORDS)), [4]]
    for state in states:
        frontier.add(vec[i64](state))
    assert [list(frontier.take()) for _ in states] == states
    assert frontier.is_empty


def test_edges_have_their_targets_and_labels_with_few_labels_and_with_many() -> None:
    rng = Random(2)
    edges = Edges()
    added: list[tuple[int, int]] = []
    firsts: list[int] = []
    while len(added) < 3 * (SHORT + BLOCK):
        edges.begin()
        firsts.append(len(added))
        for _ in range(rng.randrange(6)):
            new_label = rng.random() < 0.6
            label = (len(added) if new_label or not added else rng.choice(added)[1]) | 1 << 40
            added.append((rng.randrange(1 << 31), label))
            edges.add(added[-1][0], edges.number_of(label))
    edges.begin()
    assert len(edges.labels) > 1 << 15
    assert edges.states == len(firsts)
    assert [int(edges.first(state)) for state in range(len(firsts))] == firsts
    assert [(int(edges.target(edge)), int(edges.label(edge))) for edge in range(len(added))] == added
