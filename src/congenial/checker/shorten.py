"""Long runs made short: steps are left out as long as the run still ends in a fault of the same kind."""

from __future__ import annotations

from dataclasses import replace

from congenial.checker.faults import CONCURRENT_ENTRY, DEADLOCK, LEFT_BEHIND
from congenial.checker.replay import play
from congenial.checker.stepper import Action, Stepper
from congenial.kernel.errors import CongenialError, ContractError
from congenial.kernel.message import Message
from congenial.systems.system import System

UNFINISHED = (DEADLOCK, CONCURRENT_ENTRY, LEFT_BEHIND)
"""Faults of what does not happen: with a step left out, the run may have to go on for a while to show them."""


def shorten(system: System, fifo: bool, actions: list[Action], kind: str) -> list[Action]:
    """Leave out as many steps as possible while the run still ends in a fault of that kind (Zeller 1999)."""
    best = actions
    size = max(1, len(best) // 2)
    while True:
        shorter = _without_a_chunk(system, fifo, best, kind, size)
        if shorter is not None:
            best = shorter
        elif size == 1:
            return best
        else:
            size = max(1, size // 2)


def _without_a_chunk(system: System, fifo: bool, actions: list[Action], kind: str, size: int) -> list[Action] | None:
    named = _with_messages(system, fifo, actions)
    for start in range(0, len(named), size):
        attempt = _with_numbers(system, fifo, named[:start] + named[start + size :])
        played = play(system, fifo, attempt, finish=kind if kind in UNFINISHED else "")
        if played.kind == kind and len(played.actions) < len(actions):
            return list(played.actions)
    return None


Named = tuple[Action, Message | None]
"""A step, and the message that it is about, if any: the numbers of messages change when steps are left out."""


def _with_messages(system: System, fifo: bool, actions: list[Action]) -> list[Named]:
    stepper = Stepper(system, fifo)
    named: list[Named] = []
    for action in actions:
        under_way = {(int(packet.number), int(packet.dst)): packet.msg for packet in stepper.packets}
        named.append((action, under_way.get((action.id, action.node))))
        try:
            stepper.take(action)
        except CongenialError:
            break
    return named


def _with_numbers(system: System, fifo: bool, named: list[Named]) -> list[Action]:
    """The steps with the numbers that their messages have now, without the steps that have become impossible."""
    stepper = Stepper(system, fifo)
    actions: list[Action] = []
    for action, message in named:
        if message is not None:
            alike = [
                packet
                for packet in stepper.deliverable()
                if packet.src == action.peer and packet.dst == action.node and type(packet.msg) is type(message)
            ]
            if not alike:
                continue
            chosen = next((packet for packet in alike if packet.msg == message), alike[0])
            action = replace(action, id=int(chosen.number))
        try:
            stepper.take(action)
        except ContractError:
            continue
        except CongenialError:
            actions.append(action)
            break
        actions.append(action)
    return actions
