"""Scenarios for single algorithms, in which something is held back, forwarded, saved or forgotten at the right moment.

They belong to `scenarios.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from steps import deliver_all, deliver_among, reunite

from congenial.checker.stepper import Action, Stepper
from congenial.kernel.node import Node
from congenial.kernel.trace import CRASH, DELIVER, EXIT, RECOVER, REQUEST, SEND, TIMER
from congenial.systems.system import System


def forwards_too_much(algorithm: type[Node]) -> str:
    """Surrogate with concurrent entry. The request of 6 reaches member 1 late: it is over, as the leader 0 knows. Until
    its CANCEL comes, 1 holds back requests for the leader's group. Then it forwards those that still wait, once, and
    the leader admits them all."""
    stepper = Stepper(System(algorithm, 9, {"quorums": "majority"}), True)
    everybody, late = set(range(9)), set(range(4, 9))
    for process in (4, 6):
        stepper.take(Action(REQUEST, process, groups=(1,)))
        deliver_among(stepper, late, late)
    for process in (4, 6):
        stepper.take(Action(EXIT, process))
        deliver_among(stepper, late, late)
    stepper.take(Action(REQUEST, 0, groups=(0,)))
    deliver_among(stepper, everybody - {6}, everybody)
    packet = next(packet for packet in stepper.deliverable() if packet.src == 6 and packet.dst == 1)
    stepper.take(Action(DELIVER, 1, 6, int(packet.number)))
    deliver_among(stepper, {1}, {0})
    for process, members in ((8, {1}), (1, {1}), (7, everybody)):
        stepper.take(Action(REQUEST, process, groups=(0,)))
        deliver_among(stepper, {process}, members)
    deliver_among(stepper, {0}, {7})
    deliver_among(stepper, {7}, {1})
    since = len(stepper.events)
    deliver_among(stepper, {6}, {1})
    deliver_among(stepper, {1}, {0})
    deliver_among(stepper, {0}, {8})
    deliver_among(stepper, {8}, {1})
    deliver_all(stepper)
    sent = [event for event in stepper.events[since:] if event.event == SEND and event.node == 1]
    forwarded = [str(event.fields) for event in sent if event.message == "Forward"]
    if stepper.holders() != [0, 1, 7, 8]:
        return f"of 0, 1, 7 and 8 these are inside: {stepper.holders()}"
    return "" if len(forwarded) == 2 else f"1 forwards its own request and that of 8, each once; here {forwarded}"


def loses_the_token(algorithm: type[Node]) -> str:
    """A process crashes that has the token. It has it when it recovers: now it enters with no time-out."""
    stepper = Stepper(System(algorithm, 3), algorithm.spec.fifo)
    stepper.take(Action(REQUEST, 1, groups=(0,)))
    deliver_all(stepper)
    if not stepper.holders():
        stepper.take(Action(TIMER, 1, timer=1))
        deliver_all(stepper)
    for event in (CRASH, RECOVER):
        stepper.take(Action(event, 1))
    deliver_all(stepper)
    stepper.take(Action(REQUEST, 1, groups=(0,)))
    deliver_all(stepper)
    return "" if stepper.holders() == [1] else "the crash of its holder has lost the token"


def remembers_an_old_request(algorithm: type[Node]) -> str:
    """Process 4 has lost at member 0, crashes, and asks again. It must be told again that it has lost at 0, or it never
    gives member 1 back, for which 3 waits."""
    stepper = Stepper(System(algorithm, 7), algorithm.spec.fifo)
    stepper.take(Action(REQUEST, 3, groups=(0,)))
    deliver_among(stepper, {0, 3}, {0, 3})
    stepper.take(Action(REQUEST, 4, groups=(0,)))
    deliver_among(stepper, {4}, {0})
    for event in (CRASH, RECOVER):
        stepper.take(Action(event, 4))
    deliver_among(stepper, {4}, {0, 1})
    stepper.take(Action(REQUEST, 4, groups=(0,)))
    deliver_among(stepper, {4}, {0, 1})
    return reunite(stepper)


DIRECTED: dict[str, Callable[[type[Node]], str]] = {
    "held back": forwards_too_much,
    "token kept": loses_the_token,
    "asks again": remembers_an_old_request,
}
