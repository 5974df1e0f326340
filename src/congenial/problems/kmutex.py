"""Mutual exclusion with k entries: at most k processes inside, and while there are fewer, none has to wait for them.

The second half distinguishes a semaphore from k queues: while fewer than k are inside, one of those that ask is
admitted, even if the others stay (Velazquez 1993, section 6; Raymond 1989 and Kakugawa et al. 1994 promise it).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from congenial.kernel.errors import ConfigError
from congenial.kernel.problem import Problem
from congenial.kernel.spec import Option


class KMutex(Problem):
    """Up to k processes may be inside. An algorithm says what k is by an option that sets the variable k of the cost
    laws, such as `K_OPTION`.

    >>> three = KMUTEX.sized({"k": 3})
    >>> three.admits(inside=2, current=0, group=0), three.admits(inside=3, current=0, group=0)
    (True, False)
    """

    def __init__(self, k: int) -> None:
        super().__init__("kmutex", groups=False, concurrent_entry=True, capacity=k)

    def sized(self, sizes: Mapping[str, int]) -> Problem:
        if "k" not in sizes:
            raise ConfigError("an algorithm for k entries needs an option that says what k is (Option.variable: 'k')")
        return KMutex(sizes["k"])

    def admits(self, inside: int, current: int, group: int) -> bool:
        return inside < self.capacity

    def may_follow(self, last_fence: int, last_group: int, fence: int, group: int) -> bool:
        """None of those inside is out of date because another came later: they may share a fence. It grows only from
        epoch to epoch (`congenial.problems.epochs`)."""
        return fence >= last_fence


def build_k(text: str, n: int) -> int:
    try:
        k = int(text)
    except ValueError:
        raise ConfigError(f"k must be a whole number, not {text!r}") from None
    if k < 1:
        raise ConfigError(f"k must be at least 1, not {k}: how many processes may be inside together")
    return k


KMUTEX: Final = KMutex(1)
K_OPTION: Final = Option("k", "2", "how many processes may be inside together", build_k, "k", ("1", "2", "3"))
