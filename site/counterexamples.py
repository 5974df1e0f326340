"""Pages of the errata's counterexamples, one for each command that finds one: to step through, in any browser."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
ERRATA = "errata.md"
BLOCK = re.compile(r"^```console\n(?P<commands>.*?)^```\n", re.MULTILINE | re.DOTALL)
FOUND = re.compile(r"^\$ (?P<command>congenial (?:check|fuzz) .*?)  # [A-Z][A-Z ]+$", re.MULTILINE)  # a verdict


def addresses() -> dict[str, str]:
    """The commands of the errata that find a counterexample, and where its page is on the site."""
    text = (ROOT / "docs" / ERRATA).read_text(encoding="utf-8")
    commands = dict.fromkeys([match["command"] for match in FOUND.finditer(text)])
    return {command: f"counterexamples/{number:02}.html" for number, command in enumerate(commands, 1)}


@cache
def pages() -> dict[str, bytes]:
    """The pages, by address. Each takes its command about a second."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(page, addresses())
    return dict(zip(addresses().values(), made, strict=True))


def page(command: str) -> bytes:
    environment = dict(os.environ)
    if find_spec("congenial") is None:
        environment["PYTHONPATH"] = str(ROOT / "src")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        words = [sys.executable, "-m", *shlex.split(command), "--html", str(path)]
        ended = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if ended.returncode != 1:
            raise RuntimeError(f"{command}: exit code {ended.returncode}, not 1\n{ended.stderr}")
        return path.read_bytes()


def with_links(markdown: str) -> str:
    """The errata, with a link to each page below its command."""
    known = addresses()

    def linked(block: re.Match[str]) -> str:
        found = [known[match["command"]] for match in FOUND.finditer(block["commands"])]
        links = " ".join([f"[Step through the counterexample]({address})" for address in found])
        return f"{block[0]}\n{links}\n" if links else block[0]

    return BLOCK.sub(linked, markdown)
