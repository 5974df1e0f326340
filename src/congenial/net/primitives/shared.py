"""A small state that members share by name: a note, changed under a mutex, and watched by those that wait."""

from __future__ import annotations

import asyncio
from abc import ABC
from collections.abc import Callable
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from congenial.net.acquiring import Acquirable
from congenial.net.checked import checked_name, checked_timeout
from congenial.net.names import lock_key, readable
from congenial.net.notes import Note

LOOK_AGAIN = 0.5  # seconds after which a task that waits asks the others

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")


class NoteBoard(Protocol):
    """What keeps notes: `congenial.net.board`."""

    @property
    def me(self) -> str: ...

    def local(self, key: str) -> Note: ...

    def is_there(self, member: str) -> bool: ...

    async def read(self, key: str, fence: int) -> Note: ...

    async def write(self, key: str, fence: int, value: bytes) -> None: ...

    async def fresh(self, key: str) -> Note: ...

    async def confirm(self, key: str, note: Note) -> bool: ...

    async def changed(self, key: str, note: Note, limit: float) -> None: ...


class Desk(Protocol):
    """What has locks and notes: a member of a cluster, or a program that uses a node."""

    def mutex(self, name: str | bytes, *, timeout: float | None = None, reentrant: bool = False) -> Acquirable[Any]: ...

    @property
    def _board(self) -> NoteBoard: ...


class Shared(ABC, Generic[S]):
    """Something with a name, and a state of class `state_class`."""

    kind: ClassVar[str]
    state_class: type[S]

    def __init__(self, desk: Desk, name: str | bytes, reentrant: bool = False) -> None:
        name = checked_name("name", name)
        self.name = readable(name)
        self._desk = desk
        self._key = f"{self.kind} {lock_key(name)}"
        self._lock = desk.mutex(f"{name} ({self.kind})", reentrant=reentrant)
        self._decode = msgspec.msgpack.Decoder(self.state_class).decode

    def _initial(self) -> S:
        return self.state_class()

    def _state_of(self, note: Note) -> S:
        return self._decode(note.value) if note.value else self._initial()

    def _local(self) -> S:
        """The state as far as this process knows."""
        return self._state_of(self._desk._board.local(self._key))

    async def _change(self, step: Callable[[S], T]) -> T:
        """Change the state, alone. Returns what the step returns; if it raises, nothing is changed."""
        async with self._lock as held:
            return await self._change_holding(held.fence, step)

    async def _change_holding(self, fence: int, step: Callable[[S], T]) -> T:
        """The same, by the holder of the lock."""
        board = self._desk._board
        note = await board.read(self._key, fence)
        state = self._state_of(note)
        result = step(state)
        value = msgspec.msgpack.encode(state)
        if value != note.value:
            await board.write(self._key, fence, value)
        return result

    async def _fresh(self) -> S:
        return self._state_of(await self._desk._board.fresh(self._key))

    async def _until(self, test: Callable[[S], bool]) -> S:
        """Wait until the state is so, for a majority."""
        board = self._desk._board
        while True:
            note = board.local(self._key)
            state = self._state_of(note)
            if test(state):
                if await board.confirm(self._key, note):
                    return state
                state = await self._change(_same)  # whether it is so, only a holder of the lock can tell
                if test(state):
                    return state
            await board.changed(self._key, note, LOOK_AGAIN)


def _same(state: S) -> S:
    return state


async def within(timeout: float | None, work: Callable[[], Any]) -> bool:
    """True if some work was done within so many seconds."""
    try:
        async with asyncio.timeout(checked_timeout(timeout)):
            await work()
    except TimeoutError:
        return False
    return True
