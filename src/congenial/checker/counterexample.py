"""Counterexamples: from the index of a state to the run that leads there."""

from __future__ import annotations

from dataclasses import dataclass

from congenial.checker.events import (
    ARGUMENT,
    ASK,
    CRASH,
    DELIVER,
    ISSUE,
    LEAVE,
    LOSE,
    RECOVER,
    REPEAT,
    SUSPECT,
    TIMER,
    TRUST,
)
from congenial.checker.explore import MOST_EARLY, Explorer
from congenial.checker.faults import Fault
from congenial.checker.frontier import State
from congenial.checker.step_table import COUNT_BITS, MOST_CHOICES
from congenial.checker.stepper import Action, Stepper
from congenial.checker.world import World
from congenial.kernel import trace
from congenial.kernel.errors import IllegalStep, SafetyViolation


@dataclass(frozen=True)
class Counterexample:
    """A run that ends in a fault. `kind` names the kind of fault, `text` says what is wrong, `actions` are the steps to
    take, and `events` are what happens in them.

    >>> from congenial.checker.check import check
    >>> found = check("suzuki-kasami", nodes=2, requests=1, losses=1).counterexample
    >>> found.kind
    'deadlock'
    >>> [event.event for event in found.events]
    ['request', 'send', 'drop']
    """

    kind: str
    text: str
    actions: tuple[Action, ...]
    events: tuple[trace.Event, ...]

    def as_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "text": self.text, "events": [event.as_dict() for event in self.events]}

    def verdict(self) -> str:
        return f"{self.kind.upper()}: {self.text}"

    def __str__(self) -> str:
        """A space-time diagram, and the verdict."""
        from congenial.view.spacetime import as_text

        return f"{as_text(self.events, self._nodes())}\n\n{self.verdict()}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from congenial.view.notebook import block, diagram

        title = f"A counterexample of {len(self.actions)} steps:"
        return block(title, self.verdict(), False, diagram(self.events, self._nodes(), self.text))

    def _nodes(self) -> int:
        """How many processes a diagram needs."""
        return 1 + max([max(event.node, event.peer) for event in self.events], default=0)


def counterexample(explorer: Explorer, fault: Fault) -> Counterexample:
    """The run that ends in a fault."""
    taken, state = path_to(explorer, int(fault.index))
    if fault.move >= 0:
        _walk(explorer, state, int(fault.move), int(fault.choice), int(fault.early), taken)
    world = explorer.world
    stepper = Stepper(world.system, world.fifo)
    actions: list[Action] = []
    for process, event, choices in taken:
        actions.append(_action(world, stepper, process, event, choices))
        try:
            stepper.take(actions[-1])
        except (SafetyViolation, IllegalStep):
            break
    return Counterexample(fault.kind, fault.text, tuple(actions), tuple(stepper.events))


Taken = tuple[int, int, tuple[int, ...]]
"""What was done: process, event, choices."""


def path_to(explorer: Explorer, index: int) -> tuple[list[Taken], State]:
    """How a state was reached first, and the state itself."""
    indices: list[int] = []
    at = index
    while at > 0:
        indices.append(at)
        at = int(explorer.table.parents[at])
    state = explorer.world.initial()
    taken: list[Taken] = []
    for following in reversed(indices):
        move, choice = _via(explorer, state, following)
        state = _walk(explorer, state, move, choice, -1, taken)
    return taken, state


def _via(explorer: Explorer, state: State, index: int) -> tuple[int, int]:
    """By which move, and which choice in it, a state was reached first from its parent, which is `state`.

    Every step has an edge, in this order, unless something was wrong with it or with a choice before it."""
    edge = int(explorer.edges.first(int(explorer.table.parents[index])))
    explorer.moves.find(state)
    for move in range(explorer.moves.count):
        process, event = int(explorer.moves.processes[move]), int(explorer.moves.events[move])
        first, count = _numbers(explorer, state, process, event)
        for choice in range(count):
            if explorer.fails(state, move, first + choice):
                break
            if int(explorer.edges.target(edge)) == index:
                return move, choice
            edge += 1
    raise LookupError(f"no step leads to state {index} from its parent")


def _numbers(explorer: Explorer, state: State, process: int, event: int) -> tuple[int, int]:
    """The first step on an event, and how many there are."""
    found = int(explorer.successors.numbers(state, process, event))
    return found >> COUNT_BITS, found & MOST_CHOICES


def _walk(explorer: Explorer, state: State, move: int, choice: int, early: int, taken: list[Taken]) -> State:
    """Make a move, and then the deliveries that are made immediately: all, or `early` of them."""
    explorer.moves.find(state)
    process = int(explorer.moves.processes[move])
    event = int(explorer.moves.events[move])
    position = int(explorer.moves.positions[move])
    steps = explorer.world.table.steps
    number = _numbers(explorer, state, process, event)[0] + choice
    taken.append((process, event, steps[number].choices))
    if steps[number].error:
        return state
    state = explorer.successors.taken(state, process, event, position, number)
    for _ in range(MOST_EARLY if explorer.movers is not None else 0):
        position = int(explorer.early_position(state)) if early != 0 else -1
        if position < 0:
            break
        packet = int(state[position])
        process = int(explorer.world.destinations[packet])
        number = _numbers(explorer, state, process, DELIVER | packet)[0]
        taken.append((process, DELIVER | packet, ()))
        early -= 1
        if steps[number].error:
            break
        state = explorer.successors.taken(state, process, DELIVER | packet, position, number)
    return state


NAMES = {
    LEAVE: trace.EXIT,
    ISSUE: trace.ISSUE,
    TIMER: trace.TIMER,
    SUSPECT: trace.SUSPECT,
    TRUST: trace.TRUST,
    RECOVER: trace.RECOVER,
    CRASH: trace.CRASH,
}


def _action(world: World, stepper: Stepper, process: int, event: int, choices: tuple[int, ...]) -> Action:
    """What an event of the explorer is to a stepper in the same state."""
    kind, argument = event & ~ARGUMENT, event & ARGUMENT
    if kind == ASK:
        return Action(trace.REQUEST, process, groups=world.menus[process][argument], choices=choices)
    if kind == TIMER:
        return Action(trace.TIMER, process, timer=argument, choices=choices)
    if kind in (SUSPECT, TRUST):
        return Action(NAMES[kind], process, peer=argument, choices=choices)
    if kind in NAMES:
        return Action(NAMES[kind], process, choices=choices)
    source, message = int(world.sources[argument]), world.messages[argument]
    number = next(
        int(packet.number)
        for packet in stepper.packets
        if packet.src == source and packet.dst == process and packet.msg == message
    )
    name = trace.DROP if kind == LOSE else trace.DELIVER
    return Action(name, process, source, number, again=kind == REPEAT, choices=choices)
