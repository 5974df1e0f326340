"""Errors. Every error that a user can meet is a `CongenialError` and says what happened, where, and what to do."""

from __future__ import annotations


class CongenialError(Exception):
    """Base of all errors that this package raises on purpose."""


class ConfigError(CongenialError, ValueError):
    """An option, a file or a structure is not valid; nothing has been run."""


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
