"""survivors/: why a mutant survives, by file and name; one page for each algorithm's file.

file = "algorithms/token/raymond_tree.py"

[[survivor]]
kind = "numbering"
why = "..."
mutants = ["..."]  # as `run.py` prints them
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutate import Mutant
from workbench import SOURCES

SURVIVORS = Path(__file__).with_name("survivors")
KINDS = {
    "equivalent": "no run tells it from the original",
    "redundant": "what is changed or left out is never read, or another part of the algorithm does it as well",
    "guard": "it only changes which messages are refused, and in no run any is",
    "numbering": "numbers start elsewhere; only their order matters",
    "order": "the next in turn is another one; nobody waits forever in a bounded run, and fairness is not judged",
    "allowed": "it does something else, which is allowed as well",
    "cost": "it sends more messages, within the law of the spec",
    "unreached": "it may be wrong, but only in runs that are longer or rarer than those that are tried",
}


def entries(folder: Path = SURVIVORS) -> list[dict[str, Any]]:
    """All explanations, each with its file."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*.toml")):
        page = tomllib.loads(path.read_text())
        found += [{"file": page["file"], **entry} for entry in page["survivor"]]
    return found


@dataclass
class Explanations:
    """By file and name of the mutant, why it survives."""

    reasons: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path = SURVIVORS) -> Explanations:
        found: dict[str, dict[str, str]] = defaultdict(dict)
        for entry in entries(folder):
            for name in entry["mutants"]:
                found[entry["file"]][name] = f"{entry['kind']}: {entry['why']}"
        return cls(dict(found))

    def of(self, mutant: Mutant) -> str:
        return self.reasons.get(file_name(mutant.path), {}).get(mutant.name, "")


def file_name(path: Path) -> str:
    return path.relative_to(SOURCES / "congenial").as_posix()
