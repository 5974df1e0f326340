"""What is still to happen: the event queue, and the bag of messages on their way.

This decides the engine's speed. So the file is written for the compiler: flat arrays, no objects per event.
"""

from __future__ import annotations

from math import inf
from typing import Final, final

from librt.vecs import append, vec
from mypy_extensions import i64

FEW: Final = 512  # events, for which a heap alone is good enough
PILES: Final = 64
LATER: Final = 64.0  # the last pile, as a float: for all that is after the others
PER_BUCKET: Final = 2  # events, about, when a pile is divided; more may come later
LONGEST_RUN: Final = 32  # events that are sorted by insertion


@final
class EventQueue:
    """Events by time; events at the same time, in the order in which they were put in.

    Few events are kept in a heap. Many lie on piles, one for each interval of time, and one for all that is later. When
    the time of a pile comes, it is divided into buckets, for short intervals; and when the time of a bucket comes, its
    few events are sorted: they are the run. What is put in for the same short interval after that goes into the heap.
    So the first event of all is the first one of the run or of the heap. When all piles are used up, what was later is
    divided into new piles.

    So an event costs about the same, however many there are. However much memory the piles need, it is written and read
    in order; what is accessed at random, in the buckets of one pile, stays in the processor's cache.
    """

    def __init__(self) -> None:
        self.size: i64 = 0
        self.count: i64 = 0  # events ever put in: the number of the latest
        self.next_time = inf  # of the first event
        self.number: i64 = 0  # of the event that was taken out last
        self._heap = Heap()
        self._few: i64 = FEW  # as many events may be in the heap before they are divided
        # the run: the times of its events, with `inf` behind them, and their places in the present pile
        self._run_times = vec[float]([inf] * (LONGEST_RUN + 1))
        self._run_places = vec[i64]([0] * (LONGEST_RUN + 1))
        self._run_at: i64 = 0
        # the buckets: parts of the present pile
        self._present = Pile()
        self._links = vec[i64]()  # by place: that of the bucket's next event; for the last one, that of the first
        self._lasts = vec[i64]()  # by bucket: the place of its last event, or -1
        self._last_bucket: i64 = -1
        self._next_bucket: i64 = 0  # the first one whose time has not come
        self._bucket = inf  # the same number; `inf` if there is none
        self._bucket_start = 0.0  # of the first interval
        self._bucket_scale = 0.0  # intervals per unit of time
        # the piles
        self._piles = vec[Pile]([Pile() for _ in range(PILES + 1)])
        self._pile = inf  # the first one whose time has not come; `inf` if all events are in the heap
        self._pile_start = 0.0
        self._pile_scale = 0.0

    def push(self, time: float, payload: i64) -> i64:
        """Put an event in and return its number."""
        number = self.count + 1
        self.count = number
        self.size += 1
        pile = (time - self._pile_start) * self._pile_scale
        if pile >= self._pile:
            self._piles[int(min(pile, LATER))].put(time, number, payload)
            if self.size == 1:
                self._refill()
            return number
        bucket = (time - self._bucket_start) * self._bucket_scale
        if bucket >= self._bucket:
            place = self._present.size
            self._present.put(time, number, payload)
            if place == i64(len(self._links)):
                self._links = append(self._links, place)
            self._put_off(place, bucket)
            if self.size == 1:
                self._refill()
            return number
        self._heap.push(time, number, payload)
        if time < self.next_time:
            self.next_time = time
        if self._pile == inf and self.size > self._few:
            self._divide_heap()
        return number

    def pop(self) -> i64:
        """Take the first event out and return it."""
        at = self._run_at
        time = self._run_times[at]
        # Of two at the same time, that of the run was put in first. An event that is infinitely late is in the heap.
        if time <= self._heap.times[0] and time < inf:
            place = self._run_places[at]
            self.number = self._present.numbers[place]
            first = self._present.payloads[place]
            self._run_at = at + 1
            time = self._run_times[at + 1]
        else:
            self.number = self._heap.numbers[0]
            first = self._heap.pop()
        self.size -= 1
        earliest = self._heap.times[0]
        self.next_time = time if time < earliest else earliest
        if self.next_time == inf and self.size > 0 and self._heap.size == 0:
            self._refill()
        return first

    # -- what is not next --------------------------------------------------------------------------------

    def _put_off(self, place: i64, bucket: float) -> None:
        """Put an event of the present pile into a bucket."""
        at: i64 = int(bucket)
        if at > self._last_bucket:  # by rounding
            at = self._last_bucket
        links = self._links
        lasts = self._lasts
        last = lasts[at]
        lasts[at] = place
        if last < 0:
            links[place] = place
        else:
            links[place] = links[last]
            links[last] = place

    def _refill(self) -> None:
        """Put the next events into the run or the heap, which are both used up."""
        lasts = self._lasts
        while True:
            at = self._next_bucket
            while at <= self._last_bucket and lasts[at] < 0:
                at += 1
            self._next_bucket = at + 1
            self._bucket = float(at + 1) if at < self._last_bucket else inf
            if at <= self._last_bucket:
                self._begin(lasts[at])
                lasts[at] = -1
                return
            if not self._next_pile():
                return
            lasts = self._lasts

    def _begin(self, last: i64) -> None:
        """The time of a bucket has come: its events become the run. If there are many, the rest goes into the heap."""
        present = self._present
        times = present.times
        links = self._links
        run_times = self._run_times
        run_places = self._run_places
        size: i64 = 0
        place = last
        while size < LONGEST_RUN:
            place = links[place]
            time = times[place]
            at = size
            while at > 0 and run_times[at - 1] > time:
                run_times[at] = run_times[at - 1]
                run_places[at] = run_places[at - 1]
                at -= 1
            run_times[at] = time
            run_places[at] = place
            size += 1
            if place == last:
                break
        run_times[size] = inf
        self._run_at = 0
        while place != last:
            place = links[place]
            self._heap.push(times[place], present.numbers[place], present.payloads[place])
        self.next_time = min(run_times[0], self._heap.times[0])

    def _next_pile(self) -> bool:
        """Divide the next pile into buckets, which are all empty. False if what is left went into the heap instead."""
        at: i64 = int(self._pile)
        while at < PILES and self._piles[at].size == 0:
            at += 1
        if at == PILES:
            return self._divide()
        present = self._piles[at]
        self._piles[at] = self._present
        self._piles[at].size = 0
        size = present.size
        buckets = size // PER_BUCKET + 1
        while i64(len(self._links)) < size:
            self._links = append(self._links, i64(-1))
        while i64(len(self._lasts)) < buckets:
            self._lasts = append(self._lasts, i64(-1))
        start = self._pile_start + float(at) / self._pile_scale
        scale = self._pile_scale * float(buckets)
        self._present = present
        self._last_bucket = buckets - 1
        self._next_bucket = 0
        self._bucket = 0.0
        self._bucket_start = start
        self._bucket_scale = scale
        self._pile = float(at + 1)
        times = present.times
        place: i64 = 0
        while place < size:
            self._put_off(place, (times[place] - start) * scale)
            place += 1
        return True

    def _divide(self) -> bool:
        """Divide the last pile into new ones; or, if it is small, put it into the heap, and return False."""
        last = self._piles[PILES]
        times = last.times
        numbers = last.numbers
        payloads = last.payloads
        count = last.size
        last.size = 0
        least = inf
        total = 0.0
        for at in range(count):
            least = min(least, times[at])
            total += times[at]
        spread = 3.0 * (total / float(count) - least)  # a few that are far away do not matter
        scale = LATER / spread if spread > 0.0 else inf
        if count <= FEW or not 0.0 < scale < inf:
            self._few = max(i64(FEW), 2 * count)
            self._pile = inf
            self._pile_scale = 0.0
            for at in range(count):
                self._heap.push(times[at], numbers[at], payloads[at])
            self._run_at = 0
            self._run_times[0] = inf
            self.next_time = self._heap.times[0]
            return False
        self._pile = 0.0
        self._pile_start = least
        self._pile_scale = scale
        for at in range(count):
            pile = (times[at] - least) * scale
            to: i64 = int(min(pile, LATER))
            self._piles[to].put(times[at], numbers[at], payloads[at])
        return True

    def _divide_heap(self) -> None:
        heap = self._heap
        last = self._piles[PILES]
        while heap.size > 0:
            last.put(heap.times[0], heap.numbers[0], heap.payloads[0])
            heap.pop()
        if self._divide():
            self._refill()


@final
class Pile:
    """Events in the order in which they were put in."""

    def __init__(self) -> None:
        self.size: i64 = 0
        self.times = vec[float]()
        self.numbers = vec[i64]()
        self.payloads = vec[i64]()

    def put(self, time: float, number: i64, payload: i64) -> None:
        at = self.size
        self.size = at + 1
        if at == i64(len(self.times)):
            self.times = append(self.times, time)
            self.numbers = append(self.numbers, number)
            self.payloads = append(self.payloads, payload)
        else:
            self.times[at] = time
            self.numbers[at] = number
            self.payloads[at] = payload


@final
class Heap:
    """A binary heap of events, by time, then by number."""

    def __init__(self) -> None:
        self.size: i64 = 0
        self.times = vec[float]([inf])  # the first one is `inf` if there is none
        self.numbers = vec[i64]([0])
        self.payloads = vec[i64]([0])

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
        times[i] = time if size > 0 else inf
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
