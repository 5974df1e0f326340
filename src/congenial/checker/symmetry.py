"""Symmetry: states that differ only in the names of processes count as one.

An algorithm says in its `Spec` which of its attributes and message fields name processes, and which processes are not
interchangeable. That it treats the others alike is verified: a process that is renamed must do what it did before,
renamed.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, final

from librt.vecs import vec
from mypy_extensions import i64

from congenial.checker.events import ARGUMENT, ASK, EVENT_BITS, HEADER, SUSPECT, TRUST
from congenial.checker.frontier import State
from congenial.checker.process_state import ProcessState, Step
from congenial.checker.world import World
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, field_names
from congenial.kernel.spec import Interchangeable

Renaming = tuple[int, ...]
"""The new name of every process."""

COLLECTIONS = (list, tuple, set, frozenset)


@final
class Symmetry:
    def __init__(self, world: World, rule: Interchangeable) -> None:
        self.world = world
        self.rule = rule
        n = world.system.n
        free = [process for process in range(n) if process not in rule.fixed]
        if any([world.menus[process] != world.menus[free[0]] for process in free]):
            raise ConfigError("symmetry needs processes that may all ask for the same")
        self.renamings: list[Renaming] = []
        for order in permutations(free):
            names = list(range(n))
            for old, new in zip(free, order, strict=True):
                names[old] = new
            self.renamings.append(tuple(names))
        self._locals: list[dict[int, int]] = [{} for _ in self.renamings]
        self._packets: list[dict[int, int]] = [{} for _ in self.renamings]

    def canonical(self, state: State) -> State:
        """The least of all renamed versions of a state."""
        words: list[int] = [int(word) for word in state]
        best = words
        for number in range(1, len(self.renamings)):
            renamed = self._state(number, words)
            if renamed < best:
                best = renamed
        return state if best is words else vec[i64]([i64(word) for word in best])

    def failure(self) -> str:
        """Where the algorithm is not symmetric, if it is not."""
        for key, steps in self.world.known_steps():
            before: i64 = key >> EVENT_BITS
            event: i64 = key & ((1 << EVENT_BITS) - 1)
            for number in range(1, len(self.renamings)):
                other = self._local(number, before)
                if not self._same(number, steps, self.world.steps(other, self._event(number, event))):
                    names = self.renamings[number]
                    old = self.world.owners[before]
                    return f"process {names[old]} does not do what process {old} does, renamed ({list(names)})"
        return ""

    def images(self, local: i64, event: i64) -> list[tuple[int, int]]:
        """A state of a process and an event in it, with all renamings of both."""
        numbers = range(len(self.renamings))
        return [(int(self._local(number, local)), int(self._event(number, event))) for number in numbers]

    def _same(self, number: int, steps: list[Step], others: list[Step]) -> bool:
        if len(steps) != len(others):
            return False
        for step, other in zip(steps, others, strict=True):
            if bool(step.error) != bool(other.error) or step.entered != other.entered or step.fence != other.fence:
                return False
            if not step.error and self._local(number, step.after) != other.after:
                return False
            renamed = [self._packet(number, packet) for packet in step.packets]
            if sorted(renamed, key=self._order) != sorted(other.packets, key=self._order):
                return False
        return True

    def _order(self, packet: i64) -> i64:
        return self.world.order_keys[packet]

    # -- renaming --------------------------------------------------------------------------------------

    def _state(self, number: int, state: list[int]) -> list[int]:
        names = self.renamings[number]
        n = len(names)
        renamed = list(state)
        for process in range(n):
            renamed[HEADER + names[process]] = self._local(number, state[HEADER + process])
        packets = [self._packet(number, packet) for packet in state[HEADER + n :]]
        packets.sort(key=self._order)  # stable: the order within a channel stays
        renamed[HEADER + n :] = packets
        return renamed

    def _event(self, number: int, event: i64) -> i64:
        kind = event & ~ARGUMENT
        if event < ASK:
            return self._packet(number, event)
        if kind == SUSPECT or kind == TRUST:
            return kind | i64(self.renamings[number][event & ARGUMENT])
        return event

    def _local(self, number: int, local: i64) -> i64:
        known = self._locals[number].get(local)
        if known is None:
            names = self.renamings[number]
            state = self.world.states[local]
            saved = self._attributes(names, state.saved) if isinstance(state.saved, tuple) else state.saved
            renamed = ProcessState(self._record(names, state.node), saved)
            renamed.wants = state.wants
            renamed.group = state.group
            renamed.timers = state.timers
            renamed.suspects = tuple(sorted([names[peer] for peer in state.suspects]))
            renamed.left = state.left
            renamed.hops = state.hops
            renamed.era = state.era
            renamed.issued = state.issued
            renamed.more = state.more
            renamed.pending = state.pending
            renamed.fence = state.fence
            known = self.world.intern_state(names[self.world.owners[local]], renamed)
            self._locals[number][local] = known
        return known

    def _packet(self, number: int, packet: i64) -> i64:
        known = self._packets[number].get(packet)
        if known is None:
            names = self.renamings[number]
            world = self.world
            src, dst = names[world.sources[packet]], names[world.destinations[packet]]
            known = world.intern_packet(src, dst, self._message(names, world.messages[packet]))
            self._packets[number][packet] = known
        return known

    def _record(self, names: Renaming, frozen: Any) -> Any:
        """A frozen node or part of one: its class, then pairs of name and value."""
        if frozen is None:
            return None
        return (frozen[0], *self._attributes(names, frozen[1:]))

    def _attributes(self, names: Renaming, pairs: Any) -> Any:
        return tuple([(name, self._value(names, name, value)) for name, value in pairs])

    def _value(self, names: Renaming, name: str, value: Any) -> Any:
        if name == "me" or name in self.rule.processes:
            return rename_values(names, value)
        if name in self.rule.indexed:
            return rename_places(names, value)
        return self._inside(names, value)

    def _inside(self, names: Renaming, value: Any) -> Any:
        """A value that names no process itself may hold inner nodes, parts and messages that do."""
        if isinstance(value, Message):
            return self._message(names, value)
        if not isinstance(value, tuple) or not value:
            return value
        kind = value[0]
        if kind is dict:
            return (dict, *[(key, self._inside(names, member)) for key, member in value[1:]])
        if isinstance(kind, type) and kind not in COLLECTIONS:
            return self._record(names, value)
        return tuple([self._inside(names, member) for member in value])

    def _message(self, names: Renaming, message: Message) -> Message:
        values = {name: getattr(message, name) for name in field_names(type(message))}
        renamed = {name: self._value(names, name, value) for name, value in values.items()}
        return type(message)(**renamed) if renamed != values else message


def rename_values(names: Renaming, value: Any) -> Any:
    """Processes, alone or in a collection, frozen or in a message, renamed. A number that is no process (-1) stays."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return names[value] if 0 <= value < len(names) else value
    if isinstance(value, tuple):
        renamed = [rename_values(names, member) for member in value]
        if value and (value[0] is set or value[0] is frozenset):
            renamed[1:] = sorted(renamed[1:])
        return tuple(renamed)
    return value


def rename_places(names: Renaming, value: Any) -> Any:
    """A list with a place for every process, or a dict by process, frozen or in a message."""
    if value and value[0] is dict:
        return (dict, *sorted([(names[key], member) for key, member in value[1:]]))
    first = 1 if value and (value[0] is list or value[0] is tuple) else 0
    renamed = list(value)
    for process, name in enumerate(names):
        renamed[first + name] = value[first + process]
    return tuple(renamed)
