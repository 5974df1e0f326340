"""What cannot be is refused by name, and leaves the node as it was: for every algorithm in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from congenial.algorithms.permission import maekawa, ricart_agrawala
from congenial.algorithms.token import raymond_tree, suzuki_kasami, suzuki_kasami_bounded
from congenial.kernel.errors import ContractError, UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System


@dataclass(frozen=True)
class Gibberish(Message):
    words: int


def node(name: str, me: int = 0, n: int = 7) -> Node:
    return System(ALGORITHMS[name], n).node(me)


def waiting(name: str, me: int = 3) -> Node:
    asker = node(name, me)
    asker.request((0,), Outbox())
    return asker


@pytest.mark.parametrize("name", ALGORITHMS)
class TestEveryAlgorithm:
    def test_refuses_a_message_of_another_kind(self, name: str) -> None:
        process = node(name)
        before = state_of(process)
        with pytest.raises(UnexpectedMessage, match=r"process 0 \(idle\) cannot .*Gibberish.* from process 2"):
            process.receive(2, Gibberish(1), Outbox())
        assert state_of(process) == before

    def test_refuses_a_release_without_an_entry(self, name: str) -> None:
        process = node(name)
        before = state_of(process)
        with pytest.raises(ContractError, match="process 0 would leave while it is idle"):
            process.release(Outbox())
        assert state_of(process) == before

    def test_refuses_a_release_while_waiting(self, name: str) -> None:
        process = waiting(name)
        before = state_of(process)
        with pytest.raises(ContractError, match="process 3 would leave while it is waiting"):
            process.release(Outbox())
        assert state_of(process) == before

    def test_refuses_a_second_request(self, name: str) -> None:
        process = waiting(name)
        before = state_of(process)
        with pytest.raises(ContractError, match="process 3 asks to enter while it is waiting"):
            process.request((0,), Outbox())
        assert state_of(process) == before


TOKEN = suzuki_kasami.Privilege((), (0,) * 7, 1)
IMPOSSIBLE = {
    "a reply nobody asked for": (node("ricart-agrawala"), 1, ricart_agrawala.Reply()),
    "a token nobody asked for": (node("suzuki-kasami", 1), 0, TOKEN),
    "a second token": (node("suzuki-kasami", 0), 1, TOKEN),
    "a bounded token nobody asked for": (node("suzuki-kasami-bounded", 1), 0, TOKEN),
    "an acknowledgement of no round": (node("suzuki-kasami-bounded"), 1, suzuki_kasami_bounded.RoundReceived()),
    "a token from elsewhere": (waiting("raymond-tree", 3), 4, raymond_tree.Privilege(1)),
    "a token not asked for": (node("raymond-tree", 3), 1, raymond_tree.Privilege(1)),
    "a lock nobody asked for": (node("maekawa", 0), 1, maekawa.Locked(0)),
    "a lock from no member": (waiting("maekawa", 3), 0, maekawa.Locked(0)),
    "a lock one has": (waiting("maekawa", 3), 3, maekawa.Locked(0)),
    "a failure of no request": (node("maekawa", 0), 1, maekawa.Failed()),
    "a failure from no member": (waiting("maekawa", 3), 0, maekawa.Failed()),
    "an inquiry from no member": (waiting("maekawa", 3), 0, maekawa.Inquire()),
    "a lock given back that was not given": (node("maekawa", 0), 1, maekawa.Relinquish()),
    "a release of another's lock": (waiting("maekawa", 3), 1, maekawa.Release(1)),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_refuses_a_message_that_cannot_be(case: str) -> None:
    process, source, message = IMPOSSIBLE[case]
    before = state_of(process)
    out = Outbox()
    with pytest.raises(UnexpectedMessage, match=f"from process {source}"):
        process.receive(source, message, out)
    assert state_of(process) == before
    assert out.sent == []
    assert out.entered is None
