"""Locks without a lock server, and the laboratory in which the algorithms behind them are simulated and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from congenial.kernel.errors import (
    ConfigError,
    CongenialError,
    ContractError,
    SafetyViolation,
    UnexpectedMessage,
)
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.spec import Law, Option, Spec
from congenial.problems.group import GROUP
from congenial.problems.mutex import MUTEX

if TYPE_CHECKING:
    from congenial.sim.result import Result
    from congenial.sim.simulate import simulate

__version__ = "0.1.0.dev0"

__all__ = [
    "GROUP",
    "MUTEX",
    "ConfigError",
    "CongenialError",
    "ContractError",
    "Law",
    "Message",
    "Node",
    "Option",
    "Out",
    "Result",
    "SafetyViolation",
    "Spec",
    "UnexpectedMessage",
    "__version__",
    "simulate",
]


def __getattr__(name: str) -> object:
    """The simulator is imported when it is first asked for: who only writes a node does not wait for it."""
    if name == "simulate":
        from congenial.sim.simulate import simulate

        return simulate
    if name == "Result":
        from congenial.sim.result import Result

        return Result
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
