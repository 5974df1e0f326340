"""Disturbances: faults begin and end, by a script or at random; processes crash, recover, pause and resume.

Everything random here, and every message that the network loses, duplicates or lets be overtaken, is drawn from one
stream. So the requests of a run do not depend on its faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from librt.random import Random
from mypy_extensions import i64

from congenial.kernel import trace
from congenial.kernel.state import restore_durable
from congenial.sim.chance import exponential
from congenial.sim.events import (
    ANNOUNCE,
    ARGUMENT,
    ARRIVE,
    ASK,
    DEFERRED,
    DOWN,
    PAUSED,
    PROCESS_BITS,
    PROCESS_MASK,
    RANDOM,
    SCRIPTED,
    TIMER,
    UP,
)
from congenial.sim.faults import FOREVER, Faults, MessageFault, Outage, Partition, RandomOutages, RandomPartitions
from congenial.sim.queue import EventQueue

if TYPE_CHECKING:
    from congenial.sim.engine import Engine

# changes, and what ends what
LOSS: Final = "loss"
DUPLICATION: Final = "duplication"
REORDERING: Final = "reordering"
ENDS: Final = {
    trace.CRASH: trace.RECOVER,
    trace.PAUSE: trace.RESUME,
    trace.SUSPECT: trace.TRUST,
    trace.CUT: trace.HEAL,
}


@final
class Change:
    """A fault begins or ends. What else is known of it depends on its kind."""

    def __init__(
        self,
        kind: str,
        process: int = -1,
        sides: list[int] | None = None,
        message_fault: MessageFault | None = None,
        begins: bool = True,
    ) -> None:
        self.kind = kind
        self.process = process  # that crashes, recovers, ...
        self.sides = sides  # of a partition: the side of each process
        self.message_fault = message_fault
        self.begins = begins  # the message fault does, or else it ends


@final
class Disturbances:
    def __init__(self, n: int, faults: Faults, queue: EventQueue, random: Random) -> None:
        self.n = n
        self.queue = queue
        self.random = random
        self.script: list[Change] = []
        self.random_faults: list[tuple[str, RandomOutages | RandomPartitions]] = []
        self.random_pending: i64 = 0  # random faults in the queue; they alone do not keep a run going
        self.returns_expected: i64 = 0  # recoveries and resumptions in the queue
        self.in_force: list[tuple[str, MessageFault]] = []
        # the events that were due while a process was paused, in order
        self.deferred: list[list[i64]] = [[] for _ in range(n)] if faults.pauses else []
        self._plan_message_faults(LOSS, faults.loss)
        self._plan_message_faults(DUPLICATION, faults.duplication)
        self._plan_message_faults(REORDERING, faults.reordering)
        self._plan_outages(trace.CRASH, faults.crashes)
        self._plan_outages(trace.PAUSE, faults.pauses)
        self._plan_outages(trace.SUSPECT, faults.suspicions)
        self._plan_partitions(faults.partitions)

    # -- the script ------------------------------------------------------------------------------------

    def _plan_message_faults(self, kind: str, faults: tuple[MessageFault, ...]) -> None:
        for fault in faults:
            self._at(fault.start, Change(kind, message_fault=fault))
            self._at(fault.end, Change(kind, message_fault=fault, begins=False))

    def _plan_outages(self, kind: str, outages: tuple[Outage | RandomOutages, ...]) -> None:
        for outage in outages:
            if isinstance(outage, Outage):
                self._at(outage.start, Change(kind, outage.process))
                self._at(outage.end, Change(ENDS[kind], outage.process))
            else:
                self.random_faults.append((kind, outage))
                for process in range(self.n):
                    self._strike_later(0.0, len(self.random_faults) - 1, process)

    def _plan_partitions(self, partitions: tuple[Partition | RandomPartitions, ...]) -> None:
        for partition in partitions:
            if isinstance(partition, Partition):
                sides = [0] * self.n
                for number, members in enumerate(partition.sides):
                    for member in members:
                        sides[member] = number
                self._at(partition.start, Change(trace.CUT, sides=sides))
                self._at(partition.end, Change(trace.HEAL, sides=sides))
            else:
                self.random_faults.append((trace.CUT, partition))
                self._strike_later(0.0, len(self.random_faults) - 1, 0)

    def _at(self, time: float, change: Change) -> None:
        if time < FOREVER:
            if change.kind == trace.RECOVER or change.kind == trace.RESUME:
                self.returns_expected += 1
            self.script.append(change)
            self.queue.push(time, SCRIPTED | (len(self.script) - 1))

    # -- random faults ---------------------------------------------------------------------------------

    def _strike_later(self, now: float, index: int, process: i64) -> None:
        self.random_pending += 1
        at = now + exponential(self.random, 1.0 / self.random_faults[index][1].rate)
        self.queue.push(at, RANDOM | (index << PROCESS_BITS) | process)

    def strike(self, engine: Engine, argument: i64) -> None:
        """A random fault strikes now, ends after a random time, and strikes again some time after that."""
        self.random_pending -= 1
        index = argument >> PROCESS_BITS
        process: int = argument & PROCESS_MASK
        kind, fault = self.random_faults[index]
        end = engine.now + exponential(self.random, fault.duration)
        if kind == trace.CUT:
            sides = [self.random.randrange(2) for _ in range(self.n)]
            self._change(engine, Change(trace.CUT, sides=sides))
            self._at(end, Change(trace.HEAL, sides=sides))
        elif engine.status[process] == UP:
            self._change(engine, Change(kind, process))
            self._at(end, Change(ENDS[kind], process))
        self._strike_later(engine.now, index, process)

    # -- changes ---------------------------------------------------------------------------------------

    def follow_script(self, engine: Engine, index: i64) -> None:
        """The time has come for a change in the script."""
        self._change(engine, self.script[index])

    def _change(self, engine: Engine, change: Change) -> None:
        kind = change.kind
        if change.message_fault is not None:
            self._change_rates(engine, kind, change.message_fault, change.begins)
        elif change.sides is not None:
            if kind == trace.CUT:
                engine.network.partitions.append(change.sides)
            else:
                engine.network.partitions.remove(change.sides)
            if engine.trace is not None:
                engine.trace.record(trace.Event(engine.now, kind, 0, fields={"sides": _members(change.sides)}))
        elif kind == trace.SUSPECT or kind == trace.TRUST:
            engine.detector.suspect_falsely(engine, change.process, kind == trace.SUSPECT)
        else:
            self._change_status(engine, kind, change.process)

    def _change_rates(self, engine: Engine, kind: str, fault: MessageFault, begins: bool) -> None:
        if begins:
            self.in_force.append((kind, fault))
        else:
            self.in_force.remove((kind, fault))
        engine.network.loss_rate = self._rate(LOSS)
        engine.network.duplication_rate = self._rate(DUPLICATION)
        engine.network.reordering_rate = self._rate(REORDERING)

    def _rate(self, wanted: str) -> float:
        """The share of messages that a kind of fault hits; faults in force together hit independently."""
        spared = 1.0
        for kind, fault in self.in_force:
            if kind == wanted:
                spared *= 1.0 - fault.rate
        return 1.0 - spared

    def _change_status(self, engine: Engine, kind: str, process: i64) -> None:
        status = engine.status[process]
        if kind == trace.CRASH:
            if status != DOWN:
                self._crash(engine, process)
        elif kind == trace.PAUSE:
            if status == UP:
                engine.status[process] = PAUSED
                engine.note(trace.PAUSE, process)
        else:
            self.returns_expected -= 1
            if kind == trace.RECOVER and status == DOWN:
                self._recover(engine, process)
            elif kind == trace.RESUME and status == PAUSED:
                self._resume(engine, process)

    # -- crashes ---------------------------------------------------------------------------------------

    def _crash(self, engine: Engine, process: i64) -> None:
        engine.note(trace.CRASH, process)
        if engine.status[process] == PAUSED:
            self._lose_deferred(engine, process)
        engine.status[process] = DOWN
        if engine.judge.holds[process] >= 0:
            engine.meter.left(engine.now, engine.judge.waiting > 0)
        engine.judge.crash(process)
        if engine.planned[process] != 0:
            engine.unfinished -= 1
        engine.planned[process] = 0
        engine.timers = {key: number for key, number in engine.timers.items() if i64(key) & PROCESS_MASK != process}
        engine.detector.notice(engine, process)

    def _recover(self, engine: Engine, process: i64) -> None:
        engine.note(trace.RECOVER, process)
        engine.status[process] = UP
        node = engine.system.node(process)
        restore_durable(node, engine.saved[process])
        node.has_issued(engine.judge.issued[process])
        engine.nodes[process] = node
        engine.detector.forget(process)
        engine.current = process
        node.on_recover(engine)
        engine.after_step(process)
        engine.unfinished += 1
        if engine.next_request[process] >= 0.0:  # the process crashed while it was thinking: it still has to ask
            at = max(engine.now, engine.next_request[process])
            engine.planned[process] = self.queue.push(at, ASK | process)
        else:
            engine.think(process)
        engine.detector.notice(engine, process)

    # -- pauses ----------------------------------------------------------------------------------------

    def defer(self, process: i64, event: i64) -> None:
        """Put an event off until the process, which is paused, resumes."""
        self.deferred[process].append(event)

    def undeliverable(self, engine: Engine, item: i64) -> None:
        """A copy of a message has arrived at a process that is down or paused."""
        to = item & PROCESS_MASK
        if engine.status[to] == PAUSED:
            engine.network.under_way += 1
            self.defer(to, ARRIVE | item)
        else:
            engine.network.lose(engine.now, item >> PROCESS_BITS, to)

    def _lose_deferred(self, engine: Engine, process: i64) -> None:
        deferred = self.deferred[process]
        self.deferred[process] = []
        for event in deferred:
            if event & ~ARGUMENT == ARRIVE:
                engine.network.under_way -= 1
                engine.network.lose(engine.now, (event & ARGUMENT) >> PROCESS_BITS, process)

    def _resume(self, engine: Engine, process: i64) -> None:
        engine.note(trace.RESUME, process)
        engine.status[process] = UP
        deferred = self.deferred[process]
        self.deferred[process] = []
        for event in deferred:  # an earlier one may have cancelled or replaced a later one
            kind = event & ~ARGUMENT
            argument = event & ARGUMENT
            if kind == ARRIVE:
                engine.network.under_way -= 1
                engine.deliver(argument)
            elif kind == TIMER:
                key: int = argument
                if engine.timers.get(key, 0) == DEFERRED:
                    engine.fire(argument)
            elif kind == ANNOUNCE:
                engine.detector.update(engine, process, argument)
            elif engine.planned[process] == DEFERRED:
                engine.act(kind, process)


def _members(sides: list[int]) -> list[list[int]]:
    """The processes of each side of a partition. Random ones may leave a side empty: that is none."""
    members: list[list[int]] = [[] for _ in range(max(sides) + 1)]
    for process, side in enumerate(sides):
        members[side].append(process)
    return [side for side in members if side]
