"""Symmetry: fewer states, the same verdicts, and no believing."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest

from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala
from congenial.algorithms.token.raymond_tree import Privilege, RaymondTree
from congenial.checker.check import check
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.out import Out
from congenial.kernel.spec import Interchangeable, Spec


class TokenKept(RaymondTree):
    """A process that sends the token away still believes it holds it."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        super().receive(src, msg, out)
        if isinstance(msg, Privilege) and self.holder != self.me:
            self.holder = self.me


class SaidToBeSymmetric(RicartAgrawala):
    """It breaks ties by process number, so it is not."""

    spec: ClassVar[Spec] = replace(RicartAgrawala.spec, symmetry=Interchangeable(indexed=("deferred",)))


@pytest.mark.parametrize("reduce", [True, False])
@pytest.mark.parametrize("nodes", [3, 4])
def test_the_leaves_of_a_star_are_alike(nodes: int, reduce: bool) -> None:
    star = {"tree": "star"}
    without, using = [
        check(RaymondTree, nodes=nodes, requests=1, options=star, symmetry=symmetry, reduce=reduce)
        for symmetry in (False, True)
    ]
    assert without.ok
    assert using.ok
    assert without.complete
    assert using.complete
    assert (without.least_messages, without.most_messages) == (using.least_messages, using.most_messages)
    assert using.states * (nodes - 1) < without.states * 2  # nearly (n-1)! times fewer


@pytest.mark.parametrize("tree", ["line", "balanced"])
def test_on_other_trees_nothing_is_gained_and_nothing_lost(tree: str) -> None:
    plain, using = [
        check(RaymondTree, nodes=4, requests=1, options={"tree": tree}, symmetry=symmetry) for symmetry in (False, True)
    ]
    assert plain.ok
    assert using.ok
    assert using.states == plain.states


@pytest.mark.parametrize("symmetry", [True, False])
def test_what_is_wrong_is_found_with_and_without(symmetry: bool) -> None:
    result = check(TokenKept, nodes=4, requests=1, options={"tree": "star"}, symmetry=symmetry)
    assert result.counterexample is not None
    assert result.counterexample.events


def test_a_false_declaration_is_noticed() -> None:
    with pytest.raises(ConfigError, match="is not symmetric here"):
        check(SaidToBeSymmetric, nodes=3, requests=1, symmetry=True)


def test_an_algorithm_that_declares_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="does not say which of its processes are interchangeable"):
        check(RicartAgrawala, nodes=3, requests=1, symmetry=True)


def test_interchangeable_processes_may_ask_for_the_same() -> None:
    with pytest.raises(ConfigError, match="may all ask for the same"):
        check(RaymondTree, nodes=3, requests=1, options={"tree": "star"}, symmetry=True, wants="0;0;1")
