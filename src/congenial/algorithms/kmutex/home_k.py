"""HomeK: a home lends k permits, and takes them back when somebody has to wait.

One process, the home, has k permits at first. A process asks the home, which grants a permit or puts the process into
its queue. A process that leaves gives its permit back, unless it may keep it: then it enters again without a message,
until the home recalls the permit. A process may keep a permit that it gets while nobody waits, if the home has another
one left for the next process that asks, or if this process was the last to get one as well. So a process that asks
seldom finds a permit at the home, and a process that asks often need not ask.

When somebody has to wait, the home recalls permits that may be kept, the oldest first. A process that is not inside
gives its permit back immediately. One that is inside says that it is busy, and gives the permit back when it leaves.
The home recalls one permit for each process in the queue, and one more for each that was found busy. So it recalls few,
and yet finds an unused one among many after a few rounds.

Channels may have any order. Permits have serial numbers: a recall that has overtaken its permit is remembered until
that arrives, and one that comes after the permit was given back is ignored. A process that does not ask receives no
message and keeps no state, unless it is the home. No message and no state has a place for every process.

Correctness. (Safety) A permit is at the home, or with one process, or on its way between them; a process is inside only
with a permit. (Progress, concurrent entry) Each recall is answered. While somebody waits and nothing is under way, all
that may be kept have been recalled, so each permit is with a process that is inside and gives it back when it leaves.
The queue is FIFO.

Costs. A permit costs Ask, Grant and Return, and if it is recalled Recall and perhaps Busy: at most 5 messages, however
often it is used. An entry takes two hops, four if a kept permit must be recalled first, and none with a kept one.

Our own, 2026. There is no fence: the k processes that are inside cannot be put in an order.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import IDLE, INSIDE, WAITING
from congenial.kernel.out import Out
from congenial.kernel.part import Part
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Law, Spec
from congenial.parts.homed import Floor, Homed
from congenial.problems.kmutex import K_OPTION, KMUTEX

HOME: Final = 0
NOBODY: Final = -1

SPEC = Spec(
    name="home-k",
    title="HomeK",
    problem=KMUTEX,
    reference="Congenial 2026",
    messages=Law("0", "5"),
    size="2",
    waiting=Law("0", "4"),
    sync_delay=Law("1", "2"),
    concurrency="k",
    options=(K_OPTION,),
)


@dataclass(frozen=True)
class Ask(Message):
    """To the home: I want to enter."""


@dataclass(frozen=True)
class Grant(Message):
    """A permit."""

    serial: int
    keep: bool  # the process may keep it between entries


@dataclass(frozen=True)
class Return(Message):
    """The permit is given back."""

    serial: int


@dataclass(frozen=True)
class Recall(Message):
    """Somebody waits: give the permit back as soon as you are not inside."""

    serial: int


@dataclass(frozen=True)
class Busy(Message):
    """I am inside, and will give the permit back when I leave."""

    serial: int


@mypyc_attr(allow_interpreted_subclasses=True)
class Permits(Part):
    """What the home knows. Each call returns the messages to send, with their receivers."""

    def __init__(self, k: int, n: int) -> None:
        self.free = k
        self.serial = inherited_serial(n - 1)  # the latest one
        self.last = NOBODY  # the process that was granted a permit last
        self.queue: list[int] = []
        self.waiting: set[int] = set()  # the processes in the queue, to be found quickly
        self.holders: dict[int, int] = {}  # of permits that are not here: serial -> process
        self.kept: list[int] = []  # serials of those that may be kept, the oldest first
        self.recalled: set[int] = set()  # of those that were recalled, and not answered yet
        self.busy: set[int] = set()  # and of those that were recalled while in use

    def inherit(self, process: int) -> None:
        self.free -= 1
        self.holders[inherited_serial(process)] = process

    def on_ask(self, process: int) -> list[tuple[int, Message]]:
        self.queue.append(process)
        self.waiting.add(process)
        return self._serve()

    def on_return(self, serial: int) -> list[tuple[int, Message]]:
        self.free += 1
        del self.holders[serial]
        self.recalled.discard(serial)
        self.busy.discard(serial)
        at = bisect_left(self.kept, serial)
        if at < len(self.kept) and self.kept[at] == serial:
            del self.kept[at]
        return self._serve()

    def on_busy(self, serial: int) -> list[tuple[int, Message]]:
        if serial in self.recalled:  # otherwise it has been given back meanwhile
            self.recalled.remove(serial)
            self.busy.add(serial)
        return self._serve()

    def _serve(self) -> list[tuple[int, Message]]:
        mail: list[tuple[int, Message]] = []
        while self.queue and self.free > 0:
            process = self.queue.pop(0)
            self.waiting.remove(process)
            mail.append((process, self._grant(process)))
        while self.queue and self.kept and len(self.recalled) < len(self.queue) + len(self.busy):
            serial = self.kept.pop(0)
            self.recalled.add(serial)
            mail.append((self.holders[serial], Recall(serial)))
        return mail

    def _grant(self, process: int) -> Grant:
        self.free -= 1
        self.serial += 1
        self.holders[self.serial] = process
        keep = process != HOME and not self.queue and (self.free > 0 or process == self.last)
        if keep:
            self.kept.append(self.serial)
        self.last = process
        return Grant(self.serial, keep)


@mypyc_attr(allow_interpreted_subclasses=True)
class HomeK(Homed):
    """Process 0 is the home."""

    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (Ask, Grant, Return, Recall, Busy)

    def __init__(self, me: int, n: int, k: int) -> None:
        super().__init__(me, n)
        self.permits = Permits(k, n) if me == HOME else None
        self.serial = 0  # of my permit, if I have one
        self.keep = False  # may I keep it?
        self.latest = 0  # the serial of my latest permit
        self.early = 0  # the serial in a Recall that has overtaken its Grant

    # -- the application -------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.serial:  # a kept permit
            self.enter(out)
        else:
            self._tell(HOME, Ask(), out)
        self._hear_myself(out)

    def release(self, out: Out) -> None:
        self.leave()
        if not self.keep:
            self._give_back(out)
        self._hear_myself(out)

    def could_enter(self) -> bool:
        return self.serial > 0 or (self.permits is not None and self.permits.free > 0)

    def _give_back(self, out: Out) -> None:
        self._tell(HOME, Return(self.serial), out)
        self.serial = 0
        self.keep = False

    # -- in a cluster that changes ---------------------------------------------------------------------

    def inherit(self, process: int, group: int) -> None:
        assert self.permits is not None
        self.permits.inherit(process)

    def resume(self, group: int) -> None:
        self.phase = INSIDE
        self.serial = self.latest = inherited_serial(self.me)

    def holders(self) -> list[int]:
        assert self.permits is not None
        return list(self.permits.holders.values())

    def relax(self, out: Out) -> None:
        if self.phase == IDLE and self.serial:
            self._give_back(out)
            self._hear_myself(out)

    def is_at_rest(self) -> bool:
        return self.phase == IDLE and self.serial == 0 and (self.permits is None or not self.permits.holders)

    def floor(self) -> Floor:
        return (0, 0) if self.permits is None else (0, self.permits.serial)

    def begin_above(self, floor: Floor) -> None:
        if self.permits is not None:
            self.permits.serial = max(self.permits.serial, floor[1])

    # -- messages --------------------------------------------------------------------------------------

    def _handle(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Grant) and self.phase == WAITING and self.serial == 0:
            self._on_grant(msg, out)
        elif isinstance(msg, Recall):
            self._on_recall(msg.serial, out)
        elif self.permits is None:
            raise self.unexpected(src, msg)
        elif isinstance(msg, Ask) and src not in self.permits.waiting:
            self._send(self.permits.on_ask(src), out)
        elif isinstance(msg, Return) and self.permits.holders.get(msg.serial) == src:
            self._send(self.permits.on_return(msg.serial), out)
        elif isinstance(msg, Busy):
            self._send(self.permits.on_busy(msg.serial), out)
        else:
            raise self.unexpected(src, msg)

    def _send(self, mail: list[tuple[int, Message]], out: Out) -> None:
        for dst, msg in mail:
            self._tell(dst, msg, out)

    def _on_grant(self, grant: Grant, out: Out) -> None:
        self.serial = self.latest = grant.serial
        self.keep = grant.keep and self.early != grant.serial
        self.early = 0
        self.enter(out)

    def _on_recall(self, serial: int, out: Out) -> None:
        """The permit may be on its way to me, in use, kept, or given back."""
        if serial > self.latest:
            self.early = serial
            self._tell(HOME, Busy(serial), out)
        elif serial == self.serial and self.phase == INSIDE:
            self.keep = False
            self._tell(HOME, Busy(serial), out)
        elif serial == self.serial:
            self._give_back(out)


def inherited_serial(process: int) -> int:
    """The serial of the permit of a process that is inside at the beginning."""
    return process + 1
