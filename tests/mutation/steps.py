"""What scenarios are made of: several steps of a `Stepper` together, and algorithms with other settings."""

from __future__ import annotations

from typing import Any

from congenial.checker.stepper import Action, Stepper
from congenial.kernel.node import Node
from congenial.kernel.trace import DELIVER, EXIT, ISSUE, REQUEST, SUSPECT, TRUST


def with_settings(algorithm: type[Node], settings: dict[str, Any]) -> type[Node]:
    """The algorithm with other values for some of its class's attributes."""
    return type(algorithm.__name__, (algorithm,), {"__module__": algorithm.__module__, **settings})


def deliver_all(stepper: Stepper) -> None:
    while stepper.deliverable():
        packet = stepper.deliverable()[0]
        stepper.take(Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number)))


def deliver_among(stepper: Stepper, sources: set[int], targets: set[int]) -> None:
    """Deliver what these processes send to those, and what comes of it."""
    while True:
        packets = [packet for packet in stepper.deliverable() if packet.src in sources and packet.dst in targets]
        if not packets:
            return
        stepper.take(Action(DELIVER, int(packets[0].dst), int(packets[0].src), int(packets[0].number)))


def suspect(stepper: Stepper, processes: set[int], suspects: set[int]) -> None:
    """From now on these processes suspect exactly those, and talk among themselves."""
    for process in sorted(processes):
        for peer in range(stepper.system.n):
            if (peer in suspects) != (peer in stepper.processes[process].suspects):
                stepper.take(Action(SUSPECT if peer in suspects else TRUST, process, peer))
    deliver_among(stepper, processes, processes)


def reunite(stepper: Stepper) -> str:
    """All trust each other, everything arrives, and everybody leaves; what is wrong then?"""
    suspect(stepper, set(range(stepper.system.n)), set())
    leave_all(stepper)
    waiting = stepper.waiters()
    return f"these wait forever: {waiting}" if waiting else stepper.missing()


def leave_all(stepper: Stepper) -> None:
    """Everything arrives, and everybody enters and leaves."""
    deliver_all(stepper)
    while stepper.holders():
        stepper.take(Action(EXIT, stepper.holders()[0]))
        deliver_all(stepper)


def visit(stepper: Stepper, process: int, operations: int = 0) -> None:
    """A process enters, issues operations and leaves, with all messages delivered after each step."""
    stepper.take(Action(REQUEST, process, groups=(0,)))
    deliver_all(stepper)
    for _ in range(operations):
        stepper.take(Action(ISSUE, process))
        deliver_all(stepper)
    stepper.take(Action(EXIT, process))
    deliver_all(stepper)
