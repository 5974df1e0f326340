"""What a release is made of: one version, the same Pythons everywhere, files that parse and name each other."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import congenial

ROOT = Path(__file__).parents[1]
PYTHONS = ["3.11", "3.12", "3.13"]
RELEASE = re.match(r"\d+\.\d+\.\d+", congenial.__version__)
assert RELEASE is not None
VERSION = RELEASE[0]  # that is being prepared, or is out


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_changelog_and_the_citation_are_about_this_version() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    head = re.search(r"^## \[(.+?)\] - (.+)$", changes, re.MULTILINE)
    assert head is not None
    assert head[1] == VERSION
    released = congenial.__version__ == VERSION
    assert bool(re.fullmatch(r"\d{4}-\d\d-\d\d", head[2])) is released, "a release has a date, and nothing else has"
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(cited["version"]) == VERSION
    assert cited["license"] == project()["project"]["license"]
    assert {"cff-version", "message", "title", "authors", "type"} <= set(cited)
    assert ("date-released" in cited) is released
    papers = {work["title"] for work in cited["references"]}
    pages = (ROOT / "docs/reproductions").glob("*.md")
    assert papers == {page.read_text(encoding="utf-8").splitlines()[0][2:] for page in pages if page.stem != "README"}


def test_the_same_pythons_are_declared_built_and_tested() -> None:
    about = project()
    declared = [line.rpartition(" :: ")[2] for line in about["project"]["classifiers"] if re.search(r":: 3\.\d", line)]
    assert declared == PYTHONS
    assert about["project"]["requires-python"] == f">={PYTHONS[0]}"
    assert about["tool"]["cibuildwheel"]["build"] == [f"cp{version.replace('.', '')}-*" for version in PYTHONS]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"PYTHONS ?= {' '.join([f'python{version}' for version in PYTHONS])}\n" in makefile


def test_the_workflow_builds_tests_and_publishes() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert jobs["publish"]["if"] == "github.ref_type == 'tag'"
    assert any(["cibuildwheel" in step.get("run", "") for step in jobs["wheels"]["steps"]])
    commands = project()["tool"]["cibuildwheel"]["test-command"]
    assert all(
        [(ROOT / word.removeprefix("{project}/")).exists() for word in " ".join(commands).split() if "/" in word]
    )


def test_the_package_says_that_it_is_typed() -> None:
    assert (ROOT / "src/congenial/py.typed").is_file()
    assert "py.typed" in project()["tool"]["setuptools"]["package-data"]["congenial"]


def test_every_file_of_the_package_that_is_no_python_is_shipped() -> None:
    patterns = project()["tool"]["setuptools"]["package-data"]["congenial"]
    package = ROOT / "src/congenial"
    shipped = {path for pattern in patterns for path in package.glob(pattern)}
    others = {path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".so", ".pyc")}
    assert others == shipped


@pytest.mark.deep
def test_the_source_distribution_is_complete(tmp_path: Path) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    tracked = [path for path in listed if (ROOT / path).is_file()]
    for path in tracked:  # in a copy: it leaves things behind
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    build = "from setuptools.build_meta import build_sdist; build_sdist('dist')"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path, check=True, capture_output=True)
    (archive,) = tmp_path.glob("dist/congenial-*.tar.gz")
    assert archive.name == f"congenial-{congenial.__version__}.tar.gz"
    with tarfile.open(archive) as content:
        names = {name.partition("/")[2] for name in content.getnames()}
    left_out = {path for path in tracked if path not in names}
    assert {path.partition("/")[0] for path in left_out} <= {".ci", ".github", ".gitignore", "benchmarks"}
    assert [name for name in names if name.endswith((".so", ".pyc")) or "/build/" in name] == []


def test_the_api_reference_has_every_public_name() -> None:
    """The site's page is made by a program that reads the sources; it needs mkdocs, but what it reads does not."""
    source = (ROOT / "site/pages.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    tree.body = [part for part in tree.body if not (isinstance(part, ast.ImportFrom) and "mkdocs" in str(part.module))]
    made: dict[str, Any] = {"__file__": str(ROOT / "site/pages.py"), "Files": object}
    exec(compile(tree, "site/pages.py", "exec"), made)
    page = made["api"]()
    public = [name for name in congenial.__all__ if name != "__version__"]
    assert sorted(re.findall(r"^::: congenial\.[\w.]+\.(\w+)$", page, re.MULTILINE)) == sorted(public)
    figures = set(re.findall(r"\[!\[[^\]]*\]\(([^)]+)\)\]", made["gallery"]()))
    assert len(figures) > 20
    assert [path for path in figures if not (ROOT / "docs" / path).is_file()] == []
