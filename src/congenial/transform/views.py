"""Locks in views: an algorithm that has a home, on the members of a cluster that changes.

The processes agree on views (`congenial.parts.views`), and the lock follows them. In each view a new instance of the
algorithm runs on the members, with one of them as its home. A process that is inside when the view changes stays
inside. Every member tells the home whether it is. When all have, nobody can still enter in an earlier view, and the
home begins with those that are inside: others that are compatible with them enter immediately.

A process that is not a member has lost what it held. So has one that was not a member of some view in between. It may
learn of that late; but a fence begins with the number of the view, and a resource that checks fences is safe
(`congenial.problems.epochs`). Those that join a stay from an earlier view get the fence of that stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final, cast

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import NO_GROUP, Groups
from congenial.kernel.spec import Option, Spec
from congenial.parts.homed import Homed
from congenial.parts.views import VIEW_TIMERS, View, Views
from congenial.problems.epochs import InEpochs
from congenial.problems.mutex import MUTEX
from congenial.transform.instances import Setting, combined
from congenial.transform.lock_in_views import Inherited, InView, LockInViews, SeatedLock
from congenial.transform.wrapper import Wrapper

FORGET: Final = VIEW_TIMERS  # a timer
IDLE_TIME: Final = 10.0  # after which a lock is forgotten


Holdings = tuple[tuple[str, int, int, int], ...]
"""What a process holds, of many locks: a lock's key, one of its seats if it has several, group and fence."""
ONLY_LOCK: Final = ""


@dataclass(frozen=True)
class Told(Message):
    """To a home: I have left all earlier views, and am inside of these of your locks; and, if this is the `last` such
    message, of no others. Leases of processes that are no longer members last for `rest` seconds, as far as I know, and
    my own for `lease` seconds."""

    view: int
    held: Holdings = field(metadata={"type": Holdings})
    last: bool
    rest: float = 0.0
    lease: float = 0.0


@mypyc_attr(allow_interpreted_subclasses=True)
class ViewsNode(Node):
    """A process that agrees with others on views, and does nothing else."""

    durable: ClassVar[tuple[str, ...]] = ("views",)
    made_of: ClassVar[tuple[type, ...]] = (Views,)
    rejoins: ClassVar[bool] = True

    def __init__(self, me: int, n: int, founders: int, voters: int, abouts: tuple[str, ...] = ()) -> None:
        super().__init__(me, n)
        self.views = Views(me, founders, voters, abouts)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if not self.views.receives(msg):
            raise self.unexpected(src, msg)
        self.views.receive(src, msg, out)

    def on_timer(self, timer: int, out: Out) -> None:
        self.views.on_timer(timer, out)

    def on_suspect(self, peer: int, out: Out) -> None:
        self.views.on_suspect(peer, out)

    def on_trust(self, peer: int, out: Out) -> None:
        self.views.on_trust(peer, out)

    def on_recover(self, out: Out) -> None:
        self.views.on_recover(out)

    def on_amnesia(self, out: Out) -> None:
        self.views.on_amnesia(out)


LockMessage = Told | InView | Inherited


@mypyc_attr(allow_interpreted_subclasses=True)
class InViews(Wrapper):
    """One lock in a cluster of its own. The last `visitors` processes are not members at the beginning: each joins when
    it asks for the lock, and leaves the cluster when it has left the lock. With `forget` a process starts again when it
    has not used the lock for a while."""

    messages: ClassVar[Messages] = (Told,)
    durable: ClassVar[tuple[str, ...]] = ("views",)
    rejoins: ClassVar[bool] = True
    lock_class: ClassVar[type[LockInViews]] = LockInViews
    seat_class: ClassVar[type[SeatedLock]] = SeatedLock  # for locks that a member may enter several times

    def __init__(
        self, me: int, n: int, voters: int = 5, visitors: int = 0, forget: bool = False, **settings: Setting
    ) -> None:
        texts = tuple([(name, settings[name].text) for name in sorted(settings)])
        super().__init__(me, n, type(self).lock_class(me, n, texts))
        self.views = Views(me, n - visitors, voters)
        self.visits = me >= n - visitors
        self.forgets = forget
        self.told: set[int] = set()  # at the home: members that have told
        self.later: list[tuple[int, LockMessage]] = []  # of later views: sender, message
        self.lock.begin(0, self.views.view.processes, 0, not self.visits)
        self.lock.serving = True  # nobody is inside

    @property
    def lock(self) -> LockInViews:
        return cast(LockInViews, self.inner)

    # -- the application -------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        if self.views.since() < 0 or not self.views.takes_part:
            self.views.join(out)
        self._follow(out)

    def release(self, out: Out) -> None:
        super().release(out)
        if self.lock.fences_low():
            self.views.renew(out)
        if self.visits:
            self.views.leave(out)
        if self.forgets:
            out.set_timer(FORGET, IDLE_TIME)
        self._follow(out)

    def _forget(self, out: Out) -> None:
        """The lock has not been used for a while."""
        lock = self.lock
        lock.relax(self.inner_out(out))
        if lock.is_at_rest():
            serving, member = lock.serving, lock.inner is not None
            lock.begin(lock.view, lock.members, lock.home, member, lock.floor())
            lock.serving = serving

    # -- the views -------------------------------------------------------------------------------------

    def _follow(self, out: Out) -> None:
        """If there is a new view, move the lock there."""
        if self.views.view.number > self.lock.view:
            self._move(out)

    def _move(self, out: Out) -> None:
        view, since = self.views.view, self.views.since()
        home = view.number % len(view.members)
        self.told = set()
        self.lock.move(view.number, view.processes, home, since, self.inner_out(out))
        if since >= 0:
            group, fence = self.lock.holding()
            told = Told(view.number, () if group == NO_GROUP else ((ONLY_LOCK, 0, group, fence),), True)
            if self.lock.is_home():
                self._on_told(self.me, told, out)
            else:
                out.send(view.processes[home], told)
        later = self.later
        self.later = []
        for src, msg in later:
            self._on_lock_message(src, msg, out)

    def _on_told(self, src: int, msg: Told, out: Out) -> None:
        if not self.lock.is_home():
            return
        self.told.add(src)
        for _, _, group, fence in msg.held:
            self.lock.take_over(src, group, fence)
        if len(self.told) == len(self.views.view.members):
            self.lock.serve(self.inner_out(out))

    # -- what the checker asks -------------------------------------------------------------------------

    def belief(self) -> object:
        lock = self.lock
        if not lock.holds() or not type(lock).algorithm.spec.fences:
            return (self.views.view, -1, -1, 0)
        return (self.views.view, self.me, lock.entered, lock.fence)

    def contradiction(self, one: object, other: object) -> str:
        mine, others = cast(Belief, one), cast(Belief, other)
        if mine[0].number == others[0].number and mine[0] != others[0]:
            return f"view {mine[0].number} is {mine[0]} and {others[0]}"
        return _superseded(mine, others) or _superseded(others, mine)

    # -- the world -------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, (Told, InView, Inherited)):
            self._on_lock_message(src, msg, out)
        elif self.views.receives(msg):
            self.views.receive(src, msg, out)
            self._follow(out)
        else:
            raise self.unexpected(src, msg)

    def _on_lock_message(self, src: int, msg: LockMessage, out: Out) -> None:
        if msg.view > self.views.view.number:
            self.later.append((src, msg))
        elif self.views.is_current(src, msg.view, out) and self.views.since() >= 0:
            if isinstance(msg, Told):
                self._on_told(src, msg, out)
            else:
                self.inner.receive(src, msg, self.inner_out(out))

    def on_timer(self, timer: int, out: Out) -> None:
        if timer == FORGET:
            self._forget(out)
        else:
            self.views.on_timer(timer, out)
            self._follow(out)

    def on_suspect(self, peer: int, out: Out) -> None:
        self.views.on_suspect(peer, out)
        self._follow(out)

    def on_trust(self, peer: int, out: Out) -> None:
        self.views.on_trust(peer, out)
        self._follow(out)

    def on_recover(self, out: Out) -> None:
        self.views.on_recover(out)
        self._move(out)

    def on_amnesia(self, out: Out) -> None:
        self.views.on_amnesia(out)
        self._move(out)


Belief = tuple[View, int, int, int]
"""The view; of a process that is inside its number, the view in which it entered, and its fence; else -1, -1 and 0."""


def _count(text: str, least: int, what: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise ConfigError(f"{what} must be a number of at least {least}, not {text!r}")
    return int(text)


def _superseded(early: Belief, late: Belief) -> str:
    """A process that has been a member without a gap since before it entered must not be superseded."""
    view = late[0]
    if late[2] == view.number and 0 < early[3] < late[3]:
        for process, _, _, since, _ in view.members:
            if process == early[1] and since <= early[2]:
                return f"{process} is inside with fence {early[3]}, and {late[1]} with fence {late[3]}"
    return ""


def build_voters(text: str, n: int) -> int:
    return _count(text, 1, "voters")


def build_visitors(text: str, n: int) -> int:
    visitors = _count(text, 0, "visitors")
    if visitors >= n:
        raise ConfigError(f"visitors must be fewer than the {n} processes, not {visitors}")
    return visitors


def build_forget(text: str, n: int) -> bool:
    if text not in ("yes", "no"):
        raise ConfigError(f"forget must be yes or no, not {text!r}")
    return text == "yes"


SPEC = Spec(
    name="views",
    title="in views",
    problem=None,
    reference="Congenial 2026",
    fifo=True,
    faults="crashes of a minority, with or without stable storage; partitions; false suspicions",
    options=(
        Option("voters", "5", "the most processes that vote on the next view", build_voters),
        Option("visitors", "0", "processes that join the cluster for one entry at a time", build_visitors),
        Option("forget", "no", "whether locks that are not used are forgotten", build_forget, choices=("yes", "no")),
    ),
)


LockClasses = tuple[type[LockInViews] | None, type[SeatedLock] | None]
lock_classes: dict[type[Node], LockClasses] = {}
"""For algorithms that have compiled classes of their own; for others they are made at run time."""


def in_views(algorithm: type[Node]) -> type[Node]:
    """The class of nodes that run an algorithm in views."""
    if not issubclass(algorithm, Homed):
        raise ConfigError(f"{algorithm.spec.name} cannot run in views: it has no home")
    about = {"algorithm": algorithm, "__module__": __name__}
    lock_class, seat_class = lock_classes.get(algorithm, (None, None))
    namespace = {
        "lock_class": lock_class or type(f"{algorithm.__name__}Lock", (LockInViews,), about),
        "seat_class": seat_class or type(f"{algorithm.__name__}Seat", (SeatedLock,), about),
        "spec": combined(algorithm.spec, SPEC, InEpochs(algorithm.spec.problem or MUTEX)),
        "made_of": (algorithm, LockInViews, Views),
        "__doc__": f"{algorithm.__name__}, {SPEC.title}.",
        "__module__": __name__,
    }
    return type(f"{algorithm.__name__}InViews", (InViews,), namespace)
