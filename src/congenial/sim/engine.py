"""The engine: one run of one system, event by event.

Everything that will happen is either an event in the queue (a process asks or leaves, a timer runs out, a fault begins,
a message arrives) or, where channels delay messages exponentially and do not keep their order, a message in the
network's bag. The loop takes what comes first. All random numbers come from seeded streams, so equal seeds give
equal runs.

The engine is the `Out` of every node: it calls nodes directly, and what they do takes effect immediately. It also plays
the application of every process. The network, the disturbances and the failure detector have their own files. The
latter two are handed the engine, since they act on its processes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from librt.random import Random
from librt.vecs import vec
from mypy_extensions import i64

from congenial.kernel import trace
from congenial.kernel.errors import ConfigError, CongenialError, ContractError, IllegalStep
from congenial.kernel.garbage import fewer_collections
from congenial.kernel.judge import Judge
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node, phase_fault
from congenial.kernel.out import MOST_TIMERS, Out
from congenial.kernel.places import place_of
from congenial.kernel.state import durable_state
from congenial.kernel.trace import DELIVER, Event, Trace, message_event
from congenial.sim.chance import CHOICES, FAULTS, NETWORK, Distribution, exponential
from congenial.sim.channels import OrderedBag
from congenial.sim.detector import FailureDetector
from congenial.sim.disturbances import Disturbances
from congenial.sim.events import (
    ARGUMENT,
    ARRIVE,
    ARRIVE_EVERYWHERE,
    ASK,
    DEFERRED,
    ISSUE,
    LEAVE,
    PAUSED,
    PROCESS_BITS,
    PROCESS_MASK,
    RANDOM,
    SCRIPTED,
    TIMER,
    TRANSMITTED,
    UP,
)
from congenial.sim.faults import FOREVER, NO_FAULTS, Faults
from congenial.sim.meter import Meter
from congenial.sim.network import Network
from congenial.sim.queue import EventQueue
from congenial.sim.workload import NEVER, Workload
from congenial.systems.streams import stream
from congenial.systems.system import System

MOST_TIMEOUTS_IN_A_ROW: Final = 100_000  # without an entry or a delivery, before a run is called stuck
MOST_LATE_TIMEOUTS: Final = 1000  # after the last request is served: heartbeats alone would go on forever
PROGRESS_EVERY: Final = 0xFFFF  # events


class SimulationFailed(CongenialError):
    """A run was stopped: something forbidden happened, or a node raised. `cause` is the error itself."""

    def __init__(self, cause: Exception, time: float, process: int) -> None:
        what = str(cause) if isinstance(cause, CongenialError) else f"{type(cause).__name__}: {cause}"
        place = place_of(cause)
        where = f"(at time {time:.6g}, in a step of process {process})"
        super().__init__(f"{what} {where}{f': {place}' if place else ''}")
        self.cause = cause
        self.time = time
        self.process = process


@final
class Engine(Out):
    """One run, ready to go: call `run` once. Then `meter`, `judge` and `now` say what came of it."""

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
        self.workload = workload
        self.warmup = warmup
        self.until = until
        self.trace = trace
        self.progress = progress
        self.n: i64 = n
        self.now = 0.0
        self.queue = EventQueue()
        self.judge = Judge(system.problem, n, system.spec.fences)
        self.meter = Meter(n)
        fault_random = stream(seed, FAULTS)
        self.network = Network(
            n, delay, fifo, bandwidth, faults.any, self.queue, self.meter, trace, stream(seed, NETWORK), fault_random
        )
        # processes
        self.current: i64 = 0  # the process whose step it is
        self.nodes = vec[Node](system.nodes())
        self.status = vec[i64]([UP] * n)
        self.streams: list[Random] = [stream(seed, process) for process in range(n)]
        self.choices: Random = stream(seed, CHOICES)
        self.saving = False  # the present step has called `save`
        self.saves: i64 = 0  # steps that have
        self.saved: list[object] = [durable_state(node) for node in self.nodes]
        self.timers: dict[int, int] = {}  # the number of the queued event of each timer that is set
        self.timeouts_in_a_row: i64 = 0
        self.late_timeouts: i64 = 0
        self.stuck = False
        # applications
        self.planned = vec[i64]([0] * n)  # the number of the queued event by which a process will ask, issue or leave
        self.next_request = vec[float]([NEVER] * n)  # when a process that is thinking will ask
        self.operations: i64 = operations  # that a process issues, one after the other, when it has entered
        self.to_issue: list[int] = [0] * n  # how many of them are left in this stay
        self.unfinished: i64 = n  # processes that will ask again, wait or hold
        self.detector = FailureDetector(n, faults)
        self.disturbances = Disturbances(n, faults, self.queue, fault_random)

    # -- the loop --------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run to the end: until nothing more can happen, all requests are served, or time is up."""
        for process in range(self.n):
            self.think(process)
        try:
            with fewer_collections():
                self._run()
        except (SimulationFailed, ConfigError, MemoryError):
            raise
        except Exception as error:
            raise SimulationFailed(error, self.now, self.current) from error

    def _run(self) -> None:
        if self.warmup > 0.0:
            self._loop(self.warmup)
            if self.now >= self.warmup:
                self.meter.restart(self.warmup)
        self._loop(self.until)
        self.meter.settle(self.judge.waiting == 0 and self._is_quiet())

    def _loop(self, until: float) -> None:
        queue = self.queue
        bag = self.network.bag
        in_order = self.network.in_order
        random = self.network.random
        mean_delay = self.network.delay.mean
        disturbances = self.disturbances
        events: i64 = 0
        while True:
            events += 1
            if events > PROGRESS_EVERY:
                events = 0
                if self.progress is not None:
                    self.progress(self.meter.entries)
            if bag.size > 0:
                time = self.now + exponential(random, mean_delay / float(bag.size))
                if time < queue.next_time:
                    if time > until:
                        self.now = until
                        return
                    self.now = time
                    item = bag.take(random.randrange(bag.size))
                    if in_order is None:
                        self.deliver(item)
                    else:
                        self._deliver_in_order(item, in_order)
                    continue
            elif (queue.size == disturbances.random_pending or self.unfinished == 0) and self._is_over():
                return
            time = queue.next_time
            if time > until:
                self.now = until
                return
            self.now = time
            event = queue.pop()
            if event & ~ARGUMENT == ARRIVE:
                self.network.under_way -= 1
                self.deliver(event & ARGUMENT)
            elif event & ~ARGUMENT == ARRIVE_EVERYWHERE:
                self._deliver_everywhere(event & ARGUMENT)
                events += self.n
            else:
                self._happen(event, queue.number)
            if self.stuck:
                return

    def _deliver_in_order(self, item: i64, in_order: OrderedBag) -> None:
        """The first message of a FIFO channel arrives, and perhaps others that it has held up."""
        channel = self.network.sources[item >> PROCESS_BITS] * self.n + (item & PROCESS_MASK)
        while item >= 0:
            self.deliver(item)
            item = in_order.follow(channel, self.now)

    def _deliver_everywhere(self, item: i64) -> None:
        """All copies of a message arrive, one after the other. What that leads to happens after all of them."""
        network = self.network
        source = network.sources[item >> PROCESS_BITS]
        for to in range(self.n):
            if to != source:
                network.under_way -= 1
                self.deliver(item | to)

    def _is_quiet(self) -> bool:
        """No process is inside, and no message is under way."""
        return self.judge.inside == 0 and self.network.bag.size == 0 and self.network.under_way == 0

    def _is_over(self) -> bool:
        """With an empty bag: there is nothing left to happen, or nothing that matters."""
        return self.queue.size == self.disturbances.random_pending or (
            self.unfinished == 0 and self.network.under_way == 0 and self.disturbances.returns_expected == 0
        )

    def _happen(self, event: i64, number: i64) -> None:
        """A queued event happens. Its number tells whether it has been cancelled or replaced since."""
        kind = event & ~ARGUMENT
        argument = event & ARGUMENT
        if kind == ASK or kind == LEAVE or kind == ISSUE:
            if self.planned[argument] == number:
                if self.status[argument] == PAUSED:
                    self.planned[argument] = DEFERRED
                    self.disturbances.defer(argument, event)
                else:
                    self.act(kind, argument)
        elif kind == TRANSMITTED:
            self.network.transmitted(self.now, argument)
        elif kind == TIMER:
            key: int = argument
            if self.timers.get(key, 0) == number:
                process = argument & PROCESS_MASK
                if self.status[process] == PAUSED:
                    self.timers[key] = DEFERRED
                    self.disturbances.defer(process, event)
                else:
                    self.fire(argument)
        elif kind == SCRIPTED:
            self.disturbances.follow_script(self, argument)
        elif kind == RANDOM:
            self.disturbances.strike(self, argument)
        else:
            self.detector.announce(self, argument)

    # -- what happens to a node ------------------------------------------------------------------------

    def deliver(self, item: i64) -> None:
        """A copy of a message arrives."""
        to = item & PROCESS_MASK
        if self.status[to] != UP:
            self.disturbances.undeliverable(self, item)
            return
        network = self.network
        envelope = item >> PROCESS_BITS
        msg = network.messages[envelope]
        assert msg is not None
        source = network.sources[envelope]
        if self.trace is not None:
            self.trace.record(message_event(self.now, DELIVER, to, source, network.ids[envelope], msg))
        network.discard_copy(envelope)
        self.meter.deliveries += 1
        self.timeouts_in_a_row = 0
        self.current = to
        self.nodes[to].receive(source, msg, self)
        if self.saving:
            self.after_step(to)

    def fire(self, key: i64) -> None:
        """A timer runs out."""
        process = key & PROCESS_MASK
        timer = key >> PROCESS_BITS
        self.timers.pop(key, None)
        self.timeouts_in_a_row += 1
        if self.unfinished == 0 and self.disturbances.returns_expected == 0:
            self.late_timeouts += 1
        endless = self.timeouts_in_a_row > MOST_TIMEOUTS_IN_A_ROW or self.late_timeouts > MOST_LATE_TIMEOUTS
        self.stuck = endless and self.until == FOREVER
        self.current = process
        if self.trace is not None:
            self.trace.record(Event(self.now, trace.TIMER, process, timer=timer))
        self.nodes[process].on_timer(timer, self)
        self.after_step(process)

    def after_step(self, process: i64) -> None:
        if self.saving:
            self.saving = False
            self.saves += 1
            # Where no process can crash, this only checks the contract: for the first saves, then ever more rarely.
            if self.network.faulty or self.saves & (self.saves - 1) == 0:
                self.saved[process] = durable_state(self.nodes[process])

    def note(self, event: str, process: int) -> None:
        """Record an event that has nothing but a time and a process."""
        if self.trace is not None:
            self.trace.record(Event(self.now, event, process))

    # -- the application -------------------------------------------------------------------------------

    def act(self, kind: i64, process: i64) -> None:
        """Do what the process has planned."""
        if kind == ASK:
            self._ask(process)
        elif kind == LEAVE:
            self._leave(process)
        else:
            self._issue(process)

    def think(self, process: i64) -> None:
        """Plan the next request, if there is to be one."""
        pause = self.workload.think(process, self.now, self.streams[process])
        if pause < 0:
            self.planned[process] = 0
            self.unfinished -= 1
        else:
            self.next_request[process] = self.now + pause
            self.planned[process] = self.queue.push(self.now + pause, ASK | process)

    def _ask(self, process: i64) -> None:
        self.next_request[process] = NEVER
        groups = self.workload.groups(process, self.streams[process])
        self.current = process
        self.judge.ask(process, groups)
        self.meter.asked(process, self.now, self.judge.waiting == 1 and self._is_quiet())
        if self.trace is not None:
            self.trace.record(Event(self.now, trace.REQUEST, process, groups=groups))
        self.nodes[process].request(groups, self)
        self.after_step(process)
        self._check_phase(process)

    def _stay(self, process: i64) -> None:
        """Plan to issue the next operation, or to leave after a while."""
        if self.to_issue[process] > 0:
            self.planned[process] = self.queue.push(self.now, ISSUE | process)
        else:
            hold = self.workload.hold(process, self.streams[process])
            self.planned[process] = self.queue.push(self.now + hold, LEAVE | process)

    def _issue(self, process: i64) -> None:
        self.current = process
        self._check_phase(process)
        self.to_issue[process] -= 1
        number = self.judge.issue(process)
        operation = self.system.operation(process, number)
        if self.trace is not None:
            self.trace.record(Event(self.now, trace.ISSUE, process, id=number, operation=operation))
        self.nodes[process].issue(operation, self)
        self.after_step(process)

    def _leave(self, process: i64) -> None:
        self.current = process
        self._check_phase(process)
        self.judge.leave(process)
        self.meter.left(self.now, self.judge.waiting > 0)
        self.note(trace.EXIT, process)
        self.nodes[process].release(self)
        self.after_step(process)
        self._check_phase(process)
        self.think(process)

    def _check_phase(self, process: i64) -> None:
        """The node's phase must match what it did. Shells check that after every step; here the application does, when
        it asks, issues or leaves: messages are delivered far more often."""
        judge = self.judge
        phase = WAITING if judge.wants[process] is not None else INSIDE if judge.holds[process] >= 0 else IDLE
        fault = phase_fault(self.nodes[process], phase)
        if fault:
            raise IllegalStep(fault)

    def waiters(self) -> list[int]:
        """The processes that wait, to enter or for the outcome of an operation."""
        return self.judge.unserved()

    # -- what a node does: Out -------------------------------------------------------------------------

    def send(self, dst: int, msg: Message) -> None:
        to: i64 = dst
        if to < 0 or to >= self.n or to == self.current:
            raise ContractError(f"process {self.current} sends {msg!r} to {dst}, which is no other process")
        self.network.send(self.now, self.current, msg, to, 1)

    def broadcast(self, msg: Message) -> None:
        if self.n > 1:
            self.network.send(self.now, self.current, msg, -1, self.n - 1)

    def enter(self, group: int, fence: int) -> None:
        process = self.current
        group = self.judge.enter(process, group, fence)
        self.meter.entered(process, self.now, group, self.system.problem.groups)
        self.timeouts_in_a_row = 0
        if self.trace is not None:
            self.trace.record(Event(self.now, trace.ENTER, process, group=group, fence=fence))
        self.to_issue[process] = self.operations
        self._stay(process)

    def eject(self) -> None:
        process = self.current
        self.judge.eject(process)
        self.meter.left(self.now, self.judge.waiting > 0)
        self.note(trace.EJECT, process)
        self.think(process)

    def execute(self, issuer: int, number: int, operation: object, result: object) -> None:
        process = self.current
        if self.trace is not None:
            self.trace.record(
                Event(self.now, trace.EXECUTE, process, issuer, number, operation=operation, result=result)
            )
        self.judge.execute(process, issuer, number, result)

    def answer(self, number: int, result: object) -> None:
        process = self.current
        if self.trace is not None:
            self.trace.record(Event(self.now, trace.ANSWER, process, id=number, result=result))
        self.judge.answer(process, number, result)
        self._stay(process)

    def restore(self, count: int) -> None:
        if self.trace is not None:
            self.trace.record(Event(self.now, trace.RESTORE, self.current, id=count))
        self.judge.restore(self.current, count)

    def rest(self) -> None:
        self.note(trace.REST, self.current)

    def set_timer(self, timer: int, delay: float) -> None:
        if not 0 <= timer < MOST_TIMERS or not 0 <= delay < FOREVER:
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
