"""Locks without a lock server, and the laboratory in which the algorithms behind them are simulated and checked.

For programs: `join` or `join_blocking` a cluster and take locks. For the laboratory: `simulate`, `check`, `fuzz`,
`replay`, `compare`, `sweep` and `reproduce`. To write an algorithm: `Node`, `Message`, `Out` and `Spec`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from congenial.kernel.effects import Effect
from congenial.kernel.errors import (
    ConfigError,
    CongenialError,
    ContractError,
    IllegalStep,
    SafetyViolation,
    UnexpectedMessage,
)
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out, Outbox
from congenial.kernel.part import Part
from congenial.kernel.problem import Groups, Problem
from congenial.kernel.spec import Law, Option, Spec
from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout, NotHeld, ProtocolError
from congenial.problems.group import GROUP
from congenial.problems.kmutex import KMUTEX
from congenial.problems.mutex import MUTEX
from congenial.problems.weak import WEAK

if TYPE_CHECKING:
    from congenial.checker.check import check
    from congenial.checker.fuzz import fuzz
    from congenial.net.blocking import join_blocking
    from congenial.net.locks import join
    from congenial.sim.result import Result
    from congenial.sim.simulate import simulate

__version__ = "0.1.0.dev0"

__all__ = [
    "GROUP",
    "KMUTEX",
    "MUTEX",
    "WEAK",
    "ClusterDegraded",
    "ConfigError",
    "CongenialError",
    "ContractError",
    "Effect",
    "Groups",
    "IllegalStep",
    "Law",
    "LockLost",
    "LockTimeout",
    "Message",
    "Node",
    "NotHeld",
    "Option",
    "Out",
    "Outbox",
    "Part",
    "Problem",
    "ProtocolError",
    "Result",
    "SafetyViolation",
    "Spec",
    "UnexpectedMessage",
    "__version__",
    "check",
    "fuzz",
    "join",
    "join_blocking",
    "simulate",
]


LAZY = {
    "Result": "congenial.sim.result",
    "check": "congenial.checker.check",
    "fuzz": "congenial.checker.fuzz",
    "join": "congenial.net.locks",
    "join_blocking": "congenial.net.blocking",
    "simulate": "congenial.sim.simulate",
}


def __getattr__(name: str) -> object:
    """Drivers are imported when they are first used: a program that only writes a node does not wait for them."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
