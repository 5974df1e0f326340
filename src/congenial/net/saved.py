"""How the state that a node saves is written: plain data in MessagePack, and classes by their names.

What a node saves is a frozen value (`congenial.kernel.state`). None, booleans, strings, bytes, floats and integers of
64 bits are written as such. Everything else is an array that begins with a number, its tag:

    [0, ...]                        a tuple as it is
    [1, ...]  [2, ...]              a list, a tuple
    [3, ...]  [4, ...]              a set, a frozenset, sorted
    [5, key, value, ...]            a dict, by sorted keys
    [6, class, name, value, ...]    an object with attributes: a part, an inner node, a record
    [7, class]                      a class
    [8, class, value, ...]          a message, or a dataclass in a message, by its fields
    [9, bytes]                      an integer of more than 64 bits: big-endian, signed
    [10, ...]                       a frozenset as it is, sorted

Tags 1 to 6 hold frozen values. A class is written as `module:name`. Nothing that is read is executed. A class is looked
up among those of the node and its messages, and then in the modules that are loaded: it must be a class of data.
"""

from __future__ import annotations

import sys
from dataclasses import is_dataclass
from typing import Any

import msgspec

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message, field_names, messages_of
from congenial.kernel.node import Node
from congenial.kernel.state import durable_state, is_record

AS_IS, LIST, TUPLE, SET, FROZENSET, DICT, RECORD, CLASS, MESSAGE, BIG, FROZENSET_AS_IS = range(11)
TAGS: dict[type, int] = {list: LIST, tuple: TUPLE, set: SET, frozenset: FROZENSET}
COLLECTIONS = {tag: kind for kind, tag in TAGS.items()}
BUILTINS = (dict, *TAGS)

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode


class UnreadableState(ContractError):
    """What was saved does not fit this program."""


class SavedForm:
    """How the values of one node class are written. Plain data needs no node."""

    def __init__(self, node: Node | None = None) -> None:
        self.classes: dict[str, type] = {}
        if node is not None:
            for kind in (*messages_of(type(node)), *_classes_in(durable_state(node))):
                self.classes[name_of(kind)] = kind

    def encode(self, value: object) -> bytes:
        """`ContractError` if the value is not plain data."""
        return _encode(self._plain(value))

    def decode(self, raw: bytes) -> Any:
        """`UnreadableState` if that is not possible."""
        try:
            return self._value(_decode(raw))
        except (msgspec.MsgspecError, ValueError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise UnreadableState(f"{type(error).__name__}: {error}") from error

    # -- writing ---------------------------------------------------------------------------------------

    def _plain(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, str, bytes, float)):
            return value
        if isinstance(value, int):
            return int(value) if -(1 << 63) <= value < 1 << 64 else [BIG, _big(value)]
        kind = type(value)
        if kind is tuple:
            if value and isinstance(value[0], type):
                return self._plain_frozen(value[0], value[1:])
            return [AS_IS, *[self._plain(member) for member in value]]
        if kind is frozenset:
            return [FROZENSET_AS_IS, *[self._plain(member) for member in sorted(value)]]
        if isinstance(value, type):
            return [CLASS, self._name(value)]
        if isinstance(value, Message) or is_dataclass(value):
            fields = [self._plain(getattr(value, name)) for name in field_names(kind)]
            return [MESSAGE, self._name(kind), *fields]
        raise ContractError(f"a {kind.__name__} cannot be saved: what a node saves must be plain data")

    def _plain_frozen(self, kind: type, members: tuple[Any, ...]) -> list[Any]:
        tag = TAGS.get(kind)
        if tag is not None:
            return [tag, *[self._plain(member) for member in members]]
        plain: list[Any] = [DICT] if kind is dict else [RECORD, self._name(kind)]
        for key, value in members:
            plain += (self._plain(key), self._plain(value))
        return plain

    def _name(self, kind: type) -> str:
        name = name_of(kind)
        if self._class(name) is not kind:
            raise ContractError(
                f"a {kind.__qualname__} cannot be saved: its class would not be found again as {name}; "
                "define it at the top level of its module"
            )
        return name

    # -- reading ---------------------------------------------------------------------------------------

    def _value(self, plain: Any) -> Any:
        if not isinstance(plain, list):
            if isinstance(plain, (dict, msgspec.msgpack.Ext)):
                raise UnreadableState(f"a {type(plain).__name__} is not expected")
            return plain
        tag = plain[0]
        if tag in (AS_IS, FROZENSET_AS_IS) or tag in COLLECTIONS:
            members = [self._value(member) for member in plain[1:]]
            if tag == FROZENSET_AS_IS:
                return frozenset(members)
            return tuple(members) if tag == AS_IS else (COLLECTIONS[tag], *members)
        if tag == DICT:
            return (dict, *self._pairs(plain[1:]))
        if tag == BIG:
            return int.from_bytes(plain[1], "big", signed=True)
        kind = self._class(plain[1])
        if kind is None:
            raise UnreadableState(f"this program has no class {plain[1]}")
        if tag == CLASS:
            return kind
        if tag == RECORD:
            return (kind, *self._pairs(plain[2:]))
        if tag == MESSAGE and (issubclass(kind, Message) or is_dataclass(kind)):
            return kind(*[self._value(member) for member in plain[2:]])
        raise UnreadableState(f"{tag!r} is no tag of {plain[1]}")

    def _pairs(self, plain: list[Any]) -> list[tuple[Any, Any]]:
        values = [self._value(member) for member in plain]
        return list(zip(values[::2], values[1::2], strict=True))

    def _class(self, name: str) -> type | None:
        known = self.classes.get(name)
        return known if known is not None else _loaded_class(name)


PLAIN = SavedForm()


def form_of(node: Node) -> SavedForm:
    """The form of a node's class."""
    kind = type(node)
    form = _forms.get(kind)
    if form is None:
        form = _forms[kind] = SavedForm(node)
    return form


_forms: dict[type[Node], SavedForm] = {}


def name_of(kind: type) -> str:
    return kind.__name__ if kind in BUILTINS else f"{kind.__module__}:{kind.__qualname__}"


def _loaded_class(name: str) -> type | None:
    """A class of data in a module that is loaded."""
    for builtin in BUILTINS:
        if name == builtin.__name__:
            return builtin
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and (issubclass(found, (Node, Message)) or is_record(found)) else None


def _classes_in(frozen: object) -> list[type]:
    if isinstance(frozen, type):
        return [frozen]
    return [kind for member in frozen for kind in _classes_in(member)] if isinstance(frozen, tuple) else []


def _big(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)
