"""Cycles, fairness and costs on graphs drawn by hand."""

from __future__ import annotations

from congenial.checker.edges import Edges
from congenial.checker.events import ASK, DELIVER, PROCESS_SHIFT, SENT_SHIFT
from congenial.checker.graph import StateGraph


def graph(edges: list[list[tuple[int, int]]]) -> StateGraph:
    """For each state its edges: (target, label)."""
    made = Edges()
    for row in edges:
        made.begin()
        for target, label in row:
            made.add(target, made.number_of(label))
    made.begin()
    return StateGraph(made)


def delivery(packet: int, sent: int = 0, process: int = 0) -> int:
    return DELIVER | packet | process << PROCESS_SHIFT | sent << SENT_SHIFT


def test_components_in_which_one_can_go_round() -> None:
    two_rings = graph([[(1, 0)], [(2, 0)], [(1, 0), (3, 0)], [(3, 0)], [(0, 0)]])
    assert sorted(two_rings.cycles()) == [[1, 2], [3]]
    assert graph([[(1, 0), (2, 0)], [(2, 0)], []]).cycles() == []


def test_a_long_chain_is_no_trouble() -> None:
    length = 50_000
    ring = graph([[((state + 1) % length, 0)] for state in range(length)])
    assert [len(component) for component in ring.cycles()] == [length]


def test_a_message_always_under_way_and_never_delivered_is_not_fair() -> None:
    starving = graph([[(1, delivery(1)), (2, delivery(9))], [(0, delivery(2)), (2, delivery(9))], []])
    assert not starving.is_fair([0, 1])
    fair = graph([[(1, delivery(1)), (2, delivery(9))], [(0, delivery(2))], []])
    assert fair.is_fair([0, 1])  # it is not always possible, so putting it off is fair


def test_nobody_has_to_ask() -> None:
    assert graph([[(0, delivery(1)), (1, ASK)], []]).is_fair([0])


def test_the_cheapest_and_the_dearest_way() -> None:
    fewest, most = graph([[(1, delivery(1, 2)), (2, delivery(2, 5))], [(2, delivery(3, 1))], []]).messages()
    assert ([int(value) for value in fewest], [int(value) for value in most]) == ([0, 2, 3], [0, 2, 5])
