"""Notes as something the checker understands: to ask is to add one to a counter that is a note, to enter is to have
done so.

Each process that asks takes a fence of its own, larger than those that it knows of: locks promise no more than that
fences are different, and grow. The views are given, one after the other. What a process asks for says what it does:

- ADD: read the counter, and write one more.
- WATCH: make sure that the latest note of which the process knows is written.
- MOVE: go on to the next view, and tell everyone.

A process enters with its fence and with the counter. `COUNTING` wants larger counters with larger fences: no addition
is lost, also of processes that crashed later, and nothing that was made sure of. A process whose fence is refused gives
up: it enters without a fence, which proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from congenial.kernel.message import Message, Messages
from congenial.kernel.node import WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups, Problem
from congenial.kernel.spec import Option, Spec
from congenial.parts.notes import EMPTY, Note, NoteMessage, Notes
from congenial.parts.views import Voters

ADD, WATCH, MOVE = 0, 1, 2
COUNT_BITS = 8
KEY = "counter"
RETRY = 0


class Counting(Problem):
    def __init__(self) -> None:
        super().__init__("counting", groups=True, concurrent_entry=False)

    def admits(self, inside: int, current: int, group: int) -> bool:
        return True

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        last, count = last_fence % (1 << COUNT_BITS), fence % (1 << COUNT_BITS)
        return count > last or fence == last_fence

    def era(self, fence: int) -> int:
        return fence >> COUNT_BITS


def build_views(text: str, n: int) -> tuple[Voters, ...]:
    """'012 123': the voters of the first view, and of the second."""
    return tuple([tuple([(int(process), 0) for process in view]) for view in text.split()])


COUNTING = Counting()
VIEWS = Option("views", "012 012", "the voters of each view", build_views)
SPEC = Spec("notes", "notes", COUNTING, options=(VIEWS,))


@dataclass(frozen=True)
class Moved(Message):
    view: int


class Counter(Node):
    spec: ClassVar[Spec] = SPEC
    part: ClassVar[type[Notes]] = Notes
    messages: ClassVar[Messages] = (Moved,)
    durable = ("notes", "rounds")
    made_of = (Notes,)

    def __init__(self, me: int, n: int, views: tuple[Voters, ...]) -> None:
        super().__init__(me, n)
        self.views = views
        self.notes = type(self).part(me, 0, 0, views[0])
        self.rounds = 0  # the largest fence of which this process knows, as a number of rounds
        self.group = ADD
        self.question = 0
        self.fence = 0
        self.heard = EMPTY  # the latest note of which this process knows
        self.later: list[tuple[int, NoteMessage]] = []

    # -- the application -------------------------------------------------------------------------------

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.group = groups[0]
        if self.group == ADD:
            self.rounds += 1
            out.save()
            self.fence = self.rounds * self.n + self.me
            self.question = self.notes.look(KEY, self.fence, out)
            self._look(out)
        elif self.group == WATCH and self.heard > EMPTY:
            self.question = self.notes.put(KEY, self.heard, True, out)
            self._look(out)
        else:
            if self.group == MOVE and self.notes.view[0] + 1 < len(self.views):
                self._move(self.notes.view[0] + 1, out)
                out.broadcast(Moved(self.notes.view[0]))
            self.enter(out, 0, self.group)

    def release(self, out: Out) -> None:
        self.leave()

    def _look(self, out: Out) -> None:
        if self.phase != WAITING or not self.question or not self.notes.has_ended(self.question):
            return
        kept = self.notes.is_kept(self.question)
        question = self.notes.forget(self.question)
        self.question = 0
        if not kept:
            self.enter(out, 0, self.group)
        elif question.note == EMPTY:
            note = (self.fence, 1, bytes([count_of(question.newest) + 1]))
            self._hear(note)
            self.question = self.notes.put(KEY, note, False, out)
            self._look(out)
        else:
            self._hear(question.note)
            self.enter(out, (question.note[0] << COUNT_BITS) + count_of(question.note), self.group)

    def _hear(self, note: Note) -> None:
        self.heard = max(self.heard, note)
        self.rounds = max(self.rounds, note[0] // self.n)

    # -- the world -------------------------------------------------------------------------------------

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Moved):
            if msg.view > self.notes.view[0]:
                self._move(msg.view, out)
        elif isinstance(msg, NoteMessage):
            self._on_note(src, msg, out)
        else:
            raise self.unexpected(src, msg)
        self._look(out)

    def _on_note(self, src: int, msg: NoteMessage, out: Out) -> None:
        if msg.view > self.notes.view[0]:
            self._move(msg.view, out)
        elif msg.view < self.notes.view[0]:
            out.send(src, Moved(self.notes.view[0]))
            return
        note = getattr(msg, "note", EMPTY)
        self._hear(note)
        self.notes.receive(src, msg, out)

    def _move(self, number: int, out: Out) -> None:
        self.notes.move(number, self.views[number], tuple(range(self.n)), 0, out)
        self._look(out)

    def on_recover(self, out: Out) -> None:
        self.notes.move(self.notes.view[0], self.notes.view[1], tuple(range(self.n)), 0, out)
        out.broadcast(Moved(self.notes.view[0]))

    def on_trust(self, peer: int, out: Out) -> None:
        self.notes.retry(out)
        self._look(out)


class Mortal(Counter):
    """Asks again when a process was down, which then tells its view."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Moved) and msg.view == self.notes.view[0]:
            self.notes.retry(out)
        super().receive(src, msg, out)


class Stubborn(Counter):
    """Repeats everything when a timer runs out: survives any loss."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        out.set_timer(RETRY, 10.0)

    def on_timer(self, timer: int, out: Out) -> None:
        self.notes.retry(out)
        self._look(out)
        if self.phase == WAITING or not self.notes.is_complete():
            out.set_timer(RETRY, 10.0)


def count_of(note: Note) -> int:
    return note[2][0] if note[2] else 0
