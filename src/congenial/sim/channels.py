"""FIFO channels: a message arrives no earlier than those that were sent before it on the same channel.

A channel is a number: that of its source times the number of processes, plus that of its destination.
"""

from __future__ import annotations

from math import exp
from typing import Final, final

from librt.random import Random
from librt.vecs import append, vec
from mypy_extensions import i32, i64

from congenial.sim.events import PROCESS_BITS
from congenial.sim.queue import Bag

MOST_DENSE: Final = 2000  # processes whose channels are in an array; those of more are in a dictionary
EMPTY: Final = -2  # a channel with no message under way
ALONE: Final = -1  # a channel with one, and none behind it


@final
class ChannelOrder:
    """For delays of any kind, which are drawn when a message is sent."""

    def __init__(self, n: int) -> None:
        self.dense = n <= MOST_DENSE
        self.latest = vec[float]([0.0] * (n * n if self.dense else 0))
        self.sparse: dict[int, float] = {}

    def after(self, channel: i64, arrival: float) -> float:
        """The time of an arrival on a channel, put off until the latest one there."""
        if self.dense:
            if arrival < self.latest[channel]:
                return self.latest[channel]
            self.latest[channel] = arrival
            return arrival
        latest = max(arrival, self.sparse.get(channel, 0.0))
        self.sparse[channel] = latest
        return latest


@final
class OrderedBag:
    """For exponential delays. Only the first message of a channel is in the bag; the others are in line behind it.

    A message arrives when its own delay is over and all before it have arrived. Its delay has no memory. So whether it
    is over does not have to be known before the message is the first of its channel: with a probability that depends
    only on its age, it is over, and the message arrives immediately. Otherwise the rest of the delay is like a new one,
    and the message goes into the bag. The distribution of runs is exactly the same as with delays drawn in advance.
    """

    def __init__(self, n: int, mean: float, bag: Bag, random: Random) -> None:
        self.n: i64 = n
        self.mean = mean
        self.bag = bag
        self.random = random
        self.dense = n <= MOST_DENSE
        # by channel: the place of the last in line; in 32 bits, since all of them are hardly ever in the cache
        self.last = vec[i32]([EMPTY] * (n * n if self.dense else 0))
        self.sparse: dict[int, int] = {}
        # by place in a line; the last one's `behind` is the first one
        self.items = vec[i64]()
        self.behind = vec[i32]()
        self.free: i64 = -1  # a place to be used again; its `behind` is the next one
        self.sent = vec[float]()  # by envelope: when it was sent

    def put(self, channel: i64, item: i64, now: float) -> None:
        """A message is sent."""
        self._note(item, now)
        last = self._last(channel)
        if last == EMPTY:
            self._set_last(channel, ALONE)
            self.bag.put(item)
        else:
            self._set_last(channel, self._line_up(last, item))

    def put_all(self, base: i64, source: i64, now: float) -> None:
        """A message is sent to everybody."""
        n = self.n
        channel = source * n
        to: i64 = 0
        if not self.dense:
            while to < n:
                if to != source:
                    self.put(channel + to, base + to, now)
                to += 1
            return
        self._note(base, now)
        # the same, with fewer calls
        lasts = self.last
        bag = self.bag
        while to < n:
            if to != source:
                last: i64 = i64(lasts[channel + to])
                if last == EMPTY:
                    lasts[channel + to] = ALONE
                    bag.put(base + to)
                else:
                    lasts[channel + to] = i32(self._line_up(last, base + to))
            to += 1

    def follow(self, channel: i64, now: float) -> i64:
        """The first message of a channel has arrived. Returns the next one if it arrives immediately, or else -1."""
        if self.dense:
            last = i64(self.last[channel])
            if last == ALONE:
                self.last[channel] = EMPTY
                return -1
        else:
            last = self.sparse[channel]
            if last == ALONE:
                del self.sparse[channel]
                return -1
        place = i64(self.behind[last])
        if place == last:
            self._set_last(channel, ALONE)
        else:
            self.behind[last] = self.behind[place]
        self.behind[place] = i32(self.free)
        self.free = place
        item = self.items[place]
        if self.mean > 0.0 and self.random.random() < exp((self.sent[item >> PROCESS_BITS] - now) / self.mean):
            self.bag.put(item)
            return -1
        return item

    def _last(self, channel: i64) -> i64:
        if self.dense:
            return i64(self.last[channel])
        return self.sparse.get(channel, EMPTY)

    def _set_last(self, channel: i64, place: i64) -> None:
        if self.dense:
            self.last[channel] = i32(place)
        else:
            self.sparse[channel] = place

    def _note(self, item: i64, now: float) -> None:
        """Note when an envelope was sent."""
        envelope = item >> PROCESS_BITS
        while envelope >= i64(len(self.sent)):
            self.sent = append(self.sent, now)
        self.sent[envelope] = now

    def _line_up(self, last: i64, item: i64) -> i64:
        """Put a message behind the last one of its channel, and return its place."""
        place = self.free
        if place >= 0:
            self.free = i64(self.behind[place])
        else:
            place = i64(len(self.items))
            self.items = append(self.items, item)
            self.behind = append(self.behind, i32(0))
        self.items[place] = item
        if last == ALONE:
            self.behind[place] = i32(place)
        else:
            self.behind[place] = self.behind[last]
            self.behind[last] = i32(place)
        return place
