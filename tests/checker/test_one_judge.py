"""The explorer and the judge come to the same verdict on every step.

The explorer keeps its books in states of integers (`congenial.checker.successors`), and the stepper of random runs and
replays has a `Judge`. Here both take the same steps, of nodes that enter immediately, whatever others do, with fences
from here and there. That is mostly wrong. After a step that is wrong, the walk goes on without it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import ClassVar, Final

import pytest

from congenial.checker.events import ASK, CRASH, HEADER, LEAVE, RECOVER
from congenial.checker.frontier import State
from congenial.checker.rules import Rules
from congenial.checker.step_table import COUNT_BITS, MOST_CHOICES
from congenial.checker.stepper import Action, Stepper
from congenial.checker.successors import Successors
from congenial.checker.world import World
from congenial.kernel.errors import SafetyViolation
from congenial.kernel.node import IDLE, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups, Problem
from congenial.kernel.spec import Spec
from congenial.problems.epochs import EPOCH_BITS, InEpochs
from congenial.problems.group import GROUP
from congenial.problems.kmutex import K_OPTION, KMutex
from congenial.problems.mutex import MUTEX
from congenial.systems.system import System

N: Final = 3
MENU: Final[list[Groups]] = [(0,), (1,), (0, 1)]
FENCES: Final = (0, 1, 2, 3, 1 << EPOCH_BITS | 1, 1 << EPOCH_BITS | 2, 2 << EPOCH_BITS | 1)
PROBLEMS: Final[list[Problem]] = [MUTEX, KMutex(2), GROUP, InEpochs(MUTEX), InEpochs(KMutex(2)), InEpochs(GROUP)]


class Rash(Node):
    def __init__(self, me: int, n: int, k: int = 1) -> None:
        super().__init__(me, n)

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        fence = FENCES[out.choose(len(FENCES))]
        self.enter(out, fence, out.choose(3))  # of three groups, two of which can be asked for

    def release(self, out: Out) -> None:
        self.leave()


def rash(problem: Problem, fences: bool) -> type[Node]:
    options = (K_OPTION,) if problem.capacity > 1 else ()

    class RashHere(Rash):
        spec: ClassVar[Spec] = Spec("rash", "enters immediately", problem, fences=fences, options=options)

    return RashHere


class Walk:
    def __init__(self, problem: Problem, fences: bool, seed: int) -> None:
        system = System(rash(problem, fences), N)
        self.random = Random(seed)
        self.world = World(system, Rules(requests=1000, menus=[MENU] * N, crashes=100))
        self.successors = Successors(self.world)
        self.state: State = self.world.initial()
        self.stepper = Stepper(system, False)
        self.taken: list[Action] = []

    def step(self) -> str:
        """Take a step, or find what is wrong with it, or nothing."""
        rng, world = self.random, self.world
        process = rng.randrange(N)
        local = self.state[HEADER + process]
        if not world.ups[local]:
            event, action = RECOVER, Action("recover", process)
        elif rng.random() < 0.05:
            event, action = CRASH, Action("crash", process)
        elif world.phases[local] == IDLE:
            at = rng.randrange(len(MENU))
            event, action = ASK | at, Action("request", process, groups=MENU[at])
        else:
            event, action = LEAVE, Action("exit", process)
        found = world.numbers(local, event)
        number = (found >> COUNT_BITS) + rng.randrange(found & MOST_CHOICES)
        action = replace(action, choices=world.table.steps[number].choices)
        wrong = self.successors.wrong(self.state, process, number)
        assert wrong == self.judged(action), self.stepper.events[-20:]
        if not wrong:
            self.state = self.successors.taken(self.state, process, event, -1, number)
            self.taken.append(action)
        return wrong

    def judged(self, action: Action) -> str:
        """What the judge says. One that has found something wrong is of no more use."""
        try:
            self.stepper.take(action)
        except SafetyViolation as violation:
            self.stepper = Stepper(self.stepper.system, False)
            for earlier in self.taken:
                self.stepper.take(earlier)
            return str(violation)
        return ""


@pytest.mark.parametrize("fences", [False, True])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_the_explorer_and_the_judge_agree(problem: Problem, fences: bool) -> None:
    verdicts: Counter[str] = Counter()
    for seed in range(30):
        walk = Walk(problem, fences, seed)
        for _ in range(30):
            verdicts["wrong" if walk.step() else "right"] += 1
    assert min(verdicts["wrong"], verdicts["right"]) >= 10, verdicts
