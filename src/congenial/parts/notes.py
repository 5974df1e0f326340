"""Notes: small values that the voters of a cluster keep for all, each changed under a lock of its own.

Only the holder of a note's lock reads it to change it, or writes it. The voters of the present view keep the notes, and
a majority of them has every note that was written. The rest is as in Paxos (Lamport 1998), with the lock's fence as the
number of a ballot: fences grow and belong to one holder each.

- To read, a holder asks the voters (`Look`). Each promises to accept nothing more from holders with smaller fences.
  When a majority has answered, the note with the largest stamp is the present one. If not all that answered had it, the
  holder writes it again before anybody acts on it.
- To write, a holder sends the note to the voters (`Put`). When a majority has accepted it, it is written. A voter that
  has promised otherwise refuses: then the lock is lost. Others may repeat a `Put`, to make sure that a note of which
  they have heard is written.

So a holder that does not know yet that it has lost its lock changes nothing.

When there is a new view, nobody answers for the old one. A voter of the new view is complete, and answers,
when it knows every note that a majority of earlier voters may have accepted, and every promise. It asks them
(`Gather`), and each tells its notes and its base (`Had`): the last view in which it was a complete voter. One that is
complete in the new view knows enough for others. Otherwise, let b be the latest base that was told. In b, a majority
has every note; so a majority of its voters must have told. Later views may have had complete voters as well, of which
those that told know nothing. But a voter becomes complete only after it was told by a majority of some base, and each
that told remembers which voters it has handed its notes to (`handed`). So a majority of the voters of every such view
must have told, too: then if notes were written there, b would not be the latest base. The idea that the configuration
of a register is read like the register is that of Lynch and Shvartsman 2002 (RAMBO).

What a voter was told counts as its own, with one exception. A note with a smaller fence than a promise may be one that
was refused elsewhere. A voter that has accepted it itself, before the promise, says that it has it; one that was told
of it does not.

Everything may be lost or arrive twice: `retry` repeats what may have been lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from congenial.kernel.message import Message, Messages
from congenial.kernel.out import Out
from congenial.kernel.part import Part
from congenial.parts.views import Voter, Voters

Note = tuple[int, int, bytes]  # the fence of the holder that wrote it, which of its notes it is, and the value
Kept = tuple[str, int, int, int, bytes]  # key, promise, note
Base = tuple[int, Voters]  # a view: its number and its voters
EMPTY: Final[Note] = (0, 0, b"")
NO_BASE: Final[Base] = (-1, ())
MOST_TOLD: Final = 1 << 18  # bytes of notes in one message; a single note may be that long


@dataclass(frozen=True)
class NoteMessage(Message):
    """Base of all messages about notes. `view` is that of the sender."""

    view: int


@dataclass(frozen=True)
class Look(NoteMessage):
    """A question for a note. With a fence, the sender holds the lock of the note."""

    number: int
    key: str
    fence: int


@dataclass(frozen=True)
class Seen(NoteMessage):
    """The answer to a `Look`."""

    number: int
    key: str
    fence: int  # as in the question
    note: Note = field(metadata={"type": Note})
    kept: bool  # no holder with a larger fence has asked before


@dataclass(frozen=True)
class Put(NoteMessage):
    """A note, written by the holder of its lock."""

    number: int
    key: str
    note: Note = field(metadata={"type": Note})


@dataclass(frozen=True)
class Stored(NoteMessage):
    """The answer to a `Put`: whether the note was accepted."""

    number: int
    key: str
    fence: int
    turn: int
    kept: bool


@dataclass(frozen=True)
class Gather(NoteMessage):
    """A voter of the view asks for all that others know."""


@dataclass(frozen=True)
class Had(NoteMessage):
    """The answer to a `Gather`, in several parts if there are many notes."""

    birth: int  # of the sender
    base: Base = field(metadata={"type": Base})
    handed: tuple[Base, ...] = field(metadata={"type": tuple[Base, ...]})
    notes: tuple[Kept, ...] = field(metadata={"type": tuple[Kept, ...]})
    part: int
    last: bool


@mypyc_attr(allow_interpreted_subclasses=True)
class Question:
    """A question to the voters, and the answers so far."""

    def __init__(self, key: str, fence: int, note: Note, patient: bool) -> None:
        self.key = key
        self.fence = fence
        self.note = note  # EMPTY: the question is a `Look`
        self.patient = patient  # a single no does not end it
        self.yes: set[int] = set()
        self.no: set[int] = set()
        self.newest = EMPTY  # of the notes that were seen
        self.unanimous = True  # they were all the same

    def add(self, process: int, kept: bool, seen: Note) -> None:
        if process in self.yes or process in self.no:
            return
        if self.yes or self.no:
            self.unanimous = self.unanimous and seen == self.newest
        self.newest = max(self.newest, seen)
        (self.yes if kept else self.no).add(process)

    def begin_again(self) -> None:
        self.yes = set()
        self.no = set()
        self.newest = EMPTY
        self.unanimous = True


@mypyc_attr(allow_interpreted_subclasses=True)
class Notes(Part):
    """What one process keeps, and what it asks. The node hands it messages of the present view only."""

    messages: ClassVar[Messages] = (Look, Seen, Put, Stored, Gather, Had)
    durable: ClassVar[tuple[str, ...]] = ("view", "base", "handed", "notes", "promised")

    def __init__(self, me: int, birth: int, view: int, voters: Voters) -> None:
        """In the first view, all voters are complete."""
        self.me = me
        self.birth = birth
        # durable
        self.view: Base = (view, voters)
        self.base: Base = (view, voters) if view == 0 and (me, birth) in voters else NO_BASE
        self.handed: dict[int, Voters] = {}  # by view: the voters that may have become complete with what I told
        self.notes: dict[str, Note] = {}
        self.promised: dict[str, int] = {}
        # not durable
        self.accepted: set[str] = set()  # the keys of notes that I have accepted myself, in this view
        self.told: dict[int, Had] = {}  # the last part of what each process has told me
        self.parts: dict[int, int] = {}  # how many parts of it have come
        self.asked: set[int] = set()  # the processes that have been asked to tell
        self.members: tuple[int, ...] = ()
        self.early: list[tuple[int, NoteMessage]] = []  # what was asked before I was complete: sender, question
        self.questions: dict[int, Question] = {}
        self.numbers = 0

    # -- the view --------------------------------------------------------------------------------------

    def move(self, number: int, voters: Voters, members: tuple[int, ...], birth: int, out: Out) -> None:
        """There is a new view; or this process has been restarted. The members may know who kept notes before."""
        self.birth = birth
        self.members = members
        if number > self.view[0]:
            self.view = (number, voters)
            self.save_base(out)
        self.accepted = set()
        self.told = {}
        self.parts = {}
        self.asked = set()
        self.early = []
        for asked in sorted(self.questions):
            self.questions[asked].begin_again()
        self.retry(out)

    def keeps(self) -> bool:
        """True if this process is one of those that keep the notes."""
        return (self.me, self.birth) in self.view[1]

    def is_complete(self) -> bool:
        return self.keeps() and self.base[0] == self.view[0]

    def retry(self, out: Out) -> None:
        """Repeat what may have been lost."""
        if self.keeps() and not self.is_complete():
            self.told[self.me] = self._had([], 0, True)
            self.asked = set()
            self._gather(out)
        for number in sorted(self.questions):
            self._ask(number, out)

    # -- questions -------------------------------------------------------------------------------------

    def look(self, key: str, fence: int, out: Out) -> int:
        """Ask for a note; with a fence, as the holder of its lock. Returns the number of the question."""
        return self._begin(Question(key, fence, EMPTY, False), out)

    def put(self, key: str, note: Note, patient: bool, out: Out) -> int:
        """Write a note, or make sure that it is written: a `patient` question ends when there can be no majority."""
        return self._begin(Question(key, note[0], note, patient), out)

    def has_ended(self, number: int) -> bool:
        question = self.questions[number]
        voters = len(self.view[1])
        if 2 * len(question.yes) > voters:
            return True
        return len(question.no) > 0 if not question.patient else 2 * (voters - len(question.no)) <= voters

    def is_kept(self, number: int) -> bool:
        """Of a question that has ended: has a majority said yes?"""
        return 2 * len(self.questions[number].yes) > len(self.view[1])

    def forget(self, number: int) -> Question:
        return self.questions.pop(number)

    def _begin(self, question: Question, out: Out) -> int:
        self.numbers += 1
        self.questions[self.numbers] = question
        self._ask(self.numbers, out)
        return self.numbers

    def _ask(self, number: int, out: Out) -> None:
        question = self.questions[number]
        if self.has_ended(number):
            return
        msg: Message
        if question.note == EMPTY:
            msg = Look(self.view[0], number, question.key, question.fence)
        else:
            msg = Put(self.view[0], number, question.key, question.note)
        for process, _ in self.view[1]:
            if process != self.me and process not in question.yes and process not in question.no:
                out.send(process, msg)
        self._answer_myself(question, out)

    def _answer_myself(self, question: Question, out: Out) -> None:
        if self.is_complete() and question.note == EMPTY:
            kept = self._promise(question.key, question.fence, out)
            question.add(self.me, kept, self.note(question.key))
        elif self.is_complete():
            question.add(self.me, self._accept(question.key, question.note, out), question.note)

    # -- what is kept ----------------------------------------------------------------------------------

    def note(self, key: str) -> Note:
        return self.notes.get(key, EMPTY)

    def _promise(self, key: str, fence: int, out: Out) -> bool:
        promised = self.promised.get(key, 0)
        if fence > promised:
            self.promised[key] = fence
            self.save_note(key, out)
        return fence == 0 or fence >= promised

    def _accept(self, key: str, note: Note, out: Out) -> bool:
        if note[0] < self.promised.get(key, 0):
            return note == self.note(key) and key in self.accepted
        if note > self.note(key):
            self.promised[key] = note[0]
            self.notes[key] = note
            self.save_note(key, out)
        if note == self.note(key):
            self.accepted.add(key)
        return True

    def save_note(self, key: str, out: Out) -> None:
        """What is kept under a key has changed. Where there are many notes, a subclass saves it alone."""
        out.save()

    def save_base(self, out: Out) -> None:
        """View, base, or what was handed over has changed."""
        out.save()

    # -- messages --------------------------------------------------------------------------------------

    def receive(self, src: int, msg: NoteMessage, out: Out) -> None:
        if isinstance(msg, (Look, Put)) and not self.is_complete():
            if self.keeps() and (src, msg) not in self.early:
                self.early.append((src, msg))
        elif isinstance(msg, Look):
            kept = self._promise(msg.key, msg.fence, out)
            out.send(src, Seen(msg.view, msg.number, msg.key, msg.fence, self.note(msg.key), kept))
        elif isinstance(msg, Put):
            fence, turn, _ = msg.note
            out.send(src, Stored(msg.view, msg.number, msg.key, fence, turn, self._accept(msg.key, msg.note, out)))
        elif isinstance(msg, Seen):
            if self._is_asked(src, msg.number, msg.key, msg.fence, 0):
                self.questions[msg.number].add(src, msg.kept, msg.note)
        elif isinstance(msg, Stored):
            if self._is_asked(src, msg.number, msg.key, msg.fence, msg.turn):
                self.questions[msg.number].add(src, msg.kept, EMPTY)
        elif isinstance(msg, Gather):
            self._on_gather(src, out)
        elif isinstance(msg, Had):
            self._on_had(src, msg, out)

    def _is_asked(self, src: int, number: int, key: str, fence: int, turn: int) -> bool:
        """True if this is the answer of a voter to a question. It may be one to a question of an earlier life of mine,
        with the same number."""
        if number not in self.questions or src not in [process for process, _ in self.view[1]]:
            return False
        question = self.questions[number]
        return (question.key, question.fence, question.note[1]) == (key, fence, turn)

    # -- from view to view -----------------------------------------------------------------------------

    def _on_gather(self, src: int, out: Out) -> None:
        number, voters = self.view
        if self.base[0] < number and number not in self.handed:
            self.handed[number] = voters
            self.save_base(out)
        some: list[Kept] = []
        size = part = 0
        for key in sorted(self.promised):
            fence, turn, value = self.note(key)
            if size + len(value) > MOST_TOLD:
                out.send(src, self._had(some, part, False))
                some = []
                size = 0
                part += 1
            some.append((key, self.promised[key], fence, turn, value))
            size += len(key) + len(value)
        out.send(src, self._had(some, part, True))

    def _had(self, notes: list[Kept], part: int, last: bool) -> Had:
        handed = tuple([(number, self.handed[number]) for number in sorted(self.handed)])
        return Had(self.view[0], self.birth, self.base, handed, tuple(notes), part, last)

    def _gather(self, out: Out) -> None:
        """Ask all that may have to tell, and look whether that is enough."""
        asked = set(self.members)
        for voters in [self.view[1], *self._needed()]:
            asked |= {process for process, _ in voters}
        for process in sorted(asked - set(self.told) - self.asked):
            self.asked.add(process)
            out.send(process, Gather(self.view[0]))
        self._try_to_complete(out)

    def _on_had(self, src: int, msg: Had, out: Out) -> None:
        if not self.keeps() or self.is_complete():
            return
        for key, promised, fence, turn, value in msg.notes:
            note = (fence, turn, value)
            if promised > self.promised.get(key, 0) or note > self.note(key):
                self.promised[key] = max(promised, self.promised.get(key, 0))
                self.notes[key] = max(note, self.note(key))
                self.save_note(key, out)
        expected = self.parts.get(src, 0) if msg.part else 0
        if msg.part == expected:
            self.parts[src] = expected + 1
        if msg.part == expected and msg.last:
            self.told[src] = msg
            self._gather(out)

    def _needed(self) -> list[Voters]:
        """The voters of the latest base that was told, and of the later views to which notes were handed over."""
        latest = self._latest()
        needed = {latest[0]: latest[1]}
        for process in sorted(self.told):
            for number, voters in self.told[process].handed:
                if latest[0] < number < self.view[0]:
                    needed[number] = voters
        return [needed[number] for number in sorted(needed)]

    def _latest(self) -> Base:
        latest = NO_BASE
        for process in sorted(self.told):
            if self.told[process].base[0] > latest[0]:
                latest = self.told[process].base
        return latest

    def _has_told(self, voter: Voter) -> bool:
        process, birth = voter
        return process in self.told and self.told[process].birth == birth

    def _try_to_complete(self, out: Out) -> None:
        latest = self._latest()
        if latest == NO_BASE:
            return
        if latest[0] < self.view[0]:
            for voters in self._needed():
                if 2 * len([voter for voter in voters if self._has_told(voter)]) <= len(voters):
                    return
        self.base = self.view
        self.handed = {}
        self.told = {}
        self.parts = {}
        self.asked = set()
        self.save_base(out)
        early = self.early
        self.early = []
        for src, msg in early:
            self.receive(src, msg, out)
        for number in sorted(self.questions):
            self._answer_myself(self.questions[number], out)
