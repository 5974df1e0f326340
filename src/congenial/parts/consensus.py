"""Consensus: every process proposes a value, and all that decide choose the same one of them.

Ballots are numbered. Ballot b belongs to process (first + b) mod n, its owner. The owner asks all to `Prepare`. A
process that does so promises to accept nothing of a lower ballot from then on, and tells what it has accepted last.
With a majority of promises the owner proposes the value that was accepted in the highest ballot, or its own if there is
none. A value that a majority accepts in one ballot is decided. Any two majorities share a process, so a later owner
always learns of a value that may have been decided. Nothing can come before ballot 0, so its owner proposes
immediately.

This is safe for any behaviour of the network: delay, loss, duplication, false suspicions, and crashes with or without
recovery, provided that `durable` is saved (it is, before the messages leave). It terminates if a majority is correct,
every correct process proposes, links between correct processes lose nothing, and the detector finally suspects exactly
the crashed processes:
- A process that suspects the owner of the highest ballot it knows of tells the next unsuspected process in the ring
  (`News`). If it is next itself, it begins a ballot of its own.
- A process that has decided answers all questions with the decision (`Decide`). A process that is told a decision while
  it runs a ballot tells everyone, since others may wait for that ballot. So does a process that suspects the source of
  its decision (the owner of the ballot, or the process that told it), which may have crashed before it told all. Where
  links lose messages, call `retry` now and then, and after a recovery: it repeats what may have been lost.

There are two forms. With `everyone` set, a process that accepts tells everyone, and all decide by counting: 2 steps and
n(n-1) messages when ballot 0 succeeds. Otherwise it tells the owner, and the owner tells the decision: 3 steps, 3(n-1)
messages.

Followed: Lamport 1998 (ballots), with owners in turn and driven by suspicion as in Chandra and Toueg 1996. The first
form decides as in Mostefaoui and Raynal 1999. The relaying of decisions is lazy reliable broadcast (Guerraoui and
Rodrigues 2006). Values are plain data: numbers, strings, None, tuples of such. Instances are independent of each other;
`forget` drops those that nobody will ask for again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.message import Message, Messages
from congenial.kernel.out import Out
from congenial.kernel.part import Part

NEVER: Final = -1  # before all ballots


@dataclass(frozen=True)
class ConsensusMessage(Message):
    """Base of all messages of consensus."""

    instance: int


@dataclass(frozen=True)
class Prepare(ConsensusMessage):
    ballot: int


@dataclass(frozen=True)
class Promise(ConsensusMessage):
    ballot: int
    accepted: int  # the ballot in which the sender last accepted a value, or NEVER
    value: Any


@dataclass(frozen=True)
class Propose(ConsensusMessage):
    """Also says that the owner itself has accepted."""

    ballot: int
    value: Any


@dataclass(frozen=True)
class Accept(ConsensusMessage):
    ballot: int


@dataclass(frozen=True)
class Decide(ConsensusMessage):
    value: Any


@dataclass(frozen=True)
class News(ConsensusMessage):
    """The sender has not decided, and this is the highest ballot it knows of."""

    ballot: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Campaign:
    """What the owner of a ballot knows of it."""

    def __init__(self, ballot: int, needed: int) -> None:
        self.ballot = ballot
        self.needed = needed  # promises
        self.promised: set[int] = set()
        self.highest = NEVER  # the highest ballot in which one of them had accepted a value
        self.value: object = None
        self.proposed = False

    def promise(self, process: int, accepted: int, value: object) -> None:
        """Take a promise. One that comes after the proposal changes nothing: a ballot has one value, also when the
        proposal is repeated."""
        self.promised.add(process)
        if accepted > self.highest and not self.proposed:
            self.highest = accepted
            self.value = value


@mypyc_attr(allow_interpreted_subclasses=True)
class Consensus(Part):
    """All instances of one process."""

    messages: ClassVar[Messages] = (Prepare, Promise, Propose, Accept, Decide, News)
    durable: ClassVar[tuple[str, ...]] = ("ballots", "accepted", "decisions", "low")

    def __init__(self, me: int, n: int, everyone: bool = True, first: int = 0) -> None:
        self.me = me
        self.n = n
        self.everyone = everyone
        self.first = first  # the owner of ballot 0
        self.majority = n // 2 + 1
        # durable, by instance
        self.ballots: dict[int, int] = {}  # the highest known; nothing below is accepted
        self.accepted: dict[int, tuple[int, object]] = {}  # last: ballot and value
        self.decisions: dict[int, object] = {}
        self.low = 0  # instances below are forgotten
        # not durable
        self.proposals: dict[int, object] = {}
        self.campaigns: dict[int, Campaign] = {}  # of instances whose highest ballot is ours
        self.votes: dict[int, set[int]] = {}  # the processes that have accepted in the highest ballot
        self.sources: dict[int, int] = {}  # the process from which we have the decision
        self.suspects: set[int] = set()

    # -- what the node does ----------------------------------------------------------------------------

    def propose(self, instance: int, value: object, out: Out) -> None:
        """Take part in an instance. If a process proposes several values, the first counts."""
        if instance in self.proposals or instance in self.decisions or instance < self.low:
            return
        self.proposals[instance] = value
        campaign = self.campaigns.get(instance)
        if campaign is None:
            self._consider(instance, out)
        else:
            self._try_to_propose(instance, campaign, out)

    def decided(self, instance: int) -> bool:
        return instance in self.decisions

    def decision(self, instance: int) -> object:
        return self.decisions[instance]

    def forget(self, below: int) -> None:
        """Drop all instances with smaller numbers. Processes that have not decided them get no further help."""
        if below <= self.low:
            return
        self.low = below
        self._drop(self.ballots, below)
        self._drop(self.accepted, below)
        self._drop(self.decisions, below)
        self._drop(self.proposals, below)
        self._drop(self.campaigns, below)
        self._drop(self.votes, below)
        self._drop(self.sources, below)

    def _drop(self, table: dict[int, Any], below: int) -> None:
        for instance in [known for known in table if known < below]:
            del table[instance]

    def undecided(self) -> list[int]:
        """The instances that this process knows of and waits for."""
        return sorted({*self.proposals, *self.ballots})

    def retry(self, out: Out) -> None:
        """Repeat what may have been lost; ask again for what may have been missed."""
        for instance in self.undecided():
            campaign = self.campaigns.get(instance)
            if campaign is None:
                self._consider(instance, out)
                out.broadcast(News(instance, self.ballots.get(instance, 0)))
            else:
                out.broadcast(self._current(instance, campaign))

    # -- what the world does ---------------------------------------------------------------------------

    def receive(self, src: int, msg: ConsensusMessage, out: Out) -> None:
        """This may decide the message's instance, but no other."""
        instance = msg.instance
        if instance < self.low:
            return
        if isinstance(msg, Prepare):
            self._on_prepare(src, instance, msg, out)
        elif isinstance(msg, Promise):
            self._on_promise(src, instance, msg, out)
        elif isinstance(msg, Propose):
            self._on_propose(src, instance, msg, out)
        elif isinstance(msg, Accept):
            self._on_accept(src, instance, msg, out)
        elif isinstance(msg, Decide):
            self._decide(instance, msg.value, src, out)
        elif isinstance(msg, News):
            self._on_news(src, instance, msg, out)
        else:
            raise self._unexpected(src, msg)

    def on_suspect(self, peer: int, out: Out) -> None:
        self.suspects.add(peer)
        for instance in self.undecided():
            self._consider(instance, out)
        for instance in sorted(self.sources):
            if self.sources[instance] == peer:
                self._spread(instance, out)

    def on_trust(self, peer: int, out: Out) -> None:
        self.suspects.discard(peer)
        for instance in sorted(self.campaigns):  # if it was down it has missed our messages
            campaign = self.campaigns[instance]
            if peer not in (self.votes[instance] if campaign.proposed else campaign.promised):
                out.send(peer, self._current(instance, campaign))

    # -- messages --------------------------------------------------------------------------------------

    def _on_prepare(self, src: int, instance: int, msg: Prepare, out: Out) -> None:
        if self._owner(msg.ballot) != src or msg.ballot < 1:
            raise self._unexpected(src, msg)
        if not self._is_new(src, instance, msg.ballot, out):
            return
        self._raise(instance, msg.ballot)
        accepted, value = self.accepted.get(instance, (NEVER, None))
        out.save()
        out.send(src, Promise(instance, msg.ballot, accepted, value))
        self._consider(instance, out)

    def _on_promise(self, src: int, instance: int, msg: Promise, out: Out) -> None:
        if self._owner(msg.ballot) != self.me or not self._is_known(instance, msg.ballot):
            raise self._unexpected(src, msg)
        campaign = self.campaigns.get(instance)
        if campaign is not None and campaign.ballot == msg.ballot:
            campaign.promise(src, msg.accepted, msg.value)
            self._try_to_propose(instance, campaign, out)

    def _on_propose(self, src: int, instance: int, msg: Propose, out: Out) -> None:
        if self._owner(msg.ballot) != src or msg.ballot < 0:
            raise self._unexpected(src, msg)
        if not self._is_new(src, instance, msg.ballot, out):
            return
        self._raise(instance, msg.ballot)
        self._accept(instance, msg.ballot, msg.value, out)
        self.votes[instance].add(src)
        if self.everyone:
            out.broadcast(Accept(instance, msg.ballot))
        else:
            out.send(src, Accept(instance, msg.ballot))
        self._count(instance, out)
        self._consider(instance, out)

    def _on_accept(self, src: int, instance: int, msg: Accept, out: Out) -> None:
        if not self.everyone and (self._owner(msg.ballot) != self.me or not self._is_known(instance, msg.ballot)):
            raise self._unexpected(src, msg)
        ballot = self.ballots.get(instance, 0)
        if instance in self.decisions or msg.ballot < ballot:
            return
        if msg.ballot > ballot:
            self._raise(instance, msg.ballot)
            self._consider(instance, out)
        self.votes.setdefault(instance, set()).add(src)
        self._count(instance, out)

    def _on_news(self, src: int, instance: int, msg: News, out: Out) -> None:
        ballot = self.ballots.get(instance, 0)
        if instance in self.decisions:
            out.send(src, Decide(instance, self.decisions[instance]))
        elif msg.ballot > ballot:
            self._raise(instance, msg.ballot)
            self._consider(instance, out)
        elif instance in self.campaigns:
            out.send(src, self._current(instance, self.campaigns[instance]))
        else:
            if self.everyone and self.accepted.get(instance, (NEVER, None))[0] == ballot:
                out.send(src, Accept(instance, ballot))
            self._consider(instance, out)

    # -- the owner of a ballot -------------------------------------------------------------------------

    def _consider(self, instance: int, out: Out) -> None:
        """Act if the owner of the highest ballot has stopped working."""
        if instance in self.decisions or instance in self.campaigns:
            return
        ballot = self.ballots.get(instance, 0)
        owner = self._owner(ballot)
        if owner == self.me:  # at the beginning, or after a crash
            self._campaign(instance, out)
        elif owner in self.suspects:
            heir = self._heir(owner)
            if heir == self.me:
                self._campaign(instance, out)
            else:
                out.send(heir, News(instance, ballot))

    def _campaign(self, instance: int, out: Out) -> None:
        """Begin our lowest new ballot."""
        if instance not in self.ballots and self._owner(0) == self.me:
            if instance in self.proposals:
                self.campaigns[instance] = Campaign(0, 0)
                self._try_to_propose(instance, self.campaigns[instance], out)
            return
        following = self.ballots.get(instance, 0) + 1
        ballot = following + (self.me - self._owner(following)) % self.n
        self._raise(instance, ballot)
        campaign = Campaign(ballot, self.majority)
        accepted, value = self.accepted.get(instance, (NEVER, None))
        campaign.promise(self.me, accepted, value)
        self.campaigns[instance] = campaign
        out.save()
        out.broadcast(Prepare(instance, ballot))
        self._try_to_propose(instance, campaign, out)

    def _try_to_propose(self, instance: int, campaign: Campaign, out: Out) -> None:
        if campaign.proposed or len(campaign.promised) < campaign.needed:
            return
        if campaign.highest == NEVER:
            if instance not in self.proposals:
                return
            campaign.value = self.proposals[instance]
        campaign.proposed = True
        self._accept(instance, campaign.ballot, campaign.value, out)
        out.broadcast(Propose(instance, campaign.ballot, campaign.value))
        self._count(instance, out)

    def _current(self, instance: int, campaign: Campaign) -> ConsensusMessage:
        """The message whose answers the ballot's owner waits for."""
        if campaign.proposed:
            return Propose(instance, campaign.ballot, campaign.value)
        return Prepare(instance, campaign.ballot)

    # -- accepting and deciding ------------------------------------------------------------------------

    def _is_new(self, src: int, instance: int, ballot: int, out: Out) -> bool:
        """True if we may still promise or vote in a ballot. If not, its owner is told why."""
        if instance in self.decisions:
            out.send(src, Decide(instance, self.decisions[instance]))
            return False
        highest = self.ballots.get(instance, 0)
        if ballot < highest:
            campaign = self.campaigns.get(instance)
            out.send(src, News(instance, highest) if campaign is None else self._current(instance, campaign))
            return False
        return True

    def _is_known(self, instance: int, ballot: int) -> bool:
        return instance in self.decisions or 0 <= ballot <= self.ballots.get(instance, NEVER)

    def _raise(self, instance: int, ballot: int) -> None:
        if ballot > self.ballots.get(instance, 0):
            self.ballots[instance] = ballot
            self.campaigns.pop(instance, None)
            self.votes.pop(instance, None)

    def _accept(self, instance: int, ballot: int, value: object, out: Out) -> None:
        self.ballots[instance] = ballot
        self.accepted[instance] = (ballot, value)
        self.votes.setdefault(instance, set()).add(self.me)
        out.save()

    def _count(self, instance: int, out: Out) -> None:
        ballot, value = self.accepted.get(instance, (NEVER, None))
        if ballot != self.ballots.get(instance, 0) or len(self.votes[instance]) < self.majority:
            return  # too few, or their value has not arrived here yet
        owner = self._owner(ballot)
        self._decide(instance, value, owner, out)
        if not self.everyone and owner == self.me:
            self._spread(instance, out)

    def _decide(self, instance: int, value: object, source: int, out: Out) -> None:
        if instance in self.decisions:
            return
        campaign = self.campaigns.pop(instance, None)
        self.decisions[instance] = value
        self.sources[instance] = source
        self.ballots.pop(instance, None)
        self.accepted.pop(instance, None)
        self.votes.pop(instance, None)
        self.proposals.pop(instance, None)
        if source != self.me and (campaign is not None or source in self.suspects):
            self._spread(instance, out)

    def _spread(self, instance: int, out: Out) -> None:
        self.sources[instance] = self.me
        out.broadcast(Decide(instance, self.decisions[instance]))

    # -- processes -------------------------------------------------------------------------------------

    def _owner(self, ballot: int) -> int:
        return (self.first + ballot) % self.n

    def _heir(self, owner: int) -> int:
        """The first process after the owner, in the ring, that is not suspected."""
        heir = (owner + 1) % self.n
        while heir != self.me and heir in self.suspects:
            heir = (heir + 1) % self.n
        return heir

    def _unexpected(self, src: int, msg: Message) -> UnexpectedMessage:
        return UnexpectedMessage(f"process {self.me} cannot make sense of {msg!r} from process {src}")
