"""Notes (`congenial.net.notes`) as a program has them that uses a node."""

from __future__ import annotations

from typing import Protocol

from congenial.net.asks import Answer, Ask
from congenial.net.notes import EMPTY, Note


class Asker(Protocol):
    async def ask(self, ask: Ask) -> Answer: ...


class RemoteBoard:
    def __init__(self, client: Asker) -> None:
        self.client = client
        self.me = ""
        self.there: list[str] = []
        self.heard: dict[str, Note] = {}

    def hear_members(self, answer: Answer) -> None:
        if answer.me:
            self.me, self.there = answer.me, answer.there

    def local(self, key: str) -> Note:
        return self.heard.get(key, EMPTY)

    def is_there(self, member: str) -> bool:
        return member in self.there

    async def read(self, key: str, fence: int) -> Note:
        return await self._note(Ask("read", 0, name=key, fence=fence))

    async def write(self, key: str, fence: int, value: bytes) -> None:
        await self._note(Ask("write", 0, name=key, fence=fence, value=value))

    async def fresh(self, key: str) -> Note:
        return await self._note(Ask("fresh", 0, name=key))

    async def confirm(self, key: str, note: Note) -> bool:
        answer = await self.client.ask(Ask("confirm", 0, name=key, fence=note.fence, turn=note.turn, value=note.value))
        return answer.kept

    async def changed(self, key: str, note: Note, limit: float) -> None:
        if self.local(key) == note:
            known = {"fence": note.fence, "turn": note.turn, "value": note.value}
            await self._note(Ask("watch", 0, name=key, timeout=limit, **known))  # type: ignore[arg-type]

    async def _note(self, ask: Ask) -> Note:
        answer = await self.client.ask(ask)
        self.hear_members(answer)
        note = Note(answer.fence, answer.turn, answer.value)
        self.heard[ask.name] = max(self.local(ask.name), note)
        return note
