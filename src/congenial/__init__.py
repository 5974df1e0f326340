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
from congenial.kernel.spec import Interchangeable, Law, Option, Spec
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
    from congenial.checker.stepper import Action
    from congenial.lab.api import compare, reproduce, sweep
    from congenial.lab.claims import Claim, Finding, Judged
    from congenial.lab.comparison import Comparison
    from congenial.lab.replication import Record, Replication
    from congenial.lab.reproduction import Reproduction
    from congenial.lab.results import Estimate, SweepResult
    from congenial.lab.runner import Status
    from congenial.lab.sweep import Sweep
    from congenial.net.acquiring import Acquirable
    from congenial.net.blocking import BlockingCluster, join_blocking
    from congenial.net.blocking_client import BlockingClient, connect_blocking
    from congenial.net.blocking_locks import BlockingGuarded, BlockingHeld, BlockingLock, BlockingSection
    from congenial.net.client import Client, RemoteHeld, RemoteLock, connect
    from congenial.net.config import ClusterConfig, Timing
    from congenial.net.guarded import Guarded, Section
    from congenial.net.held import Held, Loss
    from congenial.net.joining import join
    from congenial.net.locks import Cluster, Lock
    from congenial.net.members import Member
    from congenial.net.primitives.barrier import BarrierBroken, ClusterBarrier
    from congenial.net.primitives.blocking import (
        BlockingAllOf,
        BlockingBarrier,
        BlockingCondition,
        BlockingEvent,
        BlockingLatch,
        BlockingLead,
        BlockingOnce,
    )
    from congenial.net.primitives.condition import ClusterCondition
    from congenial.net.primitives.event import ClusterEvent
    from congenial.net.primitives.latch import Latch
    from congenial.net.primitives.leading import Lead
    from congenial.net.primitives.once import Once
    from congenial.net.primitives.together import AllOf
    from congenial.net.replica import Machine
    from congenial.net.threaded import (
        ThreadedCluster,
        ThreadedGuarded,
        ThreadedHeld,
        ThreadedLock,
        ThreadedSection,
    )
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
    "Acquirable",
    "Action",
    "AllOf",
    "Arrival",
    "BarrierBroken",
    "BlockingAllOf",
    "BlockingBarrier",
    "BlockingClient",
    "BlockingCluster",
    "BlockingCondition",
    "BlockingEvent",
    "BlockingGuarded",
    "BlockingHeld",
    "BlockingLatch",
    "BlockingLead",
    "BlockingLock",
    "BlockingOnce",
    "BlockingSection",
    "Bounds",
    "CheckResult",
    "Claim",
    "Client",
    "Cluster",
    "ClusterBarrier",
    "ClusterCondition",
    "ClusterConfig",
    "ClusterDegraded",
    "ClusterEvent",
    "Comparison",
    "ConfigError",
    "CongenialError",
    "Constant",
    "ContractError",
    "Counterexample",
    "Distribution",
    "Effect",
    "Estimate",
    "Event",
    "Exponential",
    "Finding",
    "FuzzResult",
    "Groups",
    "Guarded",
    "Held",
    "IllegalStep",
    "Interchangeable",
    "Judged",
    "Latch",
    "Law",
    "Lead",
    "Lock",
    "LockLost",
    "LockTimeout",
    "LogNormal",
    "Loss",
    "Machine",
    "Measured",
    "Member",
    "Message",
    "MessageFault",
    "Node",
    "NotHeld",
    "Once",
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
    "Record",
    "RemoteHeld",
    "RemoteLock",
    "Replay",
    "Replication",
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
    "ThreadedCluster",
    "ThreadedGuarded",
    "ThreadedHeld",
    "ThreadedLock",
    "ThreadedSection",
    "Timing",
    "Tls",
    "UnexpectedMessage",
    "Uniform",
    "WouldDeadlock",
    "__version__",
    "check",
    "compare",
    "connect",
    "connect_blocking",
    "fuzz",
    "join",
    "join_blocking",
    "replay",
    "reproduce",
    "simulate",
    "sweep",
]


LAZY = {
    "Acquirable": "congenial.net.acquiring",
    "Action": "congenial.checker.stepper",
    "AllOf": "congenial.net.primitives.together",
    "Arrival": "congenial.sim.arrivals",
    "BarrierBroken": "congenial.net.primitives.barrier",
    "BlockingAllOf": "congenial.net.primitives.blocking",
    "BlockingBarrier": "congenial.net.primitives.blocking",
    "BlockingClient": "congenial.net.blocking_client",
    "BlockingCluster": "congenial.net.blocking",
    "BlockingCondition": "congenial.net.primitives.blocking",
    "BlockingEvent": "congenial.net.primitives.blocking",
    "BlockingGuarded": "congenial.net.blocking_locks",
    "BlockingHeld": "congenial.net.blocking_locks",
    "BlockingLatch": "congenial.net.primitives.blocking",
    "BlockingLead": "congenial.net.primitives.blocking",
    "BlockingLock": "congenial.net.blocking_locks",
    "BlockingOnce": "congenial.net.primitives.blocking",
    "BlockingSection": "congenial.net.blocking_locks",
    "Bounds": "congenial.checker.bounds",
    "CheckResult": "congenial.checker.result",
    "Claim": "congenial.lab.claims",
    "Client": "congenial.net.client",
    "Cluster": "congenial.net.locks",
    "ClusterBarrier": "congenial.net.primitives.barrier",
    "ClusterCondition": "congenial.net.primitives.condition",
    "ClusterConfig": "congenial.net.config",
    "ClusterEvent": "congenial.net.primitives.event",
    "Comparison": "congenial.lab.comparison",
    "Constant": "congenial.sim.chance",
    "Counterexample": "congenial.checker.counterexample",
    "Distribution": "congenial.sim.chance",
    "Estimate": "congenial.lab.results",
    "Exponential": "congenial.sim.chance",
    "Finding": "congenial.lab.claims",
    "FuzzResult": "congenial.checker.fuzz",
    "Guarded": "congenial.net.guarded",
    "Held": "congenial.net.held",
    "Judged": "congenial.lab.claims",
    "Latch": "congenial.net.primitives.latch",
    "Lead": "congenial.net.primitives.leading",
    "Lock": "congenial.net.locks",
    "LogNormal": "congenial.sim.chance",
    "Loss": "congenial.net.held",
    "Machine": "congenial.net.replica",
    "Measured": "congenial.sim.chance",
    "Member": "congenial.net.members",
    "MessageFault": "congenial.sim.faults",
    "Once": "congenial.net.primitives.once",
    "Outage": "congenial.sim.faults",
    "Partition": "congenial.sim.faults",
    "RandomOutages": "congenial.sim.faults",
    "RandomPartitions": "congenial.sim.faults",
    "Record": "congenial.lab.replication",
    "RemoteHeld": "congenial.net.client",
    "RemoteLock": "congenial.net.client",
    "Replay": "congenial.checker.replay",
    "Replication": "congenial.lab.replication",
    "Reproduction": "congenial.lab.reproduction",
    "Result": "congenial.sim.result",
    "Scenario": "congenial.sim.scenario",
    "Section": "congenial.net.guarded",
    "Status": "congenial.lab.runner",
    "Sweep": "congenial.lab.sweep",
    "SweepResult": "congenial.lab.results",
    "ThreadedCluster": "congenial.net.threaded",
    "ThreadedGuarded": "congenial.net.threaded",
    "ThreadedHeld": "congenial.net.threaded",
    "ThreadedLock": "congenial.net.threaded",
    "ThreadedSection": "congenial.net.threaded",
    "Timing": "congenial.net.config",
    "Tls": "congenial.net.tls",
    "Uniform": "congenial.sim.chance",
    "check": "congenial.checker.check",
    "compare": "congenial.lab.api",
    "connect": "congenial.net.client",
    "connect_blocking": "congenial.net.blocking_client",
    "fuzz": "congenial.checker.fuzz",
    "join": "congenial.net.joining",
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
