"""What only some of the laboratory needs is an extra; without it, one line says which."""

from __future__ import annotations

from importlib.util import find_spec

from congenial.kernel.errors import ConfigError

PACKAGES = {"lab": ("matplotlib", "polars"), "cluster": ("distributed",)}


def require(extra: str) -> None:
    """Fail now rather than after an hour."""
    for package in PACKAGES[extra]:
        if find_spec(package) is None:
            raise ConfigError(f"this needs {package}: pip install 'congenial[{extra}]'")
