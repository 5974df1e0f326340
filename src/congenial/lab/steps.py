"""What entering, leaving and an operation cost, in communication steps and in messages, measured in rounds.

All messages of a round arrive before any of the next one. So the number of rounds until something has happened is the
length of the longest chain of messages that it takes. Only one process asks, and it is not process 0, which has the
token at first or speaks first in a consensus. These are the nice runs of Romano & Rodrigues 2009, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from congenial.checker.stepper import Action, Stepper
from congenial.kernel.errors import CongenialError
from congenial.kernel.trace import ANSWER, DELIVER, ENTER, EXECUTE, EXIT, ISSUE, REQUEST, REST, SEND, Event
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System


@dataclass(frozen=True)
class Cost:
    steps: int
    messages: int


def measure(algorithm: str, nodes: int) -> dict[str, Cost]:
    """The costs of `enter`, `enter again` (of the process that was inside last), `exit`, `exit to another` (while
    another process waits), `operation` (until all replicas have executed it) and `answer` (until its issuer knows the
    result).

    >>> measure("wme-1", 5)["enter"]
    Cost(steps=2, messages=8)
    """
    stepper = Stepper(System(find_algorithm(algorithm), nodes), fifo=False)
    one, other = nodes - 1, nodes - 2
    rests = stepper.system.algorithm.spec.name.startswith("wme-consensus")  # leaving takes messages
    costs = {"enter": take(stepper, Action(REQUEST, one, groups=(0,)), ENTER)}
    costs["answer"] = take(stepper, Action(ISSUE, one), ANSWER)
    costs["operation"] = take(stepper, Action(ISSUE, one), EXECUTE, everywhere=True)
    costs["exit"] = take(stepper, Action(EXIT, one), REST if rests else EXIT)
    costs["enter again"] = take(stepper, Action(REQUEST, one, groups=(0,)), ENTER)
    stepper.take(Action(REQUEST, other, groups=(0,)))
    settle(stepper)
    costs["exit to another"] = take(stepper, Action(EXIT, one), REST if rests else EXIT)
    return costs


def take(stepper: Stepper, action: Action, awaited: str, everywhere: bool = False) -> Cost:
    """Take a step. Count the rounds until the awaited event has happened at that process, or at all of them, and the
    messages until none is under way."""
    begin, sent = len(stepper.events), copies(stepper.events, stepper.system.n)
    stepper.take(action)
    rounds = -1
    passed = 0
    while True:
        where = {event.node for event in stepper.events[begin:] if event.event == awaited}
        if rounds < 0 and (len(where) == stepper.system.n if everywhere else action.node in where):
            rounds = passed
        if not stepper.packets:
            break
        deliver(stepper)
        passed += 1
    if rounds < 0:
        raise CongenialError(f"{stepper.system.name}: {action.event} never leads to {awaited}")
    return Cost(rounds, copies(stepper.events, stepper.system.n) - sent)


def settle(stepper: Stepper) -> None:
    while stepper.packets:
        deliver(stepper)


def deliver(stepper: Stepper) -> None:
    """Deliver the messages of one round."""
    for packet in list(stepper.packets):
        stepper.take(Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number)))


def copies(events: list[Event], nodes: int) -> int:
    """Messages on the wire: a broadcast counts once per receiver."""
    return sum([1 if event.peer >= 0 else nodes - 1 for event in events if event.event == SEND])


def growth(few: int, many: int, doublings: float) -> float:
    """The exponent e if messages grow as n^e; 0 if there are none."""
    return log2(many / few) / doublings if few and many else 0.0
