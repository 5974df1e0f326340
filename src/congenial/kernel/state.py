"""A node's whole state as a value: to copy, compare, hash, store and put back.

No algorithm writes code for it. `freeze` turns plain data into nested tuples that are hashable and equal
exactly when the data are; `thaw` is its inverse. Sets and dicts are frozen in sorted order, which is also
the order in which algorithms must walk through them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import is_dataclass
from typing import Any, TypeVar, cast

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message
from congenial.kernel.node import Node

N = TypeVar("N", bound=Node)


def attributes(thing: object) -> tuple[str, ...]:
    """The names of all attributes that make up an object's state, sorted."""
    kind = type(thing)
    names: set[str] = set()
    for base in kind.__mro__:
        names.update(base.__dict__.get("__mypyc_attrs__", ()))
        slots = base.__dict__.get("__slots__", ())
        names.update((slots,) if isinstance(slots, str) else slots)
    names.update(getattr(thing, "__dict__", ()))
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
        return (kind, *sorted(cast("Collection[Any]", value)))
    if kind is dict:
        table = cast("dict[Any, object]", value)
        return (dict, *[(key, freeze(table[key])) for key in sorted(table)])
    if is_dataclass(value) or hasattr(value, "__dict__") or hasattr(kind, "__mypyc_attrs__"):
        if callable(value):
            raise ContractError(f"a node's state holds {value!r}; it may hold plain data only")
        return (kind, *[(name, freeze(getattr(value, name))) for name in attributes(value)])
    raise ContractError(f"a node's state holds a {kind.__name__}; it may hold plain data only")


def thaw(frozen: object) -> object:
    """A fresh value, sharing nothing mutable with any other, equal to the one that was frozen."""
    if not isinstance(frozen, tuple):
        return frozen
    kind: Any = frozen[0]
    if kind is dict:
        return {key: thaw(member) for key, member in frozen[1:]}
    if kind in (list, tuple, set, frozenset):
        return kind([thaw(member) for member in frozen[1:]])
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
    """What `Out.save` saves of a node: the attributes named in its class's `durable`."""
    return tuple([(name, freeze(getattr(node, name))) for name in type(node).durable])


def restore_durable(node: Node, saved: object) -> None:
    """Put back into a newly made node what `durable_state` took."""
    for name, value in cast("tuple[tuple[str, object], ...]", saved):
        setattr(node, name, thaw(value))
