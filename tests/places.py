"""Addresses that no other test uses, in place of those that examples name."""

from __future__ import annotations

import re

from congenial.net.config import free_addresses


def with_free_addresses(text: str) -> str:
    """A text with addresses of this machine that are free in place of 127.0.0.1:71xx."""
    named = sorted(set(re.findall(r"127\.0\.0\.1:71\d\d", text)))
    for written, free in zip(named, free_addresses(len(named)), strict=True):
        text = text.replace(written, free)
    return text


def alone(name: str = "a") -> dict[str, str]:
    """A cluster of one."""
    return {name: free_addresses(1)[0]}
