"""A command that ends with an exit code of its own, and says why in one line."""

from __future__ import annotations

from congenial.kernel.errors import CongenialError


class CommandFailure(CongenialError):
    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
