"""The election of a leader: one process at a time leads, and is told when it no longer does."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import msgspec

from congenial.net.held import Losable, WithBody, current_task
from congenial.net.primitives.shared import Shared


class LeadState(msgspec.Struct, array_like=True):
    leader: str = ""


class Lead(Shared[LeadState]):
    """A block that only the leader is in.

    >>> import asyncio, congenial
    >>> async def schedule() -> None:
    ...     async with congenial.join("a", {"a": "127.0.0.1:7101"}) as cluster:
    ...         async with cluster.lead("scheduler") as held:  # waits until this process leads
    ...             print(await cluster.lead("scheduler").leader(), held.held)
    >>> asyncio.run(schedule())
    a True

    It is a mutex: the block is interrupted when the leader loses it, and ends with `LockLost`; `held.on_lost` and
    `held.lost` tell, too, and `held.fence` grows from leader to leader.
    """

    kind = "lead"
    state_class = LeadState

    _body: WithBody[Losable]

    async def __aenter__(self) -> Any:
        held = await self._enter(current_task())
        self._body = WithBody(held)
        return held

    async def _enter(self, owner: object) -> Losable:
        held: Losable | None = await self._lock._acquire(owner, None, True)
        assert held is not None
        me = self._desk._board.me
        try:
            await self._change_holding(held.fence, lambda state: _name(state, me))
        except BaseException:
            held._finish()
            raise
        return held

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._body.end(error)

    async def leader(self) -> str | None:
        """The name of the member that leads, or led last; None if that has left the cluster or crashed."""
        leader = (await self._fresh()).leader
        return leader.partition(":")[0] if leader and self._desk._board.is_there(leader) else None

    def __repr__(self) -> str:
        return f"<lead {self.name!r}: {'leading' if self._lock.locked() else 'not leading'}>"


def _name(state: LeadState, leader: str) -> None:
    state.leader = leader
