"""Examples in docstrings are doctests, without a heading of their own: show them as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*)+", re.MULTILINE)  # up to an empty line


class Doctests(griffe.Extension):
    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            value = obj.docstring.value
            obj.docstring.value = EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", value)
