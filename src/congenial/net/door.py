"""One lock as one process sees it: a seat, and the local tasks before it.

The seat's node speaks for the whole process, so the tasks share it. A task enters immediately if the process is inside
for its group already, or if the node can enter without waiting. Otherwise it queues. When the last task inside leaves,
the process leaves, and asks again for the task that has waited longest. So every local turn goes through the algorithm,
and is as fair to other processes as the algorithm is.

Sharing needs one more rule, or a process could stay inside forever by always having another task to admit: a process
that has waited for a while tells the others (`Nudge`), and those that are inside for another group admit no newcomers.

A node cannot take a request back. When all tasks that wanted the lock have given up, the process enters and leaves
immediately.

To be alone a process asks for a group of its own (Mittal & Mohan 2007, section 1). An algorithm may count several turns
of that group in a row as one session, with one fence, as long as nobody else comes between. The fences of the tasks
must grow nevertheless. So a task's fence is the session's fence with the turn's number below it. When these numbers run
out, the process goes on with a second group of its own, which is a new session.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from mypy_extensions import mypyc_attr

from congenial.kernel.effects import EVERYONE, Effect, Eject, Enter
from congenial.kernel.errors import CongenialError
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, PHASES, WAITING, Node
from congenial.kernel.problem import NO_GROUP, Problem
from congenial.kernel.shell import Asked, Left, Process, Suspected, Trusted
from congenial.kernel.state import copy_of
from congenial.net.codec import Vocabulary
from congenial.net.entrance import OUTVOTED, Entrance, Tally, Want
from congenial.net.errors import ProtocolError
from congenial.net.held import Held
from congenial.net.membership import Membership
from congenial.net.names import writer_number
from congenial.net.numbering import Numbering
from congenial.net.roster import TURN_BITS
from congenial.net.seat import RandomOutbox, Seat

ALONE: Final = -2  # stands for the groups of which this process is the only member
ALONE_WANT: Final = Want(ALONE, False, None)  # what every exclusive lock wants
LAST_TURN: Final = (1 << TURN_BITS) - 1
NOBODY: Final[frozenset[Held]] = frozenset()  # an idle lock needs no set of its own
NONE_BARRED: Final[frozenset[int]] = frozenset()
FIRST_NUDGE = 0.05  # seconds of waiting before others are told; doubles, up to
LAST_NUDGE = 1.0


@cache
def own_groups(me: int) -> tuple[int, int]:
    """The groups of which a process is the only member."""
    return (writer_number(me, 0), writer_number(me, 1))


@mypyc_attr(allow_interpreted_subclasses=True)
class Door(Entrance):
    __slots__ = (
        "asked", "asked_at", "asked_number", "barred", "fence", "group", "grouped", "node", "nudge_after",
        "own_group", "own_groups", "seat", "session", "turn", "vocabulary", "yielding",
    )  # fmt: skip

    def __init__(
        self,
        membership: Membership,
        vocabulary: Vocabulary,
        tally: Tally,
        key: str,
        name: str,
        node: Node,
        problem: Problem,
        numbering: Numbering,
    ) -> None:
        super().__init__(membership, tally, key, name, numbering)
        self.vocabulary = vocabulary
        self.node = node
        self.grouped = problem.groups
        if type(node).rejoins:
            self.lease = membership.lease
        self.inside = NOBODY
        self.barred: set[int] | frozenset[int] = NONE_BARRED  # peers that are sent nothing
        self.group = NO_GROUP  # of the present session
        self.fence = 0
        self.session = 0  # its fence as the algorithm gave it
        self.turn = 0  # in a session for this process alone
        self.own_groups = own_groups(membership.me)
        self.own_group = 0  # which of them is in use
        self.asked = NO_GROUP  # what the process last asked for
        self.asked_number = 0  # and its number in the kernel
        self.asked_at = 0.0
        self.nudge_after = FIRST_NUDGE
        self.yielding = False  # a process elsewhere waits for another group
        self._furnish(problem)

    def _furnish(self, problem: Problem) -> None:
        """Make the seat."""
        self.seat = Seat(self, self.membership, self.node, problem, f"lock {self.key}")

    @property
    def seats(self) -> Sequence[Seat]:
        return (self.seat,)

    # -- what tasks do ---------------------------------------------------------------------------------

    def enter_now(self, want: Want) -> Held | None:
        if self.queue or self.lease.over():
            return None
        if self.inside:
            return self._admit(want) if self._joins(want) else None
        if self.node.phase == IDLE and self.membership.serving:
            self._ask(want.group)
            if self.node.phase == INSIDE and self.error is None:
                return self._admit(want)
        return None

    def could_enter_now(self, want: Want) -> bool:
        """Found out on a copy of the node."""
        if self.queue or self.lease.over():
            return False
        if self.inside:
            return self._joins(want)
        if self.node.phase != IDLE or not self.membership.serving:
            return False
        twin = Process(copy_of(self.node), self.seat.process.problem)
        try:
            twin.step(Asked((self._number_of(want.group),)), RandomOutbox())
        except CongenialError:
            return False
        return twin.phase == INSIDE

    def release(self, held: Held) -> None:
        with self.membership.turn:
            inside = self.inside
            if held not in inside:
                raise held._not_held()
            self.tally.add_hold(held)
            if len(inside) == 1:
                self.inside = NOBODY
                self._leave()
                self.pump()
            else:
                assert isinstance(inside, set)
                inside.remove(held)

    def _joins(self, want: Want) -> bool:
        return want.shared and want.group == self.group and not self.yielding

    def _admit(self, want: Want) -> Held:
        held = self._new_held(want)
        if isinstance(self.inside, set):
            self.inside.add(held)
        else:
            self.inside = {held}
        self.entries += 1
        self.tally.entries += 1
        return held

    def _new_held(self, want: Want) -> Held:
        return Held(self, want.label, self.fence)

    def _admit_waiters(self) -> None:
        """Let in tasks for which the process has entered: one, or all that share."""
        waiter = self.queue.head
        while waiter is not None:
            after = waiter.after
            if waiter.want.group == self.group and not waiter.future.done():
                self._grant(waiter, self._admit(waiter.want))
                if not waiter.want.shared:
                    break
            waiter = after

    # -- what the node does ----------------------------------------------------------------------------

    def pump(self) -> None:
        while self.error is None and not self.era.over:
            if self.queue.first() is not None and self.lease.over():
                return  # until it goes on
            if self.node.phase == INSIDE and not self.inside:
                self._admit_waiters()
                if not self.inside:  # all have given up
                    self._leave()
            elif self.node.phase == IDLE and self.membership.serving:
                first = self.queue.first()
                if first is None:
                    return
                self._ask(first.want.group)
            else:
                return

    def _ask(self, group: int) -> None:
        self.asked = group
        self.asked_number = self._number_of(group)
        self._request(self.asked_number)
        if self.node.phase == WAITING:
            self.asked_at = self.membership.now()
            self.nudge_after = FIRST_NUDGE

    def _request(self, group: int) -> None:
        self._happen(self.seat, Asked((group,)))

    def _number_of(self, group: int) -> int:
        return self.own_groups[self.own_group] if group == ALONE else group

    def _leave(self) -> None:
        self.group = NO_GROUP
        self._happen(self.seat, Left())

    def receive(self, peer: int, message: Message) -> None:
        """A message from a peer has arrived. `ProtocolError` if it makes no sense."""
        if self.error is not None:
            self.on_unheard(peer)
            return
        self._hear(self.seat, self.numbering.process(peer), message)
        self.pump()

    def accept(self, peer: int, message: Message) -> None:
        """The same, but a message that makes no sense fails this lock alone."""
        try:
            self.receive(peer, message)
        except ProtocolError as error:
            self.distrust(error)

    def suspect(self, peer: int, away: bool) -> None:
        process = self.numbering.process(peer)
        self._happen(self.seat, Suspected(process) if away else Trusted(process))
        self.pump()

    def send(self, seat: Seat, dst: int, message: Message) -> None:
        body = self.vocabulary.encode(message)
        if dst == EVERYONE:
            for link in self.membership.links:
                if link.peer not in self.barred:
                    link.send(self.key, body)
        else:
            to = self.membership.link_to.get(self.numbering.member(dst))
            if to is not None and to.peer not in self.barred:
                to.send(self.key, body)
        self.membership.check_crowd()

    def on_effect(self, seat: Seat, effect: Effect) -> None:
        if isinstance(effect, Enter):
            self._enter(effect.fence)
        elif isinstance(effect, Eject):
            self._lose_all(OUTVOTED)

    def _enter(self, session: int) -> None:
        self.group = self.asked
        self.yielding = False
        self.sessions += 1
        self.tally.sessions += 1
        if session != self.session:
            self.session = session
            self.turn = 0
        elif self.group == ALONE:
            self.turn += 1
            if self.turn == LAST_TURN:
                self.own_group = 1 - self.own_group
        self.fence = self.membership.fence_base + (session << TURN_BITS) + self.turn if session else 0
        if self.fence > self.membership.highest:
            self.membership.remember_number(self.fence)

    def _lose_all(self, why: str) -> None:
        inside, self.inside = self.inside, NOBODY
        self.group = NO_GROUP
        for held in inside:
            held._lose(why)

    def _forget_holders(self) -> None:
        self.inside = NOBODY

    # -- sharing ---------------------------------------------------------------------------------------

    def on_nudge(self, group: int) -> None:
        """A process waits for a group. If this one is inside for another one, it admits no more tasks."""
        if self.group != NO_GROUP and group != self.asked_number:
            self.yielding = True

    def nudge_due(self, now: float) -> bool:
        """True if the others should be told, again, that this process waits."""
        if self.node.phase != WAITING or now - self.asked_at < self.nudge_after:
            return False
        self.nudge_after += min(self.nudge_after, LAST_NUDGE)
        return True

    # -- status ----------------------------------------------------------------------------------------

    def status(self) -> dict[str, object]:
        return {
            "phase": PHASES[self.node.phase],
            "group": next(iter(self.inside)).group if self.inside else None,
            "holders": len(self.inside),
            "queue": len(self.queue),
            "fence": self.fence if self.node.phase == INSIDE else None,
            "entries": self.entries,
            "sessions": self.sessions,
        }
