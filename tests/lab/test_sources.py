"""The hash on a page changes with the code behind its numbers, and with nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from congenial.lab import sources
from congenial.lab.papers import PAPERS
from congenial.lab.sources import bare, code_behind, imports_of, spelled


def text(source: str) -> str:
    return spelled(bare(source))


def test_comments_docstrings_and_layout_do_not_count() -> None:
    assert text('"""One."""\n\ndef f(x):\n    """Two."""\n    return (x +  # three\n        1)\n') == text(
        "def f(x): return x + 1"
    )


@pytest.mark.parametrize("other", ["f(1)", "f(1, 2, 3)", 'f("", 1, 2)', "f(2, 1)", "g(1, 2)", 'f(1, "2")', "f(1, -2)"])
def test_all_else_counts(other: str) -> None:
    assert text(other) != text("f(1, 2)")


def test_an_empty_text_in_a_format_does_not_count() -> None:
    """Python 3.12 adds one."""
    tree = ast.parse('f"{x:{width}}"')
    plain = spelled(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values.append(ast.Constant(""))
    assert spelled(tree) == plain


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A package with two algorithms, one of which has a part."""
    files = {
        "congenial/lab/replication.py": "from congenial.sim.simulate import run_once\n",
        "congenial/lab/stopping.py": "from congenial.lab.results import Estimate\n",
        "congenial/lab/results.py": "",
        "congenial/sim/simulate.py": "from congenial.systems.catalogue import ALL\n",
        "congenial/systems/catalogue.py": "from congenial.one import One\nfrom congenial.two import Two\n",
        "congenial/one.py": "from congenial import part\n",
        "congenial/two.py": "import congenial.sim.simulate\n",
        "congenial/part.py": "SIZE = 1\n",
        "congenial/__init__.py": "",
    }
    for name, source in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    return tmp_path


def test_what_a_module_needs(project: Path) -> None:
    assert imports_of("congenial.one", root=project) == ("congenial.one", "congenial.part")
    assert imports_of("congenial.two", root=project) == ("congenial.sim.simulate", "congenial.two")


def test_the_hash_changes_with_what_a_module_needs(project: Path) -> None:
    before = [code_behind(["congenial.one"], project), code_behind(["congenial.two"], project)]
    (project / "congenial/part.py").write_text("SIZE = 2\n")
    after = [code_behind(["congenial.one"], project), code_behind(["congenial.two"], project)]
    assert before[0] != after[0]
    assert before[1] == after[1]
    (project / "congenial/sim/simulate.py").write_text("from congenial.systems.catalogue import ALL\nALL.clear()\n")
    assert code_behind(["congenial.two"], project) != before[1]


def test_hints_to_the_compiler_do_not_count(project: Path) -> None:
    (project / "congenial/part.py").write_text("from dataclasses import dataclass\n@dataclass\nclass A: x: int\n")
    before = code_behind(["congenial.one"], project)
    (project / "congenial/part.py").write_text(
        "from dataclasses import dataclass\nfrom mypy_extensions import mypyc_attr\n"
        "@mypyc_attr(native_class=False)\n@dataclass\nclass A: x: int\n"
    )
    assert code_behind(["congenial.one"], project) == before
    (project / "congenial/part.py").write_text("from dataclasses import dataclass\nclass A: x: int\n")
    assert code_behind(["congenial.one"], project) != before


def test_what_is_done_with_numbers_does_not_count(project: Path) -> None:
    before = code_behind(["congenial.two"], project)
    (project / "congenial/lab/results.py").write_text("from math import sqrt\n")
    assert code_behind(["congenial.two"], project) == before


def test_only_the_algorithms_that_run_count() -> None:
    """The catalogue, which the simulator imports, imports all of them."""
    needed = {name for module in sources.RUNS for name in imports_of(module)}
    assert {"congenial.sim.engine", "congenial.kernel.node", "congenial.lab.sweep"} <= needed
    assert not [name for name in needed if name.startswith(("congenial.algorithms", "congenial.net"))]


def test_what_an_experiment_needs() -> None:
    in_lab = [name for name in imports_of("congenial.lab.papers.frontier") if name.startswith("congenial.lab")]
    assert in_lab == ["congenial.lab.papers.comparison", "congenial.lab.papers.frontier", "congenial.lab.replication",
                      "congenial.lab.sweep"]  # fmt: skip
    assert "congenial.checker.stepper" in imports_of("congenial.lab.papers.wme")


def test_papers_depend_on_their_own_algorithms() -> None:
    codes = {name: paper.code() for name, paper in PAPERS.items()}
    assert len(set(codes.values())) == len(PAPERS)
    for paper in PAPERS.values():
        assert paper.module == f"congenial.lab.papers.{paper.name.replace('-', '_')}"
        assert [exhibit for exhibit in paper.exhibits if exhibit.algorithms()]
    assert code_behind(["congenial.algorithms.group.ra1"]) != code_behind(["congenial.algorithms.group.ra2"])
