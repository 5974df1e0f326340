"""What can be wrong with a run: the kinds of faults that explorations, random runs and replays find."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from congenial.kernel.judge import listed
from congenial.kernel.problem import Problem

SAFETY: Final = "safety"
ILLEGAL: Final = "illegal step"
DEADLOCK: Final = "deadlock"
STARVATION: Final = "starvation"
CONCURRENT_ENTRY: Final = "concurrent entry"
BOUND: Final = "bound"
HISTORY: Final = "history"
LEFT_BEHIND: Final = "left behind"


@final
class Fault:
    """A fault that an exploration found: its kind, what is wrong, and where: after the path to state `index`, and then,
    if `move` is not -1, in that move with that choice, or in the last of `early` deliveries after it."""

    def __init__(self, kind: str, text: str, index: i64, move: i64 = -1, choice: i64 = 0, early: i64 = 0) -> None:
        self.kind = kind
        self.text = text
        self.index = index
        self.move = move
        self.choice = choice
        self.early = early


def kept_out_text(problem: Problem, waiting: list[int]) -> str:
    asked = "all ask for one group" if problem.groups else f"all ask, fewer than k = {problem.capacity} are inside"
    return f"{asked}, none leaves, and {deadlock_text(waiting)}"


def left_behind_text(missing: str) -> str:
    return f"nothing more can happen, and {missing}, which others have"


def deadlock_text(waiting: list[int]) -> str:
    return f"nothing more can happen, and these wait: {listed(waiting)}"
