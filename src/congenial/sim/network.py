"""The network: messages on their way, over channels with random delays.

Where channels delay messages exponentially, messages on their way are in a bag from which the engine draws (`Bag` says
why that is right, and `OrderedBag` why it is for FIFO channels). Otherwise every copy of a message is an event in the
queue: also on FIFO channels that lose or reorder messages, or take time to transmit them. Only where delays are
constant and nothing goes wrong, all copies of a broadcast are one event.
"""

from __future__ import annotations

from typing import final

from librt.random import Random
from librt.vecs import append, vec
from mypy_extensions import i64

from congenial.kernel.message import Message
from congenial.kernel.trace import DROP, SEND, Trace, message_event
from congenial.sim.chance import Constant, Distribution, Exponential
from congenial.sim.channels import ChannelOrder, OrderedBag
from congenial.sim.events import ARRIVE, ARRIVE_EVERYWHERE, PROCESS_BITS, TRANSMITTED
from congenial.sim.meter import Meter
from congenial.sim.queue import Bag, EventQueue


@final
class Network:
    """Carries the messages of `n` processes.

    A message waits in an envelope until its last copy has been delivered or lost. A copy on its way is one integer:
    the envelope's number above the bits of its destination.
    """

    def __init__(
        self,
        n: int,
        delay: Distribution,
        fifo: bool,
        bandwidth: float,
        faulty: bool,
        queue: EventQueue,
        meter: Meter,
        trace: Trace | None,
        random: Random,
        fault_random: Random,
    ) -> None:
        self.n: i64 = n
        self.delay = delay
        self.bandwidth = bandwidth  # integers per unit of time; 0: no limit
        self.queue = queue
        self.meter = meter
        self.trace = trace
        self.random = random
        self.fault_random = fault_random
        self.memoryless = isinstance(delay, Exponential) and not (fifo and (faulty or bandwidth > 0.0))
        self.bag = Bag()
        self.in_order = OrderedBag(n, delay.mean, self.bag, random) if fifo and self.memoryless else None
        # Channels with constant delays keep the order anyway, unless longer messages take longer. Where there are
        # faults, random numbers are drawn for the order.
        keeps_order = isinstance(delay, Constant) and bandwidth == 0.0 and not faulty
        self.order = ChannelOrder(n) if fifo and not self.memoryless and not keeps_order else None
        self.under_way: i64 = 0  # messages in the queue, or deferred because their receiver is paused
        # by envelope
        self.messages = vec[Message | None]()
        self.sources = vec[i64]()
        self.destinations = vec[i64]()  # -1: everyone
        self.copies = vec[i64]()  # neither delivered nor lost yet
        self.ids = vec[i64]()
        # envelopes to be used again, and how many there are
        self.free = vec[i64]()
        self.free_count: i64 = 0
        self.sent_count: i64 = 0
        # faults in force, which the disturbances change
        self.faulty = faulty  # can there be any?
        self.loss_rate = 0.0
        self.duplication_rate = 0.0
        self.reordering_rate = 0.0
        self.partitions: list[list[int]] = []  # the side of each process

    # -- sending ---------------------------------------------------------------------------------------

    def send(self, now: float, source: i64, msg: Message, to: i64, copies: i64) -> None:
        """Send a message to process `to`, or to everyone if that is -1."""
        size = self.meter.sent(msg, copies)
        envelope = self._envelope(source, msg, to, copies)
        if self.trace is not None:
            self.trace.record(message_event(now, SEND, source, to, self.sent_count, msg))
        if self.bandwidth > 0.0 and self.memoryless:
            self.under_way += 1
            self.queue.push(now + float(size) / self.bandwidth, TRANSMITTED | envelope)
        elif self.bandwidth > 0.0:
            self._schedule_all(now, envelope, float(size) / self.bandwidth)
        else:
            self._launch(now, envelope)

    def transmitted(self, now: float, envelope: i64) -> None:
        """All of a message has been put on the wire."""
        self.under_way -= 1
        self._launch(now, envelope)

    def _envelope(self, source: i64, msg: Message, to: i64, copies: i64) -> i64:
        self.sent_count += 1
        if self.free_count > 0:
            self.free_count -= 1
            envelope = self.free[self.free_count]
            self.messages[envelope] = msg
            self.sources[envelope] = source
            self.destinations[envelope] = to
            self.copies[envelope] = copies
            self.ids[envelope] = self.sent_count
            return envelope
        self.messages = append(self.messages, msg)
        self.sources = append(self.sources, source)
        self.destinations = append(self.destinations, to)
        self.copies = append(self.copies, copies)
        self.ids = append(self.ids, self.sent_count)
        self.free = append(self.free, i64(0))
        return i64(len(self.messages)) - 1

    def _launch(self, now: float, envelope: i64) -> None:
        """Put a message on its way to its destination, or to all of them."""
        if not self.memoryless:
            self._schedule_all(now, envelope, 0.0)
            return
        to = self.destinations[envelope]
        base = envelope << PROCESS_BITS
        if self.in_order is not None:
            source = self.sources[envelope]
            if to >= 0:
                self.in_order.put(source * self.n + to, base | to, now)
            else:
                self.in_order.put_all(base, source, now)
        elif self.faulty:
            for receiver in self._receivers(envelope):
                for _ in range(self._arrivals(now, envelope, receiver)):
                    self.bag.put(base | i64(receiver))
        elif to >= 0:
            self.bag.put(base | to)
        else:
            self.bag.put_all(base, self.n, self.sources[envelope])

    def _schedule_all(self, now: float, envelope: i64, transmission: float) -> None:
        base = envelope << PROCESS_BITS
        source = self.sources[envelope]
        to = self.destinations[envelope]
        start = now + transmission
        if self.faulty:
            for receiver in self._receivers(envelope):
                for _ in range(self._arrivals(now, envelope, receiver)):
                    self._schedule(start, base, source, receiver)
        elif to >= 0:
            self._schedule(start, base, source, to)
        else:
            self._schedule_broadcast(start, base, source)

    def _schedule_broadcast(self, start: float, base: i64, source: i64) -> None:
        """As `_schedule` for every destination, where nothing goes wrong."""
        delay = self.delay
        random = self.random
        order = self.order
        queue = self.queue
        n = self.n
        self.under_way += n - 1
        if order is None and isinstance(delay, Constant):
            queue.push(start + delay.mean, ARRIVE_EVERYWHERE | base)
            return
        event = ARRIVE | base
        channel = source * n
        to: i64 = 0
        while to < n:
            if to != source:
                arrival = start + delay.draw(random)
                if order is not None:
                    arrival = order.after(channel + to, arrival)
                queue.push(arrival, event | to)
            to += 1

    def _schedule(self, start: float, base: i64, source: i64, to: i64) -> None:
        arrival = start + self.delay.draw(self.random)
        if self.order is not None and (
            self.reordering_rate == 0.0 or self.fault_random.random() >= self.reordering_rate
        ):
            arrival = self.order.after(source * self.n + to, arrival)
        self.under_way += 1
        self.queue.push(arrival, ARRIVE | base | to)

    # -- the end of a copy -----------------------------------------------------------------------------

    def discard_copy(self, envelope: i64) -> None:
        """A copy has been delivered or lost; with the last one the envelope is free."""
        left = self.copies[envelope] - 1
        self.copies[envelope] = left
        if left == 0:
            self.messages[envelope] = None
            self.free[self.free_count] = envelope
            self.free_count += 1

    def lose(self, now: float, envelope: i64, to: i64) -> None:
        """A copy never arrives."""
        msg = self.messages[envelope]
        if self.trace is not None and msg is not None:
            self.trace.record(message_event(now, DROP, to, self.sources[envelope], self.ids[envelope], msg))
        self.discard_copy(envelope)

    # -- faults ----------------------------------------------------------------------------------------

    def _receivers(self, envelope: i64) -> list[int]:
        to = self.destinations[envelope]
        if to >= 0:
            return [to]
        return [process for process in range(self.n) if process != self.sources[envelope]]

    def _arrivals(self, now: float, envelope: i64, to: i64) -> int:
        """How often a copy of a message arrives: 0 times if it is lost, twice if it is duplicated."""
        source = self.sources[envelope]
        cut = False
        for side in self.partitions:
            cut = cut or side[source] != side[to]
        if cut or (self.loss_rate > 0.0 and self.fault_random.random() < self.loss_rate):
            self.lose(now, envelope, to)
            return 0
        if self.duplication_rate > 0.0 and self.fault_random.random() < self.duplication_rate:
            self.copies[envelope] += 1
            return 2
        return 1
