"""What only some of the laboratory needs is an extra; without it, one line says which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from congenial.kernel.errors import ConfigError


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Around an import."""
    try:
        yield
    except ImportError as error:
        raise ConfigError(f"this needs {error.name}: pip install 'congenial[{extra}]'") from error
