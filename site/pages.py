"""What the web site has beside the pages in docs/: files of the repository that pages link to, an API reference from
docstrings, a gallery of all figures, and pages of the errata's counterexamples. mkdocs calls the functions whose names
begin with `on_`."""

from __future__ import annotations

import ast
import os
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

sys.path.insert(0, str(Path(__file__).parent))
import counterexamples

ROOT = Path(__file__).parents[1]
ALWAYS = ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")
FIGURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")
LANGUAGES = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".json": "json", ".service": "ini"}
ROOMS = {  # of the API reference: title, and the packages of the names in it
    "Locks": ("congenial.net",),
    "Laboratory": ("congenial.sim", "congenial.checker", "congenial.lab"),
    "Algorithms of your own": ("congenial.kernel", "congenial.problems"),
}


# -- where files of the repository are on the site -----------------------------------------------------------------


def site_path(path: str) -> str:
    """Where a file of the repository is among the site's sources. A file that is no page becomes one that shows it."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"project/{path}" if path.endswith(".md") else f"project/{path}.md"


def repository_path(site: str) -> str:
    """The file of the repository that a page is made from; empty for pages that are made from nothing."""
    if site in ("api.md", "gallery.md"):
        return ""
    if not site.startswith("project/"):
        return f"docs/{site}"
    path = site.removeprefix("project/")
    return path if (ROOT / path).is_file() else path.removesuffix(".md")


def target_of(source: str, link: str) -> str:
    """The file that a link on a page of the repository leads to; the page about it, if that is a folder."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    if (ROOT / found).is_dir():
        found = f"{found}/README.md" if (ROOT / found / "README.md").exists() else f"{found}.md"
    return found if (ROOT / found).is_file() else ""


def linked(path: str) -> Iterator[str]:
    """The files of the repository that a page links to."""
    for _, target, _ in LINK.findall((ROOT / path).read_text(encoding="utf-8")):
        found = target_of(path, target)
        if found:
            yield found


def outside() -> list[str]:
    """The files outside docs/ that pages link to, and those that these link to."""
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")]
    waiting, found = [*pages, *ALWAYS], set(ALWAYS)
    while waiting:
        for target in linked(waiting.pop()):
            if not target.startswith("docs/") and target not in found:
                found.add(target)
                if target.endswith(".md"):
                    waiting.append(target)
    return sorted(found)


def shown(path: str) -> str:
    """A file as a page."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        return text
    return f"# {path}\n\n```{LANGUAGES.get(Path(path).suffix, 'text')}\n{text}```\n"


# -- pages that are made ---------------------------------------------------------------------------------------------


def homes() -> dict[str, str]:
    """Every public name, and the module that it is from."""
    tree = ast.parse((ROOT / "src/congenial/__init__.py").read_text(encoding="utf-8"))
    found: dict[str, str] = {}
    for part in ast.walk(tree):
        if isinstance(part, ast.ImportFrom) and part.module is not None:
            found |= {name.name: part.module for name in part.names}
    (public,) = [
        ast.literal_eval(part.value)
        for part in tree.body
        if isinstance(part, ast.Assign) and getattr(part.targets[0], "id", "") == "__all__"
    ]
    return {name: found[name] for name in public if name != "__version__"}


def api() -> str:
    names = homes()
    lines = ["# API reference", "", "All of this is in the package `congenial`: `congenial.join`, and so on.", ""]
    placed: set[str] = set()
    for title, packages in ROOMS.items():
        lines += [f"## {title}", ""]
        for name, module in sorted(names.items(), key=lambda item: (item[0][0].isupper(), item[0].lower())):
            if module.startswith(packages):
                lines += [f"::: {module}.{name}", ""]
                placed.add(name)
    assert placed == set(names), f"no place in the reference for {set(names) - placed}"
    return "\n".join(lines)


def gallery() -> str:
    """Every figure that is on a page, with a link to the page."""
    lines = ["# Gallery", "", "All figures, with the pages that explain them.", ""]
    seen: set[str] = set()
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        title = re.search(r"^# (.*)$", text, re.MULTILINE)
        here = page.relative_to(ROOT / "docs")
        figures = [(caption, posixpath.normpath(here.parent / target)) for caption, target in FIGURE.findall(text)]
        new = [(caption, path) for caption, path in figures if path not in seen]
        seen |= {path for _, path in new}
        if new and title is not None:
            lines += [f"## {title[1]}", "", f"From [{title[1]}]({here.as_posix()}).", ""]
            for caption, path in new:
                lines += [f"[![{caption}]({path})]({path})", "", f"*{caption}*", ""]
    return "\n".join(lines)


# -- what mkdocs calls -----------------------------------------------------------------------------------------------


def on_files(files: Files, config: Any) -> Files:
    made = {site_path(path): shown(path) for path in outside()}
    made |= {"api.md": api(), "gallery.md": gallery()}
    listed = re.findall(r"[\w/.-]+\.md", (ROOT / "site/mkdocs.yml").read_text(encoding="utf-8"))
    for path, text in made.items():
        file = File.generated(config, path, content=text)
        if path not in listed:
            file.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(file)
    for path, content in counterexamples.pages().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to files outside docs/ lead to the pages that show them."""
    here = page.file.src_uri
    source = repository_path(here)
    if not source:
        return markdown

    if here == counterexamples.ERRATA:
        markdown = counterexamples.with_links(markdown)

    def moved(match: re.Match[str]) -> str:
        if match[2] in counterexamples.addresses().values():
            return match[0]
        found = target_of(source, match[2])
        if not found:
            return match[0]  # mkdocs will complain
        return f"{match[1]}{os.path.relpath(site_path(found), posixpath.dirname(here) or '.')}{match[3] or ''})"

    return LINK.sub(moved, markdown)
