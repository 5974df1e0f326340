"""One process's share of an exploration that several processes divide among them.

A state belongs to one share, by its fingerprint. A share expands its own states. For each step it asks the share that
the next state belongs to whether that state is new, and gets its number. Only a state that is new is sent there. So
most of what is sent are fingerprints.

What steps and headers are called must be the same in all shares, for states are rows of their numbers. So the world of
each share is sealed while it expands a level. A state with a step that has no number yet is deferred. At the end of the
level all shares get to know what is missing in any of them, and number it in the same order (`World.number_all`).

States that were found before the division are known to all shares. Later ones are numbered in turn: `first`, first + 1,
... are the first state of share 0, of share 1, and so on.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i32_le, read_i64_le
from librt.vecs import append, extend, vec
from mypy_extensions import i32, i64

from congenial.checker.edges import Edges
from congenial.checker.events import EVENT_MASK, PROCESS_SHIFT
from congenial.checker.explore import Explorer
from congenial.checker.faults import SAFETY, Fault
from congenial.checker.frontier import Frontier, State

HEADER_BITS: Final = 31
POSITION_SHIFT: Final = 40
OWNER_SHIFT: Final = 40  # other bits of a fingerprint than those that place it in the table
AHEAD: Final = 16  # fingerprints of others that are looked up together


@final
class Questions:
    """States that belong to another share: what it is asked, and how each state is made if it turns out to be new."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.fingerprints = vec[i64]([i64(0)] * 1024)
        self.parents = vec[i32]([i32(0)] * 1024)
        self.edges = vec[i64]([i64(0)] * 1024)
        self.places = vec[i64]([i64(0)] * 1024)  # of the state before the step
        self.moves = vec[i64]([i64(0)] * 1024)  # event | process | position + 1
        self.steps = vec[i64]([i64(0)] * 1024)  # number | header

    def add(self, fingerprint: i64, parent: i64, edge: i64, place: i64, move: i64, step: i64) -> None:
        i = self.count
        if i == i64(len(self.fingerprints)):
            self._grow()
        self.fingerprints[i] = fingerprint
        self.parents[i] = i32(parent)
        self.edges[i] = edge
        self.places[i] = place
        self.moves[i] = move
        self.steps[i] = step
        self.count = i + 1

    def _grow(self) -> None:
        self.fingerprints = extend(self.fingerprints, self.fingerprints)
        self.parents = extend(self.parents, self.parents)
        self.edges = extend(self.edges, self.edges)
        self.places = extend(self.places, self.places)
        self.moves = extend(self.moves, self.moves)
        self.steps = extend(self.steps, self.steps)


@final
class Share:
    def __init__(self, explorer: Explorer, me: int, jobs: int) -> None:
        self.explorer = explorer
        self.me: i64 = me
        self.jobs: i64 = jobs
        self.first: i64 = explorer.table.count
        self.edges_before = explorer.new_edges()
        self.order = vec[i32]()  # the states expanded since the division: their numbers in this share's table
        self.level = Frontier()
        self.indices = vec[i32]()  # of the states of this level
        self.following = Frontier()
        self.following_indices = vec[i32]()
        self.deferred = Frontier()
        self.deferred_indices = vec[i32]()
        self.questions = [Questions() for _ in range(jobs)]
        self.sent = [vec[i32]() for _ in range(jobs)]  # new states for other shares, each as its length and its words
        self._at: i64 = 0
        self._kept = Frontier()  # states from which steps lead to states of others
        self._granted = [vec[i32]() for _ in range(jobs)]  # new states that others will send: their numbers here
        self._asked = vec[i64]([i64(0)] * AHEAD)
        self._own = vec[i64]()
        self._take_own()
        explorer.world.sealed = True

    def _take_own(self) -> None:
        """Of the states that wait to be expanded, take those that belong here."""
        explorer = self.explorer
        index = explorer.next_index
        while not explorer.level.is_empty:
            state = explorer.level.take()
            if self._owner(explorer.table.fingerprints[index]) == self.me:
                self.level.add(state)
                self.indices = append(self.indices, i32(index))
            index += 1

    def _owner(self, fingerprint: i64) -> i64:
        return (fingerprint >> OWNER_SHIFT) % self.jobs

    def number(self, index: i64) -> i64:
        """What a state of this share is called by all."""
        return index if index < self.first else self.first + (index - self.first) * self.jobs + self.me

    @property
    def found(self) -> int:
        """How many states this share has found since the division."""
        return int(self.explorer.table.count - self.first)

    @property
    def has_more(self) -> bool:
        """Are there more states to expand in this level, apart from deferred ones?"""
        return not self.level.is_empty

    # -- expanding -------------------------------------------------------------------------------------

    def expand(self, most: int) -> None:
        """Expand up to so many states of this level, and write down what other shares must be asked."""
        for asked in self.questions:
            asked.count = 0
        self._kept.clear()
        left: i64 = most
        while left > 0 and not self.level.is_empty:
            self._expand(self.level.take(), i64(self.indices[self._at]))
            self._at += 1
            left -= 1

    def _expand(self, state: State, index: i64) -> None:
        explorer = self.explorer
        moves = explorer.moves
        steps = explorer.steps
        before = explorer.transitions
        moves.find(state)
        if not explorer.list_steps(state, index):
            explorer.transitions = before
            self.deferred.add(state)
            self.deferred_indices = append(self.deferred_indices, i32(index))
            return
        explorer.look_for_rest(state, index)
        explorer.edges.begin()
        self.order = append(self.order, i32(index))
        parent = self.number(index)
        place: i64 = -1
        own: i64 = 0
        i: i64 = 0
        while i < steps.count:
            if self._owner(steps.fingerprints[i]) == self.me:
                if own == i64(len(self._own)):
                    self._own = append(self._own, i64(0))
                self._own[own] = steps.fingerprints[i]
                own += 1
            i += 1
        explorer.table.fetch(self._own, own)
        i = 0
        while i < steps.count:
            fingerprint = steps.fingerprints[i]
            number = steps.numbers[i]
            process = moves.processes[steps.moves[i]]
            event = moves.events[steps.moves[i]]
            position = moves.positions[steps.moves[i]]
            label = explorer.label(process, event, number)
            owner = self._owner(fingerprint)
            if owner == self.me:
                target = explorer.table.find(fingerprint, parent)
                if explorer.table.is_new:
                    after = explorer.successors.after(state, process, event, position, number, steps.headers[i])
                    self._compare_beliefs(after, index)
                    self.following.add(after)
                    self.following_indices = append(self.following_indices, i32(target))
                explorer.edges.add(self.number(target), label)
            else:
                if place < 0:
                    place = self._kept.add(state)
                asked: Questions = self.questions[owner]
                move = event | process << PROCESS_SHIFT | (position + 1) << POSITION_SHIFT
                asked.add(
                    fingerprint, parent, explorer.edges.count, place, move, number << HEADER_BITS | steps.headers[i]
                )
                explorer.edges.add(0, label)
            i += 1

    def _compare_beliefs(self, state: State, index: i64) -> None:
        if self.explorer.world.believes:
            wrong = self.explorer.successors.contradiction(state)
            if wrong:
                self.explorer.faults.append(Fault(SAFETY, wrong, index))

    # -- asking and answering --------------------------------------------------------------------------

    def answers(self, peer: int, fingerprints: bytes, parents: bytes) -> vec[i32]:
        """The numbers of states that another share has found; if new, inverted."""
        table = self.explorer.table
        found = vec[i32]()
        granted: vec[i32] = self._granted[peer]
        count: i64 = len(fingerprints) // 8
        asked = self._asked
        start: i64 = 0
        while start < count:
            size = min(count - start, AHEAD)
            i: i64 = 0
            while i < size:
                asked[i] = read_i64_le(fingerprints, (start + i) * 8)
                i += 1
            table.fetch(asked, size)
            i = 0
            while i < size:
                index = table.find(asked[i], i64(read_i32_le(parents, (start + i) * 4)))
                if table.is_new:
                    granted = append(granted, i32(index))
                    found = append(found, i32(-1 - self.number(index)))
                else:
                    found = append(found, i32(self.number(index)))
                i += 1
            start += AHEAD
        self._granted[peer] = granted
        return found

    def take_answers(self, peer: int, answers: bytes) -> None:
        """Enter the numbers of states of another share; make those that are new, to send them there."""
        asked: Questions = self.questions[peer]
        explorer = self.explorer
        sent = vec[i32]()
        i: i64 = 0
        while i < asked.count:
            target = i64(read_i32_le(answers, i * 4))
            if target < 0:
                target = -1 - target
                move = asked.moves[i]
                after = explorer.successors.after(
                    self._kept.at(asked.places[i]),
                    move >> PROCESS_SHIFT & 0xFF,
                    move & EVENT_MASK,
                    (move >> POSITION_SHIFT) - 1,
                    asked.steps[i] >> HEADER_BITS,
                    asked.steps[i] & ((1 << HEADER_BITS) - 1),
                )
                self._compare_beliefs(after, 0)
                sent = append(sent, i32(len(after)))
                k: i64 = 0
                while k < i64(len(after)):
                    sent = append(sent, i32(after[k]))
                    k += 1
            explorer.edges.set_target(asked.edges[i], target)
            i += 1
        self.sent[peer] = sent

    def take_states(self, peer: int, words: bytes) -> None:
        """Take in the new states that another share has found."""
        granted: vec[i32] = self._granted[peer]
        at: i64 = 0
        i: i64 = 0
        while at < i64(len(words)):
            size = i64(read_i32_le(words, at))
            state = vec[i64]([i64(0)] * size)
            k: i64 = 0
            while k < size:
                at += 4
                state[k] = i64(read_i32_le(words, at))
                k += 1
            at += 4
            self.following.add(state)
            self.following_indices = append(self.following_indices, granted[i])
            i += 1
        self._granted[peer] = vec[i32]()

    # -- levels ----------------------------------------------------------------------------------------

    def retry(self) -> None:
        """Go on with the states that were deferred, now that what they missed has a number."""
        self.level, self.deferred = self.deferred, self.level
        self.indices, self.deferred_indices = self.deferred_indices, vec[i32]()
        self.deferred.clear()
        self._at = 0

    def next_level(self) -> None:
        self.level, self.following = self.following, self.level
        self.indices, self.following_indices = self.following_indices, vec[i32]()
        self.following.clear()
        self._at = 0


@final
class Part:
    """What a share found: the parents of its new states, in the order of their numbers there; the states that it
    expanded, by these numbers; and their edges, in that order."""

    def __init__(self, parents: vec[i32], order: vec[i32], edges: Edges) -> None:
        self.parents = parents
        self.order = order
        self.edges = edges


def part_of(share: Share) -> Part:
    parents = vec[i32]()
    index = share.first
    while index < share.explorer.table.count:
        parents = append(parents, share.explorer.table.parents[index])
        index += 1
    share.explorer.edges.begin()
    return Part(parents, share.order, share.explorer.edges)


def numbers_in(data: bytes) -> vec[i32]:
    """Numbers that another process has sent."""
    found = vec[i32]([i32(0)] * (i64(len(data)) // 4))
    i: i64 = 0
    while i < i64(len(found)):
        found[i] = read_i32_le(data, i * 4)
        i += 1
    return found


def long_numbers_in(data: bytes) -> vec[i64]:
    found = vec[i64]([i64(0)] * (i64(len(data)) // 8))
    i: i64 = 0
    while i < i64(len(found)):
        found[i] = read_i64_le(data, i * 8)
        i += 1
    return found


def merge(share: Share, parts: list[Part]) -> None:
    """Make one exploration of all parts, in the explorer of the first share."""
    explorer = share.explorer
    first = share.first
    jobs = share.jobs
    most: i64 = 0
    for part in parts:
        most = max(most, i64(len(part.parents)))
    total = first + most * jobs  # a share with fewer states leaves numbers that no state has
    parents = vec[i32]([i32(-1)] * total)
    places = vec[i64]([i64(-1)] * total)  # where the edges of a state are: place in a part * jobs + part
    i: i64 = 0
    while i < first:
        parents[i] = explorer.table.parents[i]
        i += 1
    states = first
    worker: i64 = 0
    for part in parts:
        i = 0
        while i < i64(len(part.parents)):
            parents[first + i * jobs + worker] = part.parents[i]
            i += 1
        states += i
        i = 0
        while i < i64(len(part.order)):
            index = i64(part.order[i])
            number = index if index < first else first + (index - first) * jobs + worker
            places[number] = i * jobs + worker
            i += 1
        worker += 1
    edges = Edges()
    before = share.edges_before
    expanded: i64 = len(before.firsts)
    before.begin()
    old_labels = edges.renumbered(before)
    labels = [edges.renumbered(part.edges) for part in parts]
    i = 0
    while i < total:
        edges.begin()
        if i < expanded:
            edges.add_all(before, i, old_labels)
        elif places[i] >= 0:
            number = places[i] % jobs
            edges.add_all(parts[number].edges, places[i] // jobs, labels[number])
        i += 1
    edges.begin()
    explorer.edges = edges
    explorer.table.parents = parents
    explorer.table.count = states
