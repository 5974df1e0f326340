"""Consensus as something the checker understands: to ask is to propose, to enter is to decide.

The fence of an entry is the decision (plus one): `AGREEMENT` wants all fences of a run to be equal, those of processes
that crashed later included. That everyone enters is termination.
"""

from __future__ import annotations

from typing import ClassVar

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message
from congenial.kernel.node import WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups, Problem
from congenial.kernel.spec import Option, Spec
from congenial.parts.consensus import Consensus, ConsensusMessage, News

INSTANCE = 3
RETRY = 0


class Agreement(Problem):
    def __init__(self) -> None:
        super().__init__("agreement", groups=False, concurrent_entry=False)

    def admits(self, inside: int, current: int, group: int) -> bool:
        return True

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        return last_fence in (0, fence)


AGREEMENT = Agreement()
FORM = Option("everyone", "yes", "tell everyone, or the owner", lambda text, n: text == "yes")
SPEC = Spec("consensus", "consensus", AGREEMENT, options=(FORM,))


class Decider(Node):
    """Proposes its own number."""

    spec: ClassVar[Spec] = SPEC
    part: ClassVar[type[Consensus]] = Consensus
    durable = ("consensus",)
    made_of = (Consensus,)

    def __init__(self, me: int, n: int, everyone: bool) -> None:
        super().__init__(me, n)
        self.consensus = type(self).part(me, n, everyone)

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.consensus.propose(INSTANCE, self.me, out)
        self._look(out)

    def release(self, out: Out) -> None:
        self.leave()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if not isinstance(msg, ConsensusMessage):
            raise self.unexpected(src, msg)
        self.consensus.receive(src, msg, out)
        self._look(out)

    def on_suspect(self, peer: int, out: Out) -> None:
        self.consensus.on_suspect(peer, out)

    def on_trust(self, peer: int, out: Out) -> None:
        self.consensus.on_trust(peer, out)

    def _look(self, out: Out) -> None:
        if self.phase == WAITING and self.consensus.decided(INSTANCE):
            value = self.consensus.decision(INSTANCE)
            if not isinstance(value, int) or not 0 <= value < self.n:
                raise ContractError(f"process {self.me} decides {value!r}, which nobody proposed")
            self.enter(out, value + 1)


class Eager(Decider):
    """One that asks is enough: it wakes the owner of the first ballot, and all that receive its messages take part."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        if self.me != 0 and not self.consensus.decided(INSTANCE):
            out.send(0, News(INSTANCE, 0))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        self.consensus.propose(INSTANCE, self.me, out)
        super().receive(src, msg, out)


class Phoenix(Eager):
    """Recovers after a crash, and proposes again."""

    def on_recover(self, out: Out) -> None:
        self.consensus.propose(INSTANCE, self.n - 1 - self.me, out)  # not what it proposed before
        self.consensus.retry(out)


class Stubborn(Phoenix):
    """Repeats everything whenever a timer expires: survives any loss."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        self._set(out)

    def on_recover(self, out: Out) -> None:
        super().on_recover(out)
        self._set(out)

    def on_timer(self, timer: int, out: Out) -> None:
        self.consensus.retry(out)
        self._set(out)

    def _set(self, out: Out) -> None:
        if self.consensus.undecided():
            out.set_timer(RETRY, 10.0)


class Amnesiac(Phoenix):
    """Recovers, but has forgotten everything."""

    durable = ()
