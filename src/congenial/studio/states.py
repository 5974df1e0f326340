"""The states document: every process's variables at every moment of a recording, as differences between steps.

    variables  [{name, comment, paper}]   what a node's attributes are called, here and in its paper
    values     ["3", "[0, 2]", ...]       every value that some variable has, as text, once
    initial    for each process a list of variable, value, variable, value, ...
    steps      the index of the event that begins the step, among those of the run document
    counts     how many variables the step changed
    changes    variable, value, variable, value, ... of all steps; value -1: the variable is gone
    handlers   {"deliver Request": [0, 2]}: the blocks of source that a kind of step may run
    blocks     [{name, file, line, text, dim}]; `dim` are lines that this kind of step does not run
    end        the states are known up to this event; `note` says why if that is not the last

A page needs it only to show a process, so it is a document of its own and is read when it is first needed.
"""

from __future__ import annotations

from typing import Any

from congenial.kernel.errors import CongenialError
from congenial.kernel.message import Message
from congenial.kernel.node import PHASES, Node
from congenial.kernel.part import Part
from congenial.kernel.state import state_of
from congenial.studio.follow import Follower, steps
from congenial.studio.recording import Recording
from congenial.studio.source import Handlers, margin_notes

LONGEST = 2000  # characters of one value
MOST_CHARACTERS = 60_000_000  # of all values together
HIDDEN = ("me", "n")
GONE = -1
OUTSIDE = "This was seen from outside: the states of the nodes are not known."
MISSING = object()


def states_document(recording: Recording) -> dict[str, object]:
    """The states of a recording, for a page."""
    table = States(recording)
    if recording.seen is None:
        table.follow_all()
    else:
        table.note = OUTSIDE
        table.end = 0
    return table.document()


class States:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.variables: dict[str, int] = {}
        self.notes: list[dict[str, str]] = []
        self.values: dict[str, int] = {}
        self.characters = 0
        self.before: list[object] = []
        self.initial: list[list[int]] = []
        self.steps: list[int] = []
        self.counts: list[int] = []
        self.changes: list[int] = []
        self.end = len(recording.events)
        self.note = ""
        self.handlers = Handlers()

    def follow_all(self) -> None:
        """Take all steps, and write down what each changes."""
        follower = Follower(self.recording.system, self.recording.seed)
        events = self.recording.events
        index = 0
        try:
            for process in follower.processes:
                frozen = state_of(process.node)
                self.before.append(frozen)
                self.initial.append([])
                self._compare("", type(process.node), MISSING, frozen, self.initial[-1])
            for index, sendings in steps(events):
                cause = events[index]
                self.handlers.need(follower.processes[cause.node].node, cause)
                going_on = follower.take(cause, sendings)
                self._note_step(index, cause.node, follower)
                if not going_on:
                    break
                if self.characters > MOST_CHARACTERS:
                    self._stop(index, "the states of this run are too large for a page: what follows is without them")
                    break
        except CongenialError as error:
            self._stop(index, str(error))

    def _stop(self, index: int, note: str) -> None:
        self.end = index
        self.note = note

    def _note_step(self, index: int, process: int, follower: Follower) -> None:
        shell = follower.processes[process]
        frozen = state_of(shell.node) if shell.up else MISSING
        found: list[int] = []
        if frozen is MISSING:
            self._forget("", self.before[process], found)
        else:
            self._compare("", type(shell.node), self.before[process], frozen, found)
        self.before[process] = frozen
        if found:
            self.steps.append(index)
            self.counts.append(len(found) // 2)
            self.changes.extend(found)

    def _compare(self, path: str, owner: type, before: Any, now: Any, found: list[int]) -> None:
        """Add what is different now, variable by variable. The variables of parts and inner nodes count one by one."""
        if before is not MISSING and before == now:
            return
        if not _is_record(now):
            if _is_record(before):
                self._forget(path, before, found)
            self._add(path, owner, PHASES[now] if _last(path) == "phase" else spelled(now), found)
            return
        kind: type = now[0]
        if _is_record(before) and before[0] is kind and len(before) == len(now):
            for pair, old in zip(now[1:], before[1:], strict=True):  # most variables stay as they are
                if pair != old:
                    self._compare_one(path, kind, pair, old[1] if old[0] == pair[0] else MISSING, found)
            return
        if before is not MISSING:
            self._forget(path, before, found)
        for pair in now[1:]:
            self._compare_one(path, kind, pair, MISSING, found)

    def _compare_one(self, path: str, kind: type, pair: tuple[str, Any], before: Any, found: list[int]) -> None:
        name, value = pair
        if name not in HIDDEN:
            self._compare(_join(path, name), kind, before, value, found)

    def _forget(self, path: str, value: Any, found: list[int]) -> None:
        if _is_record(value):
            for name, inner in value[1:]:
                self._forget(_join(path, name), inner, found)
        elif path in self.variables:
            found.extend((self.variables[path], GONE))

    def _add(self, path: str, owner: type, text: str, found: list[int]) -> None:
        if path not in self.variables:
            self.variables[path] = len(self.variables)
            comment, paper = margin_notes(owner).get(_last(path), ("", ""))
            self.notes.append({"name": path, "comment": comment, "paper": paper})
        if len(text) > LONGEST:
            text = f"{text[:LONGEST]} ... and {len(text) - LONGEST} characters more"
        value = self.values.get(text)
        if value is None:
            value = self.values[text] = len(self.values)
            self.characters += len(text) + 3
        self.characters += 12
        found.extend((self.variables[path], value))

    def document(self) -> dict[str, object]:
        return {
            "variables": self.notes,
            "values": list(self.values),
            "initial": self.initial,
            "steps": self.steps,
            "counts": self.counts,
            "changes": self.changes,
            "handlers": self.handlers.found,
            "blocks": self.handlers.blocks,
            "end": self.end,
            "note": self.note,
        }


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _is_record(frozen: Any) -> bool:
    """True if this is the frozen state of a node, a part or another record."""
    return (
        isinstance(frozen, tuple)
        and len(frozen) > 0
        and isinstance(frozen[0], type)
        and issubclass(frozen[0], (Node, Part))
    )


def spelled(frozen: Any) -> str:
    """A frozen value as it would be written in Python.

    >>> from congenial.kernel.state import freeze
    >>> spelled(freeze({1: [2, 3], 4: set()}))
    '{1: [2, 3], 4: set()}'
    """
    if isinstance(frozen, type):
        return frozen.__name__
    if not isinstance(frozen, tuple) or isinstance(frozen, Message):
        return repr(frozen)
    kind = frozen[0]
    if kind is list:
        members = frozen[1:]
        if not any([isinstance(member, (tuple, type)) for member in members]):
            return repr(list(members))  # the same, and quicker
        return f"[{', '.join([spelled(member) for member in frozen[1:]])}]"
    if kind is tuple:
        return f"({', '.join([spelled(member) for member in frozen[1:]])}{',' if len(frozen) == 2 else ''})"
    if kind in (set, frozenset):
        return f"{{{', '.join([repr(member) for member in frozen[1:]])}}}" if len(frozen) > 1 else "set()"
    if kind is dict:
        return f"{{{', '.join([f'{key!r}: {spelled(member)}' for key, member in frozen[1:]])}}}"
    inside = [f"{name}={spelled(member)}" for name, member in frozen[1:] if name not in HIDDEN]
    return f"{kind.__name__}({', '.join(inside)})"
