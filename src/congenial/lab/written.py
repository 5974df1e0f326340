"""Pages that people write, with parts that the laboratory makes.

A part stands between two comments, which a reader of the page does not see:

    <!-- made: findings -->
    ...
    <!-- end: findings -->

When the experiment is run again the parts are replaced, and all the rest is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from congenial.kernel.errors import ConfigError

PART = re.compile(r"^<!-- made: (.+?) -->\n(.*?)^<!-- end: \1 -->$", re.MULTILINE | re.DOTALL)


def parts_of(page: str) -> dict[str, str]:
    """The parts that the laboratory makes, by name; none if the whole page is made by it.

    >>> parts_of("# Mine\\n<!-- made: data -->\\n1 2 3\\n<!-- end: data -->\\n")
    {'data': '1 2 3'}
    """
    return {name: text.strip() for name, text in PART.findall(page)}


def with_parts(page: str, parts: Mapping[str, str], source: str) -> str:
    """The page with these parts replaced; `source` is named in errors."""
    there = parts_of(page)
    for name in parts:
        if name not in there:
            raise ConfigError(f"{source} has no place for the part {name!r}, which begins with <!-- made: {name} -->")
    return PART.sub(lambda match: marked(match[1], parts.get(match[1], there[match[1]])), page)


def marked(name: str, text: str) -> str:
    """A part, between its comments."""
    return f"<!-- made: {name} -->\n{text}\n<!-- end: {name} -->"
