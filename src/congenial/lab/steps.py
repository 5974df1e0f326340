"""What entering, leaving and an operation take, in steps of communication and in messages: measured in rounds.

All messages of a round arrive before any of the next one, so that the number of rounds until something has happened is
the length of the longest chain of messages that it takes. A process asks that is not the one that begins (process 0
has the token, or speaks first), and nobody else does, as in the nice runs of Romano & Rodrigues 2009, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from congenial.checker.stepper import Action, Stepper
from congenial.kernel import trace as tr
from congenial.kernel.errors import CongenialError
from congenial.kernel.trace import Event
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System


@dataclass(frozen=True)
class Cost:
    steps: int
    messages: int


def measure(algorithm: str, nodes: int) -> dict[str, Cost]:
    """The costs of `enter`, `enter again` (who was inside last), `exit`, `exit to another`, `operation` (until all
    replicas have executed it) and `answer` (until its issuer knows the outcome).

    >>> measure("wme-1", 5)["enter"]
    Cost(steps=2, messages=8)
    """
    stepper = Stepper(System(find_algorithm(algorithm), nodes), fifo=False)
    one, other = nodes - 1, nodes - 2
    rests = stepper.system.algorithm.spec.name.startswith("wme-consensus")  # leaving is a matter of messages
    costs = {"enter": take(stepper, Action(tr.REQUEST, one, groups=(0,)), tr.ENTER)}
    costs["answer"] = take(stepper, Action(tr.ISSUE, one), tr.ANSWER)
    costs["operation"] = take(stepper, Action(tr.ISSUE, one), tr.EXECUTE, everywhere=True)
    costs["exit"] = take(stepper, Action(tr.EXIT, one), tr.REST if rests else tr.EXIT)
    costs["enter again"] = take(stepper, Action(tr.REQUEST, one, groups=(0,)), tr.ENTER)
    stepper.take(Action(tr.REQUEST, other, groups=(0,)))
    settle(stepper)
    costs["exit to another"] = take(stepper, Action(tr.EXIT, one), tr.REST if rests else tr.EXIT)
    return costs


def take(stepper: Stepper, action: Action, awaited: str, everywhere: bool = False) -> Cost:
    """Take a step, and tell the rounds until what is awaited has happened there, or everywhere, and the messages until
    all is quiet."""
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
        raise CongenialError(f"{stepper.system.name}: {action.event} never comes to {awaited}")
    return Cost(rounds, copies(stepper.events, stepper.system.n) - sent)


def settle(stepper: Stepper) -> None:
    while stepper.packets:
        deliver(stepper)


def deliver(stepper: Stepper) -> None:
    """One round."""
    for packet in list(stepper.packets):
        stepper.take(Action(tr.DELIVER, int(packet.dst), int(packet.src), int(packet.number)))


def copies(events: list[Event], nodes: int) -> int:
    """Messages on the wire."""
    return sum([1 if event.peer >= 0 else nodes - 1 for event in events if event.event == tr.SEND])


def growth(few: int, many: int, doublings: float) -> float:
    """The exponent e if messages grow as n^e; 0 if there are none."""
    return log2(many / few) / doublings if few and many else 0.0
