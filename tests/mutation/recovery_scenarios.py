"""Runs of Naimi and Trehel's algorithm with recovery: late tokens and answers, and two crashes of one process.

`check` and `fuzz` go on until every time-out has run out, and a new search repairs nearly everything. Here a process
must enter by messages alone, or must take no notice of what comes too late.
"""

from __future__ import annotations

from collections.abc import Callable

from congenial.checker.stepper import Action, Packet, Stepper
from congenial.kernel.node import Node
from congenial.kernel.trace import CRASH, DELIVER, EXIT, RECOVER, REQUEST, SEND, TIMER
from congenial.systems.system import System


class Script:
    """A system of three, with short names for steps. Process 0 holds the token first."""

    def __init__(self, algorithm: type[Node]) -> None:
        self.stepper = Stepper(System(algorithm, 3), False)

    def ask(self, process: int) -> None:
        self.stepper.take(Action(REQUEST, process, groups=(0,)))

    def leave(self, process: int) -> None:
        self.stepper.take(Action(EXIT, process))

    def crash(self, process: int) -> None:
        self.stepper.take(Action(CRASH, process))

    def recover(self, process: int) -> None:
        self.stepper.take(Action(RECOVER, process))

    def time_out(self, process: int) -> None:
        self.stepper.take(Action(TIMER, process, timer=0))

    def search(self, process: int, kind: str) -> None:
        """Let time-outs run out until the process sends this; it need not consult before."""
        before = len(self.stepper.packets)
        while kind not in [type(packet.msg).__name__ for packet in self.stepper.packets[before:]]:
            self.time_out(process)

    def find(self, kind: str, src: int, dst: int) -> Packet:
        """The last message of this kind that is under way."""
        for packet in reversed(self.stepper.packets):
            if (type(packet.msg).__name__, packet.src, packet.dst) == (kind, src, dst):
                return packet
        raise LookupError(f"process {src} has sent no {kind} to process {dst}")

    def deliver(self, packet: Packet) -> None:
        self.stepper.take(Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number)))

    def arrive(self, kind: str, src: int, dst: int) -> None:
        self.deliver(self.find(kind, src, dst))

    def settle(self, *late: Packet) -> None:
        """Deliver all messages but the late ones."""
        while True:
            packets = [packet for packet in self.stepper.deliverable() if packet not in late]
            if not packets:
                return
            self.deliver(packets[0])

    def elect(self, process: int, *late: Packet) -> None:
        """A process that waits makes a token, unless it finds one."""
        for _ in range(4):  # it consults, queries, becomes a candidate, is elected
            if process not in self.stepper.holders():
                self.settle(*late)
                self.time_out(process)

    def sent(self) -> int:
        return len([event for event in self.stepper.events if event.event == SEND])

    def judge(self, holder: int) -> str:
        inside = self.stepper.holders()
        return "" if inside == [holder] else f"these are inside: {inside}; it is the turn of process {holder}"


def old_token_comes_late(algorithm: type[Node]) -> str:
    """A token is on its way to a process that is down, and another one is made. The process recovers a second time.
    The old token must be discarded, although an answer to the query of its first recovery comes before it. And it must
    be discarded when the process has heard of the new token."""
    for informed in (False, True):
        run = Script(algorithm)
        run.ask(0)
        run.ask(1)
        run.settle()
        run.crash(1)
        run.recover(1)
        run.arrive("Query", 1, 0)
        answer = run.find("Present", 0, 1)
        run.leave(0)
        token = run.find("Token", 0, 1)
        run.crash(1)
        run.ask(2)
        run.elect(2)
        run.recover(1)
        run.ask(1)
        if informed:
            run.arrive("Elected", 2, 1)
        else:
            run.deliver(answer)
        run.deliver(token)
        wrong = run.judge(2)
        if wrong:
            return wrong
    return ""


def answer_comes_late(algorithm: type[Node]) -> str:
    """A process asks twice where the token is, and is told twice. The second answer comes when it has a next, while it
    consults or is inside: it must not forget its next."""
    for consulting in (True, False):
        run = Script(algorithm)
        late = asked_twice(run)
        run.ask(2)
        run.settle(late)
        if consulting:
            run.time_out(1)
            if type(run.stepper.packets[-1].msg).__name__ == "Consult":  # else it searches, and may be answered
                run.deliver(late)
        run.leave(0)
        run.settle(late)
        if not consulting:
            run.deliver(late)
        run.settle()
        run.leave(1)
        run.settle()
        wrong = run.judge(2)
        if wrong:
            return wrong
    return ""


def asked_twice(run: Script) -> Packet:
    """Process 0 is inside. Process 1 queries, and is a candidate before it is answered; the second answer is late."""
    run.ask(0)
    run.ask(1)
    run.arrive("Request", 1, 0)
    run.search(1, "Query")
    run.arrive("Query", 1, 0)
    first = run.find("Present", 0, 1)
    run.search(1, "Election")
    run.arrive("Election", 1, 0)
    late = run.find("Present", 0, 1)
    run.deliver(first)
    return late


def answer_of_an_earlier_era(algorithm: type[Node]) -> str:
    """An answer comes so late that its token is gone, and so is the one that was made after it. It is no answer to the
    search for that one."""
    run = Script(algorithm)
    late = asked_twice(run)
    run.crash(0)
    run.ask(2)
    run.elect(2, late)
    run.settle(late)
    run.crash(2)
    run.search(1, "Query")
    before = run.sent()
    run.deliver(late)
    return "" if run.sent() == before else "an answer of an earlier era ends a search"


def token_comes_unasked(algorithm: type[Node]) -> str:
    """A process has asked twice, and is served twice. The second token is on its way for so long that another process
    becomes a candidate. It reaches a process that wants to enter again, but has not asked: the process must remember
    the candidate, which asks it then."""
    run = Script(algorithm)
    run.ask(1)
    late = run.find("Request", 1, 0)
    run.search(1, "Query")
    run.settle(late)
    run.leave(1)
    run.ask(2)
    run.settle(late)
    run.leave(2)
    run.deliver(late)
    run.arrive("Request", 0, 2)
    token = run.find("Token", 2, 1)
    run.ask(0)
    run.settle(token)
    run.search(0, "Election")
    run.settle(token)
    run.ask(1)
    run.deliver(token)
    run.settle()
    run.leave(1)
    run.settle()
    return run.judge(0)


def holder_hears_of_a_candidate(algorithm: type[Node]) -> str:
    """The holder of the token takes no part in an election: when it has passed the token on, it can ask again."""
    run = Script(algorithm)
    asked_twice(run)
    run.settle()
    run.leave(0)
    run.settle()
    run.ask(0)
    run.settle()
    run.leave(1)
    run.settle()
    return run.judge(0)


def next_of_an_elected_process(algorithm: type[Node]) -> str:
    """A process has a next, which crashes; then it makes a token. The token must not go to that next."""
    run = Script(algorithm)
    run.ask(0)
    run.ask(1)
    run.settle()
    run.ask(2)
    run.settle()
    run.crash(2)
    run.recover(2)
    run.settle()
    run.crash(0)
    run.elect(1)
    run.settle()
    run.recover(0)
    run.settle()
    run.leave(1)
    run.settle()
    run.ask(0)
    run.settle()
    return run.judge(0)


def next_of_an_earlier_era(algorithm: type[Node]) -> str:
    """A process has a next, and another one makes a token. All ask again, that next before it. The token must not go
    back."""
    run = Script(algorithm)
    run.ask(0)
    run.ask(1)
    run.settle()
    run.ask(2)
    run.settle()
    run.crash(0)
    run.recover(0)
    run.settle()
    run.time_out(0)
    run.settle()
    run.time_out(0)
    run.arrive("Elected", 0, 2)
    run.arrive("Request", 2, 0)
    run.settle()
    run.leave(2)
    run.settle()
    run.leave(1)
    run.settle()
    run.ask(0)
    run.settle()
    return run.judge(0)


def news_of_an_election_comes_late(algorithm: type[Node]) -> str:
    """A process recovers, is told of the token and enters. Only then does it hear that this token was made: it must
    still hold it, or another one will be made while it is inside."""
    run = Script(algorithm)
    run.crash(0)
    run.ask(2)
    run.elect(2)
    late = run.find("Elected", 2, 0)
    run.settle()
    run.leave(2)
    run.recover(0)
    run.settle(late)
    run.ask(0)
    run.settle(late)
    run.ask(1)
    run.settle(late)
    run.deliver(late)
    run.elect(1)  # it tries
    return run.judge(0)


def holder_is_overlooked(algorithm: type[Node]) -> str:
    """The holder hears nothing of an election until it is over: the token that it holds is worth nothing from then
    on."""
    run = Script(algorithm)
    run.ask(2)
    run.search(2, "Elected")
    run.arrive("Elected", 2, 0)
    run.ask(0)
    run.settle()
    return run.judge(2)


RECOVERY: dict[str, Callable[[type[Node]], str]] = {
    "an old token comes late": old_token_comes_late,
    "an answer comes late": answer_comes_late,
    "an answer of an earlier era": answer_of_an_earlier_era,
    "a token comes unasked": token_comes_unasked,
    "the holder hears of a candidate": holder_hears_of_a_candidate,
    "the next of an elected process": next_of_an_elected_process,
    "the next of an earlier era": next_of_an_earlier_era,
    "news of an election comes late": news_of_an_election_comes_late,
    "the holder is overlooked": holder_is_overlooked,
}
