"""How each class of messages is written: the part of the codec that every message runs through, and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message
from congenial.net.errors import ProtocolError

Written = Callable[[Any], tuple[Any, ...]]
Load = Callable[[Any], Any] | None  # None: what was decoded is already what is wanted

_astuple: Final = msgspec.structs.astuple


class Way:
    """To write a class of messages, and back: a wire type, and the conversions to and from it."""

    def __init__(self, wire: type[msgspec.Struct], dump: Written, load: Load) -> None:
        self.wire = wire
        self.dump = dump
        self.load = load


class Form:
    """One class of messages: its narrow way and its wide one, and how often it was sent and heard."""

    def __init__(self, kind: type[Message], narrow: Way, wide: Way) -> None:
        self.kind = kind
        self.narrow = narrow
        self.wide = wide
        self.sent = 0
        self.heard = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class Forms:
    """The forms of all messages of an algorithm, which has a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.forms: dict[type[Message], Form] = {}
        self.by_wire: dict[type[msgspec.Struct], tuple[Form, Way]] = {}

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

    def message(self, wire: msgspec.Struct) -> Message:
        """The message that has arrived as `wire`."""
        try:
            form, way = self.by_wire[type(wire)]
            form.heard += 1
            return loaded(form, way, wire)
        except RecursionError:
            raise ProtocolError("a message in a message in a message, and so on") from None


def loaded(form: Form, way: Way, wire: msgspec.Struct) -> Message:
    values = _astuple(wire)
    return form.kind(*values) if way.load is None else form.kind(*way.load(values))
