"""Raymond's algorithm with a recovery procedure: a failed process learns from its neighbours what it has forgotten.

A process that recovers asks its neighbours (RESTART). Each of them tells what it knows (ADVISE): whether the token is
on its side or on that of the process, and whether the one has asked the other for it. That is the whole state of a
process: if the token is on the side of no neighbour, it is here. A token or request that was lost on the way to the
failed process is found again in this way, for its sender knows where it went. Until all neighbours have answered, the
process passes nothing on.

Raymond 1989, whose abstract says that "failed nodes can recover necessary information from their neighbors"; Velazquez
1993, section 4: "A recovery procedure from the failure of a node is presented and it could be incorporated to the
algorithm." Neither describes it further here, and the original was not at hand, so the steps are ours:

- Channels must be FIFO, so that an ADVISE takes the place of all that its sender had sent before. Raymond's algorithm
  itself does without.
- "The system can recover from a failed node, providing that not all of its neighbors also fail": neighbours that fail
  together know nothing of each other's state. A process that has heard from all neighbours but one, and knows the token
  on the side of none, tells the last one that the token is on its side. If two tell each other so, the one with the
  smaller number has the token. So even that is recovered from which the survey excludes, "the failure of the node
  holding the token and all of its neighbors", when all of them are up again.
- Two numbers are kept on disk. Recoveries are counted, to tell the answers to the latest RESTART from older ones. The
  token's entries are counted for the fence, as in our `raymond-tree`.

While a process is down, the token does not pass it, and nobody enters once the token is there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.algorithms.token import raymond_tree
from congenial.algorithms.token.raymond_tree import Privilege, RaymondTree
from congenial.kernel.message import Message, Messages
from congenial.kernel.out import Out
from congenial.kernel.spec import Spec
from congenial.parts.trees import Tree

SPEC = replace(
    raymond_tree.SPEC,
    name="raymond-recovery",
    title="Raymond (tree), recovery",
    fifo=True,
    faults="crashes with recovery",
    flaws=("while a process is down, nobody enters once the token has been sent there",),
    symmetry=None,
)

UNKNOWN: Final = -1


@dataclass(frozen=True)
class Restart(Message):
    recovery: int  # how often the sender has recovered


@dataclass(frozen=True)
class Advise(Message):
    recovery: int  # of the process that is told
    here: bool  # the token is on the side of the sender, not of the process that is told
    asked: bool  # the one on the other side has asked for it
    entries: int


@mypyc_attr(allow_interpreted_subclasses=True)
class RaymondRecovery(RaymondTree):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*RaymondTree.messages, Restart, Advise)
    durable: ClassVar[tuple[str, ...]] = ("recovery", "entries")

    def __init__(self, me: int, n: int, tree: Tree) -> None:
        super().__init__(me, n, tree)
        self.neighbours = tree.neighbours(me)
        self.recovery = 0  # how often I have recovered
        self.recovering = False
        self.advice: dict[int, bool] = {}  # is the token on this neighbour's side?
        self.yielded = UNKNOWN  # the neighbour that I told, while I did not know, that the token is on its side
        self.seen: dict[int, int] = {}  # the latest recovery of each neighbour
        self.unanswered: dict[int, int] = {}  # those that I could not advise yet

    def on_recover(self, out: Out) -> None:
        self.recovery += 1
        self.recovering = True
        self.holder = UNKNOWN
        out.save()
        for neighbour in self.neighbours:
            out.send(neighbour, Restart(self.recovery))
        self._finish_if_advised(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Restart):
            self._on_restart(src, msg.recovery, out)
        elif isinstance(msg, Advise):
            if self.recovering and msg.recovery == self.recovery and src not in self.advice:
                self._on_advise(src, msg, out)
        elif not self.recovering or src in self.advice:  # otherwise its ADVISE will say what came of it
            if isinstance(msg, Privilege):
                out.save()
            super().receive(src, msg, out)

    # -- the process that recovers -----------------------------------------------------------------------

    def _on_advise(self, src: int, msg: Advise, out: Out) -> None:
        self.entries = max(self.entries, msg.entries)
        here = msg.here or (src == self.yielded and src < self.me)
        self.advice[src] = here
        if here:
            self.holder = src
            self.asked = msg.here and msg.asked
        elif msg.asked:
            self.queue.append(src)
        self._finish_if_advised(out)

    def _finish_if_advised(self, out: Out) -> None:
        if len(self.advice) == len(self.neighbours):
            if self.holder == UNKNOWN:
                self.holder = self.me
            self.recovering = False
            self.advice = {}
            self.yielded = UNKNOWN
        self._answer(out)
        self._serve(out)

    # -- its neighbours ----------------------------------------------------------------------------------

    def _on_restart(self, src: int, recovery: int, out: Out) -> None:
        self.unanswered[src] = recovery
        if self.recovering and src not in self.advice and self.seen.get(src, 0) < recovery:
            out.send(src, Restart(self.recovery))  # it may have been down when I asked it
        self.seen[src] = recovery
        self._answer(out)

    def _answer(self, out: Out) -> None:
        for neighbour in sorted(self.unanswered):
            if not self.recovering or self._knows_without(neighbour):
                here = self.holder not in (neighbour, UNKNOWN)
                if self.holder == UNKNOWN:
                    self.yielded = neighbour
                asked = neighbour in self.queue if here else self.asked
                out.send(neighbour, Advise(self.unanswered.pop(neighbour), here, asked, self.entries))

    def _knows_without(self, neighbour: int) -> bool:
        """True if I have been told where the token is, without this neighbour."""
        others = [other for other in self.neighbours if other != neighbour]
        return self.holder == self.me or self.holder in others or all([other in self.advice for other in others])

    # -- while recovering, nothing is passed on ----------------------------------------------------------

    def _serve(self, out: Out) -> None:
        if not self.recovering:
            before = self.entries
            super()._serve(out)
            if self.entries > before:
                out.save()
