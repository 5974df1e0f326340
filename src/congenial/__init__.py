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
from congenial.net.errors import ClusterDegraded, LockTimeout, NotHeld, ProtocolError
from congenial.problems.group import GROUP
from congenial.problems.mutex import MUTEX

if TYPE_CHECKING:
    from congenial.net.blocking import join_blocking
    from congenial.net.locks import join
    from congenial.sim.result import Result
    from congenial.sim.simulate import simulate

__version__ = "0.1.0.dev0"

__all__ = [
    "GROUP",
    "MUTEX",
    "ClusterDegraded",
    "ConfigError",
    "CongenialError",
    "ContractError",
    "Law",
    "LockTimeout",
    "Message",
    "Node",
    "NotHeld",
    "Option",
    "Out",
    "ProtocolError",
    "Result",
    "SafetyViolation",
    "Spec",
    "UnexpectedMessage",
    "__version__",
    "join",
    "join_blocking",
    "simulate",
]


def __getattr__(name: str) -> object:
    """Simulator and network are imported when first asked for: who only writes a node does not wait for them."""
    if name == "simulate":
        from congenial.sim.simulate import simulate

        return simulate
    if name == "Result":
        from congenial.sim.result import Result

        return Result
    if name == "join":
        from congenial.net.locks import join

        return join
    if name == "join_blocking":
        from congenial.net.blocking import join_blocking

        return join_blocking
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
