"""Arrows between rooms point one way, and nodes know nothing of the world."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "congenial"
PURE_ROOMS = {"kernel", "problems", "parts", "algorithms", "transform"}
DRIVEN = PURE_ROOMS | {"systems", "trace_files"}
MAY_IMPORT = {  # a room is a folder or a module of its own; it may always import from itself
    "kernel": set(),
    "problems": {"kernel"},
    "parts": {"kernel", "problems"},
    "algorithms": {"kernel", "problems", "parts"},
    "transform": {"kernel", "problems", "parts"},
    "systems": PURE_ROOMS,
    "trace_files": {"kernel"},
    "sim": DRIVEN | {"view"},
    "checker": DRIVEN | {"view"},
    "net": DRIVEN,
    "view": {"kernel"},
    "testing": DRIVEN | {"sim", "checker", "net"},
    "lab": DRIVEN | {"sim", "checker", "view"},
    "studio": DRIVEN | {"sim", "checker", "view", "lab", "net"},
    "cli": DRIVEN | {"sim", "checker", "net", "lab", "view", "testing", "studio"},
}
FACADE = {"__init__", "__main__"}
THE_WORLD = {"asyncio", "random", "time", "socket", "threading", "datetime", "secrets", "selectors"}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module is not None
            if node.module == "congenial":
                yield from [f"congenial.{alias.name}" for alias in node.names]
            else:
                yield node.module


def files(room: str) -> list[Path]:
    module = PACKAGE / f"{room}.py"
    return [module] if module.is_file() else sorted((PACKAGE / room).rglob("*.py"))


def test_every_room_is_covered() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert rooms - FACADE == set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_from_rooms_before_it(room: str) -> None:
    for path in files(room):
        for name in imports(path):
            if name.startswith("congenial.") and name != "congenial.__version__":
                assert name.split(".")[1] in MAY_IMPORT[room] | {room}, f"{path.relative_to(PACKAGE)} imports {name}"
            assert name != "congenial", f"{path.relative_to(PACKAGE)} imports the whole package"


def test_the_rooms_have_an_order() -> None:
    assert set(TopologicalSorter(MAY_IMPORT).static_order()) == set(MAY_IMPORT)


def test_no_module_needs_itself() -> None:
    """Inside a room, too. Imports for the type checker alone, and those that wait for a call, do not count."""
    names = {path: ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in PACKAGE.rglob("*.py")}
    needs = {names[path]: set(needed(path, set(names.values()))) for path in names if path.parent != PACKAGE}
    assert len(needs) > 200
    assert "congenial.kernel.node" in needs["congenial.kernel.shell"]
    TopologicalSorter(needs).prepare()  # or CycleError, which names the cycle
    with pytest.raises(CycleError):
        TopologicalSorter({**needs, "congenial.kernel.node": {"congenial.kernel.shell"}}).prepare()


def needed(path: Path, modules: set[str]) -> Iterator[str]:
    """The modules of the package that a module imports when it is imported itself."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for statement in node.body if isinstance(node, ast.Try) else [node]:
            if isinstance(statement, ast.ImportFrom) and statement.module is not None:
                for alias in statement.names:
                    inner = f"{statement.module}.{alias.name}"
                    yield from {inner if inner in modules else statement.module} & modules
            elif isinstance(statement, ast.Import):
                yield from {alias.name for alias in statement.names} & modules


@pytest.mark.parametrize("room", sorted(PURE_ROOMS))
def test_nodes_do_no_io_read_no_clock_and_draw_no_random_numbers(room: str) -> None:
    for path in files(room):
        for name in imports(path):
            assert name.split(".")[0] not in THE_WORLD, f"{path.relative_to(PACKAGE)} imports {name}"


@pytest.mark.parametrize("room", ["kernel", "algorithms"])
def test_algorithms_do_not_draw_from_the_simulator_s_streams_either(room: str) -> None:
    for path in files(room):
        assert "librt.random" not in set(imports(path)), path.relative_to(PACKAGE)


def test_the_test_sees_imports() -> None:
    """It would be in vain if it looked in the wrong place."""
    assert len(files("kernel")) > 5
    assert len(files("algorithms")) > 5
    assert "congenial.kernel.node" in set(imports(PACKAGE / "systems" / "system.py"))
    assert "librt.random" in set(imports(PACKAGE / "sim" / "chance.py"))
