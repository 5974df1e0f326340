"""The network's layers: every module imports only from modules below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import congenial.net

FOLDER = Path(congenial.net.__file__).parent
STORAGE = {"storage", "journal", "logfile", "markfile", "saved"}
LAYERS = (  # from the bottom
    STORAGE
    | {"errors", "logs", "names", "operations", "local", "checked", "addresses", "config", "secret"}
    | {"authority", "certs", "tls", "forks", "notify", "loop_thread", "histogram", "asks"},
    {"wire", "turn", "numbering", "lease", "endpoints", "call"},
    {"view_lease", "frames", "forms"},
    {"codec", "handshake", "stream"},
    {"link"},
    {"connection", "greeting"},
    {"porter", "roster", "suspicion"},
    {"dialer"},
    {"membership"},
    {"seat", "absence", "held", "notes", "claims"},
    {"seeking", "entrance", "acquiring", "remote_board", "agreement"},
    {"door", "hall", "replica", "tries", "board", "members"},
    {"failures"},
    {"guarded", "reminders", "view_door"},
    {"unclaimed", "blocking_locks", "view_hall", "view_guard"},
    {"kept", "table", "primitives"},
    {"dispatch"},
    {"viewed"},
    {"survey", "spans"},
    {"reports"},
    {"host"},
    {"health"},
    {"metrics"},
    {"locks"},
    {"blocking", "service", "client", "threaded"},
    {"blocking_client", "joining"},
    {"tooz_driver"},
)


def imported(path: Path) -> set[str]:
    """The modules of this room that a module imports."""
    found: set[str] = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.ImportFrom) and part.module == "congenial.net":
            found |= {name.name for name in part.names}
        elif isinstance(part, ast.ImportFrom) and (part.module or "").startswith("congenial.net."):
            found.add((part.module or "").split(".")[2])
        waiting += ast.iter_child_nodes(part)
    return found


def test_every_module_has_a_layer() -> None:
    found = {path.relative_to(FOLDER).parts[0].removesuffix(".py") for path in FOLDER.rglob("*.py")}
    assert found - {"__init__"} == set().union(*LAYERS)


@pytest.mark.parametrize("height", range(len(LAYERS)))
def test_a_layer_knows_only_those_below(height: int) -> None:
    below = set().union(*LAYERS[:height])
    for module in sorted(LAYERS[height]):
        beside = LAYERS[height] if height == 0 else {module}
        for path in (*FOLDER.glob(f"{module}.py"), *FOLDER.glob(f"{module}/*.py")):
            assert imported(path) <= below | beside, module
