"""Checks the settings of a cluster against their declared types, from Python and from a TOML file alike.

A setting is a field of a frozen dataclass. Its type is one of the kinds below, or is built from them. `msgspec` checks
it strictly ("no" is not a bool, true is not a number), and the kind's description says in an error what is allowed:

    insecure = "no": must be true or false

`msgspec` itself decodes dataclasses, but it accepts unknown keys and its errors do not name the value, so it is asked
for one field at a time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from math import inf
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from congenial.kernel.errors import ConfigError
from congenial.net.errors import TimeoutTooLong

T = TypeVar("T")

LONGEST_TIME = 1_000_000.0  # seconds, almost 12 days
LONGEST_SHOWN = 80  # characters of a wrong value in an error

Flag = Annotated[bool, Meta(description="true or false")]
Text = Annotated[str, Meta(description="text")]
Name = Annotated[str, Meta(description="text or bytes")]
Seconds = Annotated[float, Meta(gt=0, le=LONGEST_TIME, description="seconds, above 0 and at most 1000000")]
Timeout = Annotated[float, Meta(ge=0, description="seconds, 0 or more, or None to wait forever")]
Count = Annotated[int, Meta(ge=1, le=1_000_000, description="a whole number, at least 1 and at most 1000000")]
Share = Annotated[int, Meta(ge=0, le=1_000_000, description="a number of locks, at most 1000000")]
Drift = Annotated[float, Meta(gt=0, lt=1, description="seconds in a second, above 0 and below 1")]
Port = Annotated[int, Meta(ge=0, le=65535, description="a port from 1 to 65535, or 0 for none")]
# paths: in a file they are relative to it, and may have one placeholder
NAMED, PLAIN = {"path": "{name}"}, {"path": ""}
FilePath = Annotated[str, Meta(min_length=1, description="the path of a file ({name} is the node's name)", extra=NAMED)]
FolderPath = Annotated[
    str, Meta(description="the path of a directory ({name} is the node's name), or empty", extra=NAMED)
]
PlainFile = Annotated[str, Meta(description="the path of a file, or empty", extra=PLAIN)]


def checked(key: str, value: object, kind: Any) -> Any:
    """The value as one of its kind; or a `ConfigError` that names the key, the value and what is allowed."""
    parts = [kind, *get_args(kind)]
    if isinstance(value, type) and any(
        [issubclass(value, get_args(part)) for part in parts if get_origin(part) is type]
    ):
        return value  # a class, which only a program can give
    placeholder = path_placeholder(kind)
    if placeholder is not None and isinstance(value, os.PathLike):
        value = os.fspath(value)
    described = [part for part in parts if hasattr(part, "__metadata__")]
    try:
        made = msgspec.convert(value, described[0] if described else kind, strict=True)
        if isinstance(made, str):
            made.encode()  # a lone surrogate is in no file and on no wire
    except (msgspec.ValidationError, UnicodeEncodeError):
        raise wrong(key, value, allowed(kind)) from None
    if placeholder is not None and isinstance(made, str):
        _check_path(key, made, placeholder)
    return made


def checked_timeout(timeout: float | None) -> float | None:
    if timeout is None or (type(timeout) is float and 0 <= timeout <= TIMEOUT_MAX):  # quick: every lock comes here
        return timeout
    seconds: float = checked("timeout", timeout, Timeout)
    if seconds == inf:
        return None
    if seconds > TIMEOUT_MAX:
        raise TimeoutTooLong(str(wrong("timeout", timeout, f"at most {TIMEOUT_MAX:.0f} seconds, or None")))
    return seconds


def checked_text(key: str, value: str) -> str:
    if type(value) is str:
        return value
    text: str = checked(key, value, Text)
    return text


def checked_name(key: str, value: str | bytes) -> str:
    """The name of a lock or a group. Bytes stand for the text that they encode; bytes that are not UTF-8 for themselves
    alone (as Python has it for names of files)."""
    if type(value) is str:
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    text: str = checked(key, value, Name)
    return text


def check_fields(thing: Any) -> None:
    """Check all fields of a frozen dataclass, and put the checked values in their place. Fields that are mappings
    become dictionaries of their own, so that nobody can change them later."""
    for key, kind in hints(type(thing)).items():
        value = getattr(thing, key)
        part = section(kind)
        if part is not None:
            optional = type(None) in get_args(kind)
            if not (isinstance(value, part) or (value is None and optional)):
                raise wrong(key, value, f"a {part.__name__}{' or None' if optional else ''}")
        elif get_origin(kind) is Mapping:
            object.__setattr__(thing, key, checked_mapping(key, value, kind))
        else:
            object.__setattr__(thing, key, checked(key, value, kind))


def checked_mapping(key: str, value: object, kind: Any) -> dict[str, Any]:
    """A mapping from text to what `kind` says."""
    if not isinstance(value, Mapping):
        raise wrong(key, value, "a table of names and values")
    inner = get_args(kind)[1]
    for name in value:
        if not isinstance(name, str):
            raise wrong(f"a name in {key}", name, "text")
    return {name: checked(f"{key}.{name}", item, inner) for name, item in value.items()}


def wrong(key: str, value: object, must_be: str) -> ConfigError:
    return ConfigError(f"{key} = {shown(value)}: must be {must_be}")


def allowed(kind: Any) -> str:
    """What a value of this kind may be, in words."""
    about = meta(kind)
    return (about.description if about is not None else None) or str(kind)


def meta(kind: Any) -> Meta | None:
    """What is said about a kind, or about the kind in `kind | None`."""
    for part in (kind, *get_args(kind)):
        for about in getattr(part, "__metadata__", ()):
            if isinstance(about, Meta):
                return about
    return None


def shown(value: object) -> str:
    """A value on one line, as it would stand in a TOML file if it can."""
    if isinstance(value, (float, bytes)):
        text = repr(value)
    else:
        try:
            text = json.dumps(value, default=str)
        except (TypeError, ValueError, RecursionError):
            text = repr(value)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint for a word that is not among those known."""
    names = sorted(known)
    near = [name for name in names if word and name.startswith(word)] or get_close_matches(word.lower(), names, 1, 0.7)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"


def for_node(template: str, name: str) -> str:
    """A path, with the node's name in its place."""
    return template.replace("{name}", name)


def path_placeholder(kind: Any) -> str | None:
    """What stands for something else in paths of this kind; None for what is no path."""
    about = meta(kind)
    return None if about is None or about.extra is None else about.extra["path"]


def _check_path(key: str, text: str, placeholder: str) -> None:
    if "\0" in text:
        raise wrong(key, text, "a path without zero bytes")
    rest = text.replace(placeholder, "") if placeholder else text
    if "{" in rest or "}" in rest:
        but = f" other than {placeholder}, the node's name" if placeholder else ""
        raise wrong(key, text, f"a path without braces{but}")


# -- from a file ----------------------------------------------------------------------------------------------------


def hints(kind: Any) -> dict[str, Any]:
    """The declared type of every field of a dataclass, in order."""
    declared = get_type_hints(kind, include_extras=True)
    return {field.name: declared[field.name] for field in fields(kind)}


def section(kind: Any) -> type | None:
    """The dataclass that a field holds, if it holds one."""
    for part in (kind, *get_args(kind)):
        if isinstance(part, type) and is_dataclass(part):
            return part
    return None


def decode(data: dict[str, Any], kind: type[T], folder: Path) -> T:
    """A table of a TOML file as the dataclass that describes it. Paths are relative to `folder`."""
    known = hints(kind)
    sections = {key: part for key, declared in known.items() if (part := section(declared)) is not None}
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key not in known:
            place = [name for name, part in sections.items() if key in hints(part)]
            hint = f"it belongs under [{place[0]}]" if place else did_you_mean(key, known)
            raise ConfigError(f"{key} = {shown(value)}: unknown setting {key}: {hint}")
        values[key] = value
        if key in sections:
            if not isinstance(value, dict):
                raise wrong(key, value, f"a table with {', '.join(hints(sections[key]))}")
            try:
                values[key] = decode(value, sections[key], folder)
            except ConfigError as error:
                raise ConfigError(f"{key}.{error}") from None
        elif path_placeholder(known[key]) is not None and isinstance(value, str) and value:
            values[key] = str(folder / checked(key, value, known[key]))
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigError(f"{field.name} is missing: it must be {allowed(known[field.name])}")
    return kind(**values)
