"""How each class of messages is written: the part of the codec that every message runs through, and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message
from congenial.net.errors import ProtocolError
from congenial.net.wire import Frame

Written = Callable[[Any], tuple[Any, ...]]
Load = Callable[[Any], Any] | None  # None: what was decoded is already what is wanted

_astuple: Final = msgspec.structs.astuple


class Way:
    """To write a class of messages, and back: a wire type, and the conversions to and from it. A message is written as
    a tuple, which takes no object of the wire type: the `head` is its tag, if it has one, and then come its fields."""

    def __init__(
        self,
        wire: type[msgspec.Struct],
        head: tuple[Any, ...],
        names: tuple[str, ...],
        convert: Written | None,
        load: Load,
    ) -> None:
        self.wire = wire
        self.head = head
        self.names = names  # of the fields
        self.convert = convert  # writes all of it, where fields are not written as they are
        self.load = load

    def dump(self, message: Any) -> tuple[Any, ...]:
        if self.convert is not None:
            return self.convert(message)
        values = list(self.head)
        for name in self.names:
            values.append(getattr(message, name))
        return tuple(values)


class Form:
    """One class of messages: its narrow way and its wide one, and how often it was sent and heard."""

    def __init__(self, kind: type[Message], narrow: Way, wide: Way) -> None:
        self.kind = kind
        self.narrow = narrow
        self.wide = wide
        self.sent = 0
        self.heard = 0


class Forms:
    """The forms of all messages of an algorithm, which has a name; and how frames are read. `explain` makes of a frame
    that cannot be decoded what stands for it, or raises `ProtocolError`."""

    def __init__(self, name: str, explain: Callable[[bytes | memoryview, Exception], Frame]) -> None:
        self.name = name
        self.explain = explain
        self.forms: dict[type[Message], Form] = {}
        self.by_wire: dict[type[msgspec.Struct], tuple[Form, Way]] = {}
        self.decode: Callable[[bytes | memoryview], Frame] | None = None

    def add(self, form: Form) -> None:
        self.forms[form.kind] = form
        for way in (form.narrow, form.wide):
            self.by_wire[way.wire] = (form, way)

    def form_of(self, message: Message) -> Form:
        form = self.forms.get(type(message))
        if form is None:
            sent = type(message).__name__
            raise ContractError(f"{self.name} sends {sent}, but does not declare it: add it to `messages`")
        return form

    def dump(self, message: Message, wide: bool = False) -> tuple[Any, ...]:
        """What to write into a frame for a message. If writing it raises `OverflowError`: `wide`."""
        form = self.form_of(message)
        if wide:
            return form.wide.dump(message)
        form.sent += 1
        return form.narrow.dump(message)

    def decode_frame(self, raw: bytes | memoryview) -> Frame:
        """The frame in `raw`, header not included."""
        assert self.decode is not None
        try:
            return self.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return self.explain(raw, error)

    def message(self, wire: msgspec.Struct) -> Message:
        """The message that has arrived as `wire`."""
        try:
            form, way = self.by_wire[type(wire)]
            form.heard += 1
            return loaded(form, way, wire)
        except RecursionError:
            raise ProtocolError("messages are nested too deeply") from None


def loaded(form: Form, way: Way, wire: msgspec.Struct) -> Message:
    values = _astuple(wire)
    return form.kind(*values) if way.load is None else form.kind(*way.load(values))
