"""The code behind numbers: which modules are needed for them, and a hash of what these modules do.

Comments, docstrings and layout do not count, nor do hints to the compiler and the version of Python that reads the
sources.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[2]  # the folder that holds the package
RUNS = ("congenial.lab.replication", "congenial.lab.stopping")  # what every run needs, the simulator included
IN_THE_LABORATORY = (*RUNS, "congenial.lab.sweep", "congenial.lab.steps")
EXPERIMENTS = "congenial.lab.papers."
HINTS = "mypy_extensions"
LEFT_OUT = (
    "congenial",  # only names for users
    "congenial.systems.catalogue",  # imports every algorithm
    "congenial.sim.result",  # holds numbers, and shows them
    "congenial.lab.papers.paper",  # the form of all experiments
)


def code_behind(modules: Iterable[str], root: Path = ROOT) -> str:
    """A hash of the code of these modules, of what every run needs, and of all that these import.

    The catalogue does not count, so an algorithm matters only if its module is named; nor does what the laboratory does
    with numbers when they are there.
    """
    needed = {name for module in (*RUNS, *modules) for name in imports_of(module, root=root)}
    digest = sha256()
    for name in sorted(needed):
        digest.update(f"{name}\n{spelled(_without_hints(bare(_source(name, root))))}\n".encode())
    return digest.hexdigest()[:12]


@cache
def imports_of(module: str, rooms: tuple[str, ...] = ("congenial.",), root: Path = ROOT) -> tuple[str, ...]:
    """The modules whose names begin like this that a module needs for its numbers, itself included."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [other for other in _imported(name, root) if other.startswith(rooms) and _counts(other)]
    return tuple(sorted(found))


def _counts(module: str) -> bool:
    if module.startswith("congenial.lab"):
        return module in IN_THE_LABORATORY or (module.startswith(EXPERIMENTS) and module not in LEFT_OUT)
    return module not in LEFT_OUT


def bare(source: str) -> ast.Module:
    """A source without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return tree


def spelled(node: object) -> str:
    """A tree as text, without what is empty: there `ast.dump` differs between versions of Python.

    >>> spelled(ast.parse("f(1)  # once", mode="eval"))
    "Expression(body=Call(func=Name(id='f', ctx=Load()), args=[Constant(value=1)]))"
    """
    if isinstance(node, list):
        return f"[{', '.join([spelled(item) for item in node])}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.JoinedStr):  # Python 3.12 ends a format such as f"{x:{width}}" with an empty text
        node = ast.JoinedStr([value for value in node.values if getattr(value, "value", None) != ""])
    fields = [(name, value) for name, value in ast.iter_fields(node) if value is not None and value != []]
    return f"{type(node).__name__}({', '.join([f'{name}={spelled(value)}' for name, value in fields])})"


def _without_hints(tree: ast.Module) -> ast.Module:
    """A tree without what only the compiler reads: `@mypyc_attr(...)`, and its import."""
    tree.body = [node for node in tree.body if not (isinstance(node, ast.ImportFrom) and node.module == HINTS)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            node.decorator_list = [item for item in node.decorator_list if "mypyc_attr" not in ast.dump(item)]
    return tree


@cache
def _imported(module: str, root: Path) -> tuple[str, ...]:
    """The modules that a module imports, wherever in it."""
    names: list[str] = []
    for node in ast.walk(ast.parse(_source(module, root))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names += [node.module, *[f"{node.module}.{alias.name}" for alias in node.names]]
    return tuple([name for name in names if _path(name, root).is_file()])


def _path(module: str, root: Path) -> Path:
    place = root.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def _source(module: str, root: Path) -> str:
    return _path(module, root).read_text(encoding="utf-8")
