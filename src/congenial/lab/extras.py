"""Packages that only part of the laboratory needs. They come with an extra; without it, one line says which."""

from __future__ import annotations

from importlib.util import find_spec

from congenial.kernel.errors import ConfigError

PACKAGES = {"lab": ("matplotlib", "polars"), "cluster": ("distributed",)}


def require(extra: str) -> None:
    """Raise an error before anything runs if a package of this extra is missing."""
    for package in PACKAGES[extra]:
        if find_spec(package) is None:
            raise ConfigError(f"this needs {package}: pip install 'congenial[{extra}]'")
