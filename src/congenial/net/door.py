"""One lock as one process sees it: the algorithm's node, and the local tasks before it.

The node speaks for the whole process, so the tasks share it. A task enters at once if the process is inside for its
group already, or if the node can enter without waiting. Otherwise it queues. When the last task inside leaves, the
process leaves, and asks again for the task that has waited longest; so every local turn goes through the algorithm,
and is as fair to other processes as the algorithm is.

Sharing needs one more rule, or a process could stay inside for ever by always having another task to admit: a process
that has waited for a while tells the others (`Nudge`), and those inside for another group admit no newcomers.

A node cannot take a request back. When all tasks that wanted it have given up, the process enters and leaves at once.

To be alone a process asks for a group of its own (Mittal & Mohan 2007, section 1). An algorithm may take its turns in
that group for one session, with one fence, as long as nobody else comes between; the fences of its tasks must grow
all the same. So a task's fence is the session's with the turn's number below it, and when the numbers run out the
process goes on with a second group of its own, which is a new session.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from congenial.kernel.errors import CongenialError, ContractError
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, PHASES, WAITING, Node
from congenial.kernel.out import Outbox
from congenial.kernel.state import copy_of
from congenial.net.errors import ProtocolError
from congenial.net.held import Held
from congenial.net.names import writer_number

if TYPE_CHECKING:
    from congenial.net.host import Host

NO_GROUP: Final = -1
ALONE: Final = -2  # stands for the groups of which this process is the only member
TURN_BITS: Final = 12
LAST_TURN: Final = (1 << TURN_BITS) - 1
OUTVOTED: Final = "the others have gone on without this process, or too few of them are left"
FIRST_NUDGE = 0.05  # seconds of waiting before others are told; doubles, up to
LAST_NUDGE = 1.0


class Want:
    """What a task asks for: a group, and whether it shares it with other tasks of its process."""

    __slots__ = ("group", "label", "shared")

    def __init__(self, group: int, shared: bool, label: str | None) -> None:
        self.group = group
        self.shared = shared
        self.label = label


class Waiter:
    """A task in the queue."""

    __slots__ = ("future", "since", "want")

    def __init__(self, want: Want, future: asyncio.Future[Held], since: float) -> None:
        self.want = want
        self.future = future
        self.since = since


class Door:
    def __init__(self, host: Host, key: str, name: str, node: Node, offset: int) -> None:
        self.host = host
        self.key = key  # on the wire
        self.name = name
        self.node = node
        self.offset = offset  # the peer that is the node's process 0
        self.grouped = host.system.problem.groups
        self.queue: OrderedDict[Waiter, None] = OrderedDict()  # longest waiting first
        self.inside: set[Held] = set()
        self.group = NO_GROUP  # of the session we are in
        self.fence = 0
        self.session = 0  # its fence as the algorithm gave it
        self.turn = 0  # in a session for us alone
        self.own_groups = (writer_number(host.me, 0), writer_number(host.me, 1))
        self.own_group = 0  # which of them is in use
        self.asked = NO_GROUP  # what the process last asked for
        self.asked_number = 0  # and its number in the kernel
        self.asked_at = 0.0
        self.nudge_after = FIRST_NUDGE
        self.yielding = False  # someone elsewhere waits for another group
        self.error: CongenialError | None = None  # why nobody gets in any more
        self.timers: dict[int, asyncio.TimerHandle] = {}
        self.barred: set[int] = set()  # peers that are sent nothing
        self.entries = 0  # of tasks
        self.sessions = 0  # of the process

    # -- what tasks do ---------------------------------------------------------------------------------

    def enter_now(self, want: Want) -> Held | None:
        """Enter, if that takes no waiting. If it does, the process may have asked by now: queue, or `give_up`."""
        if self.queue:
            return None
        if self.inside:
            return self._admit(want) if self._joins(want) else None
        if self.node.phase == IDLE and self.host.serving and self._ask(want.group):
            return self._admit(want)
        return None

    def could_enter_now(self, want: Want) -> bool:
        """Whether `enter_now` would, found out on a copy of the node and without asking anybody."""
        if self.queue or self.inside:
            return not self.queue and self._joins(want)
        if self.node.phase != IDLE or not self.host.serving:
            return False
        out = Outbox()
        number = self.own_groups[self.own_group] if want.group == ALONE else want.group
        copy_of(self.node).request((number,), out)
        return out.entered is not None

    def enqueue(self, waiter: Waiter) -> None:
        if self.error is not None:
            raise self.error
        self.queue[waiter] = None
        self.pump()

    def give_up(self, waiter: Waiter) -> None:
        self.queue.pop(waiter, None)

    def release(self, held: Held) -> None:
        try:
            self.inside.remove(held)
        except KeyError:
            raise held.not_held() from None
        if not self.inside:
            self._leave()
            self.host.flush()

    def _joins(self, want: Want) -> bool:
        return want.shared and want.group == self.group and not self.yielding

    def _admit(self, want: Want) -> Held:
        held = Held(self, want, self.fence)
        self.inside.add(held)
        self.entries += 1
        return held

    def _admit_waiters(self) -> None:
        """Let in those for whom the process has entered: one, or all who share."""
        admitted: list[Waiter] = []
        for waiter in self.queue:
            if waiter.want.group == self.group and not waiter.future.done():
                admitted.append(waiter)
                if not waiter.want.shared:
                    break
        now = self.host.now()
        for waiter in admitted:
            del self.queue[waiter]
            self.host.waited(now - waiter.since)
            waiter.future.set_result(self._admit(waiter.want))
        if not self.inside:  # all have given up
            self._leave()

    # -- what the node does ----------------------------------------------------------------------------

    def pump(self) -> None:
        """If the process can ask for someone, ask for the one who has waited longest."""
        while self.queue and self.node.phase == IDLE and self.host.serving and self.error is None:
            first = next(iter(self.queue))
            if first.future.done():
                del self.queue[first]
            elif self._ask(first.want.group):
                self._admit_waiters()

    def _ask(self, group: int) -> bool:
        """Ask for a group; whether that was enough to enter."""
        out = Outbox()
        self.asked = group
        self.asked_number = self.own_groups[self.own_group] if group == ALONE else group
        self.node.request((self.asked_number,), out)
        self.host.carry(self, out)
        if out.entered is not None:
            self._enter(out.entered[1])
            return True
        self.asked_at = self.host.now()
        self.nudge_after = FIRST_NUDGE
        return False

    def _enter(self, session: int) -> None:
        self.group = self.asked
        self.yielding = False
        self.sessions += 1
        if session != self.session:
            self.session = session
            self.turn = 0
        elif self.group == ALONE:
            self.turn += 1
            if self.turn == LAST_TURN:
                self.own_group = 1 - self.own_group
        self.fence = self.host.fence_base + (session << TURN_BITS) + self.turn if session else 0

    def _leave(self) -> None:
        out = Outbox()
        self.group = NO_GROUP
        self.node.release(out)
        self.host.carry(self, out)
        if self.queue:
            self.pump()

    def receive(self, src: int, message: Message) -> None:
        if self.error is not None:
            return
        out = Outbox()
        try:
            self.node.receive(src, message, out)
        except ContractError as error:  # the node is as it was
            raise ProtocolError(str(error)) from None
        except Exception as error:  # the node may be anything: it must not go on
            broken = ProtocolError(f"lock {self.name!r}: {message!r} broke {type(self.node).__name__}: {error!r}")
            self.fail(broken)
            raise broken from error
        self.finish(out)

    def recover(self) -> None:
        """Tell the node what it was in an earlier life."""
        out = Outbox()
        self.host.recover(self.node, f"lock {self.key}", out)
        self.finish(out)

    def suspect(self, peer: int, away: bool) -> None:
        """A peer is believed to be away, or back."""
        if self.error is None:
            out = Outbox()
            process = (peer - self.offset) % self.host.n
            if away:
                self.node.on_suspect(process, out)
            else:
                self.node.on_trust(process, out)
            self.finish(out)

    def finish(self, out: Outbox) -> None:
        """Make what a step did happen."""
        self.host.carry(self, out)
        if out.ejected:
            self._lose_all(OUTVOTED)
        if out.entered is not None and self.node.phase == INSIDE:  # and was not thrown out in the same step
            self._enter(out.entered[1])
            self._admit_waiters()
        if out.ejected:
            self.pump()

    def _lose_all(self, why: str) -> None:
        inside, self.inside = self.inside, set()
        self.group = NO_GROUP
        for held in inside:
            held._lose(why)

    def nudged(self, group: int) -> None:
        """Someone waits for a group. Those who are inside for another admit no more."""
        if self.group != NO_GROUP and group != self.asked_number:
            self.yielding = True

    def fail(self, error: CongenialError) -> None:
        """Nobody gets in any more, and those inside have lost it."""
        self.error = error
        for waiter in self.queue:
            if not waiter.future.done():
                waiter.future.set_exception(error)
        self.queue.clear()
        self._lose_all(str(error))

    def stop_timers(self) -> None:
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()

    # -- being looked at -------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        return self.name

    @property
    def idle(self) -> bool:
        """Nobody is inside, waits, or has a request under way."""
        return not self.inside and not self.queue and self.node.phase == IDLE

    @property
    def waiting(self) -> bool:
        return self.node.phase == WAITING

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
