"""What the source of a node says: its variables' comments and the paper's names for them, and the code of its steps.

A compiled class keeps no comments, so the source file beside it is read. A class whose file is not there has none.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from congenial.kernel.node import Node
from congenial.kernel.trace import DELIVER, EXIT, ISSUE, RECOVER, REQUEST, SUSPECT, TIMER, TRUST, Event

METHODS = {
    REQUEST: "request",
    EXIT: "release",
    ISSUE: "issue",
    DELIVER: "receive",
    TIMER: "on_timer",
    SUSPECT: "on_suspect",
    TRUST: "on_trust",
    RECOVER: "on_recover",
}
MOST_BLOCKS = 8  # methods shown for one kind of step
COMMENT = re.compile(r"#\s*(?P<comment>.*?)(?:\s{2,}(?P<paper>\S.*?))?\s*$")
ASSIGNED = re.compile(r"^\s*self\.(?P<name>\w+)\b[^=]*=[^=].*?(?P<comment>#.*)$")


class Source:
    """A file, and the methods of the classes in it."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.lines = text.splitlines()
        self.classes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
        parts = path.parts
        place = len(parts) - parts[::-1].index("congenial") if "congenial" in parts else len(parts) - 1
        self.name = "/".join(parts[place:])

    def method(self, owner: str, name: str) -> ast.FunctionDef | None:
        for node in self.classes[owner].body if owner in self.classes else []:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
        return None


@cache
def _read(path: Path) -> Source | None:
    try:
        return Source(path)
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None


def source_of(kind: type) -> Source | None:
    """The file in which a class is defined."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if not file:
        return None
    path = Path(file)
    return _read(path.with_name(f"{path.name.partition('.')[0]}.py"))


@cache
def margin_notes(kind: type) -> dict[str, tuple[str, str]]:
    """For each attribute, the comment of the line that first assigns it, and the paper's name in the margin.

    >>> from congenial.systems.catalogue import find_algorithm
    >>> margin_notes(find_algorithm("raymond-tree"))["holder"]
    ('the token is in this direction', 'HOLDER')
    """
    notes: dict[str, tuple[str, str]] = {}
    for base in kind.__mro__:
        source = source_of(base)
        method = source.method(base.__name__, "__init__") if source is not None else None
        if source is None or method is None:
            continue
        for line in source.lines[method.lineno - 1 : method.end_lineno]:
            found = ASSIGNED.match(line)
            words = COMMENT.match(found["comment"]) if found else None
            if found and words and found["name"] not in notes and "noqa" not in line:
                notes[found["name"]] = (words["comment"], words["paper"] or "")
    return notes


class Handlers:
    """The code of each kind of step that a run has: the method that is called, and the methods that this calls."""

    def __init__(self) -> None:
        self.found: dict[str, list[int]] = {}
        self.blocks: list[dict[str, object]] = []
        self.known: dict[tuple[str, int, str], int] = {}

    def need(self, node: Node, cause: Event) -> None:
        """Find the code for a step of a node, if that is not known yet."""
        key = f"{cause.event} {cause.message}".strip()
        if key in self.found or cause.event not in METHODS:
            return
        blocks: list[int] = []
        kinds = [type(node)]
        inner: Any = getattr(node, "inner", None)
        if isinstance(inner, Node):
            kinds.append(type(inner))
        for kind in kinds:
            self._collect(kind, METHODS[cause.event], cause.message, blocks)
        self.found[key] = blocks

    def _collect(self, kind: type, name: str, message: str, blocks: list[int]) -> None:
        todo = [(name, kind.__mro__)]
        seen = {(name, kind.__mro__)}
        while todo and len(blocks) < MOST_BLOCKS:
            method, order = todo.pop(0)
            place = _defined(order, method)
            if place is None:
                continue
            at, source, node = place
            dim = _other_branches(node, message) if method == name else set()
            blocks.append(self._block(order[at].__name__, source, node, dim, message if dim else ""))
            for called, inherited in _calls(node, dim):
                call = (called, order[at + 1 :] if inherited else kind.__mro__)
                if call not in seen:
                    seen.add(call)
                    todo.append(call)

    def _block(self, owner: str, source: Source, node: ast.FunctionDef, dim: set[int], message: str) -> int:
        key = (source.name, node.lineno, message)
        if key not in self.known:
            self.known[key] = len(self.blocks)
            self.blocks.append(
                {
                    "name": f"{owner}.{node.name}",
                    "file": source.name,
                    "line": node.lineno,
                    "text": "\n".join(source.lines[node.lineno - 1 : node.end_lineno]),
                    "dim": sorted(dim),
                }
            )
        return self.known[key]


def _defined(order: tuple[type, ...], name: str) -> tuple[int, Source, ast.FunctionDef] | None:
    """Which class, in the order in which they are searched, has a method; none if only the kernel has it."""
    for at, base in enumerate(order):
        if base is Node:
            return None
        source = source_of(base)
        method = source.method(base.__name__, name) if source is not None else None
        if source is not None and method is not None:
            return at, source, method
    return None


def _other_branches(method: ast.FunctionDef, message: str) -> set[int]:
    """The lines that are only for messages of other classes."""
    lines: set[int] = set()
    if not message:
        return lines
    for node in ast.walk(method):
        if isinstance(node, ast.If):
            classes = _classes_in(node.test)
            if classes and message not in classes:
                lines.update(range(node.test.lineno, (node.body[-1].end_lineno or 0) + 1))
            elif classes and node.orelse and isinstance(node.test, ast.Call):  # nothing else is asked
                first, last = node.orelse[0], node.orelse[-1]
                lines.update(range(first.lineno, (last.end_lineno or 0) + 1))
    return lines


def _classes_in(test: ast.expr) -> set[str]:
    """The classes of `isinstance` in a condition, unless it is negated."""
    names: set[str] = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Not):
            return set()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            names.update([part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)])
    return names


def _calls(method: ast.FunctionDef, dim: set[int]) -> list[tuple[str, bool]]:
    """The methods of its own that a method calls, in order, without those on dim lines, and whether it means those of
    the classes above it (`super()`)."""
    calls: list[tuple[int, str, bool]] = []
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.lineno not in dim:
            of = node.func.value
            if isinstance(of, ast.Name) and of.id == "self":
                calls.append((node.lineno, node.func.attr, False))
            elif isinstance(of, ast.Call) and isinstance(of.func, ast.Name) and of.func.id == "super":
                calls.append((node.lineno, node.func.attr, True))
    return [(name, inherited) for _, name, inherited in sorted(calls)]
