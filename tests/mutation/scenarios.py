"""What neither `check` nor `fuzz` looks at: runs that are written down step by step, each with a judgement of its own.

A scenario takes an algorithm and says what is wrong, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from aged_scenarios import AGED
from directed_scenarios import DIRECTED
from growth_scenarios import GROWTH
from home_scenarios import HOMES
from recovery_scenarios import RECOVERY
from steps import deliver_all, deliver_among, reunite, suspect, visit, with_settings

from congenial.checker.stepper import Action, Stepper
from congenial.kernel.node import IDLE, INSIDE, Node
from congenial.kernel.trace import (
    CRASH,
    DELIVER,
    ENTER,
    EXIT,
    ISSUE,
    RECOVER,
    REQUEST,
    REST,
    SEND,
    SUSPECT,
    TIMER,
    TRUST,
)
from congenial.problems.epochs import EPOCH_BITS
from congenial.systems.system import System

MOST_ENTRIES = 2


# -- scenarios ---------------------------------------------------------------------------------------------


def takes_part_after_recovery(algorithm: type[Node]) -> str:
    """Crashes are for good. A process that recovers all the same has lost its memory, and must keep silent: it may have
    forgotten a promise."""
    for process, visits in [(process, visits) for process in range(3) for visits in range(2)]:
        other = (process + 1) % 3
        stepper = Stepper(System(algorithm, 3), False)
        for _ in range(visits):
            visit(stepper, other, operations=1)
        stepper.take(Action(CRASH, process))
        stepper.take(Action(RECOVER, process))
        since = len(stepper.events)
        stepper.take(Action(REQUEST, other, groups=(0,)))
        deliver_all(stepper)
        if stepper.processes[other].phase == INSIDE:
            stepper.take(Action(ISSUE, other))
        deliver_all(stepper)
        stepper.take(Action(SUSPECT, process, other))
        stepper.take(Action(SUSPECT, other, process))
        deliver_all(stepper)
        stepper.take(Action(TRUST, process, other))
        stepper.take(Action(TRUST, other, process))
        deliver_all(stepper)
        if stepper.processes[process].phase == IDLE:
            stepper.take(Action(REQUEST, process, groups=(0,)))
        deliver_all(stepper)
        done = [
            event.event for event in stepper.events[since:] if event.node == process and event.event in (SEND, ENTER)
        ]
        if done:
            return f"process {process} has lost its memory, and takes part again: {done[0]}"
    return ""


def leaves_without_rest(algorithm: type[Node]) -> str:
    """Where leaving takes a while: it must be told when it is over (release progress)."""
    stepper = Stepper(System(algorithm, 3), False)
    for process in range(3):
        visit(stepper, process)
    ends = [event.event for event in stepper.events if event.event in (EXIT, REST)]
    return "" if ends.count(REST) == ends.count(EXIT) else "a process has left, but not for all"


def runs_out_of_fences(algorithm: type[Node]) -> str:
    """With few fences in an epoch: the epoch must end before they are used up."""
    few = with_settings(algorithm, {"most_entries": MOST_ENTRIES})
    for n in (1, 3):
        stepper = Stepper(System(few, n), False)
        for process in (0, 0, 0, 0, 0, *range(n), *range(n)):
            visit(stepper, process)
        counts = [event.fence & (1 << EPOCH_BITS) - 1 for event in stepper.events if event.event == ENTER]
        if max(counts) > MOST_ENTRIES:
            return f"{max(counts)} entries in one epoch; {MOST_ENTRIES} are allowed"
    return ""


def granted_twice(algorithm: type[Node]) -> str:
    """A majority that has not heard of a grant ends the epoch. The process that was granted the token, and has left
    already, is granted it again, and must pass it on."""
    stepper = Stepper(System(algorithm, 5), False)
    stepper.take(Action(REQUEST, 1, groups=(0,)))
    deliver_among(stepper, {1}, {0, 2, 3, 4})
    deliver_among(stepper, {0}, {1})
    stepper.take(Action(EXIT, 1))
    suspect(stepper, {2, 3, 4}, {0, 1})
    for process in (4, 3):
        stepper.take(Action(REQUEST, process, groups=(0,)))
        deliver_among(stepper, {2, 3, 4}, {2, 3, 4})
    return reunite(stepper)


def forgotten_twice(algorithm: type[Node]) -> str:
    """Operations that only a minority knows of are given up, epoch after epoch. Nobody may execute one: what was
    acknowledged in an earlier epoch does not count in a later one."""
    stepper = Stepper(System(algorithm, 5), False)
    minorities: list[set[int]] = [{0, 1}, {1, 2}]
    owner = 0
    for minority in minorities:
        majority = {0, 1, 2, 3, 4} - minority
        stepper.take(Action(REQUEST, owner, groups=(0,)))
        stepper.take(Action(ISSUE, owner))
        deliver_among(stepper, {owner, 3, 4} if owner else {0}, {1})
        suspect(stepper, majority, minority)
        owner = owner_for(stepper, 3)
    stepper.take(Action(REQUEST, owner, groups=(0,)))
    stepper.take(Action(ISSUE, owner))
    deliver_among(stepper, {0, 3, 4}, {0, 3, 4})
    return reunite(stepper)


def forgets_its_promise(algorithm: type[Node]) -> str:
    """A token is on its way for so long that another one is made, with the consent of the process for which the old
    one is. That process crashes; then the old token arrives, and must be discarded."""
    stepper = Stepper(System(algorithm, 3), algorithm.spec.fifo)
    stepper.take(Action(REQUEST, 1, groups=(0,)))
    deliver_among(stepper, {1}, {0, 2})
    stepper.take(Action(REQUEST, 2, groups=(0,)))
    deliver_among(stepper, {2}, {0, 1})
    old = stepper.deliverable()
    stepper.take(Action(TIMER, 2, timer=0))
    deliver_among(stepper, {2}, {0, 1})
    for packet in [packet for packet in stepper.deliverable() if packet.dst == 2]:
        stepper.take(Action(DELIVER, 2, int(packet.src), int(packet.number)))
    stepper.take(Action(CRASH, 1))
    stepper.take(Action(RECOVER, 1))
    stepper.take(Action(REQUEST, 1, groups=(0,)))
    for packet in old:
        stepper.take(Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number)))
    return "" if stepper.holders() == [2] else f"these are inside: {stepper.holders()}"


def owner_for(stepper: Stepper, process: int) -> int:
    """Which process owns the token, as far as this one knows?"""
    return int(getattr(stepper.nodes[process], "owner"))  # noqa: B009


SCENARIOS: dict[str, Callable[[type[Node]], str]] = {
    "memory lost": takes_part_after_recovery,
    "fences run out": runs_out_of_fences,
    "leaving": leaves_without_rest,
    "granted twice": granted_twice,
    "forgotten twice": forgotten_twice,
    "promise forgotten": forgets_its_promise,
    **AGED,
    **DIRECTED,
    **GROWTH,
    **HOMES,
    **RECOVERY,
}
