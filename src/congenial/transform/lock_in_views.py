"""One lock at one process of a cluster whose members change.

In each view a new instance of the algorithm runs on the members, with one of them as its home. A process that is inside
when the view changes stays inside, unless it was not a member all the time. The home begins when all members have told
it what they hold (`congenial.transform.views` says how), with those that are inside. What comes before that waits.
Processes that waited ask again, and the home hears all of them before it lets anybody in: if views change often, those
that ask it first must not always be the first to enter.

A fence is made of the number of the view and the algorithm's fence. Those that join a stay from an earlier view get the
fence of that stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import IllegalStep
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import NO_GROUP, Groups
from congenial.parts.homed import Floor, Homed
from congenial.problems.epochs import EPOCH_BITS, LAST_FENCE
from congenial.transform.instances import settled

NO_FLOOR: Final = (0, 0)
GOLDEN: Final = 0.6180339887  # with it a lot modulo k is not always the same, even if only each k-th view counts


@dataclass(frozen=True)
class InView(Message):
    """A message of the algorithm."""

    view: int
    body: Message


@dataclass(frozen=True)
class Inherited(Message):
    """The same from a home that has begun with a stay from an earlier view, which had this fence."""

    view: int
    fence: int
    body: Message


@mypyc_attr(allow_interpreted_subclasses=True)
class LockInViews(Node):
    """The owner of the lock calls `move` for each new view and then, at the home, `take_over` for each member that is
    inside and `serve` when all have told."""

    messages: ClassVar[Messages] = (InView, Inherited)
    rejoins: ClassVar[bool] = True
    algorithm: ClassVar[type[Homed]] = Homed

    def __init__(self, me: int, n: int, settings: tuple[tuple[str, str], ...]) -> None:
        super().__init__(me, n)
        self.settings = settings
        self.view = -1
        self.members: tuple[int, ...] = ()  # of the view
        self.home = 0  # its place among them
        self.inner: Homed | None = None  # while I am a member
        self.serving = False  # at the home: all have told
        self.early: list[tuple[int, Message]] = []  # messages to the home before that
        self.wants: Groups = ()  # what the application waits for
        self.entered = -1  # the view in which the application entered
        self.group = NO_GROUP  # and for what
        self.fence = 0
        self.inherited = 0  # the fence of the stay with which this view began, if I know of it

    # -- from view to view -----------------------------------------------------------------------------

    def move(self, view: int, members: tuple[int, ...], home: int, since: int, out: Out) -> None:
        """There is a new view, of which I have been a member without a gap since another one (-1: I am none)."""
        if self.holds() and not 0 <= since <= self.entered:
            self.lose(out)
        self.begin(view, members, home, since >= 0)
        if self.inner is not None and self.holds():
            self.inherited = self.fence
            self.inner.resume(self.group)
        else:
            self._ask(out)

    def begin(self, view: int, members: tuple[int, ...], home: int, member: bool, floor: Floor = NO_FLOOR) -> None:
        """Begin again in a view. The home goes on above the floor. For others it says nothing: it may be that of
        another lock, whose home they are."""
        self.view = view
        self.members = members
        self.home = home
        self.inner = self._new_inner() if member else None
        self.serving = False
        self.early = []
        self.inherited = 0
        if self.inner is not None:
            self.inner.begin_above(floor if self.is_home() else NO_FLOOR)

    def is_home(self) -> bool:
        return self.inner is not None and self.inner.me == 0

    def holds(self) -> bool:
        return self.phase == INSIDE

    def holding(self) -> tuple[int, int]:
        """The group for which I am inside, and my fence."""
        return (self.group, self.fence) if self.holds() else (NO_GROUP, 0)

    def take_over(self, process: int, group: int, fence: int) -> None:
        """At the home: a member is inside."""
        assert self.inner is not None
        self.inherited = fence
        self.inner.inherit(self.place(process), group)

    def serve(self, out: Out) -> None:
        """At the home: all members have told."""
        assert self.inner is not None
        self.serving = True
        self.inner.gather()
        self._ask(out)
        early = self.early
        self.early = []
        for src, body in early:
            self._hand_in(src, body, out)
        self.inner.serve(int(self.view * GOLDEN), LockOut(self, out))

    # -- a lock that nobody uses -----------------------------------------------------------------------

    def relax(self, out: Out) -> None:
        """Give back what is kept for the next entry."""
        if self.inner is not None and self.phase == IDLE:
            self.inner.relax(LockOut(self, out))

    def is_at_rest(self) -> bool:
        """True if this lock may `begin` again, above its `floor`."""
        if self.phase != IDLE or self.inner is None:
            return self.phase == IDLE
        return self.inner.is_at_rest() and (self.serving or not self.is_home())

    def floor(self) -> Floor:
        return NO_FLOOR if self.inner is None else self.inner.floor()

    # -- the members -----------------------------------------------------------------------------------

    def _new_inner(self) -> Homed:
        arguments = settled(type(self).algorithm, self._size(), self.settings).arguments
        return type(self).algorithm(self.place(self.me), self._size(), **arguments)

    def _size(self) -> int:
        """How many processes the algorithm runs on."""
        return len(self.members)

    def place(self, process: int) -> int:
        """A member's number in the instance: the home is 0. -1 for others."""
        if process not in self.members:
            return -1
        return (self.members.index(process) - self.home) % len(self.members)

    def process(self, place: int) -> int:
        count = len(self.members)
        if place < 0 or place >= count:
            raise IllegalStep(f"process {self.me} sends to place {place} of {count}, which is no other process")
        at = place + self.home
        return self.members[at if at < count else at - count]

    # -- the application -------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.wants = groups
        self._ask(out)

    def _ask(self, out: Out) -> None:
        """Ask in the current view for what the application waits for. The home asks when it serves."""
        if self.inner is not None and self.phase == WAITING and (self.serving or not self.is_home()):
            self.inner.request(self.wants, LockOut(self, out))

    def release(self, out: Out) -> None:
        self.leave()
        if self.inner is not None:
            self.inner.release(LockOut(self, out))

    def holders(self) -> list[int]:
        """At the home: the processes that it has let in."""
        return [] if self.inner is None else [self.process(place) for place in self.inner.holders()]

    def is_closed(self) -> bool:
        """While this process is inside: does another one wait that cannot share its stay?"""
        return self.inner is not None and self.inner.is_closed()

    def could_enter(self) -> bool:
        return self.inner is not None and self.inner.could_enter()

    def admit(self, group: int, fence: int, out: Out) -> None:
        """The inner node has entered. If the fences of this view are used up, wait for the next one."""
        if fence <= LAST_FENCE:
            self.wants = ()
            self.entered = self.view
            self.group = group
            self.fence = self._fence_from(fence)
            self.enter(out, self.fence, group)

    def _fence_from(self, fence: int) -> int:
        """The inner node's fence after the number of the view, or that of the stay with which this view began. An
        algorithm that gives no fences has the number of the view alone."""
        if fence or not type(self).algorithm.spec.fences:
            return self.view << EPOCH_BITS | fence
        return self.inherited

    def fences_low(self) -> bool:
        """True if another view is needed soon."""
        return self.fence - (self.view << EPOCH_BITS) > LAST_FENCE // 2

    # -- messages --------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        """A message of the current view."""
        if isinstance(msg, Inherited):
            self.inherited = msg.fence
            self._on_body(src, msg.body, out)
        elif isinstance(msg, InView):
            self._on_body(src, msg.body, out)
        else:
            raise self.unexpected(src, msg)

    def _on_body(self, src: int, body: Message, out: Out) -> None:
        if self.is_home() and not self.serving:
            self.early.append((src, body))
        elif self.inner is not None:
            self._hand_in(src, body, out)

    def _hand_in(self, src: int, body: Message, out: Out) -> None:
        assert self.inner is not None
        self.inner.receive(self.place(src), body, LockOut(self, out))


@mypyc_attr(allow_interpreted_subclasses=True)
class LockOut(Out):
    """Passes on what the inner node does, with the real numbers of processes. `congenial.parts.homed` says what it may
    do: anything else is an illegal step, wherever the lock runs."""

    def __init__(self, lock: LockInViews, out: Out) -> None:
        self.lock = lock
        self.out = out

    def send(self, dst: int, msg: Message) -> None:
        lock = self.lock
        wrapped: Message = InView(lock.view, msg)
        if lock.inherited and lock.is_home():
            wrapped = Inherited(lock.view, lock.inherited, msg)
        self.out.send(lock.process(dst), wrapped)

    def enter(self, group: int, fence: int) -> None:
        self.lock.admit(group, fence, self.out)

    def _not(self, what: str) -> IllegalStep:
        return IllegalStep(
            f"process {self.lock.me}: a lock in views can only send to one process at a time and enter, not {what}"
        )

    def broadcast(self, msg: Message) -> None:
        raise self._not("broadcast")

    def eject(self) -> None:
        raise self._not("eject")

    def execute(self, issuer: int, number: int, operation: object, result: object) -> None:
        raise self._not("execute")

    def answer(self, number: int, result: object) -> None:
        raise self._not("answer")

    def restore(self, count: int) -> None:
        raise self._not("restore")

    def rest(self) -> None:
        raise self._not("rest")

    def set_timer(self, timer: int, delay: float) -> None:
        raise self._not("set a timer")

    def cancel_timer(self, timer: int) -> None:
        raise self._not("cancel a timer")

    def choose(self, options: int) -> int:
        raise self._not("choose")

    def save(self) -> None:
        raise self._not("save")


@mypyc_attr(allow_interpreted_subclasses=True)
class SeatedLock(LockInViews):
    """A lock that may be entered several times by one member: each member has so many `seats`, and each seat is a
    process of the algorithm. The processes of `members` members are numbered seat by seat."""

    def __init__(self, member: int, members: int, seat: int, seats: int, settings: tuple[tuple[str, str], ...]) -> None:
        super().__init__(seat * members + member, seats * members, settings)
        self.all_members = members
        self.seats = seats

    def place(self, process: int) -> int:
        seat, member = divmod(process, self.all_members)
        place = super().place(member)
        return place if place < 0 else seat * len(self.members) + place

    def process(self, place: int) -> int:
        seat, member = divmod(place, len(self.members))
        return seat * self.all_members + super().process(member)

    def _size(self) -> int:
        return self.seats * len(self.members)
