"""The node behind a guarded object: WME-2, changed to run without end (Romano & Rodrigues 2009, figure 4).

In WME-2 the outcome of an operation takes its issuer as few steps as in WME-1, with far fewer messages. Crashes are
permanent, and while a process is down the others keep more and more for it. Here that is bounded:

- The holder of the token ends the epoch when there are many operations that some process may lack. No process needs to
  suspect another one for that: it is as if one that is slow to tell had done so. The holder does it right after an
  answer, when a majority knows that it holds the token. So every report that can be decided names it, and it stays
  inside.
- The holder also does so when the entries of an epoch use up the bits that a fence has for them, but after leaving.
- A decision is forgotten when everyone has been heard in a later epoch. Processes that were given up do not count.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, cast

from congenial.algorithms.weak.weak_node import Progress
from congenial.algorithms.weak.wme1 import EpochMessage
from congenial.algorithms.weak.wme2 import WME2
from congenial.kernel.errors import ContractError
from congenial.kernel.message import Message, Messages
from congenial.kernel.node import INSIDE, Node
from congenial.kernel.out import Out
from congenial.kernel.shell import ProcessEvent
from congenial.kernel.state import attributes, freeze, thaw
from congenial.net.saved import SavedForm
from congenial.problems.epochs import EPOCH_BITS
from congenial.problems.weak import Resource

LONGEST_HISTORY = 128  # operations; they must fit into one frame, and more than `WME2.interval` are usual
MOST_ENTRIES = 1 << EPOCH_BITS - 1  # in an epoch


class Machine(Protocol):
    """A deterministic state machine that a program provides. It may have two more methods: `snapshot()` returns its
    state as bytes, and `restore(state)` takes over such a state. Without them its attributes must be plain data.

    >>> class Counter:
    ...     def __init__(self):
    ...         self.total = 0
    ...
    ...     def apply(self, operation):
    ...         self.total += operation
    ...         return self.total
    >>> machine: Machine = Counter()
    >>> machine.apply(3)
    3
    """

    def apply(self, operation: Any) -> Any:
        """Execute an operation."""


@dataclass(frozen=True)
class Raised:
    """The result of an operation that raised an exception: at every replica, or the machine is not deterministic."""

    error: str


class Replica(Resource):
    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def snapshot(self) -> bytes:
        if not has_snapshots(self.machine):
            values = {name: getattr(self.machine, name) for name in attributes(self.machine)}
            return SavedForm().encode(freeze((type(self.machine).__name__, values)))
        state = cast(Any, self.machine).snapshot()
        if not isinstance(state, (bytes, bytearray, memoryview)):
            raise ContractError(f"{type(self.machine).__name__}.snapshot() must return bytes, not {state!r}")
        return bytes(state)

    def restore(self, state: bytes) -> None:
        machine: Any = self.machine
        if has_snapshots(machine):
            machine.restore(state)
            return
        told: Any = thaw(SavedForm().decode(state))
        kind, values = told
        if kind != type(machine).__name__:
            raise ContractError(f"the others guard a {kind}, not a {type(machine).__name__}")
        for name in set(attributes(machine)) - set(values):
            delattr(machine, name)
        for name in values:
            object.__setattr__(machine, name, values[name])

    def apply(self, operation: object) -> object:
        try:
            return self.machine.apply(operation)
        except Exception as error:
            return Raised(f"{type(error).__name__}: {error}")


def has_snapshots(machine: object) -> bool:
    return callable(getattr(machine, "snapshot", None)) and callable(getattr(machine, "restore", None))


def copied(machine: Machine) -> Machine:
    """A machine of its own for a replica. `ContractError` if it has no snapshots and is not plain data, either."""
    return machine if has_snapshots(machine) else deepcopy(machine)


@dataclass(frozen=True)
class Barred(Message):
    """To a process that is too far behind: the sender has given it up."""


@dataclass(frozen=True)
class Gone(Message):
    """The sender has stopped taking part."""


class Replicated(WME2):
    messages: ClassVar[Messages] = (*WME2.messages, Barred, Gone)

    def __init__(self, me: int, n: int, resource: Resource) -> None:
        super().__init__(me, n, resource)
        self.epochs = [0] * n  # in which each was last heard
        self.given_up: set[int] = set()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        super().receive(src, msg, out)
        if isinstance(msg, (EpochMessage, Progress)) and msg.epoch > self.epochs[src]:
            self.epochs[src] = msg.epoch
            self._forget_decisions()

    def release(self, out: Out) -> None:
        if self.entries >= MOST_ENTRIES and not self.blocked:
            self.leave()
            self._stop(out)
            self._go_on(out)
        else:
            super().release(out)

    def give_up(self, peer: int, out: Out) -> None:
        """The peer will not come back."""
        self.given_up.add(peer)
        self._forget_decisions()
        self.on_suspect(peer, out)

    def _go_on(self, out: Out) -> None:
        super()._go_on(out)
        holds = self.owner == self.me and self.phase == INSIDE and self.pending is None
        if holds and not self.blocked and len(self.history) >= LONGEST_HISTORY:
            self._stop(out)

    def _forget_decisions(self) -> None:
        others = [self.epochs[peer] for peer in range(self.n) if peer != self.me and peer not in self.given_up]
        self.consensus.forget(min([self.epoch, *others]))


class GivenUp(ProcessEvent):
    """A peer will not come back."""

    def __init__(self, peer: int) -> None:
        self.peer = peer

    def reach(self, node: Node, out: Out) -> None:
        assert isinstance(node, Replicated)
        node.give_up(self.peer, out)
