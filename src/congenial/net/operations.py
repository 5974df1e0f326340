"""Operations on guarded objects: plain data that can be sent."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from congenial.kernel.errors import ContractError

LONGEST_OPERATION: Final = 4096  # bytes


def as_plain(operation: Any) -> Any:
    """An operation as it arrives everywhere; `ContractError` if it cannot travel."""
    plain = _plain(operation)
    try:
        size = len(msgspec.msgpack.encode(plain))
    except OverflowError:  # large numbers travel in another form
        size = len(repr(plain))
    except UnicodeEncodeError as error:
        raise ContractError(f"an operation holds a string that cannot be sent: {error}") from None
    if size > LONGEST_OPERATION:
        raise ContractError(f"an operation of {size} bytes is too long; {LONGEST_OPERATION} are allowed")
    return plain


def _plain(value: Any) -> Any:
    if value is None or type(value) in (bool, int, str, float):
        return value
    if isinstance(value, (tuple, list)):
        return tuple([_plain(member) for member in value])
    raise ContractError(
        f"an operation holds a {type(value).__name__}: it is made of numbers, strings, None, and tuples of such"
    )
