"""What a command came to, as a shell would see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str

    def refused(self, code: int = 2) -> str:
        """The one line on stderr of a command that ended with this code and printed nothing else."""
        assert (self.code, self.out) == (code, ""), self
        assert self.err.startswith("congenial: "), self
        assert self.err.find("\n") == len(self.err) - 1, self
        return self.err.strip()


Run = Callable[..., Ended]
