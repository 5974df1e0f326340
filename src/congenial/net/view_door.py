"""A lock of a cluster whose members change (`congenial.net.viewed`).

There may be very many of them, and each entry counts. So a `ViewDoor` has no seat: it calls its node itself, without a
process shell. That is only for our own algorithms (`congenial.systems.view_locks`), which only send, enter and are
ejected, and whose steps the checker has taken in a shell. A lock of any other algorithm is a `LockDoor`, which has a
seat: what the algorithm does is checked. Tests compare the two: they do the same, task by task and message by message.
Guarded objects, which are few and are never forgotten, have a seat as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import CongenialError, ContractError, IllegalStep
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE
from congenial.kernel.out import PlainOut
from congenial.kernel.problem import NO_GROUP, Problem
from congenial.kernel.state import copy_of
from congenial.net.agreement import Agreement
from congenial.net.call import Call
from congenial.net.codec import Vocabulary
from congenial.net.door import ALONE, NOBODY, Door
from congenial.net.entrance import OUTVOTED, Entrance, Era, Tally, Want
from congenial.net.errors import ProtocolError
from congenial.net.failures import Failures
from congenial.net.forms import Forms
from congenial.net.held import Held
from congenial.net.link import Link
from congenial.net.membership import Membership
from congenial.net.numbering import Numbering
from congenial.net.seat import Seat
from congenial.net.tries import Tries
from congenial.net.turn import Turn
from congenial.parts.homed import Floor
from congenial.parts.views import View
from congenial.transform.lock_in_views import Inherited, InView, LockInViews

Holding = tuple[str, int, int, int]  # as in `Told`; of a semaphore, how many it lets in stands for the group


class Followed(Protocol):
    """What all locks that follow one agreement share."""

    membership: Membership
    vocabulary: Vocabulary
    tally: Tally
    agreement: Agreement
    tries: Tries
    failures: Failures
    numbering: Numbering
    era: Era

    def again(self, entrance: Entrance) -> Entrance:
        """What has taken the place of an entrance that was forgotten."""

    def on_use(self, entrance: Entrance) -> None:
        """The entrance is in use, perhaps for a moment only."""


@mypyc_attr(allow_interpreted_subclasses=True)
class FollowingDoor(Door):
    """What moves from view to view: a lock or a guarded object, with a seat."""

    __slots__ = ("above", "listed", "lock", "swept_at", "tries")

    def __init__(self, above: Followed, key: str, name: str, lock: LockInViews, problem: Problem) -> None:
        super().__init__(above.membership, above.vocabulary, above.tally, key, name, lock, problem, above.numbering)
        self.above = above
        self.lock = lock
        self.tries = above.tries
        self.lease = above.agreement.lease
        self.era = above.era
        self.listed = False  # among the entrances that are in use
        self.swept_at = 0  # how often it had been used when it was last looked at

    @property
    def agreement(self) -> Agreement:
        return self.above.agreement

    def move(self, view: View, home: int, since: int) -> list[Holding]:
        """There is a new view; what this member holds in it. It goes on (`pump`) when its homes have been told."""
        self.era = self.above.era
        self.lease = self.above.agreement.lease
        self._happen(self.seat, Call(lambda lock, out: lock.move(view.number, view.processes, home, since, out)))
        if self.error is not None:
            return []
        group, fence = self.lock.holding()
        return [] if group == NO_GROUP else [(self.key, 0, group, fence)]

    def take_over(self, peer: int, number: int, group: int, fence: int) -> None:
        """At the home: a member is inside."""
        self._happen(self.seat, Call(lambda lock, out: lock.take_over(peer, group, fence)))

    def is_home(self) -> bool:
        return self.lock.is_home()

    def serve(self) -> None:
        """At the home: all members have told."""
        self._happen(self.seat, Call(lambda lock, out: lock.serve(out)))
        self.pump()

    def release(self, held: Held) -> None:
        super().release(held)
        if self.lock.fences_low():
            self.agreement.renew()

    def _joins(self, want: Want) -> bool:
        return want.shared and want.group == self.group and not self.lock.is_closed()

    # -- tries -----------------------------------------------------------------------------------------

    def may_try(self, want: Want) -> bool:
        """Unless a task is inside, or waits here, that does not share the lock with this one."""
        alike = want.shared and all([waiter.want.group == want.group for waiter in self.queue])
        return (alike or not self.queue) and (not self.inside or self._joins(want))

    def on_try(self, future: asyncio.Future[Held]) -> None:
        self.tries.add(self, future)

    def home(self) -> int:
        return self.lock.process(0)

    def holders(self, asker: int) -> set[int]:
        return set(self.lock.holders()) - {asker}

    def most(self) -> int:
        return 1

    def occupied(self) -> int:
        return 1 if self.inside or self.queue.first() is not None else 0

    def suspect(self, peer: int, away: bool) -> None:
        """That is for the agreement."""


@mypyc_attr(allow_interpreted_subclasses=True)
class LockDoor(FollowingDoor):
    """A lock. If nobody uses it, it can be forgotten."""

    __slots__ = ()

    def present(self) -> Entrance:
        return self.above.again(self) if self.forgotten or self.era.over else self

    def on_use(self) -> None:
        if not self.listed:
            self.above.on_use(self)

    def on_failure(self, error: CongenialError) -> None:
        self.above.failures.add(self, error)

    def is_concerned(self) -> bool:
        return len(self.queue) > 0 or not self.is_at_rest()

    def on_unheard(self, peer: int) -> None:
        self.above.failures.tell(peer, self.key)

    def _request(self, group: int) -> None:
        self.on_use()
        super()._request(group)

    def relax(self) -> None:
        """Give back what is kept for the next task."""
        self._happen(self.seat, Call(lambda lock, out: lock.relax(out)))

    def is_at_rest(self) -> bool:
        """If the node cannot say so, or not what its floor is, its lock has failed, and is not forgotten."""
        found: list[bool] = []
        self._happen(self.seat, Call(lambda lock, out: found.append(lock.is_at_rest() and len(lock.floor()) == 2)))
        return found == [True]

    def floor(self) -> Floor:
        return self.lock.floor()


class StepTools:
    """What all locks without a seat use in every step."""

    def __init__(self, out: PlainOut, turn: Turn, link_to: dict[int, Link], forms: Forms) -> None:
        self.out = out  # of each step
        self.turn = turn
        self.link_to = link_to  # by process
        self.forms = forms


class ViewDoor(LockDoor):
    """A lock without a seat."""

    __slots__ = ("tools",)

    def __init__(
        self, above: Followed, tools: StepTools, key: str, name: str, lock: LockInViews, problem: Problem
    ) -> None:
        super().__init__(above, key, name, lock, problem)
        self.tools = tools

    @property
    def out(self) -> PlainOut:
        return self.tools.out

    def _furnish(self, problem: Problem) -> None:
        """There is no seat."""

    @property
    def seats(self) -> Sequence[Seat]:
        return ()

    @property
    def idle(self) -> bool:
        return self.lock.phase == IDLE and not self.inside and not self.queue

    # -- steps of the node -----------------------------------------------------------------------------

    def _ask(self, group: int) -> None:
        self.asked = group
        number = self.asked_number = self.own_groups[self.own_group] if group == ALONE else group
        self.on_use()
        out = self.out
        try:
            self.lock.request((number,), out)
        except Exception as error:
            self._break(error, "a request")
            return
        if out.sent:
            self._carry_out()
        elif out.has_entered:  # quick: what is kept here is used again
            out.has_entered = False
            self._enter(out.fence)

    def _leave(self) -> None:
        self.group = NO_GROUP
        out = self.out
        try:
            self.lock.release(out)
        except Exception as error:
            self._break(error, "a release")
            return
        if out.sent:
            self._carry_out()

    def receive(self, peer: int, message: Message) -> None:
        if self.error is not None:
            self.on_unheard(peer)
            return
        out = self.out
        try:
            self.lock.receive(peer, message, out)
        except Exception as error:
            if isinstance(error, ContractError) and not (out.sent or out.has_entered or out.has_ejected):
                raise ProtocolError(str(error)) from None  # the node has refused it, and nothing has changed
            self._break(error, repr(message))
            raise ProtocolError(str(self.error)) from error
        self._carry_out()
        self.pump()

    def _carry_out(self) -> None:
        """What the node did in a step that has ended well."""
        out = self.out
        if out.has_entered:
            out.has_entered = False
            self._enter(out.fence)
        if out.sent:
            sent = out.sent
            out.sent = []
            for dst, message in sent:
                link = self.tools.link_to.get(dst)
                if link is not None:
                    assert isinstance(message, (InView, Inherited))
                    self._post(link, message)
        if out.has_ejected:
            out.has_ejected = False
            self._lose_all(OUTVOTED)

    def _post(self, link: Link, message: InView | Inherited) -> None:
        fence = message.fence if isinstance(message, Inherited) else 0
        body = message.body
        forms = self.tools.forms
        try:
            link.send_in_view(self.key, message.view, fence, forms.dump(body))
        except OverflowError:
            link.send_in_view(self.key, message.view, fence, forms.dump(body, wide=True))
        if link.full:
            self.membership.check_crowd()

    def _break(self, error: Exception, what: str) -> None:
        """The node has raised: it must not go on."""
        self.out.clear()
        broken = IllegalStep(f"lock {self.name!r}: {what} broke {type(self.lock).__name__}: {error!r}")
        self._fail_by(broken, error)

    def could_enter_now(self, want: Want) -> bool:
        """Found out on a copy of the node."""
        if self.queue or self.lease.over():
            return False
        if self.inside:
            return self._joins(want)
        if self.lock.phase != IDLE or not self.membership.serving:
            return False
        twin = copy_of(self.lock)
        try:
            twin.request((self._number_of(want.group),), PlainOut())
        except CongenialError:
            return False
        return twin.phase == INSIDE

    # -- from view to view -----------------------------------------------------------------------------

    def move(self, view: View, home: int, since: int) -> list[Holding]:
        """There is a new view; what this member holds in it. It goes on (`pump`) when its homes have been told."""
        self.era = self.above.era
        self.lease = self.above.agreement.lease
        self._change("a new view", lambda: self.lock.move(view.number, view.processes, home, since, self.out))
        if self.error is not None:
            return []
        group, fence = self.lock.holding()
        return [] if group == NO_GROUP else [(self.key, 0, group, fence)]

    def take_over(self, peer: int, number: int, group: int, fence: int) -> None:
        """At the home: a member is inside."""
        self._change("a holder from before", lambda: self.lock.take_over(peer, group, fence))

    def serve(self) -> None:
        """At the home: all members have told."""
        self._change("the beginning of a view", lambda: self.lock.serve(self.out))
        self.pump()

    def relax(self) -> None:
        self._change("giving back", lambda: self.lock.relax(self.out))

    def _change(self, what: str, step: Callable[[], None]) -> None:
        """A step that neither a task nor a message of the lock has caused. If the node breaks, only this lock fails."""
        if self.error is None:
            try:
                step()
            except Exception as error:
                self._break(error, what)
            else:
                self._carry_out()

    def is_at_rest(self) -> bool:
        return self.lock.is_at_rest()

    def release(self, held: Held) -> None:
        inside = self.inside
        if held not in inside:
            raise held._not_held()
        turn = self.tools.turn
        turn.depth += 1
        try:
            if len(inside) == 1:
                self.inside = NOBODY
                self._leave()
                if self.queue:
                    self.pump()
            else:
                assert isinstance(inside, set)
                inside.remove(held)
        finally:
            turn.leave_after_release()
        self.tally.add_hold(held)  # after others have been told
        if self.lock.fences_low():
            self.above.agreement.renew()
