"""What a process remembers must not grow: the same rounds again and again, and the sizes of states between them.

They belong to `scenarios.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from steps import visit, with_settings

from congenial.checker.stepper import Action, Stepper
from congenial.kernel.node import Node
from congenial.kernel.state import freeze
from congenial.kernel.trace import DELIVER, EXIT, REQUEST
from congenial.systems.system import System

ROUNDS = 12
CROWD = 4


def grows(algorithm: type[Node]) -> str:
    """One process after the other."""
    operations = 2 if algorithm.spec.problem is not None and algorithm.spec.problem.operations else 0
    hasty = with_settings(algorithm, {"interval": 1}) if operations else algorithm
    for n in (1, 3):
        stepper = Stepper(System(hasty, n, {"resource": "counter"} if operations else {}), algorithm.spec.fifo)
        sizes: list[int] = []
        for _ in range(3 * ROUNDS):
            for process in range(n):
                visit(stepper, process, operations)
            sizes.append(max(sizes_of_states(stepper)))
        earlier, later = max(sizes[ROUNDS : 2 * ROUNDS]), max(sizes[2 * ROUNDS :])
        if later > earlier:
            return f"a state has {earlier} parts after {2 * ROUNDS} rounds, and {later} later"
    return ""


def grows_in_a_crowd(algorithm: type[Node]) -> str:
    """All at the same time, for two groups, in any order. Not every round is like the last, so the smallest sizes at
    the end are compared with the largest before: of each process, and of the largest state, which may move from one to
    another."""
    stepper = Stepper(System(algorithm, CROWD), algorithm.spec.fifo)
    rounds: list[list[int]] = []
    for number in range(4 * ROUNDS):
        random = Random(number % ROUNDS)
        idle = list(range(CROWD))
        random.shuffle(idle)
        while idle or stepper.holders() or stepper.deliverable():
            actions = [Action(REQUEST, process, groups=(random.randrange(2),)) for process in idle[:1]]
            actions += [Action(EXIT, process) for process in stepper.holders()]
            actions += [Action(DELIVER, int(p.dst), int(p.src), int(p.number)) for p in stepper.deliverable()]
            action = random.choice(actions)
            if action.event == REQUEST:
                idle.pop(0)
            stepper.take(action)
        sizes = sizes_of_states(stepper)
        rounds.append([*sizes, max(sizes)])
    for at, sizes in enumerate([list(column) for column in zip(*rounds, strict=True)]):
        earlier, later = max(sizes[ROUNDS : 2 * ROUNDS]), min(sizes[3 * ROUNDS :])
        if later > earlier:
            whose = f"the state of {at}" if at < CROWD else "the largest state"
            return f"{whose} has at most {earlier} parts at first, and at least {later} later"
    return ""


def sizes_of_states(stepper: Stepper) -> list[int]:
    return [parts_of(freeze(node)) for node in stepper.nodes]


def parts_of(frozen: object) -> int:
    return sum([parts_of(part) for part in frozen]) if isinstance(frozen, tuple) else 1


GROWTH: dict[str, Callable[[type[Node]], str]] = {"rounds": grows, "crowds": grows_in_a_crowd}
