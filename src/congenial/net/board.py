"""Where members keep notes for each other (`congenial.net.notes`), over the links.

Frames for notes may get lost with a connection. A question is asked again until a majority has answered, and a task
that waits for a change looks again now and then. So what is lost does no harm.

A member that was restarted and remembers nothing may have had notes, and made promises. It asks the others for all of
theirs at once, and takes part only after so many have told that it knows of everything that it may have accepted: n - m
+ 1 of them, where m is a majority, not counting others that have forgotten; or all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from congenial.kernel.errors import ConfigError
from congenial.net.errors import ClusterDegraded, LockLost, ProtocolError
from congenial.net.link import Link
from congenial.net.membership import Membership
from congenial.net.notes import EMPTY, Note, Notes
from congenial.net.wire import Look, Put, Recall, Recalled, Seen, Stored

AGAIN = 0.2  # seconds after which a question is repeated
LONGEST_NOTE = 1 << 18  # bytes
LONGEST_NAME = 200  # characters
COMPLETE = "notes"  # saved by a member that has all notes that it may have accepted

A = TypeVar("A", Seen, Stored)


class Round(Generic[A]):
    """One question to all n members, and the answers so far. It is over when enough say yes, or too few can."""

    def __init__(self, n: int, enough: int, patient: bool) -> None:
        self.n = n
        self.enough = enough
        self.patient = patient  # a no does not end it
        self.answers: dict[int, A] = {}
        self.done = asyncio.Event()

    def add(self, peer: int, answer: A) -> None:
        self.answers[peer] = answer
        if self.kept or len(self.answers) == self.n or not (answer.kept or self.patient):
            self.done.set()

    @property
    def kept(self) -> bool:
        return sum([answer.kept for answer in self.answers.values()]) >= self.enough


class Board:
    def __init__(self, membership: Membership) -> None:
        self.membership = membership
        self.notes = Notes(membership.storage)
        self.majority = membership.n // 2 + 1
        self.rounds: dict[int, Round[Any]] = {}
        self.numbers = 0
        self.watchers: dict[str, set[asyncio.Event]] = {}
        self.complete = membership.storage.load(COMPLETE) is not None
        self.heard = dict(self.notes.notes)  # the newest notes that this member knows of
        self.written: dict[str, tuple[int, int]] = {}  # by this member: the fence, and how many notes with it
        self.told: dict[int, bool] = {}  # the members that have told all their notes, and whether they know all
        membership.handlers |= {
            Look: self._on_look,
            Seen: self._on_seen,
            Put: self._on_put,
            Stored: self._on_stored,
            Recall: self._on_recall,
            Recalled: self._on_recalled,
        }

    # -- what programs do ------------------------------------------------------------------------------

    def local(self, key: str) -> Note:
        """The note as far as this member has heard. Whether it is there to stay, `confirm` tells."""
        return max(self.notes.get(key), self.heard.get(key, EMPTY))

    async def read(self, key: str, fence: int) -> Note:
        """The note, for the holder of its lock. `LockLost` if there is a later holder."""
        if not fence:
            raise ConfigError(f"{key!r} needs locks with fences, which this cluster's algorithm does not give")
        asked: Round[Seen] = await self._ask(lambda number: Look(number, key, fence))
        self._check(key, asked.kept)
        notes = [Note(answer.fence, answer.turn, answer.value) for answer in asked.answers.values()]
        newest = max(notes)
        if any([note.stamp != newest.stamp for note in notes]):
            await self.write(key, fence, newest.value)
        return newest

    async def write(self, key: str, fence: int, value: bytes) -> None:
        """Write the note, as the holder of its lock."""
        if len(value) > LONGEST_NOTE:
            raise ConfigError(f"what {key!r} has to remember is too long: {len(value)} bytes")
        last, turn = self.written.get(key, (0, 0))
        turn = turn + 1 if last == fence else 1
        self.written[key] = (fence, turn)
        asked: Round[Stored] = await self._ask(lambda number: Put(number, key, fence, turn, value))
        self._check(key, asked.kept)

    async def fresh(self, key: str) -> Note:
        """The note as a majority has it, for tasks that do not hold its lock."""
        asked: Round[Seen] = await self._ask(lambda number: Look(number, key, 0))
        return max([Note(answer.fence, answer.turn, answer.value) for answer in asked.answers.values()])

    async def confirm(self, key: str, note: Note) -> bool:
        """Make sure that a majority has a note. False if that cannot be: its writer has lost its lock before."""
        if not note.fence:
            return True
        asked: Round[Stored] = await self._ask(lambda number: Put(number, key, *note), patient=True)
        return asked.kept

    async def changed(self, key: str, note: Note, limit: float) -> None:
        """Wait until this member knows another note, or for so many seconds. Then ask the others."""
        event = asyncio.Event()
        self.watchers.setdefault(key, set()).add(event)
        try:
            if self.local(key) == note:
                async with asyncio.timeout(limit):
                    await event.wait()
        except TimeoutError:
            self._check_open()
            with self.membership.turn:
                for link in self.membership.links:
                    link.post(Look(0, key, 0))
        finally:
            self.watchers[key].discard(event)
            if not self.watchers[key]:
                del self.watchers[key]

    def summary(self) -> dict[str, object]:
        return {"kept": len(self.notes.notes), "complete": self.complete}

    @property
    def me(self) -> str:
        """This life of this member, for notes that name it."""
        return f"{self.membership.name}:{self.membership.incarnation}"

    def present(self) -> list[str]:
        """The members that are there, in this life of theirs."""
        incarnations = self.membership.roster.incarnations
        there = [f"{link.name}:{incarnations[link.peer]}" for link in self.membership.links if not link.away]
        return [self.me, *there]

    def is_there(self, whom: str) -> bool:
        """Whether a member that a note names takes part, in the same life, as far as this member knows."""
        name, _, life = whom.partition(":")
        roster = self.membership.roster
        if name == self.membership.name:
            return life == str(self.membership.incarnation)
        for link in self.membership.links:
            if link.name == name:
                return not link.away and str(roster.incarnations[link.peer]) in (life, "0")
        return False

    # -- asking ----------------------------------------------------------------------------------------

    def _check(self, key: str, kept: bool) -> None:
        if not kept:
            raise LockLost(f"the lock of {key!r} is not held any more: another process has had it since")

    def _check_open(self) -> None:
        if self.membership.closing:
            raise ClusterDegraded(self.membership.ended or f"{self.membership.name!r} has left the cluster")

    async def _ask(self, question: Callable[[int], Look | Put], patient: bool = False) -> Round[Any]:
        """Ask all members, this one too, until a majority has answered."""
        membership = self.membership
        await membership.opened.wait()
        self.numbers += 1
        frame = question(self.numbers)
        asked: Round[Any] = Round(membership.n, self.majority, patient)
        self.rounds[frame.number] = asked
        try:
            while not asked.done.is_set():
                self._check_open()
                with membership.turn:
                    if membership.me not in asked.answers:
                        answer = self._answer(frame)
                        if answer is not None:
                            asked.add(membership.me, answer)
                    for link in membership.links:
                        if link.peer not in asked.answers:
                            link.post(frame)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(AGAIN):
                        await asked.done.wait()
        finally:
            del self.rounds[frame.number]
        return asked

    def _answer(self, frame: Look | Put) -> Seen | Stored | None:
        """None if this member cannot answer yet, and will when it is asked again."""
        if not self.complete and (isinstance(frame, Put) or frame.fence):
            return None
        if isinstance(frame, Put):
            return Stored(frame.number, frame.key, self._accept(frame.key, Note(frame.fence, frame.turn, frame.value)))
        kept = not frame.fence or self.notes.promise(frame.key, frame.fence)
        return self._seen(frame.number, frame.key, kept)

    def _seen(self, number: int, key: str, kept: bool) -> Seen:
        return Seen(number, key, *self.notes.get(key), self.notes.promised.get(key, 0), kept)

    def _accept(self, key: str, note: Note) -> bool:
        kept = self.notes.accept(key, note)
        self._hear(key, note)
        return kept

    def _hear(self, key: str, note: Note) -> None:
        """There is this note, whether it is here or not."""
        if note > self.heard.get(key, EMPTY):
            self.heard[key] = note
            for event in self.watchers.get(key, ()):
                event.set()

    # -- what peers send -------------------------------------------------------------------------------

    def _on_look(self, link: Link, look: Look) -> None:
        self._answer_to(link, look)

    def _on_put(self, link: Link, put: Put) -> None:
        if put.fence <= 0 or len(put.value) > LONGEST_NOTE:
            raise ProtocolError(f"sent a note for {put.key[:LONGEST_NAME]!r} that nobody can have written")
        self._answer_to(link, put)

    def _answer_to(self, link: Link, frame: Look | Put) -> None:
        self.membership.require_open()
        if len(frame.key) > LONGEST_NAME:
            raise ProtocolError(f"the name of a note has {len(frame.key)} characters, which is too long")
        answer = self._answer(frame)
        if answer is not None:
            link.post(answer)

    def _on_seen(self, link: Link, seen: Seen) -> None:
        note = Note(seen.fence, seen.turn, seen.value)
        if not self.complete:
            self.notes.recall(seen.key, seen.promised, note)
            self._hear(seen.key, note)
        elif note.fence:
            self._accept(seen.key, note)
        asked = self.rounds.get(seen.number)
        if asked is not None:
            asked.add(link.peer, seen)

    def _on_stored(self, link: Link, stored: Stored) -> None:
        asked = self.rounds.get(stored.number)
        if asked is not None:
            asked.add(link.peer, stored)

    # -- after a restart -------------------------------------------------------------------------------

    async def recall(self) -> None:
        """Find out what this member has forgotten, if it has."""
        membership = self.membership
        await membership.opened.wait()
        if membership.roster.founded[membership.me] == membership.incarnation:
            self._complete()
        while not self.complete:
            with membership.turn:
                for link in membership.links:
                    if link.peer not in self.told:
                        link.post(Recall())
            await asyncio.sleep(AGAIN)

    def _on_recall(self, link: Link, recall: Recall) -> None:
        for key in list(self.notes.promised):
            link.post(self._seen(0, key, True))
        link.post(Recalled(self.complete))

    def _on_recalled(self, link: Link, recalled: Recalled) -> None:
        self.told[link.peer] = recalled.complete
        others = self.membership.n - 1
        if sum(self.told.values()) > others - self.majority + 1 or len(self.told) == others:
            self._complete()

    def _complete(self) -> None:
        if not self.complete:
            self.complete = True
            for key in self.notes.promised:
                self.notes.save(key)
            with self.membership.turn:
                self.membership.storage.save(COMPLETE, True)
