"""A system run by hand: messages wait in channels until a test, or a random generator, picks one."""

from __future__ import annotations

from random import Random

from congenial.kernel.effects import EVERYONE
from congenial.kernel.judge import Judge
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node
from congenial.kernel.out import Outbox
from congenial.kernel.problem import Groups
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System


class Run:
    """Nodes, the messages in transit, and a judge of what they do. `entries` lists (process, group, fence)."""

    def __init__(self, name: str, n: int, **options: str) -> None:
        system = System(ALGORITHMS[name], n, options)
        self.n = n
        self.nodes: list[Node] = system.nodes()
        self.judge = Judge(system.problem, n)
        self.under_way: list[tuple[int, int, Message]] = []
        self.sent: list[Message] = []
        self.entries: list[tuple[int, int, int]] = []

    def ask(self, process: int, *groups: int) -> None:
        out = Outbox()
        self.judge.ask(process, groups)
        self.nodes[process].request(groups, out)
        self._carry_out(process, out)

    def leave(self, process: int) -> None:
        out = Outbox()
        self.judge.leave(process)
        self.nodes[process].release(out)
        self._carry_out(process, out)

    def deliver(self, at: int = 0) -> None:
        src, dst, msg = self.under_way.pop(at)
        out = Outbox()
        self.nodes[dst].receive(src, msg, out)
        self._carry_out(dst, out)

    def deliver_between(self, src: int, dst: int) -> None:
        """The oldest message from one process to another."""
        self.deliver(next(at for at, (s, d, _) in enumerate(self.under_way) if (s, d) == (src, dst)))

    def settle(self) -> None:
        while self.under_way:
            self.deliver()

    def inside(self) -> list[int]:
        return [node.me for node in self.nodes if node.phase == INSIDE]

    def waiting(self) -> list[int]:
        return [node.me for node in self.nodes if node.phase == WAITING]

    def _carry_out(self, process: int, out: Outbox) -> None:
        if out.entered is not None:
            group, fence = out.entered
            self.judge.enter(process, group, fence)
            self.entries.append((process, group, fence))
        for dst, msg in out.sent:
            targets = [d for d in range(self.n) if d != process] if dst == EVERYONE else [dst]
            for target in targets:
                self.under_way.append((process, target, msg))
                self.sent.append(msg)


def at_random(run: Run, rng: Random, groups: int, requests: int, fifo: bool, sets: bool = False) -> None:
    """Take random steps until nothing is left to do; then everybody must have been served."""
    left = [requests] * run.n
    while True:
        steps: list[tuple[str, int]] = [("deliver", at) for at in range(len(run.under_way))]
        if fifo:
            heads: dict[tuple[int, int], int] = {}
            for at, (src, dst, _) in enumerate(run.under_way):
                heads.setdefault((src, dst), at)
            steps = [("deliver", at) for at in heads.values()]
        for node in run.nodes:
            if node.phase == IDLE and left[node.me]:
                steps.append(("ask", node.me))
            elif node.phase == INSIDE:
                steps.append(("leave", node.me))
        if not steps:
            break
        step, argument = rng.choice(steps)
        if step == "deliver":
            run.deliver(argument)
        elif step == "leave":
            run.leave(argument)
        else:
            left[argument] -= 1
            wish: Groups = (rng.randrange(groups),)
            if sets:
                wish = tuple(rng.sample(range(groups), rng.randint(1, groups)))
            run.ask(argument, *wish)
    assert run.waiting() == []
    assert len(run.entries) == run.n * requests
