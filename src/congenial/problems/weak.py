"""Weak mutual exclusion over a replicated resource (Romano & Rodrigues 2009, sections 2 and 3).

Every process has a replica of the resource, a deterministic state machine that the user provides. A process that is
inside issues operations, one after the other. Each is executed by all replicas in one order, and then answered.
Exclusion is weak: a process that is suspected to have crashed is ejected, and may for a while overlap with others. But
it cannot change anything: an operation that it still waits for fails, which means that no replica ever executes it.

For a driver. While a node is inside (`Node.phase`) and no operation is pending, the application may call `Node.issue`.
The node then calls either `Out.answer` with the operation's number (its operations are numbered from 1) and the result,
or `Out.eject`, in which case the operation has failed; if both in one step, the answer came first. Until then the
application neither issues nor leaves. `Out.execute` reports what the local replica does, for the record.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from typing import Final

from mypy_extensions import mypyc_attr

from congenial.kernel.errors import ConfigError, ContractError
from congenial.kernel.problem import Problem
from congenial.problems.epochs import EPOCH_BITS, InEpochs
from congenial.problems.mutex import MUTEX


class Weak(InEpochs):
    """A problem in epochs whose holders issue operations on a replicated resource.

    >>> WEAK.operations, WEAK.name
    (True, 'weak mutex')
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.name = f"weak {problem.name}"
        self.operations = True

    def sized(self, sizes: Mapping[str, int]) -> Problem:
        return Weak(self.problem.sized(sizes))


WEAK: Final = Weak(MUTEX)


def fence_of(epoch: int, count: int) -> int:
    return (epoch << EPOCH_BITS) + count


# -- the resource ------------------------------------------------------------------------------------------


@mypyc_attr(allow_interpreted_subclasses=True)
class Resource:
    """A deterministic state machine: equal operations in an equal order give equal results and an equal state. Its
    attributes are its state. They are plain data, as a node's are; so are operations and results, which travel in
    messages.

    >>> class Tally(Resource):
    ...     def __init__(self):
    ...         self.votes = 0
    ...     def apply(self, operation):
    ...         self.votes += 1
    ...         return self.votes
    >>> Tally().apply("yes")
    1
    """

    def apply(self, operation: object) -> object:
        """Execute an operation. One that does not fit changes nothing, and its result says so."""
        raise NotImplementedError

    def snapshot(self) -> bytes:
        """The whole state, for `restore`. Only where replicas are replaced (`congenial.parts.replica`)."""
        raise ContractError(f"{type(self).__name__} has no snapshot()")

    def restore(self, state: bytes) -> None:
        """Take over the state of another replica."""
        raise ContractError(f"{type(self).__name__} has no restore()")

    def example(self, process: int, number: int) -> object:
        """An example operation, for a process to issue in a simulation or a check."""
        return (process, number)


@mypyc_attr(allow_interpreted_subclasses=True)
class Journal(Resource):
    """Keeps every operation; the result is its place. Every difference between replicas shows."""

    def __init__(self) -> None:
        self.lines: list[object] = []

    def apply(self, operation: object) -> object:
        self.lines.append(operation)
        return len(self.lines)

    def snapshot(self) -> bytes:
        return repr(self.lines).encode()

    def restore(self, state: bytes) -> None:
        self.lines = literal_eval(state.decode())


@mypyc_attr(allow_interpreted_subclasses=True)
class Counter(Resource):
    """Adds numbers up; the result is the sum."""

    def __init__(self) -> None:
        self.total = 0

    def apply(self, operation: object) -> object:
        if isinstance(operation, int):
            self.total += operation
        return self.total

    def snapshot(self) -> bytes:
        return str(self.total).encode()

    def restore(self, state: bytes) -> None:
        self.total = int(state)

    def example(self, process: int, number: int) -> object:
        return process + 1


RESOURCES: Final[dict[str, type[Resource]]] = {"journal": Journal, "counter": Counter}


def build_resource(text: str, n: int) -> Resource:
    if text not in RESOURCES:
        raise ConfigError(f"unknown resource {text!r}: {', '.join(RESOURCES)}")
    return RESOURCES[text]()
