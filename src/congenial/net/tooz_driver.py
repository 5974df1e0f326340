"""A driver for tooz, OpenStack's library for coordination: locks, groups and the election of leaders.

    coordinator = tooz.coordination.get_coordinator("congenial:///run/congenial/a.sock", b"host-1")
    coordinator.start()

The URL names the socket of a node on this machine; or nodes elsewhere, with the files of the program's certificate:

    congenial://10.0.0.1:7201?node=a&ca=ca.pem&certificate=web.pem&key=web.key

A coordinator is a client of that node (`congenial.net.client`). Groups are notes behind locks. As long as a
coordinator runs, it holds a lock of its own; when it crashes, its node releases that, and it is no longer a member
of its groups. So nothing needs heartbeats.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import tooz
from tooz import coordination, locking

from congenial.kernel.errors import CongenialError
from congenial.net.blocking_client import BlockingClient, connect_blocking
from congenial.net.blocking_locks import BlockingHeld
from congenial.net.errors import NotHeld, WouldDeadlock
from congenial.net.primitives.shared import Shared
from congenial.net.tls import Tls

ASK_ONCE = 0.5  # seconds in which the others can be asked for a lock that is not to be waited for

T = TypeVar("T")


# -- what groups remember ---------------------------------------------------------------------------------------


class MemberState(msgspec.Struct, array_like=True):
    coordinator: str
    capabilities: Any = None


class GroupState(msgspec.Struct, array_like=True):
    created: bool = False
    members: dict[bytes, MemberState] = {}
    leader: tuple[bytes, str] | None = None  # and its coordinator


class Group(Shared[GroupState]):
    kind = "tooz group"
    state_class = GroupState


class GroupsState(msgspec.Struct, array_like=True):
    names: list[bytes] = []


class Groups(Shared[GroupsState]):
    kind = "tooz groups"
    state_class = GroupsState


class Result(coordination.CoordAsyncResult):  # type: ignore[misc]
    """What was done, or why it could not be."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._value: Any = None
        self._error: Exception | None = None
        try:
            self._value = work()
        except (tooz.ToozError, CongenialError) as error:
            self._error = error

    def get(self, timeout: float | None = None) -> Any:
        if isinstance(self._error, CongenialError):
            raise coordination.ToozConnectionError(str(self._error)) from self._error
        if self._error is not None:
            raise self._error
        return self._value

    def done(self) -> bool:
        return True


def as_bytes(name: str | bytes) -> bytes:
    return name.encode() if isinstance(name, str) else name


class CongenialLock(locking.Lock):  # type: ignore[misc]
    """A mutex, or a lock that is shared."""

    def __init__(self, client: BlockingClient, name: bytes) -> None:
        super().__init__(name)
        self._client = client
        self._held: list[BlockingHeld] = []

    def acquire(self, blocking: bool | float = True, shared: bool = False, timeout: float | None = None) -> bool:
        limit = timeout if blocking is True else ASK_ONCE if blocking is False else float(blocking)
        lock = self._client.shared(self.name) if shared else self._client.exclusive(self.name)
        try:
            held = lock.acquire(timeout=limit)
        except WouldDeadlock as error:
            raise coordination.LockAcquireFailed(str(error)) from error
        except CongenialError as error:
            raise coordination.ToozConnectionError(str(error)) from error
        if held is None:
            return False
        self._held.append(held)
        return True

    def release(self) -> bool:
        if not self._held:
            return False
        try:
            self._held.pop().release()
        except NotHeld:
            return False
        return True

    def is_still_owner(self) -> bool:
        return bool(self._held) and self._held[-1].held

    @property
    def acquired(self) -> bool:
        return self.is_still_owner()


class CongenialDriver(coordination.CoordinationDriverCachedRunWatchers):  # type: ignore[misc]
    """A coordinator."""

    CHARACTERISTICS = (
        coordination.Characteristics.NON_TIMEOUT_BASED,
        coordination.Characteristics.DISTRIBUTED_ACROSS_THREADS,
        coordination.Characteristics.DISTRIBUTED_ACROSS_PROCESSES,
        coordination.Characteristics.DISTRIBUTED_ACROSS_HOSTS,
        coordination.Characteristics.LINEARIZABLE,
    )

    def __init__(self, member_id: str | bytes, parsed_url: Any, options: dict[str, Any]) -> None:
        super().__init__(as_bytes(member_id), parsed_url, options)
        self._url = parsed_url
        self._options = {key: value[-1] if isinstance(value, list) else value for key, value in options.items()}
        self._client: BlockingClient | None = None
        self._id = ""
        self._leading: dict[bytes, BlockingHeld] = {}

    # -- life ------------------------------------------------------------------------------------------

    def _start(self) -> None:
        try:
            client = connect_blocking(*self._where()).start() if not self._url.hostname else self._distant().start()
            self._id = uuid.uuid4().hex
            client.mutex(f"tooz {self._id}").acquire()
        except CongenialError as error:
            raise coordination.ToozConnectionError(str(error)) from error
        self._client = client

    def _where(self) -> tuple[str, ...]:
        return (self._url.path,) if self._url.path else ()

    def _distant(self) -> BlockingClient:
        place = f"{self._url.hostname}:{self._url.port}"
        try:
            tls = Tls(*[self._options[key] for key in ("ca", "certificate", "key")])
            node = self._options["node"]
        except KeyError as missing:
            raise coordination.ToozConnectionError(
                f"{place}: nodes elsewhere are reached over TLS: {missing} is missing in the URL"
            ) from None
        return connect_blocking({node: place}, tls=tls)

    def _stop(self) -> None:
        for group_id in list(self._leading):
            self.stand_down_group_leader(group_id)
        self._connected.close()
        self._client = None

    @property
    def _connected(self) -> BlockingClient:
        if self._client is None:
            raise tooz.ToozError("this coordinator is not started")
        return self._client

    # -- groups ----------------------------------------------------------------------------------------

    def _group(self, group_id: str | bytes) -> Group:
        return self._connected._call(lambda: Group(self._connected._inner, as_bytes(group_id)))

    def _change(self, group_id: str | bytes, step: Callable[[GroupState], T]) -> T:
        return self._connected._run(self._group(group_id)._change(step))

    def _look(self, group_id: str | bytes) -> GroupState:
        state = self._connected._run(self._group(group_id)._fresh())
        if not state.created:
            raise coordination.GroupNotCreated(group_id)
        return state

    def _list(self, group_id: bytes, there: bool) -> None:
        """Note in the list of groups that a group is there, or not."""
        groups = self._connected._call(lambda: Groups(self._connected._inner, "all"))

        def step(state: GroupsState) -> None:
            names = [name for name in state.names if name != group_id]
            state.names = [*names, group_id] if there else names

        self._connected._run(groups._change(step))

    def create_group(self, group_id: str | bytes) -> Result:
        def work() -> None:
            def step(state: GroupState) -> None:
                if state.created:
                    raise coordination.GroupAlreadyExist(group_id)
                state.created = True

            self._change(group_id, step)
            self._list(as_bytes(group_id), True)

        return Result(work)

    def delete_group(self, group_id: str | bytes) -> Result:
        def work() -> None:
            alive = self._alive(self._look(group_id))

            def step(state: GroupState) -> None:
                if not state.created:
                    raise coordination.GroupNotCreated(group_id)
                if alive & set(state.members):
                    raise coordination.GroupNotEmpty(group_id)
                state.created, state.members, state.leader = False, {}, None

            self._change(group_id, step)
            self._list(as_bytes(group_id), False)

        return Result(work)

    def get_groups(self) -> Result:
        groups = self._connected._call(lambda: Groups(self._connected._inner, "all"))
        return Result(lambda: self._connected._run(groups._fresh()).names)

    def join_group(self, group_id: str | bytes, capabilities: Any = None) -> Result:
        def work() -> None:
            alive = self._alive(self._look(group_id))

            def step(state: GroupState) -> None:
                if not state.created:
                    raise coordination.GroupNotCreated(group_id)
                if self._member_id in alive and self._member_id in state.members:
                    raise coordination.MemberAlreadyExist(group_id, self._member_id)
                state.members[self._member_id] = MemberState(self._id, capabilities)

            self._change(group_id, step)
            self._joined_groups.add(as_bytes(group_id))

        return Result(work)

    def leave_group(self, group_id: str | bytes) -> Result:
        def work() -> None:
            def step(state: GroupState) -> None:
                if not state.created:
                    raise coordination.GroupNotCreated(group_id)
                if state.members.pop(self._member_id, None) is None:
                    raise coordination.MemberNotJoined(group_id, self._member_id)

            self._change(group_id, step)
            self._joined_groups.discard(as_bytes(group_id))

        return Result(work)

    def update_capabilities(self, group_id: str | bytes, capabilities: Any) -> Result:
        def step(state: GroupState) -> None:
            if not state.created:
                raise coordination.GroupNotCreated(group_id)
            if self._member_id not in state.members:
                raise coordination.MemberNotJoined(group_id, self._member_id)
            state.members[self._member_id].capabilities = capabilities

        return Result(lambda: self._change(group_id, step))

    def get_members(self, group_id: str | bytes) -> Result:
        return Result(lambda: self._alive(self._look(group_id)))

    def get_members_with_capabilities(self, group_id: str | bytes) -> Result:
        def work() -> dict[bytes, Any]:
            state = self._look(group_id)
            return {member: state.members[member].capabilities for member in self._alive(state)}

        return Result(work)

    def get_member_capabilities(self, group_id: str | bytes, member_id: str | bytes) -> Result:
        return Result(lambda: self._member(group_id, member_id).capabilities)

    def get_member_info(self, group_id: str | bytes, member_id: str | bytes) -> Result:
        return Result(lambda: {"capabilities": self._member(group_id, member_id).capabilities})

    def _member(self, group_id: str | bytes, member_id: str | bytes) -> MemberState:
        found = self._look(group_id).members.get(as_bytes(member_id))
        if found is None:
            raise coordination.MemberNotJoined(group_id, member_id)
        return found

    def _alive(self, state: GroupState) -> set[bytes]:
        """The members whose coordinators hold the lock that says that they are there."""
        runs = {one: self._runs(one) for one in {member.coordinator for member in state.members.values()}}
        return {name for name, member in state.members.items() if runs[member.coordinator]}

    def _runs(self, coordinator: str) -> bool:
        if coordinator == self._id:
            return True
        lock = f"tooz {coordinator}"
        nodes = self._connected.status_of_all(lock=lock).values()
        return any([node is None or node["locks"].get(lock, {}).get("holders") for node in nodes])

    # -- leaders ---------------------------------------------------------------------------------------

    def run_watchers(self, timeout: float | None = None) -> list[Any]:
        result: list[Any] = super().run_watchers(timeout)
        self.run_elect_coordinator()
        return result

    def run_elect_coordinator(self) -> None:
        """Try to become the leader of each group that is watched for that."""
        for group_id, hooks in list(self._hooks_elected_leader.items()):
            held = self._leading.get(group_id)
            if held is not None and held.held:
                continue
            lock = self._connected.mutex(b"tooz leader " + as_bytes(group_id))
            held = lock.acquire(timeout=ASK_ONCE)
            if held is not None:
                self._leading[group_id] = held
                self._change(group_id, self._lead)
                hooks.run(coordination.LeaderElected(group_id, self._member_id))

    def _lead(self, state: GroupState) -> None:
        state.leader = (self._member_id, self._id)

    def stand_down_group_leader(self, group_id: str | bytes) -> bool:
        held = self._leading.pop(as_bytes(group_id), None)
        if held is None or not held.held:
            return False

        def step(state: GroupState) -> None:
            if state.leader == (self._member_id, self._id):
                state.leader = None

        self._change(group_id, step)
        held.release()
        return True

    def get_leader(self, group_id: str | bytes) -> Result:
        def work() -> bytes | None:
            leader = self._look(group_id).leader
            return leader[0] if leader is not None and self._runs(leader[1]) else None

        return Result(work)

    # -- locks -----------------------------------------------------------------------------------------

    def get_lock(self, name: str | bytes) -> CongenialLock:
        return CongenialLock(self._connected, as_bytes(name))
