"""What is still to happen: the event queue, and the bag of messages on their way.

This decides the engine's speed. So the file is written for the compiler: flat arrays, no objects per event.
"""

from __future__ import annotations

from math import inf
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

FEW: Final = 512  # events, for which a heap alone is good enough
PER_BUCKET: Final = 8  # events, about


@final
class EventQueue:
    """Events by time; events at the same time, in the order in which they were put in.

    Few events are kept in a heap. Of many, the heap has only the next ones. The others lie in buckets, not sorted: one
    for each interval of time, and one for all that is beyond. When the heap is empty, the next bucket is emptied into
    it. When that is the one for all beyond, its events are divided into new buckets. So an event costs about the same,
    however many there are.
    """

    def __init__(self) -> None:
        self.size: i64 = 0
        self.count: i64 = 0  # events ever put in: the number of the latest
        self._heap = Heap()
        self._few: i64 = FEW
        self._start = 0.0  # of the first interval
        self._scale = 0.0  # intervals per unit of time
        self._next = inf  # the first bucket whose events are not in the heap
        self._beyond: i64 = 0  # the last bucket
        self._tops = vec[i64]([-1])  # by bucket: the place of its latest event, or -1
        # by place: events in buckets; eight places in a row, a chunk, are of the same bucket, and close in memory
        self._times = vec[float]()
        self._numbers = vec[i64]()
        self._payloads = vec[i64]()
        self._links = vec[i64]()  # by chunk: the place of the bucket's latest event before, or -1
        self._free: i64 = -1  # a chunk to be used again, whose link is the next one

    def push(self, time: float, payload: i64) -> i64:
        """Put an event in and return its number."""
        number = self.count + 1
        self.count = number
        self.size += 1
        bucket = (time - self._start) * self._scale
        if bucket >= self._next:
            self._put_off(bucket, time, number, payload)
            if self._heap.size == 0:
                self._refill()
        else:
            self._heap.push(time, number, payload)
            if self._beyond == 0 and self._heap.size > self._few:
                self._divide_heap()
        return number

    def next_time(self) -> float:
        return self._heap.times[0]

    def next_number(self) -> i64:
        return self._heap.numbers[0]

    def pop(self) -> i64:
        """Take the first event out and return it."""
        first = self._heap.pop()
        self.size -= 1
        if self._heap.size == 0 and self.size > 0:
            self._refill()
        return first

    # -- buckets ---------------------------------------------------------------------------------------

    def _put_off(self, bucket: float, time: float, number: i64, payload: i64) -> None:
        at = self._beyond
        if bucket < float(at):
            at = int(bucket)
        top = self._tops[at]
        place = top + 1
        if place & 7 == 0:  # the first one of its chunk
            chunk = self._free
            if chunk < 0:
                chunk = self._new_chunk()
            self._free = self._links[chunk]
            self._links[chunk] = top
            place = chunk << 3
        self._times[place] = time
        self._numbers[place] = number
        self._payloads[place] = payload
        self._tops[at] = place

    def _new_chunk(self) -> i64:
        for _ in range(8):
            self._times = append(self._times, 0.0)
            self._numbers = append(self._numbers, i64(0))
            self._payloads = append(self._payloads, i64(0))
        self._links = append(self._links, i64(-1))
        return i64(len(self._links)) - 1

    def _refill(self) -> None:
        """Put the next events into the heap, which is empty."""
        while self._heap.size == 0:
            at: i64 = int(self._next)
            tops = self._tops
            while at < self._beyond and tops[at] < 0:
                at += 1
            self._next = float(at + 1)
            if at < self._beyond:
                self._empty(at)
            else:
                self._divide()

    def _empty(self, at: i64) -> None:
        """Put all events of a bucket into the heap."""
        heap = self._heap
        times = self._times
        numbers = self._numbers
        payloads = self._payloads
        top = self._tops[at]
        self._tops[at] = -1
        while top >= 0:
            chunk = top >> 3
            place = chunk << 3
            while place <= top:
                heap.push(times[place], numbers[place], payloads[place])
                place += 1
            top = self._discard(chunk)

    def _discard(self, chunk: i64) -> i64:
        """The chunk can be used again. Returns its link."""
        link = self._links[chunk]
        self._links[chunk] = self._free
        self._free = chunk
        return link

    def _divide(self) -> None:
        """Divide the events beyond all intervals into new buckets; or, if there are few, put them into the heap."""
        times = self._times
        top = self._tops[self._beyond]
        least = inf
        total = 0.0
        count: i64 = 0
        rest = top
        while rest >= 0:
            place = rest & -8
            while place <= rest:
                least = min(least, times[place])
                total += times[place]
                count += 1
                place += 1
            rest = self._links[rest >> 3]
        spread = 2.0 * (total / float(count) - least)  # a few that are far away do not matter
        buckets = count // PER_BUCKET
        scale = float(buckets) / spread if spread > 0.0 else inf
        if count <= FEW or not 0.0 < scale < inf:
            self._few = max(i64(FEW), 2 * count)
            self._empty(self._beyond)
            self._beyond = 0
            self._scale = 0.0
            self._next = inf
            return
        self._tops[self._beyond] = -1
        while i64(len(self._tops)) <= buckets:
            self._tops = append(self._tops, i64(-1))
        self._beyond = buckets
        self._start = least
        self._scale = scale
        self._next = 0.0
        while top >= 0:
            chunk = top >> 3
            place = chunk << 3
            while place <= top:
                time = self._times[place]
                self._put_off((time - least) * scale, time, self._numbers[place], self._payloads[place])
                place += 1
            top = self._discard(chunk)

    def _divide_heap(self) -> None:
        heap = self._heap
        while heap.size > 0:
            self._put_off(0.0, heap.times[0], heap.numbers[0], heap.payloads[0])
            heap.pop()
        self._divide()
        if heap.size == 0:
            self._refill()


@final
class Heap:
    """A binary heap of events, by time, then by number."""

    def __init__(self) -> None:
        self.size: i64 = 0
        self.times = vec[float]()
        self.numbers = vec[i64]()
        self.payloads = vec[i64]()

    def push(self, time: float, number: i64, payload: i64) -> None:
        i = self.size
        self.size = i + 1
        if i == i64(len(self.times)):
            self.times = append(self.times, time)
            self.numbers = append(self.numbers, number)
            self.payloads = append(self.payloads, payload)
        times = self.times
        numbers = self.numbers
        payloads = self.payloads
        while i > 0:
            parent = (i - 1) >> 1
            if times[parent] < time or (times[parent] == time and numbers[parent] < number):
                break
            times[i] = times[parent]
            numbers[i] = numbers[parent]
            payloads[i] = payloads[parent]
            i = parent
        times[i] = time
        numbers[i] = number
        payloads[i] = payload

    def pop(self) -> i64:
        """Take the first event out and return its payload."""
        times = self.times
        numbers = self.numbers
        payloads = self.payloads
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
    of an arrival does not have to be known in advance. A bag to draw from replaces the queue. It takes constant time
    per message, however many there are, and the distribution of runs is exactly the same.
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
