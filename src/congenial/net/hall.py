"""A semaphore as one process sees it: k seats, and the local tasks before them.

At most k tasks are inside, of all processes together, and k of one process may be. A node of an algorithm lets its
process in once, not k times. So every member of the cluster has k seats, and each seat is a process of the algorithm:
it runs for k times as many processes as there are members (`Numbering`). A task that wants to enter takes a free seat,
which asks for it. Seats of one member talk without the network, and what a seat tells everyone goes once to each
member.

A seat where a token rests is taken first: then nobody has to be asked.

All members must name the same k. Each tells the others, and what a seat sends says how many seats there are. A member
that learns of a different k stops admitting tasks, and its tasks get an error.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from congenial.kernel.effects import EVERYONE, Effect, Eject, Enter
from congenial.kernel.errors import ConfigError, CongenialError
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.shell import Asked, Left, Received, Suspected, Trusted
from congenial.net.codec import Vocabulary
from congenial.net.entrance import OUTVOTED, Entrance, Tally, Want
from congenial.net.errors import ProtocolError
from congenial.net.held import Held
from congenial.net.membership import Membership
from congenial.net.numbering import Numbering
from congenial.net.roster import FENCE_BITS
from congenial.net.seat import Seat
from congenial.net.wire import Seats
from congenial.problems.epochs import EPOCH_BITS

ALL_SEATS: Final = -1
MOST_SEATS: Final = 1024  # of all members together: each has a place in every token, and every seat keeps count of all
MOST_IN_EPOCHS: Final = 256  # when a member is lost every seat tells every other one, which takes a second for so many


class Hall(Entrance):
    __slots__ = ("asking", "free", "granted", "in_epochs", "k", "local", "seats", "vocabulary")

    def __init__(
        self, membership: Membership, vocabulary: Vocabulary, tally: Tally, key: str, name: str, k: int
    ) -> None:
        super().__init__(membership, tally, key, name, self._numbering(key, membership.n, k))
        self.in_epochs = membership.config.semaphore_system(1).algorithm.rejoins
        self.vocabulary = vocabulary
        self.k = k
        self.seats: list[Seat] = []
        self.free: list[Seat] = []  # the one that was left last is last
        self.asking = 0  # seats that have asked and are not in yet
        self.granted: list[tuple[Seat, int]] = []  # seats that have just been let in, and their fences
        if self.in_epochs:
            self.lease = membership.lease
        self.inside: dict[Held, Seat] = {}
        self.local: deque[tuple[int, Seat, Message]] = deque()  # messages between seats here, with their senders
        self._furnish()

    def _numbering(self, key: str, n: int, k: int) -> Numbering:
        return Numbering.of(key, n, k)

    def _furnish(self) -> None:
        """Make the seats."""
        config, n, k = self.membership.config, self.membership.n, self.k
        most = MOST_IN_EPOCHS if self.in_epochs else MOST_SEATS
        system = config.semaphore_system(k)
        if k * n > most:
            raise ConfigError(
                f"semaphore {self.name!r} lets in {k} at a time, too many for {system.name} in a cluster of {n}: "
                f"at most {most // n}"
            )
        for number in range(k):
            node = system.node(self.numbering.process(self.membership.me, number))
            storage_key = f"seat {number} of {k} {self.key}"
            self.seats.append(Seat(self, self.membership, node, system.problem, storage_key, number))
        self.free = list(reversed(self.seats))

    @property
    def nodes(self) -> list[Node]:
        return [seat.node for seat in self.seats]

    # -- what tasks do ---------------------------------------------------------------------------------

    def enter_now(self, want: Want) -> Held | None:
        if self.queue or self.asking or not self.free or not self.membership.serving or self.lease.over():
            return None
        self._ask()
        return self._admit(want, *self.granted.pop()) if self.granted else None

    def could_enter_now(self, want: Want) -> bool:
        if self.queue or self.asking or not self.membership.serving or self.lease.over():
            return False
        return self._quick_seat() is not None

    def release(self, held: Held) -> None:
        with self.membership.turn:
            seat = self.inside.pop(held, None)
            if seat is None:
                raise held._not_held()
            self.tally.add_hold(held)
            self._leave(seat)
            self.pump()

    def _admit(self, want: Want, seat: Seat, fence: int) -> Held:
        held = Held(self, want.label, fence)
        self.inside[held] = seat
        self.entries += 1
        self.tally.entries += 1
        return held

    def _admit_waiters(self) -> None:
        """Let in tasks for which seats have entered."""
        while self.granted:
            seat, fence = self.granted.pop(0)
            waiter = self.queue.first()
            if waiter is None:  # all have given up
                self._leave(seat)
            else:
                self._grant(waiter, self._admit(waiter.want, seat, fence))

    # -- what seats do ---------------------------------------------------------------------------------

    def pump(self) -> None:
        while self.error is None and not self.era.over:
            self._deliver_local()
            if self.queue.first() is not None and self.lease.over():
                return  # until it goes on
            self._admit_waiters()
            if self.asking >= len(self.queue) or not self.free or not self.membership.serving:
                return
            self._ask()

    def _ask(self) -> None:
        """Let a free seat ask, preferably one that does not have to wait; `granted` tells whether it is in."""
        seat = self._quick_seat() or self.free[-1]
        if seat is self.free[-1]:
            self.free.pop()
        else:
            self.free.remove(seat)
        self.asking += 1
        self._happen(seat, Asked((0,)))
        self._deliver_local()

    def _quick_seat(self) -> Seat | None:
        """A free seat that does not have to wait, the one that was left last."""
        for seat in reversed(self.free):
            if seat.node.could_enter():
                return seat
        return None

    def _leave(self, seat: Seat) -> None:
        self.free.append(seat)
        self._happen(seat, Left())
        self._deliver_local()

    def receive(self, peer: int, src: int, dst: int, message: Message) -> None:
        """A message from a seat of a peer has arrived, for one seat here or for all. `ProtocolError` if it makes no
        sense."""
        if not (0 <= src < self.k and ALL_SEATS <= dst < self.k):
            raise ProtocolError(f"a message from seat {src} to seat {dst}, where there are {self.k}")
        if self.error is not None:
            self.on_unheard(peer)
            return
        process = self.numbering.process(peer, src)
        first, *others = self.seats if dst == ALL_SEATS else [self.seats[dst]]
        self._hear(first, process, message)
        for seat in others:  # the first one has taken it: it is too late to refuse it
            self._happen(seat, Received(process, message))
        self.pump()

    def accept(self, peer: int, src: int, dst: int, message: Message) -> None:
        """The same, but a message that makes no sense fails this semaphore alone."""
        try:
            self.receive(peer, src, dst, message)
        except ProtocolError as error:
            self.distrust(error)

    def _deliver_local(self) -> None:
        while self.local and self.error is None:
            process, seat, message = self.local.popleft()
            self._happen(seat, Received(process, message))

    def suspect(self, peer: int, away: bool) -> None:
        """That concerns all seats of the peer."""
        for seat in self.seats:
            for other in range(self.k):
                process = self.numbering.process(peer, other)
                self._happen(seat, Suspected(process) if away else Trusted(process))
                self.pump()

    def send(self, seat: Seat, dst: int, message: Message) -> None:
        membership, numbering = self.membership, self.numbering
        me = numbering.process(membership.me, seat.number)
        if dst == EVERYONE:
            body = self.vocabulary.encode(message)
            for link in membership.links:
                link.send_seated(self.key, self.k, seat.number, ALL_SEATS, body)
            for other in self.seats:
                if other is not seat:
                    self.local.append((me, other, message))
        else:
            to = membership.link_to.get(numbering.member(dst))
            if to is None:
                self.local.append((me, self.seats[numbering.seat(dst)], message))
            else:
                body = self.vocabulary.encode(message)
                to.send_seated(self.key, self.k, seat.number, numbering.seat(dst), body)
        membership.check_crowd()

    def on_effect(self, seat: Seat, effect: Effect) -> None:
        if isinstance(effect, Enter):
            self.asking -= 1
            self.sessions += 1
            self.tally.sessions += 1
            self.granted.append((seat, self._fence(effect.fence)))
        elif isinstance(effect, Eject):
            self._lose(seat)

    def _fence(self, session: int) -> int:
        """The fence of a session: the same for all holders in one epoch; 0 without epochs."""
        if not self.in_epochs:
            return 0
        fence = self.membership.fence_base + (session >> EPOCH_BITS << FENCE_BITS)
        self.membership.remember_number(fence)
        return fence

    def _lose(self, seat: Seat) -> None:
        self.free.append(seat)
        self.granted = [grant for grant in self.granted if grant[0] is not seat]
        for held in [held for held in self.inside if self.inside[held] is seat]:
            del self.inside[held]
            held._lose(OUTVOTED)

    # -- how many seats --------------------------------------------------------------------------------

    def hear_k(self, who: str, k: int) -> None:
        """A member says how many it lets in."""
        if k != self.k:
            self.fail(disagreement(self.name, self.k, who, k))

    def fail(self, error: CongenialError) -> None:
        if self.error is None:
            super().fail(error)
            if isinstance(error, ConfigError):  # the others should know
                for link in self.membership.links:
                    link.post(Seats(self.key, self.k))

    def _lose_all(self, why: str) -> None:
        inside, self.inside = self.inside, {}
        self.granted = []
        for held in inside:
            held._lose(why)

    def _forget_holders(self) -> None:
        self.inside = {}

    # -- status ----------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        return f"{self.name} (semaphore)"

    def status(self) -> dict[str, object]:
        phases = [seat.node.phase for seat in self.seats]
        phase = "inside" if INSIDE in phases else "waiting" if WAITING in phases else "idle"
        return {
            "phase": phase,
            "group": None,
            "holders": len(self.inside),
            "queue": len(self.queue),
            "fence": None,
            "k": self.k,
            "entries": self.entries,
            "sessions": self.sessions,
        }


def disagreement(name: str, k: int, who: str, other: int) -> ConfigError:
    return ConfigError(
        f"semaphore {name!r} lets in {k} at a time here, and {other} at {who!r}: everyone must give the same number"
    )
