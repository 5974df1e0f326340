"""A system: an algorithm with its options, for n processes, ready to be driven."""

from __future__ import annotations

from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import algorithm_options, whole
from congenial.kernel.node import Node
from congenial.kernel.problem import Problem
from congenial.kernel.spec import Settings, Spec
from congenial.problems.mutex import MUTEX
from congenial.problems.weak import Resource
from congenial.systems.contract import check_declarations, check_messages, made_node
from congenial.systems.footprint import check_footprint

MOST_PROCESSES = (1 << 20) - 1  # that the simulator can tell apart


class System:
    """Makes the nodes of an algorithm. `options` are those of its `Spec`, as text."""

    def __init__(self, algorithm: type[Node], n: Any, options: Any = None) -> None:
        self.algorithm = algorithm
        self.n: int = whole(n, "nodes", 1, MOST_PROCESSES)
        self.spec: Spec = algorithm.spec
        self.options = algorithm_options(options)
        check_declarations(algorithm)
        check_footprint(algorithm, self.name, self.n, self.arguments_for)
        settings = Settings(self.spec, self.name, self.n, self.options)
        self.arguments = settings.arguments
        self.sizes = settings.sizes
        check_messages(algorithm, *self.inner)
        self.problem: Problem = (self.spec.problem or MUTEX).sized(self.sizes)

    @property
    def name(self) -> str:
        return self.spec.name if self.spec.problem is not None else self.algorithm.__name__

    @property
    def inner(self) -> tuple[type, ...]:
        """The algorithms that this one uses inside, as its options say."""
        return tuple([value for value in self.arguments.values() if isinstance(value, type)])

    @property
    def concurrent_entry(self) -> bool:
        """True if the problem promises concurrent entry, and the algorithm keeps that promise."""
        return self.problem.concurrent_entry and self.spec.concurrent_entry

    def operation(self, process: int, number: int) -> object:
        """What a process issues as its `number`-th operation, where no user decides."""
        resource = self.arguments.get("resource")
        return resource.example(process, number) if isinstance(resource, Resource) else (process, number)

    def operations(self, wanted: int) -> int:
        """How many operations a process issues in each stay: as many as wanted, if the problem knows operations."""
        whole(wanted, "operations", 0)
        if wanted and not self.problem.operations:
            raise ConfigError(f"operations are for weak exclusion, and {self.name} is not weak")
        return wanted

    def arguments_for(self, n: int) -> dict[str, object]:
        """The arguments of a node's constructor in a system of another size."""
        return Settings(self.spec, self.name, n, self.options).arguments

    def node(self, process: int) -> Node:
        return made_node(self.algorithm, process, self.n, self.arguments)

    def nodes(self) -> list[Node]:
        return [self.node(process) for process in range(self.n)]
