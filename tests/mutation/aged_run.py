"""The steps of the runs in `aged_scenarios`."""

from __future__ import annotations

from congenial.checker.stepper import Action, Stepper
from congenial.kernel.node import IDLE, INSIDE, Node
from congenial.kernel.trace import CRASH, DELIVER, EXIT, RECOVER, REQUEST, TIMER
from congenial.systems.system import System

TOKEN = "AgedPrivilege"
PROPOSAL = "CreatePrivilege"


class Run:
    """Process 0 has the token first, with age 0. A step that cannot be taken is left out: a mutant that only waits for
    longer, or takes another turn, is not wrong for that."""

    def __init__(self, algorithm: type[Node]) -> None:
        self.stepper = Stepper(System(algorithm, 3), algorithm.spec.fifo)

    def ask(self, process: int) -> None:
        if self.stepper.nodes[process].phase == IDLE:
            self.stepper.take(Action(REQUEST, process, groups=(0,)))

    def leave(self, process: int) -> None:
        if process in self.stepper.holders():
            self.stepper.take(Action(EXIT, process))

    def crash(self, process: int) -> None:
        self.stepper.take(Action(CRASH, process))

    def recover(self, process: int) -> None:
        self.stepper.take(Action(RECOVER, process))

    def time_out(self, process: int) -> None:
        if self.stepper.processes[process].timers:
            self.stepper.take(Action(TIMER, process, timer=0))

    def arrive(self, src: int, dst: int, kind: str) -> None:
        """The messages of this kind that are under way from one process to another."""
        for packet in self.stepper.deliverable():
            if packet.src == src and packet.dst == dst and type(packet.msg).__name__ == kind:
                self.stepper.take(Action(DELIVER, dst, src, int(packet.number)))

    def is_inside(self, process: int) -> bool:
        return self.stepper.nodes[process].phase == INSIDE

    # -- several steps -------------------------------------------------------------------------------------

    def restart(self, process: int) -> None:
        self.crash(process)
        self.recover(process)

    def send_token(self, process: int) -> None:
        """From process 0, which does not use it; it is under way."""
        self.ask(process)
        self.arrive(process, 0, "Request")

    def give_token(self, process: int) -> None:
        self.send_token(process)
        self.arrive(0, process, TOKEN)

    def inquire(self, searcher: int, other: int) -> None:
        """The other one is asked for the token, and answers."""
        self.arrive(searcher, other, "PrivilegeCheck")
        for answer in ("NoCritical", "RepCritical"):
            self.arrive(other, searcher, answer)

    def consent(self, maker: int, other: int) -> None:
        """The other one learns that a token will be made, and answers."""
        self.arrive(maker, other, PROPOSAL)
        for answer in ("Update", "RepCritical"):
            self.arrive(other, maker, answer)

    def propose(self, maker: int, other: int) -> None:
        """Only the other one is heard when a process searches for the token: a new one will be made."""
        self.time_out(maker)
        self.inquire(maker, other)
        self.time_out(maker)

    def make_token(self, maker: int, other: int) -> None:
        """Only the other one is heard all the time."""
        self.propose(maker, other)
        self.consent(maker, other)
        self.time_out(maker)
