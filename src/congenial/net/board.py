"""Where members keep notes for each other (`congenial.parts.notes`), over the links.

Frames for notes may get lost with a connection: what waits for an answer is asked again now and then, and a task that
waits for a change looks again. Where the cluster agrees on views, their voters keep the notes. Where it does not, all
members do, except one that was restarted and remembers nothing: it may have made promises.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.out import Out
from congenial.net.agreement import Agreement
from congenial.net.codec import Vocabulary
from congenial.net.errors import ClusterDegraded, LockLost, ProtocolError
from congenial.net.link import Link
from congenial.net.membership import Membership
from congenial.net.notes import EMPTY, Note, SavedNotes
from congenial.net.wire import Notice
from congenial.parts.notes import Had, Look, NoteMessage, Put, Question, Seen, Stored
from congenial.parts.views import Voters

AGAIN = 0.2  # seconds after which a question is repeated
LONGEST_NOTE = 1 << 18  # bytes
LONGEST_NAME = 200  # characters
FORGOTTEN = -1  # the birth of a member that has forgotten its notes, and cannot become a voter again

Outcome = tuple[bool, Question]  # has a majority said yes, and to what


class BoardOut(Out):
    """Notes save themselves."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def send(self, dst: int, msg: Message) -> None:
        self.board.post([dst], msg)

    def save(self) -> None:
        pass


class Board:
    def __init__(self, membership: Membership, vocabulary: Vocabulary, agreement: Agreement | None) -> None:
        self.membership = membership
        self.vocabulary = vocabulary
        self.agreement = agreement
        self.out = BoardOut(self)
        self.notes: SavedNotes | None = None  # until the cluster is founded
        self.waiting: dict[int, asyncio.Future[Outcome]] = {}  # for the end of a question
        self.watchers: dict[str, set[asyncio.Event]] = {}
        self.heard: dict[str, Note] = {}  # the newest notes that this member knows of
        self.written: dict[str, tuple[int, int]] = {}  # by this member: the fence, and how many notes with it
        membership.handlers[Notice] = self._on_notice

    # -- what programs do ------------------------------------------------------------------------------

    def local(self, key: str) -> Note:
        """The note as far as this member has heard. Whether it is there to stay, `confirm` tells."""
        kept = EMPTY if self.notes is None else Note(*self.notes.note(key))
        return max(kept, self.heard.get(key, EMPTY))

    async def read(self, key: str, fence: int) -> Note:
        """The note, for the holder of its lock. `LockLost` if there is a later holder."""
        if not fence:
            raise ConfigError(f"{key!r} needs locks with fences, which this cluster's algorithm does not give")
        kept, asked = await self._ask(lambda notes: notes.look(key, fence, self.out))
        self._check(key, kept)
        newest = Note(*asked.newest)
        if not asked.unanimous:
            await self.write(key, fence, newest.value)
        return newest

    async def write(self, key: str, fence: int, value: bytes) -> None:
        """Write the note, as the holder of its lock."""
        if len(value) > LONGEST_NOTE:
            raise ConfigError(f"what {key!r} has to remember is too long: {len(value)} bytes")
        last, turn = self.written.get(key, (0, 0))
        turn = turn + 1 if last == fence else 1
        self.written[key] = (fence, turn)
        note = Note(fence, turn, value)
        kept, _ = await self._ask(lambda notes: self._put(notes, key, note))
        self._check(key, kept)

    def _put(self, notes: SavedNotes, key: str, note: Note) -> int:
        number = notes.put(key, note, False, self.out)
        voters = self._voters(notes)
        others = [link.peer for link in self.membership.links if link.peer not in voters]
        self.post(others, Put(notes.view[0], number, key, note))  # they may drop it, but their tasks may wait for it
        self._hear(key, note)
        return number

    async def fresh(self, key: str) -> Note:
        """The note as a majority has it, for tasks that do not hold its lock."""
        _, asked = await self._ask(lambda notes: notes.look(key, 0, self.out))
        return Note(*asked.newest)

    async def confirm(self, key: str, note: Note) -> bool:
        """Make sure that a majority has a note. False if that cannot be: its writer has lost its lock before, or may
        have. Then only a holder of the lock can tell."""
        if not note.fence:
            return True
        kept, _ = await self._ask(lambda notes: notes.put(key, note, True, self.out))
        return kept

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
            if self.notes is not None:
                with self.membership.turn:
                    self.post(self._voters(self.notes), Look(self.notes.view[0], 0, key, 0))
        finally:
            self.watchers[key].discard(event)
            if not self.watchers[key]:
                del self.watchers[key]

    def summary(self) -> dict[str, object]:
        notes = self.notes
        if notes is None:
            return {"kept": 0, "complete": False}
        takes_part = self.agreement is None or self.agreement.since >= 0
        complete = notes.is_complete() if notes.keeps() or self.agreement is None else takes_part
        return {"kept": len(notes.notes), "complete": complete}

    @property
    def me(self) -> str:
        """This life of this member, for notes that name it."""
        return f"{self.membership.name}:{self.membership.incarnation}"

    def present(self) -> list[str]:
        """The members that are there, in this life of theirs."""
        known = self.membership.roster.known
        there = [f"{link.name}:{known(link.peer)}" for link in self.membership.links if not link.away]
        return [self.me, *there]

    def is_there(self, member: str) -> bool:
        """Whether a member that a note names takes part, in the same life, as far as this member knows."""
        name, _, life = member.partition(":")
        roster = self.membership.roster
        if name == self.membership.name:
            return life == str(self.membership.incarnation)
        for link in self.membership.links:
            if link.name == name:
                return not link.away and str(roster.known(link.peer)) in (life, "0")
        return False

    # -- asking ----------------------------------------------------------------------------------------

    def _check(self, key: str, kept: bool) -> None:
        if not kept:
            raise LockLost(f"the lock of {key!r} is not held any more: another process has had it since")

    def _check_open(self) -> None:
        if self.membership.closing:
            raise ClusterDegraded(self.membership.ended or f"{self.membership.name!r} has left the cluster")

    async def _ask(self, begin: Callable[[SavedNotes], int]) -> Outcome:
        """Ask a question; when it has ended, whether a majority has said yes."""
        await self.membership.opened.wait()
        self._check_open()
        notes = self.notes
        assert notes is not None
        answer: asyncio.Future[Outcome] = self.membership.loop.create_future()
        with self.membership.turn:
            number = begin(notes)
            self.waiting[number] = answer
            self._look()
        try:
            while not answer.done():
                await asyncio.wait([answer], timeout=AGAIN)
                self._check_open()
            return answer.result()
        finally:
            if self.waiting.pop(number, None) is not None:
                notes.forget(number)

    def _look(self) -> None:
        """Have questions ended? What was answered in one view counts, and would be asked again in the next."""
        notes = self.notes
        if notes is not None:
            for number in [number for number in self.waiting if notes.has_ended(number)]:
                kept = notes.is_kept(number)
                self.waiting.pop(number).set_result((kept, notes.forget(number)))

    async def keep_asking(self) -> None:
        """Repeat what may have been lost, as long as this member takes part."""
        while True:
            await asyncio.sleep(AGAIN)
            notes = self.notes
            if notes is not None and (self.waiting or (notes.keeps() and not notes.is_complete())):
                with self.membership.turn:
                    notes.retry(self.out)
                    self._look()

    # -- the view --------------------------------------------------------------------------------------

    def follow(self) -> None:
        """There is a view, the first one or a new one."""
        membership, agreement = self.membership, self.agreement
        members: tuple[int, ...] = (membership.me, *[link.peer for link in membership.links])
        voters: Voters
        if agreement is None:
            number, voters, birth = 0, tuple([(member, 0) for member in sorted(members)]), 0
            if membership.storage.load("notes") is None and not membership.roster.has_founded():
                birth = FORGOTTEN
        else:
            view = agreement.view
            number, voters, birth = view.number, view.voters, agreement.node.views.birth
            members = view.processes
        with membership.turn:
            if self.notes is None:
                self.notes = SavedNotes(membership.storage, membership.me, birth, number, voters)
                self.notes.save_base(self.out)
            self.notes.move(number, voters, members, birth, self.out)
            self._look()

    def _voters(self, notes: SavedNotes) -> list[int]:
        return [process for process, _ in notes.view[1]]

    # -- what peers send -------------------------------------------------------------------------------

    def post(self, processes: list[int], message: Message) -> None:
        frame: Notice[Any] = Notice(self.vocabulary.encode(message))
        for link in self.membership.links:
            if link.peer in processes:
                link.post(frame)

    def _on_notice(self, link: Link, notice: Notice[Any]) -> None:
        self.membership.require_open()
        message = self.vocabulary.message(notice.body)
        if not isinstance(message, NoteMessage):
            raise ProtocolError(f"sent {type(message).__name__} as if it were about notes")
        _check_size(message)
        if isinstance(message, (Put, Seen)):
            self._hear(message.key, Note(*message.note))
        notes = self.notes
        if notes is None or message.view > notes.view[0]:
            return  # it will be asked again
        if message.view < notes.view[0]:
            if self.agreement is not None:
                self.agreement.is_current(link.peer, message.view)
            return
        notes.receive(link.peer, message, self.out)
        self._look()

    def _hear(self, key: str, note: Note) -> None:
        """There is this note, whether it is here or not."""
        if note > self.heard.get(key, EMPTY):
            self.heard[key] = note
            for event in self.watchers.get(key, ()):
                event.set()


def _check_size(message: NoteMessage) -> None:
    if isinstance(message, (Look, Seen, Put, Stored)) and len(message.key) > LONGEST_NAME:
        raise ProtocolError(f"the name of a note has {len(message.key)} characters, which is too long")
    if isinstance(message, Put) and (message.note[0] <= 0 or len(message.note[2]) > LONGEST_NOTE):
        raise ProtocolError(f"sent an invalid note for {message.key!r}")
    if isinstance(message, Had) and any([len(kept[0]) > LONGEST_NAME for kept in message.notes]):
        raise ProtocolError("the name of a note is too long")
