"""What is still to happen: the event queue, and the bag of messages on their way.

This decides the engine's speed. So the file is written for the compiler: flat arrays, no objects per event.
"""

from __future__ import annotations

from typing import final

from librt.vecs import append, vec
from mypy_extensions import i64


@final
class EventQueue:
    """Events by time; events at the same time, in the order in which they were put in. A binary heap."""

    def __init__(self) -> None:
        self.size: i64 = 0
        self.count: i64 = 0  # events ever put in: the number of the latest
        self._times = vec[float]()
        self._numbers = vec[i64]()
        self._payloads = vec[i64]()

    def push(self, time: float, payload: i64) -> i64:
        """Put an event in and return its number."""
        number = self.count + 1
        self.count = number
        i = self.size
        self.size = i + 1
        if i == i64(len(self._times)):
            self._times = append(self._times, time)
            self._numbers = append(self._numbers, number)
            self._payloads = append(self._payloads, payload)
        times = self._times
        numbers = self._numbers
        payloads = self._payloads
        while i > 0:  # a new number is the largest, so an equal time stays behind
            parent = (i - 1) >> 1
            if times[parent] <= time:
                break
            times[i] = times[parent]
            numbers[i] = numbers[parent]
            payloads[i] = payloads[parent]
            i = parent
        times[i] = time
        numbers[i] = number
        payloads[i] = payload
        return number

    def next_time(self) -> float:
        return self._times[0]

    def next_number(self) -> i64:
        return self._numbers[0]

    def pop(self) -> i64:
        """Take the first event out and return it."""
        times = self._times
        numbers = self._numbers
        payloads = self._payloads
        first = payloads[0]
        size = self.size - 1
        self.size = size
        time = times[size]
        number = numbers[size]
        i: i64 = 0
        child: i64 = 1
        while child < size:
            right = child + 1
            if right < size and (
                times[right] < times[child] or (times[right] == times[child] and numbers[right] < numbers[child])
            ):
                child = right
            if time < times[child] or (time == times[child] and number < numbers[child]):
                break
            times[i] = times[child]
            numbers[i] = numbers[child]
            payloads[i] = payloads[child]
            i = child
            child = 2 * i + 1
        times[i] = time
        numbers[i] = number
        payloads[i] = payloads[size]
        return first


@final
class Bag:
    """Messages on their way over channels with exponential delays.

    The exponential distribution has no memory: of R messages on their way, whenever they were sent, the next one
    arrives after an exponential time with mean delay/R, and it is each of them with the same probability. So the time
    of an arrival need not be known in advance. A bag to draw from replaces the queue. It takes constant time per
    message, however many there are, and the distribution of runs is exactly the same.
    """

    def __init__(self) -> None:
        self.size: i64 = 0
        self._items = vec[i64]()

    def put(self, item: i64) -> None:
        i = self.size
        if i == i64(len(self._items)):
            self._items = append(self._items, item)
        else:
            self._items[i] = item
        self.size = i + 1

    def put_all(self, base: i64, n: i64, but: i64) -> None:
        """Put in base+0 ... base+n-1, all except base+but."""
        i = self.size
        items = self._items
        room = i64(len(items))
        while room < i + n:
            items = append(items, i64(0))
            room += 1
        self._items = items
        k: i64 = 0
        while k < but:
            items[i] = base + k
            i += 1
            k += 1
        k += 1
        while k < n:
            items[i] = base + k
            i += 1
            k += 1
        self.size = i

    def take(self, i: i64) -> i64:
        """Take out the i-th item; the last one takes its place."""
        items = self._items
        item = items[i]
        last = self.size - 1
        items[i] = items[last]
        self.size = last
        return item
