"""What the members have agreed on: the present view of the cluster (`congenial.parts.views`).

The agreement is a node like that of a lock, with a seat of its own. Its messages travel with those of the locks, and in
their order. It is told of suspicions, and tells the layer above of new views.
"""

from __future__ import annotations

import asyncio
import math
from typing import Final, Protocol

from congenial.kernel.effects import EVERYONE, Effect
from congenial.kernel.errors import IllegalStep
from congenial.kernel.message import Message
from congenial.kernel.shell import ProcessEvent, Received, Suspected, TimedOut, Trusted
from congenial.net.call import Call
from congenial.net.codec import Vocabulary
from congenial.net.errors import ProtocolError
from congenial.net.link import MOST_PATIENT, Link
from congenial.net.membership import Membership
from congenial.net.names import MOST_PROCESSES
from congenial.net.roster import TICKS
from congenial.net.seat import Seat
from congenial.net.view_lease import Grants, Record, ViewLease, lives_of
from congenial.net.wire import Echo
from congenial.parts.views import View
from congenial.problems.mutex import MUTEX
from congenial.transform.views import ViewsNode

VIEWS_KEY: Final = "\3"  # no lock has it
MOVED: Final = " by seeds"  # ends what a process says about itself that has entered by seeds, from any address
LEASES: Final = "leases"  # where the storage has what is to be known of them after a restart
AT_ONCE: Final = 8  # views that may follow each other without a pause


class Pace:
    """How fast views may follow each other, so that fences do not run ahead of the clock (`congenial.net.roster`)."""

    def __init__(self) -> None:
        self.due_at = -math.inf  # when the next view may be proposed, or a few views later

    def count(self, now: float) -> None:
        """There is a view."""
        self.due_at = min(max(self.due_at, now - AT_ONCE / TICKS) + 1 / TICKS, now + AT_ONCE / TICKS)

    def wait(self, now: float) -> float:
        """How many seconds to wait before the next view is proposed."""
        return max(self.due_at - now, 0.0)


class Follower(Protocol):
    """What the agreement calls in the layer above."""

    def on_view(self, view: View, since: int, rest: float) -> None:
        """There is a new view, of which this process has been a member without a gap since view `since`; -1: it is no
        member. For `rest` seconds there are leases of processes that have lost what they held, as far as this one
        knows."""


class Agreement:
    def __init__(self, membership: Membership, vocabulary: Vocabulary, voters: int, follower: Follower) -> None:
        self.membership = membership
        self.vocabulary = vocabulary
        self.follower = follower
        config = membership.config
        abouts = tuple([f"{name} {config.nodes.get(name, '')}" for name in membership.founders])
        self.node = ViewsNode(membership.me, MOST_PROCESSES, membership.n, voters, abouts)
        self.node.views.about = f"{membership.name} {membership.address}{MOVED if config.seeds else ''}"
        self.node.views.takes_part = True
        self.node.views.least_exile = membership.timing.suspect_after / membership.timing.timer_unit
        self.gone = asyncio.Event()  # this process has left
        self.settled_in = False  # has this process been a member since it was started?
        membership.is_member = lambda: self.since >= 0
        self.seat = Seat(self, membership, self.node, MUTEX, "views")
        self.told = self.view  # the last view that the layer above knows of
        timing = membership.timing
        longest = MOST_PATIENT * timing.suspect_after
        self.lease = ViewLease(membership.me, longest, timing.drift, 2 * timing.heartbeat, timing.suspect_after)
        self.grants = Grants(membership.me, longest, drift=timing.drift)
        self.record = Record(*(membership.storage.load(LEASES) or ()))
        self.lives = lives_of(self.view)  # of the members, by process
        self.pace = Pace()
        self.stopped = False

    @property
    def view(self) -> View:
        return self.node.views.view

    @property
    def since(self) -> int:
        return self.node.views.since()

    def is_needed(self) -> bool:
        """Does this process have a vote, and hear a majority of the voters?"""
        return self.node.views.votes() and self.node.views.has_majority()

    def voters(self) -> list[int]:
        return [process for process, _ in self.view.voters]

    def everyone(self) -> set[int]:
        """The members, and voters that are away."""
        return {*self.view.processes, *self.voters()}

    def begin(self) -> None:
        """The cluster is founded: go on from where this member was, or begin."""
        event = self.seat.recovery()
        if event is not None:
            self.told = self.view
            if not event.forgetful:  # else it has granted nothing, as the voter that it is
                self.grants.recover(self.view, self.record)
            self._know_members()  # there must be links before anything is sent
            for link in self.membership.links:
                link.away = link.away or link.connection is None  # what they send would be for an earlier life
            self.node.views.suspects |= {link.peer for link in self.membership.links if link.away}
            self.seat.step(event)
        self._follow()
        for link in self.membership.links:
            if link.away:
                self.seat.step(Suspected(link.peer))
        self._look()

    def begin_again(self) -> None:
        """Go on as after a restart: what this process did as a member is lost."""
        with self.membership.turn:
            self.seat.step(Call(lambda node, out: node.on_recover(out)))
            self._follow()

    def receive(self, peer: int, message: Message) -> None:
        """A message has arrived. `ProtocolError` if it makes no sense."""
        try:
            self.seat.step(Received(peer, message))
        except IllegalStep as error:
            raise ProtocolError(str(error)) from error
        self._look()

    def suspect(self, peer: int, away: bool) -> None:
        self.step(Suspected(peer) if away else Trusted(peer))
        if not away:
            self._ask_soon()

    def inform(self, peer: int) -> None:
        """There is a connection to a process. If it is not a member, it may not know of the present view."""
        if peer not in self.view.processes and self.view.number > 0:
            self.step(Call(lambda _, out: self.node.views.inform(peer, out)))

    def _ask_soon(self) -> None:
        """A process that is new asks to be a member as soon as it hears all members."""
        views = self.node.views
        others = set(self.view.processes) - {self.membership.me}
        if not self.settled_in and views.takes_part and self.since < 0 and not others & views.suspects:
            self.step(Call(lambda _, out: views.join(out)))

    def is_current(self, peer: int, number: int) -> bool:
        """True if what a peer sent in this view is for the present one. If it is for an earlier one, tell the peer."""
        if number < self.view.number:
            self.step(Call(lambda _, out: self.node.views.is_current(peer, number, out)))
        return number == self.view.number

    def renew(self) -> None:
        """Numbers that begin with the view's run out."""
        self.step(Call(lambda _, out: self.node.views.renew(out)))

    def assign(self, process: int, role: int) -> None:
        """Ask that a process gets a role."""
        self.step(Call(lambda _, out: self.node.views.assign(process, role, out)))

    def stop(self) -> None:
        """This process holds nothing, and will not hold anything again."""
        self.stopped = True
        self.keep_record()

    def leave(self, for_good: bool) -> None:
        """This process no longer wants to be a member."""
        self.step(Call(lambda _, out: self.node.views.leave(out, keeps_vote=not for_good)))

    def step(self, event: ProcessEvent) -> None:
        with self.membership.turn:
            self.seat.step(event)
            self._look()

    def _look(self) -> None:
        """Follow the present view. Members of it that are new here, and not connected yet, are not heard."""
        views = self.node.views
        while self.view is not self.told:
            self._follow()
            for link in self.membership.links:
                if link.away and link.peer not in views.suspects:
                    self.seat.step(Suspected(link.peer))

    def _follow(self) -> None:
        """Go on in the present view."""
        before, view = self.told, self.view
        self.told = view
        self.settled_in = self.settled_in or self.since >= 0
        if self.since >= 0 and self.membership.forgetful:
            self.membership.remember()  # it continues as a new process, and does not wait until all have reminded it
        if self.since < 0 and not self.node.views.takes_part:
            self.gone.set()
        self._know_members()
        self._keep_pace()
        self.lives = lives_of(view)
        granted = self.grants.on_view(before, view, self.since)
        promised = self.lease.begin(view, self.node.views.birth, self.since)
        self.keep_record()
        self.follower.on_view(view, self.since, max(granted, promised))
        self._inform_strangers()

    def _keep_pace(self) -> None:
        self.pace.count(self.membership.now())
        if not self.node.views.paused:
            self._pause()

    def _pause(self) -> None:
        """Propose no view before it is time for the next one."""
        wait = self.pace.wait(self.membership.now())
        self.node.views.paused = wait > 0.0
        if wait > 0.0:
            self.membership.loop.call_later(wait, self._go_on)

    def _go_on(self) -> None:
        self._pause()
        if not self.node.views.paused:
            self.step(Call(lambda _, out: self.node.views.go_on(out)))

    def _inform_strangers(self) -> None:
        """Those that are connected, but no members, may know nobody else who can tell them of this view. Voters tell
        them, and a process that has just become a member: it has met others that wanted to."""
        if self.node.views.votes() or self.since == self.view.number:
            connected = [link.peer for link in self.membership.links if link.connection is not None]
            for peer in connected:
                if peer not in self.view.processes:
                    self._send_view(peer)

    def _send_view(self, peer: int) -> None:
        self.seat.step(Call(lambda _, out: self.node.views.inform(peer, out)))

    def _know_members(self) -> None:
        view = self.view
        named: list[tuple[str, str, bool]] = []
        for *_, about in view.members:
            name, _, place = about.removesuffix(MOVED).partition(" ")
            if name:
                named.append((name, place, about.endswith(MOVED)))
        self.membership.follow(named, view.processes, self.everyone())

    # -- leases ----------------------------------------------------------------------------------------

    def grant(self, link: Link) -> int:
        """A peer gives a sign of life. The view in which it gets a lease; -1 if in none."""
        views, life = self.node.views, self.lives.get(link.peer)
        if life is None or not views.votes() or views.has_voted():
            return -1
        seconds = link.patience_left
        if seconds > self.record.members:
            self._save_record(self.record._replace(members=seconds))
        self.grants.grant(life, seconds)
        return self.view.number

    def keep_record(self) -> None:
        """When a view begins, and when no lease of processes lasts that are not in it."""
        lease = None if self.stopped else self.lease
        self._save_record(self.grants.record(self.view, self.membership.timing.suspect_after, lease))

    def _save_record(self, record: Record) -> None:
        self.record = record
        self.membership.storage.save(LEASES, tuple(record))

    def on_echo(self, peer: int, echo: Echo) -> bool:
        """A peer has answered a sign of life. True if the lease was over, and goes on."""
        if echo.view < 0 or self.node.views.has_voted():
            return False
        if echo.allowed > self.record.own and not self.stopped:
            self._save_record(self.record._replace(own=echo.allowed))
        return self.lease.grant_in(echo.view, peer, echo.sent, echo.allowed)

    # -- what the seat asks ----------------------------------------------------------------------------

    def send(self, seat: Seat, dst: int, message: Message) -> None:
        body = self.vocabulary.encode(message)
        links = self.membership.links if dst == EVERYONE else [self.membership.link_to.get(dst)]
        for link in links:
            if link is not None:
                link.send(VIEWS_KEY, body)

    def on_effect(self, seat: Seat, effect: Effect) -> None:
        raise IllegalStep(f"views do not {type(effect).__name__}")

    def on_timer(self, seat: Seat, event: TimedOut) -> None:
        self.step(event)
