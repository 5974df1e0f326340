"""A node's whole state as a value: to copy, compare, hash, store and put back.

Algorithms write no code for it. `freeze` turns plain data into nested tuples that are hashable, and equal exactly when
the data are; `thaw` is its inverse. Sets and dicts are frozen in sorted order, which is also the order in which
algorithms must iterate over them. Inner nodes, parts (`congenial.kernel.part`) and other records are frozen whole:
their class, then their attributes by name.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Any, Final, TypeVar, cast

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.part import Part

N = TypeVar("N", bound=Node)

PLAIN_DATA: Final = (
    "a node's state may hold plain data only (numbers, strings, None, messages, parts, inner nodes, and lists, tuples, "
    "sets and dicts of these)"
)
BARE_SIZE: Final[int] = type("Bare", (), {}).__basicsize__  # of an object with nothing but attributes
POINTER_SIZE: Final = 8
DEEPEST: Final = 100
NO_STATE: Final = ("__dict__", "__weakref__")  # slots that hold no attribute

_records: dict[type, bool] = {}  # the answers of `is_record`
_declared: dict[type, tuple[str, ...]] = {}  # the attributes that each class declares, looked up once


def attributes(thing: object) -> tuple[str, ...]:
    """The names of all attributes that make up an object's state, sorted."""
    kind = type(thing)
    declared = _declared.get(kind)
    if declared is None:
        declared = _declared[kind] = _declared_by(kind)
    own: dict[str, object] | None = getattr(thing, "__dict__", None)
    return declared if not own else tuple(sorted({*declared, *own}))


def _declared_by(kind: type) -> tuple[str, ...]:
    names: set[str] = set()
    for base in kind.__mro__:
        names.update(base.__dict__.get("__mypyc_attrs__", ()))
        names.update(_slots(base))
    return tuple(sorted(names))


def _slots(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return tuple([name for name in ((slots,) if isinstance(slots, str) else slots) if name not in NO_STATE])


class _TooDeep(ContractError):
    """A value contains a value that contains a value, and so on: too many times."""


def freeze(value: object, depth: int = 0) -> object:
    """An immutable, hashable picture of a piece of state. `depth` tells how deep in another one it is."""
    if value is None or isinstance(value, (int, str, float, bytes)):
        return value
    if isinstance(value, Message):
        return value
    if depth > DEEPEST:  # compiled code does not notice an endless recursion before it is too late
        raise _TooDeep(f"a node's state is nested more than {DEEPEST} deep; perhaps it holds itself")
    deeper = depth + 1
    kind = type(value)
    if kind is list:
        return (list, *[freeze(member, deeper) for member in cast("list[object]", value)])
    if kind is tuple:
        return (tuple, *[freeze(member, deeper) for member in cast("tuple[object, ...]", value)])
    if kind is set or kind is frozenset:
        return (kind, *sorted(cast("Collection[Any]", value)))
    if kind is dict:
        table = cast("dict[Any, object]", value)
        return (dict, *[(key, freeze(table[key], deeper)) for key in sorted(table)])
    if isinstance(value, type) and issubclass(value, (Node, Part, Message)):
        return value  # a node may keep the class of its inner node, to make a new one
    if not is_record(kind) or callable(value):
        raise ContractError(f"this is {_described(value)}: {PLAIN_DATA}")
    return (kind, *[(name, freeze(getattr(value, name), deeper)) for name in attributes(value)])


def is_record(kind: type) -> bool:
    """True if all that objects of this class know is in their attributes. It is not for what the interpreter keeps
    elsewhere, such as in a file or a generator of random numbers, nor where identity counts, as for an `Enum`."""
    known = _records.get(kind)
    if known is None:
        slots = [name for base in kind.__mro__ for name in _slots(base)]
        size = BARE_SIZE + POINTER_SIZE * len(slots)
        known = hasattr(kind, "__mypyc_attrs__") or (
            kind.__basicsize__ <= size and not kind.__itemsize__ and not issubclass(kind, (type, Enum))
        )
        known = known and kind is not object
        _records[kind] = known
    return known


def _described(value: object) -> str:
    kind = type(value)
    if callable(value) and hasattr(value, "__qualname__"):
        return repr(value)
    return f"a {kind.__qualname__}" if kind.__module__ == "builtins" else f"a {kind.__module__}.{kind.__qualname__}"


def _fault(value: object, place: str) -> str:
    """What in a value cannot be frozen, and where it is."""
    kind = type(value)
    members: list[tuple[str, object]] = []
    if kind is list or kind is tuple:
        row = cast("list[object]", list(cast("Collection[Any]", value)))
        members = [(f"{place}[{at}]", row[at]) for at in range(len(row))]
    elif kind is dict:
        table = cast("dict[Any, object]", value)
        members = [(f"{place}[{key!r}]", table[key]) for key in table]
    elif kind is not set and kind is not frozenset:
        if not is_record(kind) or callable(value):
            return f"{place} is {_described(value)}: {PLAIN_DATA}"
        members = [(f"{place}.{name}", getattr(value, name)) for name in attributes(value)]
    for where, member in members:
        try:
            freeze(member)
        except _TooDeep:
            return f"{where} is {_described(member)} that holds itself, or is nested more than {DEEPEST} deep"
        except (ContractError, TypeError):
            return _fault(member, where)
    return f"{place} is {_described(value)} whose members cannot be sorted: sets and dicts need comparable members"


def thaw(frozen: object) -> object:
    """A fresh value, sharing nothing mutable with any other, equal to the one that was frozen."""
    if not isinstance(frozen, tuple):
        return frozen
    kind: Any = frozen[0]
    if kind is dict:
        return {key: thaw(member) for key, member in frozen[1:]}
    if kind in (list, tuple):
        return kind([thaw(member) for member in frozen[1:]])
    if kind in (set, frozenset):
        return kind(frozen[1:])  # members are hashable: they were left as they are
    thing = kind.__new__(kind)
    for name, member in frozen[1:]:
        object.__setattr__(thing, name, thaw(member))
    return thing


def state_of(node: Node) -> object:
    """The node's whole state, class included. `ContractError` if it is not plain data."""
    try:
        return freeze(node)
    except (ContractError, TypeError) as error:
        raise ContractError(_fault(node, type(node).__name__)) from error


def node_from(state: object) -> Node:
    """A new node in the given state."""
    return cast(Node, thaw(state))


def copy_of(node: N) -> N:
    """A new node in the same state, sharing nothing mutable with the old one."""
    return cast(N, thaw(state_of(node)))


def durable_state(node: Node) -> object:
    """What `Out.save` saves of a node: the attributes that its class names in `durable`. Of an inner node or a part
    among them, only those that its own class names. `ContractError` if that is not plain data."""
    try:
        return _durable_pairs(node, type(node).durable)
    except (ContractError, TypeError) as error:
        raise ContractError(_fault(node, type(node).__name__)) from error


def _durable_pairs(thing: object, names: tuple[str, ...]) -> tuple[object, ...]:
    return tuple([(name, _durable_value(getattr(thing, name))) for name in names])


def _durable_value(value: object) -> object:
    if isinstance(value, Node):
        return (type(value), *_durable_pairs(value, type(value).durable))
    if isinstance(value, Part):
        return (type(value), *_durable_pairs(value, type(value).durable))
    return freeze(value)


def restore_durable(node: Node, saved: object) -> None:
    """Put back into a newly made node what `durable_state` took."""
    _restore(node, cast("tuple[Any, ...]", saved))


def _restore(thing: object, pairs: tuple[Any, ...]) -> None:
    for name, value in pairs:
        if isinstance(value, tuple) and isinstance(value[0], type) and issubclass(value[0], (Node, Part)):
            made = getattr(thing, name)
            if type(made) is not value[0]:
                raise ContractError(f"{type(thing).__name__}.{name} was saved, but a new one has none to restore it to")
            _restore(made, value[1:])
        else:
            setattr(thing, name, thaw(value))
