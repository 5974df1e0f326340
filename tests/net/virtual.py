"""A world in one process in which real members run in virtual time: an event loop that never waits, and a network that
exists in memory only.

Everything that a member does, its tasks, timers and connections, belongs to its `Machine`. A machine has a clock of its
own, which may run faster or slower than others. It can be paused, and it can crash. Cables between machines can be cut,
in one direction or both; what was sent is delivered when they are mended, as TCP does. Equal seeds give equal runs.
"""

from __future__ import annotations

import asyncio
import contextvars
import random
import socket
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from heapq import heappop, heappush
from typing import Any, TypeVar

T = TypeVar("T")
CHUNK = 1 << 15


class Machine:
    """One life of a process."""

    def __init__(self, name: str, place: str, rate: float, offset: float) -> None:
        self.name = name
        self.place = place  # its address
        self.rate = rate  # of its clock: seconds in a second
        self.offset = offset
        self.paused = False
        self.crashed = False
        self.waiting: list[events.Handle] = []  # what is to happen when it goes on
        self.transports: dict[VirtualTransport, None] = {}
        self.tasks: list[asyncio.Task[Any]] = []

    def clock(self, now: float) -> float:
        return now * self.rate + self.offset


MACHINE: contextvars.ContextVar[Machine | None] = contextvars.ContextVar("machine", default=None)


class VirtualLoop(asyncio.AbstractEventLoop):
    def __init__(self, network: Network) -> None:
        self.network = network
        network.loop = self
        self.now = 0.0
        self.ready: deque[events.Handle] = deque()
        self.timers: list[tuple[float, int, events.Handle]] = []
        self.count = 0
        self.steps = 0
        self.errors: list[str] = []

    # -- time ------------------------------------------------------------------------------------------

    def time(self) -> float:
        """By the clock of the machine that asks."""
        machine = MACHINE.get()
        return self.now if machine is None else machine.clock(self.now)

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> events.Handle:
        handle = events.Handle(callback, args, self, context)
        self.ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> events.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> events.TimerHandle:
        machine = MACHINE.get()
        moment = when if machine is None else (when - machine.offset) / machine.rate
        handle = events.TimerHandle(when, callback, args, self, context)
        self._push(moment, handle)
        return handle

    def at(self, moment: float, callback: Callable[..., object], *args: Any, context: contextvars.Context) -> None:
        """In true time, on the machine that the context is of."""
        self._push(moment, events.Handle(callback, args, self, context))

    def _push(self, moment: float, handle: events.Handle) -> None:
        self.count += 1
        heappush(self.timers, (moment, self.count, handle))

    def _timer_handle_cancelled(self, handle: events.TimerHandle) -> None:
        pass

    # -- running ---------------------------------------------------------------------------------------

    def run_until_complete(self, future: Any) -> Any:
        events._set_running_loop(self)
        try:
            task = asyncio.ensure_future(future, loop=self)
            while not task.done():
                self._step()
            return task.result()
        finally:
            events._set_running_loop(None)

    def _step(self) -> None:
        if self.ready:
            handle = self.ready.popleft()
        else:
            moment, _, handle = heappop(self.timers)
            self.now = max(self.now, moment)
        if handle.cancelled():
            return
        machine = handle._context.get(MACHINE)  # type: ignore[attr-defined]
        if machine is not None and machine.crashed:
            return
        if machine is not None and machine.paused:
            machine.waiting.append(handle)
            return
        self.steps += 1
        handle._run()

    def go_on(self, machine: Machine) -> None:
        """A machine that was paused is so no more."""
        machine.paused = False
        waiting, machine.waiting = machine.waiting, []
        self.ready.extend(waiting)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: Any = None, context: Any = None) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        machine = MACHINE.get()
        if machine is not None:
            machine.tasks.append(task)
        return task

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(f"{context.get('message')}: {context.get('exception')!r}")

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)

    # -- the network -----------------------------------------------------------------------------------

    def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:
        """Nobody calls at a virtual listener: `Network` makes both ends of a connection."""

    def remove_reader(self, fd: Any) -> bool:
        return False

    async def create_connection(self, protocol_factory: Any, host: Any = None, port: Any = None, **_: Any) -> Any:
        return await self.network.connect(f"{host}:{port}", protocol_factory)


class VirtualListener(socket.socket):
    """In the place of a socket on which a member listens."""

    def __init__(self, place: str) -> None:
        super().__init__(socket.AF_UNIX)
        self.place = place

    def listen(self, backlog: int = 0, /) -> None:
        pass

    def getsockname(self) -> Any:
        host, _, port = self.place.rpartition(":")
        return host, int(port)


class VirtualTransport(asyncio.Transport):
    """One end of a connection."""

    def __init__(self, network: Network, protocol: Any, peer_place: str) -> None:
        machine = MACHINE.get()
        assert machine is not None
        super().__init__({"socket": self, "peername": (peer_place.rpartition(":")[0], 0)})
        self.network = network
        self.protocol = protocol
        self.machine = machine
        self.context = contextvars.copy_context()
        self.peer: VirtualTransport | None = None
        self.closing = False
        self.lost = False
        self.arrives_at = 0.0  # when the last thing that was sent gets there
        self.held: list[Callable[[], None]] = []  # what was sent while the cable was cut
        machine.transports[self] = None

    def setsockopt(self, *_: Any) -> None:
        pass

    def write(self, data: Any) -> None:
        if not self.closing:
            copy = bytes(data)
            self._send(lambda: self._give(copy))

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self._end(None, None)

    def abort(self) -> None:
        self._end(None, ConnectionResetError("reset by peer"))

    def _end(self, here: Exception | None, there: Exception | None) -> None:
        if not self.closing:
            self.closing = True
            self._send(lambda: self._hang_up(there))
            self.network.loop.call_soon(self._lose, here, context=self.context)

    def _send(self, arrive: Callable[[], None]) -> None:
        """Let something happen at the other end, in order, after a while."""
        if self.peer is None:
            return
        if self.network.is_cut(self.machine, self.peer.machine):
            self.held.append(arrive)
            return
        loop = self.network.loop
        moment = max(loop.now + self.network.delay(self.machine, self.peer.machine), self.arrives_at)
        self.arrives_at = moment
        loop.at(moment, arrive, context=self.peer.context)

    def flush(self) -> None:
        """The cable is mended."""
        held, self.held = self.held, []
        for arrive in held:
            self._send(arrive)

    def _give(self, data: bytes) -> None:
        """Data arrives at the other end."""
        peer = self.peer
        if peer is None or peer.closing or peer.lost:
            return
        if not isinstance(peer.protocol, asyncio.BufferedProtocol):
            peer.protocol.data_received(data)
            return
        for start in range(0, len(data), CHUNK):
            if not peer.closing:
                piece = data[start : start + CHUNK]
                peer.protocol.get_buffer(-1)[: len(piece)] = piece  # type: ignore[index]
                peer.protocol.buffer_updated(len(piece))

    def _hang_up(self, error: Exception | None) -> None:
        if self.peer is not None and not self.peer.lost:
            self.peer.closing = True
            self.peer._lose(error)

    def _lose(self, error: Exception | None) -> None:
        if not self.lost:
            self.lost = True
            self.machine.transports.pop(self, None)
            self.protocol.connection_lost(error)


class Network:
    """Which machine is where, what is cut, and how long things take."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.loop: VirtualLoop
        self.machines: dict[str, Machine] = {}  # by address
        self.answer: dict[str, Callable[[], Any]] = {}  # makes the protocol object of a connection to an address
        self.cuts: dict[tuple[str, str], int] = {}  # from one address to another, and how often
        self.delays: dict[str, float] = {}  # seconds, of all that comes from or goes to an address
        self.mended: asyncio.Event | None = None

    def delay(self, src: Machine, dst: Machine) -> float:
        slow = max(self.delays.get(src.place, 0.0), self.delays.get(dst.place, 0.0))
        return self.rng.uniform(0.0001, 0.001) + self.rng.uniform(0.5, 1.0) * slow

    def is_cut(self, src: Machine, dst: Machine) -> bool:
        return (src.place, dst.place) in self.cuts

    def cut(self, src: str, dst: str) -> None:
        """Let nothing get from one address to the other."""
        self.cuts[src, dst] = self.cuts.get((src, dst), 0) + 1

    def mend(self, src: str, dst: str) -> None:
        self.cuts[src, dst] -= 1
        if self.cuts[src, dst] == 0:
            del self.cuts[src, dst]
            for transport in list(self.machines[src].transports) if src in self.machines else []:
                if transport.peer is not None and transport.peer.machine.place == dst:
                    transport.flush()

    async def connect(self, place: str, protocol_factory: Callable[[], Any]) -> tuple[VirtualTransport, Any]:
        """What `create_connection` does."""
        caller = MACHINE.get()
        assert caller is not None
        pause = 0.01
        while (caller.place, place) in self.cuts or (place, caller.place) in self.cuts or self._is_silent(place):
            await asyncio.sleep(pause)  # the packets of the handshake are sent again
            pause = min(2 * pause, 1.0)
        await asyncio.sleep(self.delay(caller, caller))
        called = self.machines.get(place)
        if called is None or called.crashed or place not in self.answer:
            raise ConnectionRefusedError(f"nobody listens at {place}")
        ours = VirtualTransport(self, protocol_factory(), place)
        theirs = self.context_of(called).run(self._accept, place, caller.place)
        ours.peer, theirs.peer = theirs, ours
        ours.protocol.connection_made(ours)
        theirs.context.run(theirs.protocol.connection_made, theirs)
        return ours, ours.protocol

    def _is_silent(self, place: str) -> bool:
        machine = self.machines.get(place)
        return machine is not None and machine.paused

    def _accept(self, place: str, caller: str) -> VirtualTransport:
        return VirtualTransport(self, self.answer[place](), caller)

    def context_of(self, machine: Machine) -> contextvars.Context:
        context = contextvars.Context()
        context.run(MACHINE.set, machine)
        return context

    # -- machines --------------------------------------------------------------------------------------

    def boot(self, name: str, place: str, rate: float = 1.0) -> Machine:
        machine = Machine(name, place, rate, self.rng.uniform(0, 1e6))
        self.machines[place] = machine
        return machine

    def run(self, machine: Machine, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task on a machine."""
        return self.context_of(machine).run(self.loop.create_task, work)

    def crash(self, machine: Machine) -> None:
        """Nothing happens there any more. The connections break, as an operating system does that for a process."""
        machine.crashed = True
        self.answer.pop(machine.place, None)
        for transport in list(machine.transports):
            if not transport.closing:
                transport.closing = True
                transport._send(lambda gone=transport: gone._hang_up(ConnectionResetError("crashed")))  # type: ignore[misc]
        for task in machine.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]

    def pause(self, machine: Machine) -> None:
        machine.paused = True

    def go_on(self, machine: Machine) -> None:
        self.loop.go_on(machine)
