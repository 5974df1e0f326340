"""The messages of algorithms, in bytes: from their classes' declared fields to msgpack and back.

Numbers that do not fit into 64 bits (groups with long names) travel as bytes, in a second, wider form of the same
message, so that ordinary messages pay nothing for them.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import is_dataclass
from hashlib import blake2b
from typing import Any, Union, get_args, get_origin

import msgspec

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, field_names, field_types, messages_of
from congenial.kernel.node import Node
from congenial.net.errors import ProtocolError
from congenial.net.forms import Form, Forms, Load, Way, Written, loaded
from congenial.net.wire import (
    Ack,
    Beat,
    Bye,
    Challenge,
    Claimed,
    Data,
    Echo,
    Failed,
    Frame,
    Hello,
    Known,
    LockData,
    Notice,
    Nudge,
    Probe,
    Query,
    Remind,
    Report,
    SeatData,
    Seats,
    Seek,
    Tried,
    Try,
    Unknown,
    View,
    Welcome,
)
from congenial.transform.instances import Inside
from congenial.transform.lock_in_views import Inherited, InView

_encoder = msgspec.msgpack.Encoder()
NOTHING = msgspec.Raw(_encoder.encode(None))


class Vocabulary:
    """All messages of an algorithm and of what it is made of, and how they are encoded. `inner` are the classes that
    its options put inside it; `beside` are other algorithms that use the same links."""

    def __init__(self, algorithm: type[Node], *inner: type, beside: tuple[type, ...] = ()) -> None:
        self.table = Forms(algorithm.__name__, self._explain)
        self.forms, self.by_wire = self.table.forms, self.table.by_wire
        self.dump, self.message = self.table.dump, self.table.message
        self.decode_frame = self.table.decode_frame
        kinds = message_kinds(algorithm, *inner)
        kinds += [kind for kind in message_kinds(*beside) if kind not in kinds] if beside else []
        if not kinds:
            raise ConfigError(f"{algorithm.__name__} sends no messages: declare their classes in its `messages`")
        for number, kind in enumerate(kinds):
            narrow, wide = Shapes(self, wide=False), Shapes(self, wide=True)
            self.table.add(Form(kind, narrow.wire_type(kind, 2 * number), wide.wire_type(kind, 2 * number + 1)))
        body: Any = Union[tuple(self.by_wire)]  # noqa: UP007 (made at run time)
        frames: Any = Challenge | Hello | View | Data[body] | LockData[body] | SeatData[body] | Ack | Beat | Echo | Bye
        frames |= Nudge | Seats | Query | Report | Remind | Known | Notice[body]
        frames |= Claimed | Try | Probe | Tried | Failed | Seek | Welcome
        self._tags = {kind.__struct_config__.tag for kind in Frame.__subclasses__()}
        self.table.decode = msgspec.msgpack.Decoder(frames).decode
        self._decode_body: Callable[[msgspec.Raw], msgspec.Struct] = msgspec.msgpack.Decoder(body).decode
        story = [
            algorithm.spec.name,
            *[kind.__qualname__ for kind in (*inner, *beside)],
            *[f"{kind.__qualname__}{field_names(kind)}" for kind in kinds],
        ]
        self.schema = blake2b("\n".join(story).encode(), digest_size=8).hexdigest()

    def encode(self, message: Message) -> msgspec.Raw:
        written = self.written(message)
        while isinstance(message, (Inside, InView, Inherited)):  # counted as what it wraps, which tells more
            message = message.body
        self.forms[type(message)].sent += 1
        return written

    def written(self, message: Message) -> msgspec.Raw:
        form = self.table.form_of(message)
        try:
            return msgspec.Raw(_encoder.encode(form.narrow.dump(message)))
        except OverflowError:
            return msgspec.Raw(_encoder.encode(form.wide.dump(message)))

    def written_or_none(self, message: Message | None) -> msgspec.Raw:
        return NOTHING if message is None else self.written(message)

    def _explain(self, raw: bytes | memoryview, error: Exception) -> Frame:
        kind = self._unknown_kind(raw)
        if kind is not None:
            return Unknown(kind)
        raise ProtocolError(f"not a frame: {error}") from None

    def _unknown_kind(self, raw: bytes | memoryview) -> int | None:
        """The tag of a frame that a later release may have added."""
        try:
            values = msgspec.msgpack.decode(raw, type=list[Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return values[0] if values and type(values[0]) is int and values[0] not in self._tags else None

    def read(self, raw: msgspec.Raw) -> Message:
        """The message that was written into a field of another one."""
        try:
            wire = self._decode_body(raw)
            return loaded(*self.by_wire[type(wire)], wire)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ProtocolError(f"not a message: {error}") from None

    def read_or_none(self, raw: msgspec.Raw) -> Message | None:
        return None if raw == NOTHING else self.read(raw)


def message_kinds(*algorithms: type) -> list[type[Message]]:
    """The message classes that algorithms declare, in a fixed order."""
    return sorted(messages_of(*algorithms), key=lambda kind: (kind.__qualname__, kind.__module__))


Dump = Callable[[Any], Any]


class Shapes:
    """Wire types, narrow or wide."""

    def __init__(self, vocabulary: Vocabulary, wide: bool) -> None:
        self.vocabulary = vocabulary  # for messages in messages
        self.wide = wide

    def wire_type(self, kind: type, tag: int | None) -> Way:
        """The wire type of a message class, or of a record inside messages (which needs no tag)."""
        names = field_names(kind)
        hints = field_types(kind)
        shapes = [self.shape(hints[name], f"{kind.__name__}.{name}") for name in names]
        wire = msgspec.defstruct(
            kind.__name__,
            [(name, shape[0]) for name, shape in zip(names, shapes, strict=True)],
            tag=tag,
            array_like=True,
            frozen=True,
            forbid_unknown_fields=True,
        )
        dumps = [shape[1] for shape in shapes]
        loads = [shape[2] for shape in shapes]
        head = () if tag is None else (tag,)
        return Way(wire, head, names, _converter(head, names, dumps), _loader(loads))

    def shape(self, hint: Any, where: str) -> tuple[Any, Dump | None, Load]:
        """The wire type for an annotation, and the conversions it needs."""
        if hint is int:
            return (int | bytes, _int_to_wire, _int_from_wire) if self.wide else (int, None, None)
        if hint in (bool, str, float, bytes, type(None)):
            return hint, None, None
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
            wire, dump, load = self.shape(arguments[0], where)
            return tuple[wire, ...], _each(dump), _each(load)  # type: ignore[valid-type]
        if origin is tuple:
            shapes = [self.shape(argument, where) for argument in arguments]
            wires = tuple([shape[0] for shape in shapes])
            return tuple[wires], _zipped([s[1] for s in shapes]), _zipped([s[2] for s in shapes])  # type: ignore[valid-type]
        if origin in (Union, types.UnionType) and type(None) in arguments and len(arguments) == 2:
            inner = arguments[0] if arguments[1] is type(None) else arguments[1]
            if inner is Message:
                return msgspec.Raw, self.vocabulary.written_or_none, self.vocabulary.read_or_none
            wire, dump, load = self.shape(inner, where)
            return wire | None, _unless_none(dump), _unless_none(load)
        if hint is Message:
            return msgspec.Raw, self.vocabulary.written, self.vocabulary.read
        if isinstance(hint, type) and is_dataclass(hint):
            record = self.wire_type(hint, None)
            return record.wire, record.dump, lambda value: hint(*_record_values(value, record.load))
        if hint is Any:  # plain data
            return Any, _plain_to_wire if self.wide else None, _plain_from_wire
        raise ConfigError(f"{where} is a {hint}: messages may hold numbers, strings, None, and tuples of such")


def _converter(head: tuple[Any, ...], names: tuple[str, ...], dumps: list[Dump | None]) -> Written | None:
    if not any(dumps):
        return None
    pairs = list(zip(names, dumps, strict=True))
    return lambda message: (
        *head,
        *[dump(getattr(message, name)) if dump else getattr(message, name) for name, dump in pairs],
    )


def _loader(loads: list[Load]) -> Load:
    if not any(loads):
        return None
    return lambda values: [load(value) if load else value for load, value in zip(loads, values, strict=True)]


def _record_values(wire: msgspec.Struct, load: Load) -> Any:
    values = msgspec.structs.astuple(wire)
    return values if load is None else load(values)


def _each(convert: Dump | None) -> Dump | None:
    return None if convert is None else lambda values: tuple([convert(value) for value in values])


def _zipped(converts: list[Dump | None]) -> Dump | None:
    if not any(converts):
        return None
    return lambda values: tuple(
        [convert(value) if convert else value for convert, value in zip(converts, values, strict=True)]
    )


def _unless_none(convert: Dump | None) -> Dump | None:
    return None if convert is None else lambda value: None if value is None else convert(value)


def _int_to_wire(value: int) -> int | bytes:
    if -(1 << 63) <= value < 1 << 64:
        return value
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


def _int_from_wire(value: int | bytes) -> int:
    return int.from_bytes(value, "big", signed=True) if isinstance(value, bytes) else value


def _plain_to_wire(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_plain_to_wire(member) for member in value])
    return _int_to_wire(value) if type(value) is int else value


def _plain_from_wire(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple([_plain_from_wire(member) for member in value])
    if isinstance(value, bytes):
        return _int_from_wire(value)
    if value is None or isinstance(value, (int, str, float)):
        return value
    raise ProtocolError(f"a message holds a {type(value).__name__}; it may hold plain data only")
