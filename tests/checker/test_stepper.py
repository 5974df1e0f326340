"""The stepper takes the steps that can be taken, and refuses all others."""

from __future__ import annotations

from typing import Any

import pytest
from faulty import Hasty, Ledger, Polite

from congenial.checker.stepper import Action, IllegalStep, Stepper
from congenial.kernel.errors import ContractError
from congenial.kernel.node import IDLE, Node
from congenial.systems.system import System


def stepper_of(algorithm: type[Node], n: int = 2, fifo: bool = False) -> Stepper:
    return Stepper(System(algorithm, n), fifo)


def ask(process: int) -> Action:
    return Action("request", process, groups=(0,))


def deliver(stepper: Stepper, **more: Any) -> None:
    """Whatever is under way longest."""
    packet = stepper.packets[0]
    stepper.take(Action("deliver", int(packet.dst), int(packet.src), int(packet.number), **more))


def test_a_request_an_answer_and_an_entry() -> None:
    stepper = stepper_of(Polite)
    stepper.take(ask(0))
    deliver(stepper)
    deliver(stepper)
    assert stepper.holders() == [0]
    stepper.take(Action("exit", 0))
    assert stepper.holders() == []
    assert stepper.entries == 1
    kinds = [event.event for event in stepper.events]
    assert kinds == ["request", "send", "deliver", "send", "deliver", "enter", "exit"]


@pytest.mark.parametrize(
    "action",
    [
        Action("exit", 0),
        Action("deliver", 1, 0, 7),
        Action("drop", 1, 0, 7),
        Action("timer", 0, timer=3),
        Action("recover", 0),
        Action("dance", 0),
    ],
    ids=lambda action: action.event,
)
def test_steps_that_cannot_be_taken_are_refused(action: Action) -> None:
    stepper = stepper_of(Polite)
    with pytest.raises(ContractError):
        stepper.take(action)
    assert stepper.events == []


def test_nobody_asks_twice_nor_while_down() -> None:
    stepper = stepper_of(Polite)
    stepper.take(ask(0))
    with pytest.raises(ContractError):
        stepper.take(ask(0))
    stepper.take(Action("crash", 1))
    with pytest.raises(ContractError):
        stepper.take(ask(1))


def test_a_message_is_delivered_to_its_receiver_once_unless_again() -> None:
    stepper = stepper_of(Polite)
    stepper.take(ask(0))
    deliver(stepper, again=True)
    assert len(stepper.packets) == 2  # the question, still, and the answer
    deliver(stepper)
    assert [int(packet.dst) for packet in stepper.packets] == [0, 0]
    deliver(stepper)
    with pytest.raises(IllegalStep):  # the second answer
        deliver(stepper)


def test_a_dropped_message_is_gone() -> None:
    stepper = stepper_of(Polite)
    stepper.take(ask(0))
    stepper.take(Action("drop", 1, 0, 1))
    assert stepper.packets == []
    assert stepper.events[-1].event == "drop"


def test_what_is_under_way_to_a_crashed_process_waits_for_it_or_gets_lost() -> None:
    stepper = stepper_of(Polite)
    stepper.take(ask(0))
    stepper.take(ask(1))
    stepper.take(Action("crash", 0))
    assert [int(packet.dst) for packet in stepper.packets] == [1, 0]
    assert [int(packet.dst) for packet in stepper.deliverable()] == [1]
    stepper.take(Action("drop", 0, 1, 2))
    assert [int(packet.dst) for packet in stepper.packets] == [1]


def test_nothing_is_delivered_to_a_process_that_is_down() -> None:
    stepper = stepper_of(Polite)
    stepper.take(ask(0))
    stepper.take(Action("crash", 0))
    deliver(stepper)  # the question; the answer goes to a process that is down
    assert stepper.deliverable() == []


def test_a_recovered_process_has_what_it_saved_and_nothing_else() -> None:
    stepper = stepper_of(Ledger, 1)
    stepper.take(ask(0))
    stepper.take(Action("crash", 0))
    assert stepper.holders() == []
    stepper.take(Action("recover", 0))
    node: Any = stepper.nodes[0]
    assert (node.fence, node.phase) == (1, IDLE)


def test_timers_are_forgotten_in_a_crash() -> None:
    stepper = stepper_of(Hasty)
    stepper.take(ask(0))
    assert stepper.processes[0].timers == [1]
    stepper.take(Action("crash", 0))
    stepper.take(Action("recover", 0))
    with pytest.raises(ContractError):
        stepper.take(Action("timer", 0, timer=1))


def test_a_fifo_channel_lets_nobody_overtake() -> None:
    stepper = stepper_of(Polite, 2, fifo=True)
    stepper.take(ask(0))
    stepper.take(ask(1))
    deliver(stepper)  # 1 answers behind its own question
    first, _ = [packet for packet in stepper.packets if packet.dst == 0]
    assert stepper.deliverable() == [first]
