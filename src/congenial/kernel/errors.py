"""The errors of the laboratory, by name.

Every error a user can meet descends from `CongenialError`, says what happened and where, and, where
something can be done about it, what to do.
"""

from __future__ import annotations


class CongenialError(Exception):
    """The root of all errors raised on purpose by this package."""


class ConfigError(CongenialError, ValueError):
    """An option, file or structure cannot be what was asked for; nothing has been run."""


class ContractError(CongenialError):
    """A node, or the driver of a node, broke the kernel contract; the node's state is unchanged."""


class UnexpectedMessage(ContractError):
    """A message arrived that this node can never be sent."""


class IllegalStep(CongenialError):
    """A node raised, or did what the kernel contract forbids. If it `refused` the event, its state is unchanged;
    otherwise it may be in any state."""

    def __init__(self, text: str, refused: bool = False) -> None:
        super().__init__(text)
        self.refused = refused


class SafetyViolation(CongenialError):
    """Something happened that the problem forbids, such as two holders at once."""
