"""A node's whole state as a value: to copy, compare, hash, store and put back.

Algorithms write no code for it. `freeze` turns plain data into nested tuples that are hashable, and equal exactly when
the data are; `thaw` is its inverse. Sets and dicts are frozen in sorted order, which is also the order in which
algorithms must iterate over them. Inner nodes, parts (`congenial.kernel.part`) and other records are frozen whole:
their class, then their attributes by name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import is_dataclass
from typing import Any, TypeVar, cast

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.part import Part

N = TypeVar("N", bound=Node)

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
        slots = base.__dict__.get("__slots__", ())
        names.update((slots,) if isinstance(slots, str) else slots)
    names.discard("__dict__")
    names.discard("__weakref__")
    return tuple(sorted(names))


def freeze(value: object) -> object:
    """An immutable, hashable picture of a piece of state."""
    if value is None or isinstance(value, (int, str, float, bytes)):
        return value
    if isinstance(value, Message):
        return value
    kind = type(value)
    if kind is list:
        return (list, *[freeze(member) for member in cast("list[object]", value)])
    if kind is tuple:
        return (tuple, *[freeze(member) for member in cast("tuple[object, ...]", value)])
    if kind is set or kind is frozenset:
        return (kind, *_sorted(cast("Collection[Any]", value)))
    if kind is dict:
        table = cast("dict[Any, object]", value)
        return (dict, *[(key, freeze(table[key])) for key in _sorted(table)])
    if isinstance(value, type) and issubclass(value, (Node, Part, Message)):
        return value  # a node may keep the class of its inner node, to make a new one
    if is_dataclass(value) or hasattr(value, "__dict__") or hasattr(kind, "__mypyc_attrs__"):
        if callable(value) or not _is_record(kind, value):
            raise ContractError(f"a node's state holds {value!r}; it may hold plain data only")
        return (kind, *[(name, freeze(getattr(value, name))) for name in attributes(value)])
    raise ContractError(f"a node's state holds a {kind.__name__}; it may hold plain data only")


def _sorted(members: Collection[Any]) -> list[Any]:
    try:
        return sorted(members)
    except TypeError:
        raise ContractError(f"a node's state holds a set or dict whose members cannot be sorted: {members!r}") from None


_records: dict[type, bool] = {}  # is the class one whose attributes are all there is to it? Looked up once


def _is_record(kind: type, value: object) -> bool:
    """Not so for a file, a socket or a generator of random numbers: much of their state is not in attributes."""
    known = _records.get(kind)
    if known is None:
        known = hasattr(kind, "__mypyc_attrs__") or _made_of_attributes(kind, value)
        _records[kind] = known
    return known


def _made_of_attributes(kind: Any, value: Any) -> bool:
    if isinstance(value, (Node, Part)) or is_dataclass(value):
        return True
    if kind.__reduce__ is not object.__reduce__ or kind.__reduce_ex__ is not object.__reduce_ex__:
        return False
    try:
        object.__reduce_ex__(value, 2)
    except TypeError:
        return False
    return True


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
    """The node's whole state, class included."""
    return freeze(node)


def node_from(state: object) -> Node:
    """A new node in the given state."""
    return cast(Node, thaw(state))


def copy_of(node: N) -> N:
    """A new node in the same state, sharing nothing mutable with the old one."""
    return cast(N, thaw(freeze(node)))


def durable_state(node: Node) -> object:
    """What `Out.save` saves of a node: the attributes that its class names in `durable`. Of an inner node or a part
    among them, only those that its own class names."""
    return _durable_pairs(node, type(node).durable)


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
