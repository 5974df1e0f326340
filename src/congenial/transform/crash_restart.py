"""Crash and restart: any exclusion algorithm, made to survive crashes by restarting it with the remaining processes.

A process that learns of a crash tells the coordinator, the smallest remaining process in its view, which processes it
takes for failed (`Notify`). When all remaining processes agree, the coordinator has every process abort the algorithm
and make a new instance (`Restart`); a process that is inside does so when it has left. They answer with what they wait
for (`Done`). Those old requests are served first, one batch of compatible ones after the other. The coordinator tells
each process for which batch it waits (`Start`), and a process that leaves tells the next batch (`Leave`), or at the end
the coordinator. Then the new instance starts to work (`Resume`). A crash in the meantime changes the view of all
processes, and leads to a restart with fewer of them, by the same coordinator or the next.

Followed: Mittal & Mohan 2007, section 5.3. It needs the perfect failure detector of section 5.3.1: a suspected process
has crashed permanently. It does not depend on what a crashed process has sent, which may arrive late or never: a
message counts for the instance or the restart that it names, whether its sender is still alive or not.

An instance is numbered by how many processes have failed before it ("the number of processes participating", counted
the other way round, so that numbers grow). That is enough: of two views that all remaining processes have agreed on,
one contains the other. Fences grow through the paper's tags (section 5.3.3): the instance, whether it is at work, and
within that the batch, or the fence that the algorithm gives. (Several holders of entries of a semaphore have no order:
no fence.)

Decided here, where the text leaves it open:
- START goes to all processes that have an old request, not only to the first batch, since the others have to know for
  which to wait and which to tell. The cost of section 5.3.4 counts it like that.
- A process takes no further part in a restart that a later crash, in its own view, has made obsolete.
- A message of the new instance that arrives before RESUME counts as RESUME: its sender has received one.
- Requests conflict as the problem says: old requests for mutual exclusion are served one by one, k at a time where k
  may be inside, and a request for any of several groups joins the first batch that suits it.
- A process that recovers after a crash stays out forever, and its requests are never granted: others may hold what it
  believes to hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec
from congenial.problems.mutex import MUTEX
from congenial.transform.instances import OWN_TIMERS, Inside, Instances, Setting, transformed

TAG_BITS: Final = 32  # the lower bits of a fence, which count within a tag

Processes = tuple[int, ...]

SPEC = Spec(
    name="restart",
    title="restarted after crashes",
    problem=None,
    reference="Mittal & Mohan 2007, section 5.3",
    faults="crashes for good of all but one, detected without error",
    flaws=(
        "a false suspicion can admit two processes: use epochs where detectors err",
        "a process that recovers after a crash is never served again",
    ),
)


@dataclass(frozen=True)
class Notify(Message):
    failed: Processes


@dataclass(frozen=True)
class Restart(Message):
    failed: Processes


@dataclass(frozen=True)
class Done(Message):
    """I have left all earlier instances; `wants` is my old request, if I have one."""

    instance: int
    wants: Groups


@dataclass(frozen=True)
class Start(Message):
    """Enter for `group` when all of the batch `before` have left; when you leave tell those `after` you."""

    instance: int
    batch: int
    group: int
    before: Processes
    after: Processes


@dataclass(frozen=True)
class Leave(Message):
    instance: int


@dataclass(frozen=True)
class Resume(Message):
    instance: int


@mypyc_attr(allow_interpreted_subclasses=True)
class CrashRestart(Instances):
    """`instance`, of the base class, is the number of processes that have failed before it was made. After a restart it
    runs again from RESUME on."""

    messages: ClassVar[Messages] = (*Instances.messages, Notify, Restart, Done, Start, Leave, Resume)

    def __init__(self, me: int, n: int, **settings: Setting) -> None:
        super().__init__(me, n, **settings)
        self.failed: Processes = ()  # in my view; it only grows
        self.deferred = False  # RESTART has arrived, but the application is inside
        self.turn: Start | None = None  # the turn of my old request
        self.left: set[int] = set()  # processes of the batch before mine that have left
        self.stays_out = False  # I have crashed
        # used by the coordinator
        self.views: dict[int, Processes] = {}  # the processes that each other process takes for failed
        self.agreeing: set[int] = set()  # the processes whose view equals mine
        self.restarting = 0  # the instance of my last RESTART
        self.done: dict[int, Groups] = {}
        self.last: set[int] = set()  # processes of the last batch that have not left

    # -- the application -------------------------------------------------------------------------------

    def release(self, out: Out) -> None:
        self.leave()
        turn = self.turn
        self.turn = None
        if self.deferred:
            self._restart(out)
        elif turn is None:
            self.inner.release(self.inner_out(out))
        else:
            for process in turn.after:
                self._tell(process, Leave(self.instance), out)

    def could_enter(self) -> bool:
        return self.running and self.inner.could_enter()

    def admit(self, group: int, fence: int, out: Out) -> None:
        self.wants = ()
        self.enter(out, 2 * self.instance << TAG_BITS | fence if fence else 0, group)

    def _admit_old(self, turn: Start, out: Out) -> None:
        problem = self.inner_problem()
        fence = 2 * self.instance - 1 << TAG_BITS | turn.batch + 1
        self.wants = ()
        self.enter(out, fence if problem.groups or problem.capacity == 1 else 0, turn.group)

    # -- the remaining processes and their coordinator -------------------------------------------------

    def on_suspect(self, peer: int, out: Out) -> None:
        if self.stays_out or peer in self.failed:
            return
        self.failed = tuple(sorted([*self.failed, peer]))
        self.deferred = False
        self.agreeing = {process for process in self.views if self.views[process] == self.failed}
        self._tell(self.coordinator(), Notify(self.failed), out)

    def coordinator(self) -> int:
        for place, process in enumerate(self.failed):
            if place != process:
                return place
        return len(self.failed)

    def on_recover(self, out: Out) -> None:
        self.stays_out = True
        self.running = False

    # -- phase 1: all make a new instance -------------------------------------------------------

    def _on_notify(self, src: int, msg: Notify, out: Out) -> None:
        if len(msg.failed) <= len(self.views.get(src, ())):
            return  # a later one has arrived before
        self.views[src] = msg.failed
        if msg.failed == self.failed:
            self.agreeing.add(src)
            if len(self.agreeing) == self.n - len(self.failed) and self.coordinator() == self.me:
                self._restart_all(out)

    def _restart_all(self, out: Out) -> None:
        self.restarting = len(self.failed)
        self.done = {}
        for process in sorted(self.agreeing):
            if process != self.me:
                out.send(process, Restart(self.failed))
        self._on_restart(self.me, Restart(self.failed), out)

    def _on_restart(self, src: int, msg: Restart, out: Out) -> None:
        if msg.failed == self.failed and src == self.coordinator():
            if self.phase == INSIDE:
                self.deferred = True
            else:
                self._restart(out)
        elif not set(msg.failed) < set(self.failed):
            raise self.unexpected(src, msg)

    def _restart(self, out: Out) -> None:
        gone = set(self.failed)
        self.begin(len(gone), tuple([process for process in range(self.n) if process not in gone]), out)
        self.running = False
        self.deferred = False
        self.turn = None
        self.left = set()
        self.last = set()
        self._tell(self.coordinator(), Done(self.instance, self.wants), out)

    # -- phase 2: the old requests, batch by batch -----------------------------------------------------

    def _on_done(self, src: int, msg: Done, out: Out) -> None:
        if msg.instance > self.restarting:
            raise self.unexpected(src, msg)
        if msg.instance == self.restarting:
            self.done[src] = msg.wants
            if len(self.done) == len(self.members):
                self._serve_old(out)

    def _serve_old(self, out: Out) -> None:
        groups, batches = self._batches()
        if not batches:
            self._resume_all(out)
            return
        self.last = set(batches[-1])
        batches.append((self.me,))
        before: Processes = ()
        for number, group in enumerate(groups):
            for process in batches[number]:
                self._tell(process, Start(self.instance, number, group, before, batches[number + 1]), out)
            before = batches[number]

    def _batches(self) -> tuple[list[int], list[Processes]]:
        """The group of each batch, and its processes."""
        problem = self.inner_problem()
        groups: list[int] = []
        batches: list[list[int]] = []
        latest: dict[int, int] = {}  # the last batch of each group
        for process in sorted(self.done):
            if not self.done[process]:
                continue
            suitable = self.done[process] if problem.groups else (0,)
            batch = -1
            for group in suitable:
                found = latest.get(group, -1)
                if batch < 0 and found >= 0 and problem.admits(len(batches[found]), group, group):
                    batch = found
            if batch >= 0:
                batches[batch].append(process)
            else:
                latest[suitable[0]] = len(batches)
                groups.append(suitable[0])
                batches.append([process])
        return groups, [tuple(batch) for batch in batches]

    def _on_start(self, msg: Start, out: Out) -> None:
        self.turn = msg
        self._take_turn(out)

    def _on_leave(self, src: int, out: Out) -> None:
        if src in self.last:
            self.last.remove(src)
            if not self.last:
                self._resume_all(out)
        else:
            self.left.add(src)
            self._take_turn(out)

    def _take_turn(self, out: Out) -> None:
        turn = self.turn
        if turn is not None and len(self.left) == len(turn.before):
            self._admit_old(turn, out)

    # -- phase 3: the new instance goes to work --------------------------------------------------------

    def _resume_all(self, out: Out) -> None:
        for process in self.members:
            self._tell(process, Resume(self.instance), out)

    def _resume(self, out: Out) -> None:
        if not self.running:
            self.running = True
            if self.phase == WAITING:
                self.inner.request(self.wants, self.inner_out(out))

    def _on_inside(self, src: int, msg: Inside, out: Out) -> None:
        if self.place(src) >= 0:  # always true, unless a process was suspected that is alive
            self._resume(out)
            self.hand_in(src, msg.body, out)

    # -- messages and timers ---------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if self.stays_out:
            return
        if isinstance(msg, Notify):
            self._on_notify(src, msg, out)
        elif isinstance(msg, Restart):
            self._on_restart(src, msg, out)
        elif isinstance(msg, Done):
            self._on_done(src, msg, out)
        elif isinstance(msg, (Inside, Start, Leave, Resume)):
            if msg.instance > self.instance:
                raise self.unexpected(src, msg)
            if msg.instance == self.instance:
                self._on_present(src, msg, out)
        else:
            raise self.unexpected(src, msg)

    def _on_present(self, src: int, msg: Message, out: Out) -> None:
        """A message of the current instance; those of earlier ones no longer count."""
        if isinstance(msg, Inside):
            self._on_inside(src, msg, out)
        elif isinstance(msg, Start):
            self._on_start(msg, out)
        elif isinstance(msg, Leave):
            self._on_leave(src, out)
        else:
            self._resume(out)

    def on_timer(self, timer: int, out: Out) -> None:
        if timer >= OWN_TIMERS:
            self.on_inner_timer(timer, out)


def restarted(algorithm: type[Node]) -> type[Node]:
    """The class of nodes that run an algorithm, and restart it after crashes. While nothing fails it costs what the
    algorithm costs (section 5.3.5)."""
    inner = algorithm.spec
    spec = replace(
        SPEC, messages=inner.messages, waiting=inner.waiting, sync_delay=inner.sync_delay, patient=inner.patient
    )
    return transformed(algorithm, CrashRestart, spec, inner.problem or MUTEX)
