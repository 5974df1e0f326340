"""Tests of other rooms as trials: what they assert must not hold for a mutant.

A test is called as it is, once for each of its sets of parameters, without pytest's machinery. So only those count that
need no fixtures. They are imported in the process of the mutant, since their modules make classes of what is mutated.
"""

from __future__ import annotations

import ast
import importlib
import sys
from itertools import product
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]


def names_of_tests(file: str) -> list[str]:
    """The tests of a file: those with no decorators but marks, as hypothesis has a clock of its own."""
    functions = [item for item in ast.parse((TESTS / file).read_text()).body if isinstance(item, ast.FunctionDef)]
    tests = [function for function in functions if function.name.startswith("test_")]
    return [test.name for test in tests if all(["pytest.mark." in ast.unparse(mark) for mark in test.decorator_list])]


def run_test(file: str, name: str) -> None:
    path = TESTS / file
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    test = getattr(importlib.import_module(path.stem), name)
    for arguments in _sets_of_parameters(test):
        test(**arguments)


def _sets_of_parameters(test: Any) -> list[dict[str, Any]]:
    """All that its marks say, each with each."""
    choices: list[list[dict[str, Any]]] = []
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            names, values = mark.args
            names = [text.strip() for text in names.split(",")] if isinstance(names, str) else list(names)
            sets = [value if len(names) > 1 else (value,) for value in values]
            choices.append([dict(zip(names, value, strict=True)) for value in sets])
    return [{name: one[name] for one in chosen for name in one} for chosen in product(*choices)]
