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
from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout, NotHeld, ProtocolError, WouldDeadlock
from congenial.problems.group import GROUP
from congenial.problems.kmutex import KMUTEX
from congenial.problems.mutex import MUTEX
from congenial.problems.weak import WEAK, Resource

if TYPE_CHECKING:
    from congenial.checker.bounds import Bounds
    from congenial.checker.check import check
    from congenial.checker.counterexample import Counterexample
    from congenial.checker.fuzz import FuzzResult, fuzz
    from congenial.checker.replay import Replay, replay
    from congenial.checker.result import CheckResult
    from congenial.lab.api import compare, reproduce, sweep
    from congenial.lab.comparison import Comparison
    from congenial.lab.reproduction import Reproduction
    from congenial.lab.results import SweepResult
    from congenial.lab.runner import Status
    from congenial.lab.sweep import Sweep
    from congenial.net.blocking import BlockingCluster, join_blocking
    from congenial.net.blocking_locks import BlockingGuarded, BlockingHeld, BlockingLock, BlockingSection
    from congenial.net.config import ClusterConfig, Timing
    from congenial.net.guarded import Guarded, Section
    from congenial.net.held import Held
    from congenial.net.locks import Cluster, Lock, join
    from congenial.net.tls import Tls
    from congenial.sim.arrivals import Arrival
    from congenial.sim.chance import Constant, Distribution, Exponential, LogNormal, Measured, Uniform
    from congenial.sim.faults import MessageFault, Outage, Partition, RandomOutages, RandomPartitions
    from congenial.sim.result import Result
    from congenial.sim.scenario import Scenario
    from congenial.sim.simulate import simulate

__version__ = "0.1.0.dev0"

__all__ = [
    "GROUP",
    "KMUTEX",
    "MUTEX",
    "WEAK",
    "Arrival",
    "BlockingCluster",
    "BlockingGuarded",
    "BlockingHeld",
    "BlockingLock",
    "BlockingSection",
    "Bounds",
    "CheckResult",
    "Cluster",
    "ClusterConfig",
    "ClusterDegraded",
    "Comparison",
    "ConfigError",
    "CongenialError",
    "Constant",
    "ContractError",
    "Counterexample",
    "Distribution",
    "Effect",
    "Event",
    "Exponential",
    "FuzzResult",
    "Groups",
    "Guarded",
    "Held",
    "IllegalStep",
    "Law",
    "Lock",
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
    "Replay",
    "Reproduction",
    "Resource",
    "Result",
    "SafetyViolation",
    "Scenario",
    "Section",
    "Spec",
    "Status",
    "Sweep",
    "SweepResult",
    "Timing",
    "Tls",
    "UnexpectedMessage",
    "Uniform",
    "WouldDeadlock",
    "__version__",
    "check",
    "compare",
    "fuzz",
    "join",
    "join_blocking",
    "replay",
    "reproduce",
    "simulate",
    "sweep",
]


LAZY = {
    "Arrival": "congenial.sim.arrivals",
    "BlockingCluster": "congenial.net.blocking",
    "BlockingGuarded": "congenial.net.blocking_locks",
    "BlockingHeld": "congenial.net.blocking_locks",
    "BlockingLock": "congenial.net.blocking_locks",
    "BlockingSection": "congenial.net.blocking_locks",
    "Bounds": "congenial.checker.bounds",
    "CheckResult": "congenial.checker.result",
    "Cluster": "congenial.net.locks",
    "ClusterConfig": "congenial.net.config",
    "Comparison": "congenial.lab.comparison",
    "Constant": "congenial.sim.chance",
    "Counterexample": "congenial.checker.counterexample",
    "Distribution": "congenial.sim.chance",
    "Exponential": "congenial.sim.chance",
    "FuzzResult": "congenial.checker.fuzz",
    "Guarded": "congenial.net.guarded",
    "Held": "congenial.net.held",
    "Lock": "congenial.net.locks",
    "LogNormal": "congenial.sim.chance",
    "Measured": "congenial.sim.chance",
    "MessageFault": "congenial.sim.faults",
    "Outage": "congenial.sim.faults",
    "Partition": "congenial.sim.faults",
    "RandomOutages": "congenial.sim.faults",
    "RandomPartitions": "congenial.sim.faults",
    "Replay": "congenial.checker.replay",
    "Reproduction": "congenial.lab.reproduction",
    "Result": "congenial.sim.result",
    "Scenario": "congenial.sim.scenario",
    "Section": "congenial.net.guarded",
    "Status": "congenial.lab.runner",
    "Sweep": "congenial.lab.sweep",
    "SweepResult": "congenial.lab.results",
    "Timing": "congenial.net.config",
    "Tls": "congenial.net.tls",
    "Uniform": "congenial.sim.chance",
    "check": "congenial.checker.check",
    "compare": "congenial.lab.api",
    "fuzz": "congenial.checker.fuzz",
    "join": "congenial.net.locks",
    "join_blocking": "congenial.net.blocking",
    "replay": "congenial.checker.replay",
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
