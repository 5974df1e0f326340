"""Locks in views: an algorithm that has a home, on the members of a cluster that changes.

The processes agree on views (`congenial.parts.views`), and the lock follows them. In each view a new instance of the
algorithm runs on the members, with one of them as its home. A process that is inside when the view changes stays
inside. Every member tells the home whether it is. When all have, nobody can enter in an earlier view any more, and the
home begins with those that are inside: others that are compatible with them enter at once.

A process that is not a member has lost what it held. So has one that was not a member of some view in between. It may
learn of that late; but a fence begins with the number of the view, and a resource that checks fences is safe
(`congenial.problems.epochs`). Those that join a stay from an earlier view get the fence of that stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final, cast

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import NO_GROUP, Groups
from congenial.kernel.spec import Option, Spec
from congenial.parts.loopback import Loopback
from congenial.parts.views import Views
from congenial.problems.epochs import EPOCH_BITS, InEpochs
from congenial.problems.mutex import MUTEX
from congenial.transform.instances import Setting, SettingBuilder, settled
from congenial.transform.wrapper import Wrapper

LAST_FENCE: Final = (1 << EPOCH_BITS) - 1  # within a view; from the middle on, the next view is asked for
OUTSIDE: Final = -1


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


@dataclass(frozen=True)
class Told(Message):
    """To the home: I have left all earlier views, and am inside for this group (if any), with this fence."""

    view: int
    group: int
    fence: int


@mypyc_attr(allow_interpreted_subclasses=True)
class LockInViews(Loopback):
    """The lock at one process. Whoever has it calls `move` for each new view and then, at the home, `take_over` for each
    member that is inside and `serve` when all have told."""

    messages: ClassVar[Messages] = (InView, Inherited)
    algorithm: ClassVar[type[Node]] = Node

    def __init__(self, me: int, n: int, settings: tuple[tuple[str, str], ...]) -> None:
        super().__init__(me, n)
        self.settings = settings
        self.view = -1
        self.members: tuple[int, ...] = ()  # of the view
        self.home = 0  # its place among them
        self.inner: Node | None = None  # while I am a member
        self.serving = False  # at the home: all have told
        self.early: list[tuple[int, Message]] = []  # messages to the home before that
        self.wants: Groups = ()  # what the application waits for
        self.entered = OUTSIDE  # the view in which the application entered
        self.group = NO_GROUP  # and for what
        self.fence = 0
        self.inherited = 0  # the fence of the stay with which this view began, if I know of it

    # -- from view to view -----------------------------------------------------------------------------

    def move(self, view: int, members: tuple[int, ...], home: int, since: int, out: Out) -> None:
        """There is a new view, of which I have been a member without a gap since another one (-1: I am none)."""
        if self.phase == INSIDE and not 0 <= since <= self.entered:
            self.lose(out)
        self.begin(view, members, home, since >= 0)
        if self.inner is not None and self.phase == INSIDE:
            self.inherited = self.fence
            self.inner.resume(self.group)
        else:
            self._ask(out)

    def begin(self, view: int, members: tuple[int, ...], home: int, member: bool) -> None:
        self.view = view
        self.members = members
        self.home = home
        self.inner = self._new_inner() if member else None
        self.serving = False
        self.early = []
        self.inherited = 0

    def is_home(self) -> bool:
        return self.inner is not None and self.inner.me == 0

    def holding(self) -> tuple[int, int]:
        """The group for which I am inside, and my fence."""
        return (self.group, self.fence) if self.phase == INSIDE else (NO_GROUP, 0)

    def take_over(self, process: int, group: int, fence: int) -> None:
        """At the home: a member is inside."""
        assert self.inner is not None
        self.inherited = fence
        self.inner.inherit(self.place(process), group)

    def serve(self, out: Out) -> None:
        """At the home: all members have told."""
        self.serving = True
        self._ask(out)
        early = self.early
        self.early = []
        for src, body in early:
            self._hand_in(src, body, out)

    def _new_inner(self) -> Node:
        arguments = settled(type(self).algorithm, len(self.members), self.settings).arguments
        return type(self).algorithm(self.place(self.me), len(self.members), **arguments)

    def place(self, process: int) -> int:
        """A member's number in the instance: the home is 0. -1 for others."""
        if process not in self.members:
            return -1
        return (self.members.index(process) - self.home) % len(self.members)

    def process(self, place: int) -> int:
        return self.members[(place + self.home) % len(self.members)]

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

    def could_enter(self) -> bool:
        return self.inner is not None and self.inner.could_enter()

    def admit(self, group: int, fence: int, out: Out) -> None:
        """The inner node has entered. If the fences of this view are used up, wait for the next one."""
        if fence <= LAST_FENCE:
            self.wants = ()
            self.entered = self.view
            self.group = group
            self.fence = self.view << EPOCH_BITS | fence if fence else self.inherited
            self.enter(out, self.fence, group)

    def fences_low(self) -> bool:
        """Is another view needed soon?"""
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
    """Passes on what the inner node does, with the real numbers of processes."""

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


@mypyc_attr(allow_interpreted_subclasses=True)
class InViews(Wrapper):
    """One lock in a cluster of its own. The last `visitors` processes are no members at the beginning: each joins when
    it asks for the lock, and leaves the cluster when it has left the lock."""

    messages: ClassVar[Messages] = (Told,)
    durable: ClassVar[tuple[str, ...]] = ("views",)
    rejoins: ClassVar[bool] = True
    lock_class: ClassVar[type[LockInViews]] = LockInViews

    def __init__(self, me: int, n: int, voters: int = 5, visitors: int = 0, **settings: Setting) -> None:
        texts = tuple([(name, settings[name].text) for name in sorted(settings)])
        super().__init__(me, n, type(self).lock_class(me, n, texts))
        self.views = Views(me, n - visitors, voters)
        self.visits = me >= n - visitors
        self.told: set[int] = set()  # at the home: members that have told
        self.later: list[tuple[int, int, Message]] = []  # of later views: view, sender, message
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
        self._follow(out)

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
            told = Told(view.number, *self.lock.holding())
            if self.lock.is_home():
                self._on_told(self.me, told, out)
            else:
                out.send(view.processes[home], told)
        later = self.later
        self.later = []
        for number, src, msg in later:
            self._on_lock_message(src, number, msg, out)

    def _on_told(self, src: int, msg: Told, out: Out) -> None:
        if not self.lock.is_home():
            return
        self.told.add(src)
        if msg.group != NO_GROUP:
            self.lock.take_over(src, msg.group, msg.fence)
        if len(self.told) == len(self.views.view.members):
            self.lock.serve(self.inner_out(out))

    # -- the world -------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, (Told, InView, Inherited)):
            self._on_lock_message(src, msg.view, msg, out)
        elif self.views.receives(msg):
            self.views.receive(src, msg, out)
            self._follow(out)
        else:
            raise self.unexpected(src, msg)

    def _on_lock_message(self, src: int, view: int, msg: Message, out: Out) -> None:
        if view > self.views.view.number:
            self.later.append((view, src, msg))
        elif self.views.is_current(src, view, out) and self.views.since() >= 0:
            if isinstance(msg, Told):
                self._on_told(src, msg, out)
            else:
                self.inner.receive(src, msg, self.inner_out(out))

    def on_timer(self, timer: int, out: Out) -> None:
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


def _count(text: str, least: int, what: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise ConfigError(f"{what} must be a number of at least {least}, not {text!r}")
    return int(text)


def build_voters(text: str, n: int) -> int:
    return _count(text, 1, "voters")


def build_visitors(text: str, n: int) -> int:
    visitors = _count(text, 0, "visitors")
    if visitors >= n:
        raise ConfigError(f"visitors must be fewer than the {n} processes, not {visitors}")
    return visitors


SPEC = Spec(
    name="views",
    title="in views",
    problem=None,
    reference="Congenial 2026",
    fifo=True,
    faults="crashes of a minority of the voters, with or without stable storage; partitions; false suspicions",
    options=(
        Option("voters", "5", "the most processes that vote on the next view", build_voters),
        Option("visitors", "0", "processes that join the cluster for one entry at a time", build_visitors),
    ),
)


def in_views(algorithm: type[Node]) -> type[Node]:
    """The class of nodes that run an algorithm in views."""
    inner = algorithm.spec
    if not algorithm.heritable:
        raise ConfigError(f"{inner.name} cannot run in views: it cannot begin while processes are inside")
    combined = replace(
        SPEC,
        name=f"{inner.name}+{SPEC.name}",
        title=f"{inner.title}, {SPEC.title}",
        problem=InEpochs(inner.problem or MUTEX),
        fences=True,
        size=inner.size,
        concurrency=inner.concurrency,
        concurrent_entry=inner.concurrent_entry,
        options=(*[replace(option, build=SettingBuilder(option)) for option in inner.options], *SPEC.options),
    )
    lock = type(f"{algorithm.__name__}Lock", (LockInViews,), {"algorithm": algorithm, "__module__": __name__})
    namespace = {
        "lock_class": lock,
        "spec": combined,
        "made_of": (algorithm, LockInViews, Views),
        "__doc__": f"{algorithm.__name__}, {SPEC.title}.",
        "__module__": __name__,
    }
    return type(f"{algorithm.__name__}InViews", (InViews,), namespace)
