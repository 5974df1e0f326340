"""Messages: small frozen dataclasses, one per message of a paper.

A message is plain immutable data: its fields are numbers, strings, booleans, bytes, None, other messages, or tuples of
such. It does not name its sender: the driver does, as `src` of `Node.receive`.

A class that sends messages declares their classes in its `messages`, and the classes that it is made of in its
`made_of`; `messages_of` collects both.

A compiled class does not keep its annotations in full: it knows `tuple[int, ...]` only as a tuple. So a tuple of
anything else than integers repeats its type where it is kept: `pairs: Pairs = field(metadata={"type": Pairs})`.
"""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any, TypeAlias, cast, get_args, get_origin, get_type_hints

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Message:
    """Base of all messages. Subclasses are declared with `@dataclass(frozen=True)`.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Token(Message):
    ...     fence: int
    >>> Token(7)
    Token(fence=7)
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """What a copy is made of: the class, and the values of its fields."""
        return (type(self), tuple([getattr(self, name) for name in field_names(type(self))]))


Messages: TypeAlias = tuple[type[Message], ...]
"""Classes of messages, as `Node.messages` and `Part.messages` declare them."""


def messages_of(*kinds: type) -> Messages:
    """The message classes that nodes or parts of these classes send: their own, then those of what they are made of."""
    found: list[type[Message]] = []
    seen: list[type] = []
    _collect_messages(kinds, found, seen)
    return tuple(found)


def _collect_messages(kinds: tuple[type, ...], found: list[type[Message]], seen: list[type]) -> None:
    for kind in kinds:
        if kind in seen:
            continue
        seen.append(kind)
        for message in cast(Messages, getattr(kind, "messages", ())):
            if message not in found:
                found.append(message)
        _collect_messages(cast("tuple[type, ...]", getattr(kind, "made_of", ())), found, seen)


_sound: set[type] = {Message}  # message classes that were found to be as they must


def message_fault(kind: type) -> str:
    """What is wrong with the class of a message, or nothing. Messages with equal fields must be equal and hashable, and
    must not change: many processes and states of the checker share them."""
    if kind in _sound:
        return ""
    if not issubclass(kind, Message):
        return f"a {kind.__name__} is no message: messages are subclasses of Message"
    parameters: Any = getattr(kind, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return f"message {kind.__name__} can change: declare it with @dataclass(frozen=True)"
    _sound.add(kind)
    return ""


def field_types(kind: type) -> dict[str, Any]:
    """The types of a class's fields, by name, in the order of declaration."""
    hints = get_type_hints(kind)
    compiled = hasattr(kind, "__mypyc_attrs__")
    found: dict[str, Any] = {}
    for field in fields_of(kind):
        hint: Any = field.metadata.get("type", hints[field.name])
        if compiled and hint is tuple:
            hint = tuple[int, ...]
        elif compiled and hint is type:  # what mypyc keeps of all that is not a class
            hint = Any
        found[field.name] = hint
    return found


def fields_of(kind: type) -> tuple[Field[Any], ...]:
    """The declared fields of a class; one that declares none has none."""
    return fields(kind) if hasattr(kind, "__dataclass_fields__") else ()


def field_names(kind: type) -> tuple[str, ...]:
    """The names of a message class's fields, in the order of declaration."""
    return tuple([field.name for field in fields_of(kind)])


def field_values(message: Message) -> dict[str, object]:
    """The fields of one message, by name; a message among them as its class and fields."""
    return {name: as_data(getattr(message, name)) for name in field_names(type(message))}


def as_data(value: object) -> object:
    """A field's value without message objects: what a trace holds."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Message):
        return {"message": type(value).__name__, "fields": field_values(value)}
    if isinstance(value, tuple):
        for member in value:
            if isinstance(member, (tuple, Message)):
                return tuple([as_data(member) for member in value])
    return value


def nested_messages(value: object) -> list[Message]:
    """A message and all messages in its fields; of a tuple, those of its members."""
    found: list[Message] = []
    if isinstance(value, tuple):
        for member in value:
            found += nested_messages(member)
    elif isinstance(value, Message):
        found.append(value)
        for name in field_names(type(value)):
            found += nested_messages(getattr(value, name))
    return found


def integers(value: object) -> int:
    """How many integers a value carries (the papers' unit of message size).

    A number, a boolean, a string or bytes count as one integer, and None as zero. A collection counts as the sum of its
    members, a message or record as the sum of its fields.
    """
    total = 0
    if isinstance(value, tuple):
        for member in value:
            if isinstance(member, int):  # the usual case, without a call
                total += 1
            elif isinstance(member, tuple):
                total += _integers_in(member)
            else:
                total += integers(member)
    elif isinstance(value, (int, float, str, bytes)):
        total = 1
    elif value is None:
        total = 0
    elif isinstance(value, (list, set, frozenset)):
        for member in value:
            total += integers(member)
    elif isinstance(value, dict):
        for key, member in value.items():
            total += integers(key) + integers(member)
    else:
        for name in field_names(type(value)):
            total += integers(getattr(value, name))
    return total


def fixed_size(hint: object) -> int:
    """How many integers every value of a type carries, if they are equally many; otherwise -1.

    >>> fixed_size(int), fixed_size(tuple[int, int]), fixed_size(tuple[int, ...])
    (1, 2, -1)
    """
    if hint in SCALARS:
        return 1
    members = get_args(hint) if get_origin(hint) is tuple else ()
    sizes = [fixed_size(member) for member in members]
    return -1 if not sizes or -1 in sizes else sum(sizes)


def _integers_in(row: tuple[object, ...]) -> int:
    """As `integers`, for a row in a table: its own rows are mostly short."""
    total = len(row)
    for member in row:
        if not isinstance(member, int):
            total += integers(member) - 1
    return total


SCALARS = ("int", "bool", "float", "str", int, bool, float, str)  # an annotation may be kept as text
ROWS = ("tuple[int, ...]", tuple[int, ...])


class Measure:
    """Measures messages of one class. Fields whose type gives their size are not looked at one by one."""

    def __init__(self, kind: type[Message]) -> None:
        compiled = hasattr(kind, "__mypyc_attrs__")  # then a tuple of integers is known as a tuple only
        self.scalars = 0  # the integers in fields of a fixed size
        self.rows: list[str] = []  # fields that are as long as they have members
        self.pairs: list[str] = []  # fields that are twice as long
        self.others: list[str] = []
        for field in fields_of(kind):
            hint: object = field.metadata.get("type", field.type)
            size = fixed_size(hint)
            if size >= 0:
                self.scalars += size
            elif hint in ROWS or (compiled and hint is tuple):
                self.rows.append(field.name)
            elif hint == tuple[tuple[int, int], ...]:
                self.pairs.append(field.name)
            else:
                self.others.append(field.name)
        self.fixed = not self.rows and not self.pairs and not self.others

    def size(self, message: Message) -> int:
        total = self.scalars
        for name in self.rows:
            row: tuple[int, ...] = getattr(message, name)
            total += len(row)
        for name in self.pairs:
            pairs: tuple[object, ...] = getattr(message, name)
            total += 2 * len(pairs)
        for name in self.others:
            total += integers(getattr(message, name))
        return total
