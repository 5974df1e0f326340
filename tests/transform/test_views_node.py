"""A process that agrees on views and does nothing else."""

from __future__ import annotations

import pytest
from cluster import Cluster

from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.out import Outbox
from congenial.parts.views import REJOIN
from congenial.transform.views import Told, ViewsNode


def views_of(cluster: Cluster) -> list[tuple[int, tuple[int, ...]]]:
    return [(node.views.view.number, node.views.view.processes) for node in cluster.nodes]


def founded() -> Cluster:
    cluster = Cluster("home-gme+views", 3)
    cluster.nodes = [ViewsNode(process, 3, 3, 5) for process in range(3)]
    return cluster


def test_a_member_that_is_not_heard_goes_and_comes_back() -> None:
    cluster = founded()
    cluster.lose(2)
    assert views_of(cluster) == [(1, (0, 1)), (1, (0, 1)), (0, (0, 1, 2))]
    cluster.find(2)
    cluster.do(2, "on_timer", REJOIN)
    cluster.settle()
    assert views_of(cluster) == [(2, (0, 1, 2))] * 3


def test_a_member_that_was_restarted_is_another_one() -> None:
    cluster = founded()
    cluster.do(1, "on_recover")
    cluster.settle()
    assert views_of(cluster) == [(1, (0, 1, 2))] * 3
    assert [node.views.since() for node in cluster.nodes] == [0, 1, 0]
    cluster.do(2, "on_amnesia")
    cluster.settle()
    assert views_of(cluster) == [(2, (0, 1, 2))] * 3
    assert cluster.nodes[2].views.birth > 0


def test_it_knows_where_it_is_and_what_it_understands() -> None:
    node = ViewsNode(1, 3, 3, 5, ("a", "b", "c"))
    assert (node.me, node.n, node.views.about) == (1, 3, "b")
    with pytest.raises(UnexpectedMessage):
        node.receive(0, Told(0, (), True), Outbox())
