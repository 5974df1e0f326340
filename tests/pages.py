"""Runs a page of docs as a reader would: top to bottom, in one folder.

- A block after "Save this as `NAME`" becomes that file.
- A ```diff block changes the file that the paragraph before it names.
- In a ```console block, a line `$ command` is run by a shell. The lines after it must be in its output, in that order;
  `...` stands for lines left out. What follows two spaces and a `#` must be in the output, too. A command that ends
  with `&` runs until the page ends.
- A ```python block with `>>>` is a doctest.

Ports 7101, 7102 and 7103 are replaced by free ones.
"""

from __future__ import annotations

import doctest
import os
import re
import select
import shlex
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import congenial
from congenial.cli import main
from congenial.net.config import free_addresses

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"((?:^(?!```)[^\n]+\n)*)\n?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DRIVERS = ("sim", "compare", "check", "fuzz", "replay", "detector", "sweep")
IN_PROCESS = tuple([f"congenial {name} " for name in DRIVERS])  # saves the time to start them
WIDTH = "120"  # of the terminal
VERDICT = re.compile(r"\b(SAFETY|DEADLOCK|STARVATION|CONCURRENT ENTRY|BOUND|ILLEGAL STEP|VIOLATION)\b")


def commands_of(page: Path) -> list[Command]:
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [command for block in blocks for command in Command.all_in(block)]


def environment(folder: Path) -> dict[str, str]:
    """The environment of a reader who has installed the very package that is being tested."""
    tools = folder / ".bin"
    tools.mkdir(exist_ok=True)
    for name in ("congenial", "pytest"):
        script = tools / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        script.chmod(0o755)
    python = tools / "python"
    if not python.exists():
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
    source = str(Path(congenial.__file__).parents[1])
    path = f"{tools}:{os.environ['PATH']}"
    return {**os.environ, "PYTHONPATH": source, "PATH": path, "TMPDIR": str(folder), "COLUMNS": WIDTH}


@dataclass(frozen=True)
class Command:
    text: str
    expected: tuple[str, ...]

    @classmethod
    def all_in(cls, block: str) -> list[Command]:
        found = []
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *lines = part.rstrip("\n").split("\n")
            text, _, said = first.partition("  # ")
            found.append(cls(text, tuple([line.strip() for line in [said, *lines] if line.strip() not in ("", "...")])))
        return found

    @property
    def fails(self) -> bool:
        return any([VERDICT.search(line) for line in self.expected])

    def run(self, folder: Path, env: dict[str, str], any_code: bool = False) -> None:
        """Run it; it must print what is expected, and fail where the expected output says so."""
        words = ["sh", "-c", self.text]
        ended = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=env, timeout=100)
        self.compare(ended.returncode, ended.stdout, ended.stderr, any_code)

    def run_here(self, any_code: bool = False) -> None:
        """The same for a command of congenial, in this process and folder, which saves the time to start it."""
        program, *words = shlex.split(self.text)
        assert program == "congenial"
        out, err = StringIO(), StringIO()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("COLUMNS", WIDTH)
            with pytest.raises(SystemExit) as end, redirect_stdout(out), redirect_stderr(err):
                main(words)
        self.compare(int(end.value.code or 0), out.getvalue(), err.getvalue(), any_code)

    def compare(self, code: int, out: str, err: str, any_code: bool) -> None:
        about = f"$ {self.text}\n{out}{err}"
        assert any_code or code == (1 if self.fails else 0), about
        position = 0
        for line in self.expected:
            place = out.find(line, position)
            assert place >= 0, f"{line!r} is not in the output, or not in this place:\n{about}"
            position = place + len(line)


def text_of(page: Path) -> str:
    """A page, with free ports."""
    text = page.read_text(encoding="utf-8")
    for port, address in zip(("7101", "7102", "7103"), free_addresses(3), strict=True):
        text = text.replace(f"127.0.0.1:{port}", address)
    return text


def run_page(page: Path, folder: Path) -> None:
    env = environment(folder)
    running: list[subprocess.Popen[str]] = []
    names: dict[str, Any] = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for paragraph, language, block in BLOCK.findall(text_of(page)):
            saved = re.search(r"Save this as `([\w./]+)`", paragraph)
            if saved:
                (folder / saved[1]).write_text(block, encoding="utf-8")
            elif language == "diff":
                change(paragraph, block, folder)
            elif language == "console":
                for command in Command.all_in(block):
                    if command.text.endswith("&"):
                        running.append(start(command.text.removesuffix("&"), folder, env))
                    elif command.text.startswith(IN_PROCESS):
                        command.run_here()
                    else:
                        command.run(folder, env)
            elif language == "python" and ">>>" in block:
                session = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
                assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(session, clear_globs=False).failed == 0
                names.update(session.globs)
    finally:
        os.chdir(before)
        for process in running:
            end(process)


def change(paragraph: str, block: str, folder: Path) -> None:
    """Apply a difference to the file that the paragraph names."""
    (name,) = set(re.findall(r"`([\w./]+\.py)`", paragraph))
    lines = block.splitlines()
    old = "".join([f"{line[1:]}\n" for line in lines if not line.startswith("+")])
    new = "".join([f"{line[1:]}\n" for line in lines if not line.startswith("-")])
    text = (folder / name).read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{name} does not have, just once:\n{old}"
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")


def start(command: str, folder: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    """Start a command that goes on, and wait until it has printed its first line, as a reader would."""
    process = subprocess.Popen(
        ["sh", "-c", f"exec {command}"],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 60)
    if not ready:
        end(process)
        raise AssertionError(f"$ {command} & prints nothing")
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
