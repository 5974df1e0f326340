"""Locks without a lock server, and the laboratory in which the algorithms behind them are simulated and checked."""

from __future__ import annotations

from importlib import import_module
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
from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout, NotHeld, ProtocolError
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
    "LockLost",
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


LAZY = {
    "Result": "congenial.sim.result",
    "join": "congenial.net.locks",
    "join_blocking": "congenial.net.blocking",
    "simulate": "congenial.sim.simulate",
}


def __getattr__(name: str) -> object:
    """Simulator and network are imported when first asked for: who only writes a node does not wait for them."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
