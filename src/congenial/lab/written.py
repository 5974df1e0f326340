"""Pages that people write, with parts that the laboratory makes.

A part stands between two comments, which a reader of the page does not see:

    <!-- made: findings -->
    ...
    <!-- end: findings -->

When the experiment is run again the parts are replaced, and all the rest is kept.

The page about all experiments has a list of those pages that are older than the code behind them. A page that is made
again is taken from that list, and the section goes with the last of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from congenial.kernel.errors import ConfigError

OLDER = re.compile(r"\n## Older than the code\n.*?(?=\n## |\Z)", re.DOTALL)
ITEM = re.compile(r"^- \[(.+?)\]\(.*?(?=^- |\Z)", re.MULTILINE | re.DOTALL)
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


def older_in(page: str) -> list[str]:
    """The pages that this page calls older than their code.

    >>> older_in("# All\\n\\n## Older than the code\\n\\nThese:\\n\\n- [a](a.md): why\\n- [b](b.md): why\\n")
    ['a', 'b']
    """
    section = OLDER.search(page)
    return ITEM.findall(section[0]) if section else []


def not_older(page: str, name: str) -> str:
    """The page, where it no longer calls this one older.

    >>> not_older("# All\\n\\n## Older than the code\\n\\nThese:\\n\\n- [a](a.md): why\\n", "a")
    '# All\\n'
    """
    if older_in(page) == [name]:
        return OLDER.sub("", page)
    return OLDER.sub(lambda section: ITEM.sub(lambda item: "" if item[1] == name else item[0], section[0]), page)
