"""The engine: one run of one system, event by event.

Everything that will happen is either an event in the queue (somebody asks, leaves, a timer runs out, a fault strikes, a
message arrives) or, where channels delay messages exponentially and do not keep their order, a message in the bag. The
loop takes whatever comes first. All random numbers come from seeded streams; equal seeds give equal runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from librt.random import Random
from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.kernel import trace as tr
from congenial.kernel.errors import CongenialError, ContractError
from congenial.kernel.judge import Judge
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.state import durable_state, restore_durable
from congenial.kernel.trace import Event, Trace, message_event
from congenial.sim.chance import CHOICES, FAULTS, NETWORK, Distribution, Exponential, exponential
from congenial.sim.faults import FOREVER, NO_FAULTS, Faults, Mishap, Outage, Partition, RandomOutages, RandomPartitions
from congenial.sim.meter import Meter
from congenial.sim.queue import Bag, EventQueue
from congenial.sim.workload import NEVER, Workload
from congenial.systems.streams import stream
from congenial.systems.system import System

# what a queued event is: its payload is kind | argument
KIND: Final = 56
MASK: Final = (1 << KIND) - 1
ASK: Final = 0 << KIND  # of process
LEAVE: Final = 1 << KIND  # of process
ARRIVE: Final = 2 << KIND  # envelope and destination
TRANSMITTED: Final = 3 << KIND  # envelope, all of it on the wire
TIMER: Final = 4 << KIND  # timer and process
FAULT: Final = 5 << KIND  # index of a scripted change
STRIKE: Final = 6 << KIND  # index of a random fault, and process
INFORM: Final = 7 << KIND  # the detector's news, and the process it is about
ISSUE: Final = 8 << KIND  # an operation of process

PROCESS_BITS: Final = 20
PROCESS_MASK: Final = (1 << PROCESS_BITS) - 1
MOST_PROCESSES: Final = 1 << PROCESS_BITS

UP: Final = 0
DOWN: Final = 1
PAUSED: Final = 2

KEPT: Final = -1  # in place of an event's number: it has come, and waits for a paused process to go on

ENDS: Final = {"crash": "recover", "pause": "resume", "suspect": "trust"}  # what ends what

PATIENCE: Final = 100_000  # timers that may run out in a row before a run is called stuck
PROGRESS_EVERY: Final = 0xFFFF


class SimulationFailed(CongenialError):
    """A run was stopped: something forbidden happened, or a node raised. `cause` is the error itself."""

    def __init__(self, cause: Exception, time: float, process: int) -> None:
        what = str(cause) if isinstance(cause, CongenialError) else f"{type(cause).__name__}: {cause}"
        super().__init__(f"{what} (at time {time:.6g}, in a step of process {process})")
        self.cause = cause
        self.time = time
        self.process = process


@final
class Engine(Out):
    def __init__(
        self,
        system: System,
        workload: Workload,
        delay: Distribution,
        seed: int,
        fifo: bool = False,
        bandwidth: float = 0.0,
        faults: Faults = NO_FAULTS,
        warmup: float = 0.0,
        until: float = FOREVER,
        trace: Trace | None = None,
        progress: Callable[[int], None] | None = None,
        operations: int = 0,
    ) -> None:
        n = system.n
        self.system = system
        self.nodes: list[Node] = system.nodes()
        self.workload = workload
        self.delay = delay
        self.bandwidth = bandwidth  # integers per unit of time; 0: no limit
        self.faults = faults
        self.warmup = warmup
        self.until = until
        self.trace = trace
        self.progress = progress
        self.n: i64 = n
        self.now = 0.0
        self.current: i64 = 0  # the process whose step it is
        self.judge = Judge(system.problem, n)
        self.meter = Meter(n)
        self.operations: i64 = operations  # that a process issues, one after the other, when it has entered
        self.to_issue: list[int] = [0] * n  # in this stay
        self.unfinished: i64 = n  # processes that will ask again, wait or hold
        self.stuck = False
        # messages under way: in the bag if order does not matter and delays have no memory, else in the queue
        self.queue = EventQueue()
        self.bag = Bag()
        self.memoryless = isinstance(delay, Exponential) and not fifo
        self.order: ChannelOrder | None = ChannelOrder(n) if fifo else None
        self.under_way: i64 = 0  # messages in the queue or kept for a paused process
        # envelopes: what is known of a message while copies of it are under way
        self.messages: list[Message | None] = []
        self.sources = vec[i64]()
        self.destinations = vec[i64]()  # -1: everyone
        self.copies = vec[i64]()
        self.ids = vec[i64]()
        self.free = vec[i64]()
        self.free_count: i64 = 0
        self.sent_count: i64 = 0
        # processes
        self.streams: list[Random] = [stream(seed, process) for process in range(n)]
        self.network: Random = stream(seed, NETWORK)
        self.choices: Random = stream(seed, CHOICES)
        self.status = vec[i64]([UP] * n)
        self.appointments = vec[i64]([0] * n)  # the number of the queued event by which a process will ask or leave
        self.due = vec[float]([NEVER] * n)  # when a process that thinks will ask
        self.timers: dict[int, int] = {}  # the number of the queued event of each timer that is set
        self.timers_in_a_row: i64 = 0
        self.saving = False
        self.saved: list[object] = [durable_state(node) for node in self.nodes]
        # faults
        self.mischance: Random = stream(seed, FAULTS)
        self.faulty = faults.any
        self.loss_rate = 0.0
        self.duplication_rate = 0.0
        self.reordering_rate = 0.0
        self.in_force: list[tuple[str, Mishap]] = []
        self.script: list[tuple[str, object]] = []
        self.random_faults: list[tuple[str, RandomOutages | RandomPartitions]] = []
        self.random_pending: i64 = 0  # queued random strikes; they alone do not keep a run going
        self.returns_pending: i64 = 0  # processes that will recover or resume
        self.sides: list[list[int]] = []  # for every partition in force, the side of each process
        self.kept: list[list[i64]] = [[] for _ in range(n)] if faults.pauses else []  # events for paused processes
        detecting = faults.detection >= 0.0 or bool(faults.suspicions)
        self.slandered: list[int] = [0] * n  # how many false suspicions of each process are in force
        self.announced: list[bool] = [False] * n  # does the failure detector say that the process is away?
        self.suspects: list[set[int]] = [set() for _ in range(n)] if detecting else []  # of each process
        if faults.any:
            self._write_script()

    # -- the loop --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run to the end: until nothing can happen any more, all requests are served, or time is up."""
        for process in range(self.n):
            self._think(process)
        try:
            if self.warmup > 0.0:
                self._loop(self.warmup)
                if self.now >= self.warmup:
                    self.meter.restart(self.warmup)
            self._loop(self.until)
        except SimulationFailed:
            raise
        except Exception as error:
            raise SimulationFailed(error, self.now, self.current) from error

    def _loop(self, until: float) -> None:
        queue = self.queue
        bag = self.bag
        network = self.network
        mean_delay = self.delay.mean
        events: i64 = 0
        while True:
            events += 1
            if events & PROGRESS_EVERY == 0 and self.progress is not None:
                self.progress(self.meter.entries)
            if bag.size > 0:
                time = self.now + exponential(network, mean_delay / float(bag.size))
                if queue.size == 0 or time < queue.next_time():
                    if time > until:
                        self.now = until
                        return
                    self.now = time
                    self._deliver(bag.take(network.randrange(bag.size)))
                    continue
            elif queue.size == self.random_pending or (
                self.unfinished == 0 and self.under_way == 0 and self.returns_pending == 0
            ):
                return
            time = queue.next_time()
            if time > until:
                self.now = until
                return
            self.now = time
            number = queue.next_number()
            self._dispatch(queue.pop(), number)
            if self.stuck:
                return

    def _dispatch(self, payload: i64, number: i64) -> None:
        kind = payload & ~MASK
        argument = payload & MASK
        if kind == ARRIVE:
            self.under_way -= 1
            self._deliver(argument)
        elif kind == ASK or kind == LEAVE or kind == ISSUE:
            if self.appointments[argument] == number:
                if self.status[argument] == PAUSED:
                    self.appointments[argument] = KEPT
                    self.kept[argument].append(payload)
                else:
                    self._keep(kind, argument)
        elif kind == TRANSMITTED:
            self.under_way -= 1
            self._launch(argument)
        elif kind == TIMER:
            key: int = argument
            if self.timers.get(key, 0) == number:
                if self.status[argument & PROCESS_MASK] == PAUSED:
                    self.timers[key] = KEPT
                    self.kept[argument & PROCESS_MASK].append(payload)
                else:
                    self._fire(argument)
        elif kind == FAULT:
            self._change(self.script[argument])
        elif kind == STRIKE:
            self.random_pending -= 1
            self._strike(argument)
        else:
            self._inform(argument)

    # -- the application -------------------------------------------------------------------------------

    def _keep(self, kind: i64, process: i64) -> None:
        """What a process has planned to do now."""
        if kind == ASK:
            self._ask(process)
        elif kind == LEAVE:
            self._leave(process)
        else:
            self._issue(process)

    def _think(self, process: i64) -> None:
        pause = self.workload.think(process, self.now, self.streams[process])
        if pause < 0:
            self.appointments[process] = 0
            self.unfinished -= 1
        else:
            self.due[process] = self.now + pause
            self.appointments[process] = self.queue.push(self.now + pause, ASK | process)

    def _ask(self, process: i64) -> None:
        self.due[process] = NEVER
        groups = self.workload.groups(process, self.streams[process])
        self.current = process
        self.judge.ask(process, groups)
        self.meter.asked(process, self.now)
        if self.trace is not None:
            self.trace.record(Event(self.now, tr.REQUEST, process, groups=groups))
        self.nodes[process].request(groups, self)
        self._after_step(process)

    def _leave(self, process: i64) -> None:
        self.current = process
        self.judge.leave(process)
        self._out_of_section(process, tr.EXIT)
        self.nodes[process].release(self)
        self._after_step(process)
        self._think(process)

    def _issue(self, process: i64) -> None:
        self.current = process
        self.to_issue[process] -= 1
        number = self.judge.issue(process)
        operation = self.system.operation(process, number)
        if self.trace is not None:
            self.trace.record(Event(self.now, tr.ISSUE, process, id=number, operation=operation))
        self.nodes[process].issue(operation, self)
        self._after_step(process)

    def _stay(self, process: i64) -> None:
        """Issue the next operation, or stay inside for a while."""
        if self.to_issue[process] > 0:
            self.appointments[process] = self.queue.push(self.now, ISSUE | process)
        else:
            hold = self.workload.hold(process, self.streams[process])
            self.appointments[process] = self.queue.push(self.now + hold, LEAVE | process)

    def waiters(self) -> list[int]:
        """The processes that wait, to enter or for the outcome of an operation."""
        return self.judge.unserved()

    def _out_of_section(self, process: i64, event: str) -> None:
        self.meter.left(self.now, self.judge.waiting > 0)
        if self.trace is not None:
            self.trace.record(Event(self.now, event, process))

    def _after_step(self, process: i64) -> None:
        if self.saving:
            self.saving = False
            self.saved[process] = durable_state(self.nodes[process])

    # -- what a node does: Out -------------------------------------------------------------------------

    def send(self, dst: int, msg: Message) -> None:
        to: i64 = dst
        if to < 0 or to >= self.n or to == self.current:
            raise ContractError(f"process {self.current} sends {msg!r} to {dst}, which is no other process")
        self._post(msg, to, 1)

    def broadcast(self, msg: Message) -> None:
        if self.n > 1:
            self._post(msg, -1, self.n - 1)

    def enter(self, group: int, fence: int) -> None:
        process = self.current
        group = self.judge.enter(process, group, fence)
        self.meter.entered(process, self.now, group, self.system.problem.groups)
        self.timers_in_a_row = 0
        if self.trace is not None:
            self.trace.record(Event(self.now, tr.ENTER, process, group=group, fence=fence))
        self.to_issue[process] = self.operations
        self._stay(process)

    def eject(self) -> None:
        process = self.current
        self.judge.eject(process)
        self._out_of_section(process, tr.EJECT)
        self._think(process)

    def execute(self, issuer: int, number: int, operation: object, result: object) -> None:
        process = self.current
        if self.trace is not None:
            what = Event(self.now, tr.EXECUTE, process, issuer, number, operation=operation, result=result)
            self.trace.record(what)
        self.judge.execute(process, issuer, number, result)

    def answer(self, number: int, result: object) -> None:
        process = self.current
        if self.trace is not None:
            self.trace.record(Event(self.now, tr.ANSWER, process, id=number, result=result))
        self.judge.answer(process, number, result)
        self._stay(process)

    def rest(self) -> None:
        self._note(tr.REST, self.current)

    def set_timer(self, timer: int, delay: float) -> None:
        if not 0 <= timer < 1 << 30 or not 0 <= delay < FOREVER:
            raise ContractError(
                f"set_timer({timer}, {delay}): the timer must be 0..2^30-1, the delay finite, neither negative"
            )
        key: i64 = timer
        key = key << PROCESS_BITS | self.current
        self.timers[key] = self.queue.push(self.now + delay, TIMER | key)

    def cancel_timer(self, timer: int) -> None:
        key: i64 = timer
        self.timers.pop(key << PROCESS_BITS | self.current, None)

    def choose(self, options: int) -> int:
        if options < 1:
            raise ContractError(f"choose({options}): there is nothing to choose from")
        return self.choices.randrange(options)

    def save(self) -> None:
        self.saving = True

    def _fire(self, key: i64) -> None:
        process = key & PROCESS_MASK
        timer = key >> PROCESS_BITS
        self.timers.pop(key, None)
        self.timers_in_a_row += 1
        self.stuck = self.timers_in_a_row > PATIENCE and self.until == FOREVER
        self.current = process
        if self.trace is not None:
            self.trace.record(Event(self.now, tr.TIMER, process, timer=timer))
        self.nodes[process].on_timer(timer, self)
        self._after_step(process)

    # -- the network -----------------------------------------------------------------------------------

    def _post(self, msg: Message, to: i64, copies: i64) -> None:
        size = self.meter.sent(msg, copies)
        envelope = self._envelope(msg, to, copies)
        if self.trace is not None:
            self.trace.record(message_event(self.now, tr.SEND, self.current, to, self.sent_count, msg))
        if self.bandwidth > 0.0 and self.memoryless:
            self.under_way += 1
            self.queue.push(self.now + float(size) / self.bandwidth, TRANSMITTED | envelope)
        elif self.bandwidth > 0.0:
            self._schedule_all(envelope, float(size) / self.bandwidth)
        else:
            self._launch(envelope)

    def _envelope(self, msg: Message, to: i64, copies: i64) -> i64:
        self.sent_count += 1
        if self.free_count > 0:
            self.free_count -= 1
            envelope = self.free[self.free_count]
            self.messages[envelope] = msg
            self.sources[envelope] = self.current
            self.destinations[envelope] = to
            self.copies[envelope] = copies
            self.ids[envelope] = self.sent_count
            return envelope
        self.messages.append(msg)
        self.sources = append(self.sources, self.current)
        self.destinations = append(self.destinations, to)
        self.copies = append(self.copies, copies)
        self.ids = append(self.ids, self.sent_count)
        self.free = append(self.free, i64(0))
        return i64(len(self.messages)) - 1

    def _launch(self, envelope: i64) -> None:
        """Put a message on its way to its destination, or to all of them."""
        if not self.memoryless:
            self._schedule_all(envelope, 0.0)
            return
        to = self.destinations[envelope]
        base = envelope << PROCESS_BITS
        if self.faulty:
            self._launch_faulty(envelope)
        elif to >= 0:
            self.bag.put(base | to)
        else:
            self.bag.put_all(base, self.n, self.sources[envelope])

    def _launch_faulty(self, envelope: i64) -> None:
        base = envelope << PROCESS_BITS
        for to in self._receivers(envelope):
            for _ in range(self._times(envelope, to)):
                self.bag.put(base | i64(to))

    def _schedule_all(self, envelope: i64, transmission: float) -> None:
        base = envelope << PROCESS_BITS
        source = self.sources[envelope]
        to = self.destinations[envelope]
        if self.faulty:
            for receiver in self._receivers(envelope):
                for _ in range(self._times(envelope, receiver)):
                    self._schedule(base, source, receiver, transmission)
        elif to >= 0:
            self._schedule(base, source, to, transmission)
        else:
            to = 0
            while to < self.n:
                if to != source:
                    self._schedule(base, source, to, transmission)
                to += 1

    def _schedule(self, base: i64, source: i64, to: i64, transmission: float) -> None:
        arrival = self.now + transmission + self.delay.draw(self.network)
        if self.order is not None and (self.reordering_rate == 0.0 or self.mischance.random() >= self.reordering_rate):
            arrival = self.order.after(source * self.n + to, arrival)
        self.under_way += 1
        self.queue.push(arrival, ARRIVE | base | to)

    def _deliver(self, item: i64) -> None:
        envelope = item >> PROCESS_BITS
        to = item & PROCESS_MASK
        if self.status[to] != UP:
            self._undeliverable(item)
            return
        msg = self.messages[envelope]
        assert msg is not None
        source = self.sources[envelope]
        if self.trace is not None:
            self.trace.record(message_event(self.now, tr.DELIVER, to, source, self.ids[envelope], msg))
        self._discard_copy(envelope)
        self.meter.deliveries += 1
        self.timers_in_a_row = 0
        self.current = to
        self.nodes[to].receive(source, msg, self)
        if self.saving:
            self._after_step(to)

    def _discard_copy(self, envelope: i64) -> None:
        left = self.copies[envelope] - 1
        self.copies[envelope] = left
        if left == 0:
            self.messages[envelope] = None
            self.free[self.free_count] = envelope
            self.free_count += 1

    # -- faults ----------------------------------------------------------------------------------------

    def _receivers(self, envelope: i64) -> list[int]:
        to = self.destinations[envelope]
        if to >= 0:
            return [to]
        return [process for process in range(self.n) if process != self.sources[envelope]]

    def _times(self, envelope: i64, to: i64) -> int:
        """How often a copy of a message arrives: 0 times if it is lost, twice if it is duplicated."""
        source = self.sources[envelope]
        cut = False
        for side in self.sides:
            cut = cut or side[source] != side[to]
        if cut or (self.loss_rate > 0.0 and self.mischance.random() < self.loss_rate):
            self._lose(envelope, to)
            return 0
        if self.duplication_rate > 0.0 and self.mischance.random() < self.duplication_rate:
            self.copies[envelope] += 1
            return 2
        return 1

    def _lose(self, envelope: i64, to: i64) -> None:
        msg = self.messages[envelope]
        if self.trace is not None and msg is not None:
            self.trace.record(message_event(self.now, tr.DROP, to, self.sources[envelope], self.ids[envelope], msg))
        self._discard_copy(envelope)

    def _undeliverable(self, item: i64) -> None:
        to = item & PROCESS_MASK
        if self.status[to] == PAUSED:
            self.under_way += 1
            self.kept[to].append(ARRIVE | item)
        else:
            self._lose(item >> PROCESS_BITS, to)

    def _write_script(self) -> None:
        """Turn the faults into changes at given times, and set the random ones going."""
        for name, mishaps in (
            ("loss", self.faults.loss),
            ("duplication", self.faults.duplication),
            ("reordering", self.faults.reordering),
        ):
            for mishap in mishaps:
                self._at(mishap.start, name, mishap)
                self._at(mishap.end, f"end of {name}", mishap)
        for name, outages in (
            ("crash", self.faults.crashes),
            ("pause", self.faults.pauses),
            ("suspect", self.faults.suspicions),
        ):
            for outage in outages:
                if isinstance(outage, Outage):
                    self._at(outage.start, name, outage.process)
                    self._at(outage.end, ENDS[name], outage.process)
                else:
                    self.random_faults.append((name, outage))
                    for process in range(self.n):
                        self._strike_later(len(self.random_faults) - 1, process)
        for partition in self.faults.partitions:
            if isinstance(partition, Partition):
                side = [0] * self.n
                for number, members in enumerate(partition.sides):
                    for member in members:
                        side[member] = number
                self._at(partition.start, "cut", side)
                self._at(partition.end, "heal", side)
            else:
                self.random_faults.append(("cut", partition))
                self._strike_later(len(self.random_faults) - 1, 0)

    def _at(self, time: float, change: str, value: object) -> None:
        if time < FOREVER:
            if change == "recover" or change == "resume":
                self.returns_pending += 1
            self.script.append((change, value))
            self.queue.push(time, FAULT | (len(self.script) - 1))

    def _strike_later(self, index: int, process: i64) -> None:
        self.random_pending += 1
        at = self.now + exponential(self.mischance, 1.0 / self.random_faults[index][1].rate)
        self.queue.push(at, STRIKE | (index << PROCESS_BITS) | process)

    def _strike(self, argument: i64) -> None:
        """A random fault strikes now, ends after a random time, and strikes again some time after that."""
        index = argument >> PROCESS_BITS
        process: int = argument & PROCESS_MASK
        name, fault = self.random_faults[index]
        end = self.now + exponential(self.mischance, fault.duration)
        if name == "cut":
            side = [self.mischance.randrange(2) for _ in range(self.n)]
            self._change(("cut", side))
            self._at(end, "heal", side)
        elif self.status[process] == UP:
            self._change((name, process))
            self._at(end, ENDS[name], process)
        self._strike_later(index, process)

    def _change(self, change: tuple[str, object]) -> None:
        name, value = change
        if isinstance(value, Mishap):
            self._begin_or_end(name, value)
        elif name == "cut" and isinstance(value, list):
            self.sides.append(value)
            self._note(tr.CUT, 0)
        elif name == "heal" and isinstance(value, list):
            self.sides.remove(value)
            self._note(tr.HEAL, 0)
        elif isinstance(value, int):
            status = self.status[value]
            if name == "crash" and status != DOWN:
                self._crash(value)
            elif name == "pause" and status == UP:
                self.status[value] = PAUSED
                self._note(tr.PAUSE, value)
            elif name == "suspect" or name == "trust":
                self.slandered[value] += 1 if name == "suspect" else -1
                for process in range(self.n):
                    if process != value:
                        self._inform_one(process, value)
            elif name == "recover" or name == "resume":
                self.returns_pending -= 1
                if name == "recover" and status == DOWN:
                    self._recover(value)
                elif name == "resume" and status == PAUSED:
                    self._resume(value)

    def _begin_or_end(self, name: str, mishap: Mishap) -> None:
        if name.startswith("end of "):
            self.in_force.remove((name.removeprefix("end of "), mishap))
        else:
            self.in_force.append((name, mishap))
        self.loss_rate = self._rate("loss")
        self.duplication_rate = self._rate("duplication")
        self.reordering_rate = self._rate("reordering")

    def _rate(self, name: str) -> float:
        """The share of messages that meet with a mishap; those in force at once strike independently."""
        spared = 1.0
        for kind, mishap in self.in_force:
            if kind == name:
                spared *= 1.0 - mishap.rate
        return 1.0 - spared

    def _note(self, event: str, process: int) -> None:
        if self.trace is not None:
            self.trace.record(Event(self.now, event, process))

    def _crash(self, process: i64) -> None:
        self._note(tr.CRASH, process)
        if self.status[process] == PAUSED:
            self._discard_kept(process)
        self.status[process] = DOWN
        if self.judge.holds[process] >= 0:
            self.meter.left(self.now, self.judge.waiting > 0)
        self.judge.crash(process)
        if self.appointments[process] != 0:
            self.unfinished -= 1
        self.appointments[process] = 0
        self.timers = {key: number for key, number in self.timers.items() if i64(key) & PROCESS_MASK != process}
        self._tell_detector(process)

    def _discard_kept(self, process: i64) -> None:
        kept = self.kept[process]
        self.kept[process] = []
        for payload in kept:
            if payload & ~MASK == ARRIVE:
                self.under_way -= 1
                self._lose((payload & MASK) >> PROCESS_BITS, process)

    def _recover(self, process: i64) -> None:
        self._note(tr.RECOVER, process)
        self.status[process] = UP
        node = self.system.node(process)
        restore_durable(node, self.saved[process])
        self.nodes[process] = node
        if self.suspects:
            self.suspects[process] = set()
        self.current = process
        node.on_recover(self)
        self._after_step(process)
        self.unfinished += 1
        if self.due[process] >= 0.0:  # the crash came before the request, which is still to be made
            at = max(self.now, self.due[process])
            self.appointments[process] = self.queue.push(at, ASK | process)
        else:
            self._think(process)
        self._tell_detector(process)

    def _resume(self, process: i64) -> None:
        self._note(tr.RESUME, process)
        self.status[process] = UP
        kept = self.kept[process]
        self.kept[process] = []
        for payload in kept:  # what comes first may have cancelled or replaced what comes later
            kind = payload & ~MASK
            argument = payload & MASK
            if kind == ARRIVE:
                self.under_way -= 1
                self._deliver(argument)
            elif kind == TIMER:
                key: int = argument
                if self.timers.get(key, 0) == KEPT:
                    self._fire(argument)
            elif kind == INFORM:
                self._inform_one(process, argument)
            elif self.appointments[process] == KEPT:
                self._keep(kind, process)

    def _tell_detector(self, process: i64) -> None:
        if self.faults.detection >= 0.0:
            self.queue.push(self.now + self.faults.detection, INFORM | process)

    def _inform(self, peer: i64) -> None:
        """A failure detector, perfect but for scripted mistakes: all who are up learn of a crash or a recovery, if it
        still stands. Who has recovered learns who is away."""
        gone = self.status[peer] == DOWN
        self.announced[peer] = gone
        for process in range(self.n):
            if process != peer:
                self._inform_one(process, peer)
                if not gone and (self.announced[process] or self.slandered[process] > 0):
                    self._inform_one(peer, process)

    def _inform_one(self, process: i64, peer: i64) -> None:
        if self.status[process] == PAUSED:
            self.kept[process].append(INFORM | peer)
            return
        gone = self.slandered[peer] > 0 or (self.announced[peer] and self.status[peer] == DOWN)
        suspects = self.suspects[process]
        if self.status[process] == DOWN or gone == (peer in suspects):
            return
        self.current = process
        if self.trace is not None:
            self.trace.record(Event(self.now, tr.SUSPECT if gone else tr.TRUST, process, peer))
        if gone:
            suspects.add(peer)
            self.nodes[process].on_suspect(peer, self)
        else:
            suspects.discard(peer)
            self.nodes[process].on_trust(peer, self)
        self._after_step(process)


@final
class ChannelOrder:
    """FIFO channels: nothing arrives before what was sent earlier on the same channel."""

    def __init__(self, n: int) -> None:
        self.dense = n <= 2000
        self.latest = vec[float]([0.0] * (n * n if self.dense else 0))
        self.sparse: dict[int, float] = {}

    def after(self, channel: i64, arrival: float) -> float:
        """The time of an arrival on a channel, put off until after the latest one there."""
        if self.dense:
            if arrival < self.latest[channel]:
                return self.latest[channel]
            self.latest[channel] = arrival
            return arrival
        latest = max(arrival, self.sparse.get(channel, 0.0))
        self.sparse[channel] = latest
        return latest
