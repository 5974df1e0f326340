"""The benchmark that compares the algorithms behind the locks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from processes import running

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "locks.py"
COMMAND = [sys.executable, str(SCRIPT), "--algorithm"]


@pytest.mark.deep
def test_algorithms_are_compared_over_sockets() -> None:
    words = [
        *COMMAND,
        "token-gme",
        "--algorithm",
        "naimi-trehel+epochs",
        "--members",
        "2,3",
        "--seconds",
        "0.6",
        "--json",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    seen = [(row["members"], row["load"], row["algorithm"]) for row in rows]
    loads = ("groups-2", "groups-10", "readers", "again")
    assert seen == [(n, load, name) for n in (2, 3) for load in loads for name in ("token-gme", "naimi-trehel+epochs")]
    for row in rows:
        assert row["entries"] > 0, row
        assert 0 <= row["p50"] <= row["p99"], row
        if row["load"] == "again":
            assert row["messages"] < 1, f"whoever held a lock last has it for nothing: {row}"
        else:
            assert 0 < row["messages"] <= 2 * row["members"] + 1, row
            assert row["bytes"] > 10 * row["messages"], row


@pytest.mark.deep
def test_a_member_that_ends_ends_the_benchmark(tmp_path: Path) -> None:
    """No process is left, whatever happens."""
    broken = tmp_path / "broken.py"
    broken.write_text(
        "from congenial.algorithms.group.token_gme import TokenGME\n"
        "class Broken(TokenGME):\n"
        "    def release(self, out):\n"
        "        raise ValueError('broken on purpose')\n"
    )
    done = subprocess.run(
        [*COMMAND, f"{broken}:Broken", "--members", "3", "--seconds", "0.6"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1
    assert "broken on purpose" in done.stderr
    assert "a process of the benchmark has ended with code 1; its error is above" in done.stderr
    assert not [pid for pid in running() if str(broken) in words_of(pid)]


def words_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["tokn-gme"], "unknown algorithm 'tokn-gme': did you mean 'token-gme'?"),
        (["token-gme", "--members", "3;8"], "--members must be numbers with commas between them, not '3;8'"),
        (["token-gme", "--scenarios", "eight"], "the scenarios are groups-2, groups-10, readers, again, not 'eight'"),
        (["token-gme", "--only", "redis"], "--only and --install are for other systems"),
    ],
)
def test_what_cannot_be_compared_is_refused(words: list[str], reason: str) -> None:
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert reason in done.stderr
