"""An explorer that shares no code with the real one: every state is reached by running its whole history again.

Slow and plain, so that there is nothing in it to get wrong. Nodes are never copied or stored; a state is the text of
everything there is to see. No faults, no reduction.
"""

from __future__ import annotations

from typing import Any

from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.systems.system import System

Move = tuple[str, int, Any, tuple[int, ...]]  # what, who, the group, packet or timer, and how it chooses


class Wrong(Exception):
    """A step that must not be."""


class Notes(Out):
    def __init__(self, world: History, me: int, choices: tuple[int, ...]) -> None:
        self.world, self.me, self.choices, self.options = world, me, list(choices), [1] * 0

    def send(self, dst: int, msg: Message) -> None:
        self.world.network.append((self.me, dst, msg))

    def broadcast(self, msg: Message) -> None:
        for dst in range(len(self.world.nodes)):
            if dst != self.me:
                self.send(dst, msg)

    def enter(self, group: int, fence: int) -> None:
        world = self.world
        asked = world.asked.pop(self.me, None)
        group = group if world.grouped or asked is None else asked
        others = set(world.inside.values())
        if asked != group:
            raise Wrong("safety")
        if others and not world.shared and (not world.grouped or others != {group}):
            raise Wrong("safety")
        if world.capacity and len(world.inside) >= world.capacity:
            raise Wrong("safety")
        follows = world.grouped and group == world.last[1] and fence == world.last[0]
        if fence and fence <= world.last[0] and not follows:
            raise Wrong("safety")
        if world.fenced and not fence:
            raise Wrong("safety")
        world.inside[self.me] = group
        world.last = (fence or world.last[0], group) if fence or world.last[0] else world.last

    def set_timer(self, timer: int, delay: float) -> None:
        self.world.timers.add((self.me, timer))

    def cancel_timer(self, timer: int) -> None:
        self.world.timers.discard((self.me, timer))

    def save(self) -> None:
        self.world.to_save.add(self.me)

    def choose(self, options: int) -> int:
        self.options.append(options)
        return self.choices[len(self.options) - 1] if len(self.options) <= len(self.choices) else 0


class History:
    """The world after some moves."""

    def __init__(self, system: System, requests: int, fifo: bool, moves: tuple[Move, ...]) -> None:
        self.fifo, self.grouped, self.shared = fifo, system.problem.groups, system.problem.name in ("anyone", "kmutex")
        self.capacity = system.problem.capacity if system.problem.name == "kmutex" else 0
        self.patient = system.spec.patient
        self.fenced = system.spec.fences
        self.sociable = system.problem.name in ("kmutex", "group") and system.spec.concurrent_entry
        self.nodes: list[Node] = system.nodes()
        self.left = [requests] * system.n
        self.asked: dict[int, int] = {}
        self.inside: dict[int, int] = {}
        self.network: list[tuple[int, int, Message]] = []
        self.timers: set[tuple[int, int]] = set()
        self.to_save: set[int] = set()
        self.saved = [self.durable(who) for who in range(system.n)]
        self.last = (0, 0)
        self.options: list[int] = []  # of the choices in the last move
        for move in moves:
            self.make(move)

    def make(self, move: Move) -> None:
        what, who, which, choices = move
        node, notes = self.nodes[who], Notes(self, who, choices)
        self.options = notes.options
        try:
            if what == "ask":
                self.left[who] -= 1
                self.asked[who] = which
                node.request((which,), notes)
            elif what == "leave":
                del self.inside[who]
                node.release(notes)
            elif what == "timer":
                self.timers.remove((who, which))
                node.on_timer(which, notes)
            else:
                source, _, message = self.network.pop(which)
                node.receive(source, message, notes)
        except Wrong:
            raise
        except Exception as error:
            raise Wrong("illegal step") from error
        if who in self.to_save:
            self.saved[who] = self.durable(who)
            self.to_save.remove(who)

    def durable(self, who: int) -> str:
        node = self.nodes[who]
        return repr([described(getattr(node, name)) for name in type(node).durable])

    def moves(self, groups: int) -> list[Move]:
        found: list[Move] = []
        for who in range(len(self.nodes)):
            if who in self.inside:
                found.append(("leave", who, None, ()))
            elif who not in self.asked and self.left[who]:
                found += [("ask", who, group, ()) for group in range(groups)]
        for position, (source, receiver, message) in enumerate(self.network):
            before = self.network[:position]
            hidden = [packet[:2] for packet in before] if self.fifo else before
            if ((source, receiver) if self.fifo else (source, receiver, message)) not in hidden:
                found.append(("deliver", receiver, position, ()))
        if not self.patient or all(move[0] == "ask" for move in found):
            found += [("timer", who, timer, ()) for who, timer in sorted(self.timers)]
        return found

    def keeps_out(self, moves: list[Move]) -> bool:
        """Must somebody leave before anybody else gets in, although there is room and all ask for one group?"""
        if not self.sociable or any(move[0] not in ("ask", "leave") for move in moves):
            return False
        groups = {*self.asked.values(), *self.inside.values()}
        room = len(groups) == 1 if self.grouped else len(self.inside) < self.capacity
        return bool(self.asked) and bool(self.inside) and room

    def text(self) -> str:
        packets = [(source, receiver, repr(message)) for source, receiver, message in self.network]
        packets.sort(key=(lambda packet: packet[:2]) if self.fifo else None)
        rest = (self.left, sorted(self.asked.items()), sorted(self.inside.items()), sorted(self.timers), self.last)
        return repr((described(self.nodes), self.saved, packets, rest))


def described(thing: object) -> object:
    if isinstance(thing, (list, tuple)):
        return [described(member) for member in thing]
    if isinstance(thing, (set, frozenset)):
        return sorted(thing)
    if isinstance(thing, dict):
        return sorted([(key, described(member)) for key, member in thing.items()])
    if isinstance(thing, Node) or type(thing).__repr__ is object.__repr__:
        names = [name for name in dir(thing) if not name.startswith("__") and name not in dir(type(thing))]
        names += [name for base in type(thing).__mro__ for name in getattr(base, "__mypyc_attrs__", ())]
        return [(name, described(getattr(thing, name))) for name in sorted(set(names) - {"__dict__"})]
    return repr(thing)


def brute_force(system: System, requests: int, groups: int, fifo: bool) -> tuple[int, int, set[tuple[str, int]]]:
    """The number of states, the depth, and the kinds of fault with the number of moves that lead there: all those that
    show on the first level where there is one, where it ends."""
    start: tuple[Move, ...] = ()
    seen = {History(system, requests, fifo, start).text()}
    level, depth, faults = [start], 0, set[tuple[str, int]]()
    while level and not faults:
        following: list[tuple[Move, ...]] = []
        for moves in level:
            world = History(system, requests, fifo, moves)
            possible = world.moves(groups)
            if all(move[0] == "ask" for move in possible) and world.asked:
                faults.add(("deadlock", len(moves)))
            if world.keeps_out(possible):
                faults.add(("concurrent entry", len(moves)))
            while possible:
                what, who, which, choices = possible.pop(0)
                try:
                    world = History(system, requests, fifo, (*moves, (what, who, which, choices)))
                except Wrong as wrong:
                    faults.add((str(wrong), len(moves) + 1))
                    continue
                for turn in range(len(choices), len(world.options)):
                    zeros = (0,) * (turn - len(choices))
                    for option in range(1, world.options[turn]):
                        possible.append((what, who, which, (*choices, *zeros, option)))
                text = world.text()
                if text not in seen:
                    seen.add(text)
                    following.append((*moves, (what, who, which, choices)))
        level = following
        depth += bool(level)
    return len(seen), depth, faults
