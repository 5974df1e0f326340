"""What travels between processes, in bytes.

A connection carries frames: one byte of version, three bytes of length, then that many bytes of msgpack. The frames
are the structures below; a lock's own messages travel inside `Data`, encoded from the fields that their classes
declare. Whatever does not decode to exactly the declared types is refused with a `ProtocolError`.

Numbers that do not fit into 64 bits (groups with long names) travel as bytes, in a second, wider form of the same
message, so that ordinary messages pay nothing for them.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable
from dataclasses import is_dataclass
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message, field_names
from congenial.kernel.node import Node
from congenial.net.errors import ProtocolError
from congenial.transform.instances import Inside

VERSION = 2
HEADER = 4
LONGEST_FRAME = 1 << 20  # bytes; three of them give the length
LONGEST_GREETING = 1 << 16  # of a frame from one who has not said yet who it is


class Frame(msgspec.Struct, array_like=True, gc=False):
    """Base of all frames."""


class Hello(Frame, tag=1):
    """Each side's first frame: who speaks to whom, and how far it has got."""

    cluster: str
    sender: str
    receiver: str
    members: tuple[str, ...]
    schema: str  # of the messages that the locks exchange
    incarnation: int  # tells this life of the sender from earlier ones
    expected: int  # the receiver's incarnation as the sender knows it, or 0
    received: int  # messages of the receiver that need not be sent again
    founded: tuple[int, ...]  # the incarnations with which the cluster began, if the sender knows


class View(Frame, tag=2):
    """The sender has met everyone: these are the members' incarnations; or those with which the cluster began."""

    incarnations: tuple[int, ...]
    founded: bool


Body = TypeVar("Body")


class Data(Frame, Generic[Body], tag=3):
    """The `number`-th message from this sender to this receiver."""

    number: int
    received: int
    lock: str
    body: Body  # to be sent: bytes; received: one of the wire types of the algorithm's messages


class Ack(Frame, tag=4):
    """All messages up to `received` have arrived. Sent now and then without need, it says: I am alive."""

    received: int


class Nudge(Frame, tag=5):
    """The sender has been waiting for `lock`, for this group: those inside for another one, admit no more."""

    lock: str
    group: bytes


class Query(Frame, tag=6):
    """How are you?"""

    number: int


class Report(Frame, tag=7):
    """The answer to a `Query`, as JSON."""

    number: int
    status: bytes


class SeatData(Frame, Generic[Body], tag=9):
    """As `Data`, from one of the sender's k seats before a semaphore to one of the receiver's, or to all (-1)."""

    number: int
    received: int
    lock: str
    k: int
    src: int
    dst: int
    body: Body


class Seats(Frame, tag=10):
    """For the sender, this semaphore lets in k."""

    lock: str
    k: int


class Remind(Frame, tag=11):
    """The sender has lost its memory. Which locks are there?"""


class Known(Frame, tag=12):
    """The locks that the sender knows, and those of semaphores with how many they let in (0: no semaphore)."""

    locks: tuple[tuple[str, int], ...]
    last: bool  # there are no more


class Bye(Frame, tag=8):
    """The last frame before the sender closes the connection, and why."""

    reason: str
    leaving: bool  # the sender is about to end


_encoder = msgspec.msgpack.Encoder()
_encode_into = _encoder.encode_into
_VERSION_BITS = VERSION << 24
VAGUE = (tuple, object, type)  # what a compiled class says of fields whose types it does not know
NOTHING = msgspec.Raw(_encoder.encode(None))


def encode_frame(frame: Frame) -> bytes:
    body = bytearray(HEADER)
    _encode_into(frame, body, HEADER)
    size = len(body) - HEADER
    if size > LONGEST_FRAME:
        raise ProtocolError(f"a frame of {size} bytes is too long to send; {LONGEST_FRAME} are allowed")
    body[:HEADER] = (_VERSION_BITS | size).to_bytes(HEADER, "big")
    return bytes(body)


class FrameReader:
    """Cuts a stream of bytes into frames."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.decode = vocabulary.decode_frame
        self.rest = b""  # of a frame that has not arrived in full
        self.longest = LONGEST_GREETING

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are complete with `data`."""
        if self.rest:
            data = self.rest + data
        view = memoryview(data)
        start, end = 0, len(data)
        frames: list[Frame] = []
        while end - start >= HEADER:
            head = int.from_bytes(data[start : start + HEADER], "big")
            if head >> 24 != VERSION:
                raise ProtocolError(f"speaks version {head >> 24} of the protocol; this is version {VERSION}")
            size = head & 0xFFFFFF
            if size > self.longest:
                raise ProtocolError(f"a frame of {size} bytes is too long; {self.longest} are allowed here")
            stop = start + HEADER + size
            if stop > end:
                break
            frames.append(self.decode(view[start + HEADER : stop]))
            start = stop
        self.rest = data[start:]
        return frames


# -- the messages of an algorithm ------------------------------------------------------------------------------


class Vocabulary:
    """All messages of one algorithm and of what it is made of, and how they are written. `inner`: classes that it is
    made of by its options; `beside`: algorithms that use the same links."""

    def __init__(self, algorithm: type[Node], *inner: type, beside: tuple[type, ...] = ()) -> None:
        self.forms: dict[type[Message], Form] = {}
        self.by_wire: dict[type[msgspec.Struct], tuple[Form, Load]] = {}
        kinds = message_kinds(algorithm, *inner)
        kinds += [kind for kind in message_kinds(*beside) if kind not in kinds] if beside else []
        if not kinds:
            raise ConfigError(f"{algorithm.__name__} has no messages in its module: what would it send?")
        for number, kind in enumerate(kinds):
            form = Form(kind, number, self)
            self.forms[kind] = form
            self.by_wire[form.narrow] = (form, form.load_narrow)
            self.by_wire[form.wide] = (form, form.load_wide)
        body: Any = Union[tuple(self.by_wire)]  # noqa: UP007 (made at run time)
        frames: Any = (
            Hello | View | Data[body] | SeatData[body] | Ack | Nudge | Seats | Query | Report | Remind | Known | Bye
        )
        self._decode: Callable[[bytes | memoryview], Frame] = msgspec.msgpack.Decoder(frames).decode
        self._decode_body: Callable[[msgspec.Raw], msgspec.Struct] = msgspec.msgpack.Decoder(body).decode
        story = [
            algorithm.spec.name,
            *[kind.__qualname__ for kind in (*inner, *beside)],
            *[f"{kind.__qualname__}{field_names(kind)}" for kind in kinds],
        ]
        self.schema = blake2b("\n".join(story).encode(), digest_size=8).hexdigest()

    def encode(self, message: Message) -> msgspec.Raw:
        written = self.written(message)
        while isinstance(message, Inside):  # what a wrapper wraps tells more than that it does
            message = message.body
        self.forms[type(message)].sent += 1
        return written

    def written(self, message: Message) -> msgspec.Raw:
        form = self.forms[type(message)]
        try:
            return msgspec.Raw(_encoder.encode(form.dump_narrow(message)))
        except OverflowError:
            return msgspec.Raw(_encoder.encode(form.dump_wide(message)))

    def written_or_none(self, message: Message | None) -> msgspec.Raw:
        return NOTHING if message is None else self.written(message)

    def decode_frame(self, raw: bytes | memoryview) -> Frame:
        """The frame in `raw`, header not included."""
        try:
            return self._decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ProtocolError(f"not a frame: {error}") from None

    def message(self, wire: msgspec.Struct) -> Message:
        """The message that has arrived as `wire`."""
        try:
            self.by_wire[type(wire)][0].heard += 1
            return self._loaded(wire)
        except RecursionError:
            raise ProtocolError("a message in a message in a message, and so on") from None

    def _loaded(self, wire: msgspec.Struct) -> Message:
        form, load = self.by_wire[type(wire)]
        values = msgspec.structs.astuple(wire)
        return form.kind(*values) if load is None else form.kind(*load(values))

    def read(self, raw: msgspec.Raw) -> Message:
        """The message that was written into a field of another one."""
        try:
            return self._loaded(self._decode_body(raw))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ProtocolError(f"not a message: {error}") from None

    def read_or_none(self, raw: msgspec.Raw) -> Message | None:
        return None if raw == NOTHING else self.read(raw)


def message_kinds(*algorithms: type) -> list[type[Message]]:
    """The message classes that stand in the modules of algorithms, of their ancestors, and of what they are made of, in
    a fixed order."""
    found: set[type[Message]] = set()
    seen: set[type] = set()
    to_see = list(algorithms)
    while to_see:
        whole = to_see.pop()
        for ancestor in whole.__mro__:
            if ancestor not in seen:
                seen.add(ancestor)
                to_see += getattr(ancestor, "made_of", ())
                for thing in vars(sys.modules.get(ancestor.__module__, types)).values():
                    if isinstance(thing, type) and issubclass(thing, Message) and is_dataclass(thing):
                        found.add(thing)
    return sorted(found, key=lambda kind: (kind.__qualname__, kind.__module__))


Dump = Callable[[Any], Any]
Load = Callable[[Any], Any] | None  # None: what was decoded is already what is wanted


class Form:
    """How one class of messages is written: its narrow and its wide wire type, and the ways there and back."""

    def __init__(self, kind: type[Message], number: int, vocabulary: Vocabulary) -> None:
        self.kind = kind
        self.sent = 0
        self.heard = 0
        shapes = Shapes(vocabulary, wide=False)
        self.narrow, self.dump_narrow, self.load_narrow = shapes.wire_type(kind, 2 * number)
        shapes = Shapes(vocabulary, wide=True)
        self.wide, self.dump_wide, self.load_wide = shapes.wire_type(kind, 2 * number + 1)


class Shapes:
    """Wire types, narrow or wide."""

    def __init__(self, vocabulary: Vocabulary, wide: bool) -> None:
        self.vocabulary = vocabulary  # for messages in messages
        self.wide = wide

    def wire_type(self, kind: type, tag: int | None) -> tuple[type[msgspec.Struct], Dump, Load]:
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
        return wire, _dumper(wire, names, dumps), _loader(loads)

    def shape(self, hint: Any, where: str) -> tuple[Any, Dump | None, Load]:
        """The wire type for an annotation, and the conversions it needs."""
        if hint is int:
            return (int | bytes, _int_to_wire, _int_from_wire) if self.wide else (int, None, None)
        if hint in (bool, str, float, type(None)):
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
            record, dump, load = self.wire_type(hint, None)
            return record, dump, lambda value: hint(*_record_values(value, load))
        if hint is Any or hint in VAGUE:  # the annotation says no more than that it is plain data
            return tuple[Any, ...] if hint is tuple else Any, _plain_to_wire if self.wide else None, _plain_from_wire
        raise ConfigError(f"{where} is a {hint}: messages may hold numbers, strings, None, and tuples of such")


def _dumper(wire: type[msgspec.Struct], names: tuple[str, ...], dumps: list[Dump | None]) -> Dump:
    if not names:
        empty = wire()
        return lambda message: empty
    if any(dumps):
        pairs = list(zip(names, dumps, strict=True))
        return lambda message: wire(
            *[dump(getattr(message, name)) if dump else getattr(message, name) for name, dump in pairs]
        )
    read = attrgetter(*names)
    if len(names) == 1:
        return lambda message: wire(read(message))
    return lambda message: wire(*read(message))


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


def field_types(kind: type) -> dict[str, Any]:
    """The declared types of a class's fields.

    A compiled class remembers only that a field is a tuple, not of what, or hardly anything; the source beside it does.
    """
    found: dict[str, Any] = dict(get_type_hints(kind))
    if any(hint in VAGUE for hint in found.values()):
        for ancestor in reversed(kind.__mro__):
            if is_dataclass(ancestor):
                found.update(_types_in_source(ancestor))
    return found


def _types_in_source(kind: type) -> dict[str, Any]:
    """The types of the fields that a class itself declares, read from its source; none if there is no source."""
    module = sys.modules[kind.__module__]
    source = Path(module.__file__ or "").parent / f"{kind.__module__.rpartition('.')[2]}.py"
    if not source.is_file():
        return {}
    found: dict[str, Any] = {}
    for part in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(part, ast.ClassDef) and part.name == kind.__name__:
            for line in part.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    text = ast.unparse(line.annotation)
                    found[line.target.id] = eval(text, dict(vars(module)))  # noqa: S307 (our own source)
    return {name: found[name] for name in field_names(kind) if name in found}
