"""One exploration by several processes, each with its share (`congenial.checker.share`).

The processes are forked when enough states are known to be worth it. They go through each level together, some
thousand states at a time: they ask each other, answer, and send the states that are new. Every process decides from
the same numbers whether there is more to do, so that none has to be told.
"""

from __future__ import annotations

import pickle
import select
import signal
import socket
from multiprocessing import get_context
from struct import Struct

from congenial.checker.edges import BLOCK, Edges
from congenial.checker.explore import Explorer
from congenial.checker.share import Part, Share, long_numbers_in, merge, numbers_in, part_of
from congenial.checker.world import Missing
from congenial.kernel.errors import ConfigError

AT_ONCE = 16_384  # states that a share expands before it asks the others
LENGTH = Struct("<q")
ROUND = Struct("<qqqq")  # is there more in this level? states found, faults found, states asked for
PIECE = 1 << 20  # bytes

Data = bytes | memoryview


class Ended(Exception):
    """Another process has ended."""


def explore_together(explorer: Explorer, jobs: int) -> bool:
    """Go on with an exploration that has paused. False: something is wrong, but no run is known that shows it."""
    context = get_context("fork")
    links = [Links(jobs) for _ in range(jobs)]
    for one in range(jobs):
        for other in range(one):
            links[one].sockets[other], links[other].sockets[one] = socket.socketpair()
    workers = [context.Process(target=_work, args=(explorer, me, jobs, links), daemon=True) for me in range(1, jobs)]
    for worker in workers:
        worker.start()
    for other_links in links[1:]:
        other_links.close()
    turns = Turns(Share(explorer, 0, jobs), links[0])
    try:
        turns.run()
        turns.gather()
    except Ended as ended:
        raise ConfigError("a process of this check has ended; there may not be enough memory for it") from ended
    finally:
        explorer.world.sealed = False
        links[0].close()  # so that the others end, whatever they are doing
        for worker in workers:
            worker.join()
    return turns.faults == 0


def _work(explorer: Explorer, me: int, jobs: int, links: list[Links]) -> None:
    """What a forked process does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process decides
    for other in range(jobs):
        if other != me:
            links[other].close()
    explorer.progress = None
    turns = Turns(Share(explorer, me, jobs), links[me])
    try:
        turns.run()
        turns.send()
    except (Ended, ConfigError):  # what cannot be numbered cannot be numbered in the first process, either
        pass
    finally:
        links[me].close()


class Turns:
    """The turns that a share takes with others."""

    def __init__(self, share: Share, links: Links) -> None:
        self.share = share
        self.links = links
        self.explorer = share.explorer
        self.transitions_before = int(share.explorer.transitions)
        self.terminal_before = len(share.explorer.terminal)
        self.complete = False
        self.faults = 0  # of all shares
        self.states = 0

    def run(self) -> None:
        """Until all states have been seen, at the limit, or in the level with the first fault."""
        share = self.share
        while not self._is_over():
            while self._round():
                pass
            missing, waiting = self._agree()
            if any(missing):
                self.explorer.world.number_all(missing)
                share.retry()
            elif waiting == 0:
                self.complete = self.faults == 0 and self.states < self.explorer.limit
                return
            else:
                share.next_level()
                self.explorer.depth += 1

    def _is_over(self) -> bool:
        return self.faults > 0 or self.states >= int(self.explorer.limit)

    def _round(self) -> bool:
        """Expand, ask, answer, and send what is new. Is there more to expand in this level, in any share?"""
        share = self.share
        peers = self.links.peers
        share.expand(AT_ONCE)
        questions: dict[int, list[Data]] = {}
        for peer in peers:
            asked = share.questions[peer]
            count = int(asked.count)
            known = (share.has_more, share.found, len(self.explorer.faults), count)
            questions[peer] = [
                ROUND.pack(*known), memoryview(asked.fingerprints)[:count], memoryview(asked.parents)[:count],
            ]  # fmt: skip
        received = self.links.exchange(questions)
        more, found, self.faults = share.has_more, share.found, len(self.explorer.faults)
        answers: dict[int, list[Data]] = {}
        for peer in peers:
            other_more, other_found, faults, count = ROUND.unpack_from(received[peer])
            more, found, self.faults = more or other_more != 0, found + other_found, self.faults + faults
            middle = ROUND.size + 8 * count
            numbers = share.answers(peer, received[peer][ROUND.size : middle], received[peer][middle:])
            answers[peer] = [memoryview(numbers)]
        received = self.links.exchange(answers)
        states: dict[int, list[Data]] = {}
        for peer in peers:
            share.take_answers(peer, received[peer])
            states[peer] = [memoryview(share.sent[peer])]
        received = self.links.exchange(states)
        for peer in peers:
            share.take_states(peer, received[peer])
        self.states = int(share.first) + found
        if self.explorer.progress is not None:
            self.explorer.progress(self.states, 0)
        return more and not self._is_over()

    def _agree(self) -> tuple[Missing, int]:
        """What has no number yet in any share, in the same order everywhere; and how many states wait, and faults."""
        steps: set[int] = set()
        bookings: set[int] = set()
        headers: set[tuple[int, int, int, int]] = set()
        waiting = self.faults = found = 0
        faults = len(self.explorer.faults)
        mine = (self.explorer.world.missing(), len(self.share.following_indices), faults, self.share.found)
        told: list[Data] = [pickle.dumps(mine)]
        received = self.links.exchange(dict.fromkeys(self.links.peers, told))
        for missing, others, faults, states in [mine, *[pickle.loads(received[peer]) for peer in self.links.peers]]:
            steps.update(missing[0])
            bookings.update(missing[1])
            headers.update(missing[2])
            waiting += others
            self.faults += faults
            found += states
        self.states = int(self.share.first) + found
        return (sorted(steps), sorted(bookings), sorted(headers)), waiting

    # -- in the end ------------------------------------------------------------------------------------

    def send(self) -> None:
        """Send the first share what this one found: counts, and the graph if it is whole."""
        explorer = self.explorer
        number = self.share.number
        terminal = [int(number(index)) for index in explorer.terminal[self.terminal_before :]]
        self.links.send(0, pickle.dumps((int(explorer.transitions) - self.transitions_before, terminal)))
        if not self.complete:
            return
        part = part_of(self.share)
        for numbers in (part.parents, part.order, part.edges.firsts, part.edges.labels):
            self.links.send(0, memoryview(numbers))
        for block in part.edges.blocks:
            self.links.send(0, memoryview(block))

    def gather(self) -> None:
        """Put together what all shares found."""
        explorer = self.explorer
        own = explorer.terminal[self.terminal_before :]
        terminal = [int(self.share.number(index)) for index in own]
        parts = [part_of(self.share)]
        for peer in self.links.peers:
            transitions, others = pickle.loads(self.links.receive(peer))
            explorer.transitions += transitions
            terminal += others
            if self.complete:
                parts.append(self._receive_part(peer))
        explorer.terminal[self.terminal_before :] = sorted(terminal)
        explorer.complete = self.complete
        explorer.table.count = self.states
        if self.complete:
            merge(self.share, parts)

    def _receive_part(self, peer: int) -> Part:
        receive = self.links.receive
        parents, order = numbers_in(receive(peer)), numbers_in(receive(peer))
        edges = Edges()
        edges.firsts, edges.labels = long_numbers_in(receive(peer)), long_numbers_in(receive(peer))
        left = int(edges.firsts[len(edges.firsts) - 1])
        while left > 0:
            edges.add_packed(receive(peer), min(left, BLOCK))
            left -= BLOCK
        return Part(parents, order, edges)


class Links:
    """The sockets of one process to the others."""

    def __init__(self, jobs: int) -> None:
        self.sockets: dict[int, socket.socket] = {}

    @property
    def peers(self) -> list[int]:
        return sorted(self.sockets)

    def close(self) -> None:
        for link in self.sockets.values():
            link.close()

    def exchange(self, messages: dict[int, list[Data]]) -> dict[int, bytes]:
        """Send each other process a message, and receive one from each. Nobody waits for another to read first."""
        unsent: dict[int, memoryview] = {}
        parts: dict[int, list[bytes]] = {}
        missing: dict[int, int] = {}
        for peer, pieces in messages.items():
            data = b"".join(pieces)
            unsent[peer] = memoryview(LENGTH.pack(len(data)) + data)
            parts[peer] = []
            missing[peer] = -1
        names = {self.sockets[peer].fileno(): peer for peer in messages}
        while unsent or missing:
            readable, writable, _ = select.select(
                [self.sockets[peer] for peer in missing], [self.sockets[peer] for peer in unsent], []
            )
            for link in writable:
                peer = names[link.fileno()]
                try:
                    sent = link.send(unsent[peer][:PIECE], socket.MSG_DONTWAIT)
                except OSError as error:
                    raise Ended from error
                unsent[peer] = unsent[peer][sent:]
                if not unsent[peer]:
                    del unsent[peer]
            for link in readable:
                peer = names[link.fileno()]
                if missing[peer] < 0:
                    missing[peer] = self._length(link)
                if missing[peer] > 0:
                    data = self._read(link, min(missing[peer], PIECE))
                    parts[peer].append(data)
                    missing[peer] -= len(data)
                if missing[peer] == 0:
                    del missing[peer]
        return {peer: b"".join(pieces) for peer, pieces in parts.items()}

    def send(self, peer: int, data: Data) -> None:
        try:
            self.sockets[peer].sendall(LENGTH.pack(len(memoryview(data).cast("B"))))
            self.sockets[peer].sendall(data)
        except OSError as error:
            raise Ended from error

    def receive(self, peer: int) -> bytes:
        link = self.sockets[peer]
        left = self._length(link)
        pieces: list[bytes] = []
        while left > 0:
            pieces.append(self._read(link, min(left, PIECE)))
            left -= len(pieces[-1])
        return b"".join(pieces)

    def _length(self, link: socket.socket) -> int:
        data = b""
        while len(data) < LENGTH.size:
            data += self._read(link, LENGTH.size - len(data))
        length: int = LENGTH.unpack(data)[0]
        return length

    def _read(self, link: socket.socket, most: int) -> bytes:
        try:
            data = link.recv(most)
        except OSError as error:
            raise Ended from error
        if not data:
            raise Ended
        return data
