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
from congenial.kernel.trace import Event
from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout, NotHeld, ProtocolError
from congenial.problems.group import GROUP
from congenial.problems.kmutex import KMUTEX
from congenial.problems.mutex import MUTEX
from congenial.problems.weak import WEAK

if TYPE_CHECKING:
    from congenial.checker.check import check
    from congenial.checker.fuzz import fuzz
    from congenial.lab.api import compare, reproduce, sweep
    from congenial.lab.comparison import Comparison
    from congenial.lab.reproduction import Reproduction
    from congenial.lab.results import SweepResult
    from congenial.lab.runner import Status
    from congenial.lab.sweep import Sweep
    from congenial.net.blocking import join_blocking
    from congenial.net.locks import join
    from congenial.sim.chance import Constant, Distribution, Exponential, LogNormal, Measured, Uniform
    from congenial.sim.faults import MessageFault, Outage, Partition, RandomOutages, RandomPartitions
    from congenial.sim.result import Result
    from congenial.sim.scenario import Scenario
    from congenial.sim.simulate import simulate
    from congenial.sim.workload import Arrival

__version__ = "0.1.0.dev0"

__all__ = [
    "GROUP",
    "KMUTEX",
    "MUTEX",
    "WEAK",
    "Arrival",
    "ClusterDegraded",
    "Comparison",
    "ConfigError",
    "CongenialError",
    "Constant",
    "ContractError",
    "Distribution",
    "Effect",
    "Event",
    "Exponential",
    "Groups",
    "IllegalStep",
    "Law",
    "LockLost",
    "LockTimeout",
    "LogNormal",
    "Measured",
    "Message",
    "MessageFault",
    "Node",
    "NotHeld",
    "Option",
    "Out",
    "Outage",
    "Outbox",
    "Part",
    "Partition",
    "Problem",
    "ProtocolError",
    "RandomOutages",
    "RandomPartitions",
    "Reproduction",
    "Result",
    "SafetyViolation",
    "Scenario",
    "Spec",
    "Status",
    "Sweep",
    "SweepResult",
    "UnexpectedMessage",
    "Uniform",
    "__version__",
    "check",
    "compare",
    "fuzz",
    "join",
    "join_blocking",
    "reproduce",
    "simulate",
    "sweep",
]


LAZY = {
    "Arrival": "congenial.sim.workload",
    "Comparison": "congenial.lab.comparison",
    "Constant": "congenial.sim.chance",
    "Distribution": "congenial.sim.chance",
    "Exponential": "congenial.sim.chance",
    "LogNormal": "congenial.sim.chance",
    "Measured": "congenial.sim.chance",
    "MessageFault": "congenial.sim.faults",
    "Outage": "congenial.sim.faults",
    "Partition": "congenial.sim.faults",
    "RandomOutages": "congenial.sim.faults",
    "RandomPartitions": "congenial.sim.faults",
    "Reproduction": "congenial.lab.reproduction",
    "Result": "congenial.sim.result",
    "Scenario": "congenial.sim.scenario",
    "Status": "congenial.lab.runner",
    "Sweep": "congenial.lab.sweep",
    "SweepResult": "congenial.lab.results",
    "Uniform": "congenial.sim.chance",
    "check": "congenial.checker.check",
    "compare": "congenial.lab.api",
    "fuzz": "congenial.checker.fuzz",
    "join": "congenial.net.locks",
    "join_blocking": "congenial.net.blocking",
    "reproduce": "congenial.lab.api",
    "simulate": "congenial.sim.simulate",
    "sweep": "congenial.lab.api",
}


def __getattr__(name: str) -> object:
    """Drivers are imported when they are first used: a program that only writes a node does not wait for them."""
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
