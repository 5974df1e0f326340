"""What a lock relies on and neither `check` nor `fuzz` can know: that an algorithm which gives fences gives one with
every entry. (An entry with fence 0 has none, and nothing is judged then.)"""

from __future__ import annotations

from congenial.checker.stepper import Action, Stepper
from congenial.kernel.node import Node
from congenial.kernel.trace import DELIVER, ENTER, EXIT, REQUEST
from congenial.systems.system import System

WITHOUT_FENCES = {
    "agrawal-el-abbadi": "a holder that crashes takes the number of its entry with it",
    "raymond-k": "several are inside, and none knows of the others",
    "srimani-reddy": "several are inside, and none knows of the others",
    "kakugawa": "several are inside, and none knows of the others",
    "token-gme-bounded": "its session numbers start again",
}


def fences_given(algorithm: type[Node], nodes: int = 3, rounds: int = 2) -> list[int]:
    """The fences of a run in which one process after the other enters and leaves."""
    system = System(algorithm, nodes)
    stepper = Stepper(system, True)
    for _ in range(rounds):
        for process in range(nodes):
            stepper.take(Action(REQUEST, process, groups=(0,)))
            _deliver_all(stepper)
            stepper.take(Action(EXIT, process))
            _deliver_all(stepper)
    return [event.fence for event in stepper.events if event.event == ENTER]


def _deliver_all(stepper: Stepper) -> None:
    while stepper.deliverable():
        packet = stepper.deliverable()[0]
        stepper.take(Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number)))
