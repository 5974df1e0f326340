"""Epochs: any exclusion algorithm, made to survive the crash of a minority, partitions and false suspicions.

The algorithm runs in epochs, each a new instance on the processes that are believed to be alive. A process that
suspects a member calls for the next epoch. All processes, members or not, agree on it by consensus; so a majority is
needed, and epochs follow each other in one order. Members of the new epoch stop the old instance, tell everyone that
they are `Ready`, and begin when all members are. A member that is inside stays there, and is ready when it has left:
holders keep their locks when another process crashes. Only a process that is not a member of the new epoch is ejected.
It may learn of that late, so exclusion is weak; but a fence begins with the number of its epoch, and a resource that
checks fences is safe (`problems.epochs`).

While a process does not trust a majority it admits nobody, and ejects its own application. A process that is excluded
and alive asks to `Join` again, less and less often. An epoch whose fences run out is followed by another.

After a crash a process has its epoch and its votes, but not its instance, so it calls for a new epoch. If it has lost
even that (`on_amnesia`), it must not run an epoch that it may have run, nor vote on one that it may have voted on. It
asks all others for the last epoch they have voted on, and waits for the answers of a majority, not counting itself; let
E be the largest. A majority had voted on the epoch that it ran, so that was not after E. The epoch that it voted on was
called for by a process in the epoch before, on which a majority had voted, so that was not after E+1. It runs no epoch
up to E and votes on none up to E+1, but on all later ones.

This combines the restart of Mittal & Mohan 2007, section 5.3, with the epochs of Romano & Rodrigues 2009: a detector
that errs and a majority are enough, as in the latter; passing the lock on costs what it costs in the wrapped algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, cast

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.spec import Spec
from congenial.parts.consensus import Consensus, ConsensusMessage, Decide
from congenial.problems.epochs import EPOCH_BITS, LAST_FENCE, InEpochs
from congenial.problems.mutex import MUTEX
from congenial.transform.instances import OWN_TIMERS, Inside, Instances, Setting, transformed

REJOIN: Final = 0  # the timers
CALM: Final = 1
FIRST_PAUSE: Final = 1.0  # before a process asks to join again
LONGEST_PAUSE: Final = 64.0
NEVER: Final = 1 << 62

Members = tuple[int, ...]

SPEC = Spec(
    name="epochs",
    title="in epochs",
    problem=None,
    reference="after Mittal & Mohan 2007, section 5.3, and Romano & Rodrigues 2009",
    faults="crashes of a minority, with or without stable storage; partitions; false suspicions",
)


@dataclass(frozen=True)
class Change(Message):
    """I propose this epoch with these members."""

    epoch: int
    members: Members


@dataclass(frozen=True)
class Epoch(Message):
    """This epoch has been decided."""

    epoch: int
    members: Members


@dataclass(frozen=True)
class Ready(Message):
    """I have left all earlier epochs. If I was down, I `ask` for the same message from the others."""

    epoch: int
    members: Members
    asks: bool


@dataclass(frozen=True)
class Join(Message):
    """I am alive, know of no later epoch than this one, and am not a member of it."""

    epoch: int


@dataclass(frozen=True)
class Recall(Message):
    """I have lost my memory. Which is the last epoch that you have voted on?"""


@dataclass(frozen=True)
class Recalled(Message):
    voted: int
    epoch: int
    members: Members


@dataclass(frozen=True)
class Voting(Message):
    """I vote again."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Epochs(Instances):
    """`instance`, of the base class, is the number of the epoch. It runs while all members are ready and I am one."""

    messages: ClassVar[Messages] = (*Instances.messages, Change, Epoch, Ready, Join, Recall, Recalled, Voting)
    durable: ClassVar[tuple[str, ...]] = ("instance", "members", "consensus", "runs_from", "votes_from")
    made_of: ClassVar[tuple[type, ...]] = (Consensus,)
    rejoins: ClassVar[bool] = True

    def __init__(self, me: int, n: int, **settings: Setting) -> None:
        super().__init__(me, n, **settings)
        self.ready: set[int] = set()
        self.early: list[tuple[int, int, Message]] = []  # messages of later epochs: epoch, sender, message
        self.entered = 0  # the epoch in which it has entered
        self.kept_back: tuple[int, int] | None = None  # an entry (group and fence) that waits for a majority
        self.fences_low = False  # the fences of this epoch are running out
        self.suspects: set[int] = set()
        self.called_for = 0  # the latest epoch I have proposed members for
        self.pause = FIRST_PAUSE
        self.consensus = Consensus(me, n)
        self.has_crashed = False  # since I last ran an epoch
        self.runs_from = 0  # the first epoch I may run; NEVER until I know
        self.votes_from = 0  # the first epoch I may vote on; NEVER until I know
        self.answers: dict[int, int] = {}  # the last epoch that each has voted on
        self.abstainers: set[int] = set()  # other processes that are known not to vote

    # -- the application -------------------------------------------------------------------------------

    def release(self, out: Out) -> None:
        self.leave()
        self._left(out)

    def could_enter(self) -> bool:
        return self.running and self._has_majority() and self.inner.could_enter()

    def admit(self, group: int, fence: int, out: Out) -> None:
        if self._has_majority() and fence <= LAST_FENCE:
            self.wants = ()
            self.entered = self.instance
            self.enter(out, self.instance << EPOCH_BITS | fence, group)
        else:
            self.kept_back = (group, fence)
        self.fences_low = fence > LAST_FENCE // 2

    def _left(self, out: Out) -> None:
        """The application has left: tell the inner node, or get ready for the next epoch."""
        if self.entered == self.instance:
            self.inner.release(self.inner_out(out))
            if self.fences_low:
                self._call(out)
        else:
            self._be_ready(out)

    # -- suspicion and trust ----------------------------------------------------------------------------------

    def on_suspect(self, peer: int, out: Out) -> None:
        self.suspects.add(peer)
        if self.phase == INSIDE and not self._has_majority():
            self.lose(out)
            self._left(out)
        self.consensus.on_suspect(peer, out)
        self._look(out)
        self._review(out)

    def on_trust(self, peer: int, out: Out) -> None:
        self.suspects.discard(peer)
        if peer not in self.abstainers:
            self.consensus.on_trust(peer, out)
        if self.kept_back is not None and self._has_majority():
            group, fence = self.kept_back
            self.kept_back = None
            self.admit(group, fence, out)
        self._review(out)

    def _has_majority(self) -> bool:
        return 2 * (self.n - len(self.suspects)) > self.n

    def _trusted(self) -> Members:
        return tuple([process for process in range(self.n) if process not in self.suspects])

    # -- from epoch to epoch ---------------------------------------------------------------------------

    def _review(self, out: Out) -> None:
        """Call for the next epoch if I am a member of this one, and suspect another."""
        if self.me in self.members and self._suspects_a_member():
            self._call(out)

    def _suspects_a_member(self) -> bool:
        return any([member in self.suspects for member in self.members])

    def _call(self, out: Out) -> None:
        """Call for the next epoch, with all processes that I trust."""
        epoch = self.instance + 1
        if self._has_majority() and self.called_for < epoch and self._may_vote(epoch):
            self.called_for = epoch
            out.broadcast(Change(epoch, self._trusted()))
            self.consensus.propose(epoch, self._trusted(), out)
            self._look(out)

    def abstains(self) -> bool:
        """True if it has lost its memory, so that it must not vote on the next epoch."""
        return not self._may_vote(self.instance + 1)

    def _may_vote(self, epoch: int) -> bool:
        return epoch >= self.votes_from

    def _on_change(self, src: int, msg: Change, out: Out) -> None:
        """Propose what another process has proposed, without the processes that I suspect."""
        if msg.epoch <= self.instance:
            out.send(src, Epoch(self.instance, self.members))
        elif self.called_for < msg.epoch and self._may_vote(msg.epoch):
            self.called_for = msg.epoch
            members = tuple([member for member in msg.members if member not in self.suspects])
            self.consensus.propose(msg.epoch, members, out)
            self._look(out)

    def _on_consensus(self, src: int, msg: ConsensusMessage, out: Out) -> None:
        epoch = msg.instance
        if epoch <= self.instance:
            if not isinstance(msg, Decide):
                out.send(src, Epoch(self.instance, self.members))
        elif isinstance(msg, Decide):
            self._install(epoch, cast(Members, msg.value), out)
        elif self._may_vote(epoch):
            if src in self.abstainers:  # no longer; otherwise two such processes could outbid each other forever
                self._on_voting(src, out)
            self.consensus.receive(src, msg, out)
            self._look(out)

    def _look(self, out: Out) -> None:
        """True if an epoch has been decided."""
        decided = [epoch for epoch in self.consensus.decisions if epoch > self.instance]
        if decided:
            epoch = max(decided)
            self._install(epoch, cast(Members, self.consensus.decision(epoch)), out)

    def _install(self, epoch: int, members: Members, out: Out) -> None:
        """Stop the instance of the old epoch."""
        if self.votes_from > self.instance + 1 and self.votes_from <= epoch + 1:
            out.broadcast(Voting())
        self.drop_timers(out)
        self.instance = epoch
        self.members = members
        self.running = False
        self.ready = set()
        self.kept_back = None
        self.fences_low = False
        self.early = [message for message in self.early if message[0] >= epoch]
        self.consensus.forget(epoch + 1)
        out.save()
        if self.me in members:
            if self.phase != INSIDE:
                self._be_ready(out)
        elif self.phase == INSIDE:
            self.lose(out)
        if self.me in members and epoch >= self.runs_from:
            out.cancel_timer(REJOIN)
        else:
            self._ask_later(out)
        self._review(out)

    def _be_ready(self, out: Out) -> None:
        if self.me in self.members and self.me not in self.ready and self.instance >= self.runs_from:
            self.ready.add(self.me)
            out.broadcast(Ready(self.instance, self.members, self.has_crashed))
            self._start(out)

    def _on_ready(self, src: int, msg: Ready, out: Out) -> None:
        self._on_epoch(src, msg.epoch, msg.members, out)
        if msg.epoch == self.instance:
            self.ready.add(src)
            if msg.asks and self.me in self.ready:
                out.send(src, Ready(self.instance, self.members, False))
            self._start(out)

    def _on_epoch(self, src: int, epoch: int, members: Members, out: Out) -> None:
        if epoch > self.instance:
            self._install(epoch, members, out)
        elif epoch < self.instance:
            out.send(src, Epoch(self.instance, self.members))

    def _start(self, out: Out) -> None:
        """Begin the instance of this epoch, if all its members are ready."""
        if self.running or self.me not in self.ready or len(self.ready) < len(self.members):
            return
        self.begin(self.instance, self.members, out)
        self.running = True
        self.has_crashed = False
        if self.pause > FIRST_PAUSE:
            out.set_timer(CALM, LONGEST_PAUSE)
        if self.phase == WAITING:
            self.inner.request(self.wants, self.inner_out(out))
        early = self.early
        self.early = []
        for _, src, body in early:
            self.hand_in(src, body, out)

    def _on_inside(self, src: int, msg: Inside, out: Out) -> None:
        if msg.instance < self.instance:
            out.send(src, Epoch(self.instance, self.members))
        elif msg.instance == self.instance and self.running:
            self.hand_in(src, msg.body, out)
        else:
            self.early.append((msg.instance, src, msg.body))

    # -- recovering and rejoining ----------------------------------------------------------------------

    def _ask_later(self, out: Out) -> None:
        out.set_timer(REJOIN, self.pause)
        self.pause = min(2 * self.pause, LONGEST_PAUSE)

    def on_timer(self, timer: int, out: Out) -> None:
        if timer >= OWN_TIMERS:
            self.on_inner_timer(timer, out)
        elif timer == CALM:
            self.pause = FIRST_PAUSE
        else:
            if self._has_majority():
                out.broadcast(Join(self.instance))
                if self._suspects_a_member():  # all of them may have crashed
                    self._call(out)
            self._ask_later(out)

    def _on_join(self, src: int, msg: Join, out: Out) -> None:
        if msg.epoch < self.instance:
            out.send(src, Epoch(self.instance, self.members))
        if src not in self.suspects and (src not in self.members or msg.epoch == self.instance):
            self._call(out)

    def on_recover(self, out: Out) -> None:
        """My instance is lost: call for a new epoch."""
        if self.votes_from == NEVER:  # I do not know yet what I had voted on
            self.on_amnesia(out)
            return
        self.running = False
        self.has_crashed = True
        self.runs_from = self.instance + 1
        self.consensus.retry(out)
        self._call(out)
        self._ask_later(out)

    def on_amnesia(self, out: Out) -> None:
        self.running = False
        self.has_crashed = True
        self.runs_from = NEVER
        self.votes_from = NEVER
        out.save()
        out.broadcast(Recall())

    def _on_recall(self, src: int, out: Out) -> None:
        self.abstainers.add(src)
        self.consensus.on_suspect(src, out)
        if self.votes_from == NEVER:
            return  # I have lost my memory as well
        self._look(out)
        voted = max([self.instance, *self.consensus.ballots])
        out.send(src, Recalled(voted, self.instance, self.members))

    def _on_recalled(self, src: int, msg: Recalled, out: Out) -> None:
        if self.votes_from != NEVER:
            return
        self.answers[src] = msg.voted
        if 2 * len(self.answers) > self.n:
            last = max([self.answers[process] for process in sorted(self.answers)])
            self.answers = {}
            self.runs_from = last + 1
            self.votes_from = last + 2
            out.save()
            self._be_ready(out)
            if self.me not in self.ready:
                self._ask_later(out)
        if msg.epoch > self.instance:
            self._install(msg.epoch, msg.members, out)

    def _on_voting(self, src: int, out: Out) -> None:
        self.abstainers.discard(src)
        if src not in self.suspects:
            self.consensus.on_trust(src, out)

    # -- messages --------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Inside):
            self._on_inside(src, msg, out)
        elif isinstance(msg, Recalled):
            self._on_recalled(src, msg, out)
        elif isinstance(msg, Recall):
            self._on_recall(src, out)
        elif isinstance(msg, ConsensusMessage):
            self._on_consensus(src, msg, out)
        elif isinstance(msg, Ready):
            self._on_ready(src, msg, out)
        elif isinstance(msg, Change):
            self._on_change(src, msg, out)
        elif isinstance(msg, Epoch):
            self._on_epoch(src, msg.epoch, msg.members, out)
        elif isinstance(msg, Join):
            self._on_join(src, msg, out)
        elif isinstance(msg, Voting):
            self._on_voting(src, out)
        else:
            raise self.unexpected(src, msg)


def in_epochs(algorithm: type[Node]) -> type[Node]:
    """The class of nodes that run an algorithm in epochs."""
    problem = InEpochs(algorithm.spec.problem or MUTEX)
    return transformed(algorithm, Epochs, SPEC, problem)
