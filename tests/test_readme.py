"""The README's examples are run, and its table is what the tool prints; `--rewrite` puts the present one there."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import congenial as package
from congenial.net.config import free_addresses

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
SHELL = [line[2:] for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
TABLE = re.compile(r"`congenial (compare [^`]*--markdown)` prints\n\n((?:\|.*\n)+)")


def congenial(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with the very package that is being tested."""
    words = [sys.executable, "-m", "congenial", *shlex.split(command, comments=True)]
    env = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, env=env, timeout=60)


def test_the_python_session() -> None:
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    session = doctest.DocTestParser().get_doctest("".join(blocks), {}, "README.md", "README.md", 0)
    assert len(session.examples) >= 4
    assert doctest.DocTestRunner().run(session).failed == 0


def test_there_is_a_shell_session() -> None:
    assert len(SHELL) >= 5


@pytest.mark.parametrize("line", SHELL)
def test_the_shell_session(line: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    program, _, command = line.partition(" ")
    assert program == "congenial"
    ended = congenial(command, tmp_path)
    assert ended.returncode == (1 if "exit code 1" in line else 0), ended.stderr
    assert ended.stdout


def test_the_table(tmp_path: Path, rewrite: bool) -> None:
    found = TABLE.search(TEXT)
    assert found is not None
    ended = congenial(found[1], tmp_path)
    table = ended.stdout
    assert ended.returncode == 0, ended.stderr
    if rewrite:
        README.write_text(TEXT[: found.start(2)] + table + TEXT[found.end(2) :], encoding="utf-8")
    else:
        assert found[2] == table


def test_links_lead_somewhere() -> None:
    for page in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / page).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page} points to {target}"


def test_the_lock_example_is_the_program_and_runs(tmp_path: Path) -> None:
    program = (ROOT / "examples" / "three_nodes.py").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```py\n(.*?)```", TEXT, re.DOTALL)
    assert program.endswith(f"\n\n{shown}")
    for port, address in zip(("7101", "7102", "7103"), free_addresses(3), strict=True):
        shown = shown.replace(f"127.0.0.1:{port}", address)
    script = tmp_path / "three_nodes.py"
    script.write_text(shown)
    ended = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])},
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    heard = re.findall(r"(\w) hears (disc-\d), fence (\d+)", ended.stdout)
    assert sorted((name, disc) for name, disc, _ in heard) == [("a", "disc-7"), ("b", "disc-7"), ("c", "disc-2")]
    assert ended.stdout.count("guest book") == 3
