"""Pages that people write, with parts that the laboratory makes.

A part stands between two comments, which a reader of the page does not see:

    <!-- made: findings -->
    ...
    <!-- end: findings -->

When the experiment is run again the parts are replaced, and all the rest is kept.

Every page names the code behind its numbers by a hash, and a commit that has this code.

The page about all experiments has a list of those pages that are older than the code behind them. A page that is made
again is taken from that list, and the section goes with the last of them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from congenial.kernel.errors import ConfigError

OLDER = re.compile(r"\n## Older than the code\n.*?(?=\n## |\Z)", re.DOTALL)
ITEM = re.compile(r"^- \[(.+?)\]\(.*?(?=^- |\Z)", re.MULTILINE | re.DOTALL)
MADE_BY = re.compile(r"\(code ([0-9a-f]{12}), commit ([0-9a-f]{7,}\+?)\)")
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


def made_by(code: str, page: str, folder: Path) -> str:
    """The code and a commit that has it, to be written on a page. If the page already names this code, it keeps its
    commit: the numbers were run there, or are the same. Otherwise it is the last one of the repository that `folder` is
    in, with a '+' if the sources have changed since.

    >>> made_by("0123456789ab", "Made by congenial 1.0 (code 0123456789ab, commit abcdef0) with", Path("nowhere"))
    'code 0123456789ab, commit abcdef0'
    >>> made_by("0123456789ab", "", Path("nowhere"))
    'code 0123456789ab'
    """
    before = MADE_BY.search(page)
    kept = before is not None and before[1] == code and not before[2].endswith("+")
    commit = before[2] if before and kept else commit_of(folder)
    return f"code {code}, commit {commit}" if commit else f"code {code}"


def commit_of(folder: Path) -> str:
    """The last commit of the sources in the repository that a folder is in; nothing if there is none."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    try:
        top = git("rev-parse", "--show-toplevel")
        if not (Path(top) / "src" / "congenial").is_dir():
            return ""
        changed = git("status", "--porcelain", "--", f"{top}/src")
        return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


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
