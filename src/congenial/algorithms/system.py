"""A system: an algorithm made concrete for n processes, ready to be driven."""

from __future__ import annotations

from collections.abc import Mapping

from congenial.kernel.errors import ConfigError
from congenial.kernel.node import Node
from congenial.kernel.problem import Problem
from congenial.kernel.spec import Spec
from congenial.problems.mutex import MUTEX
from congenial.problems.weak import Resource


class System:
    """Makes the nodes of an algorithm. `options` are those of its `Spec`, as a user writes them."""

    def __init__(self, algorithm: type[Node], n: int, options: Mapping[str, str] | None = None) -> None:
        if n < 1:
            raise ConfigError(f"a system needs at least one process, not {n}")
        given = dict(options or {})
        self.algorithm = algorithm
        self.n = n
        self.spec: Spec = algorithm.spec
        self.arguments: dict[str, object] = {}
        self.sizes: dict[str, int] = {"n": n}  # the variables of the cost laws
        for option in self.spec.options:
            value = option.build(given.pop(option.name, option.default), n)
            self.arguments[option.name] = value
            if hasattr(value, "sizes"):
                self.sizes.update(value.sizes())
            elif option.variable and isinstance(value, int):
                self.sizes[option.variable] = value
        for name, value in self.arguments.items():
            if hasattr(value, "settled"):  # a structure that depends on other options, too
                structure = value.settled(self.sizes)
                self.arguments[name] = structure
                self.sizes.update(structure.sizes())
        self.problem: Problem = (self.spec.problem or MUTEX).sized(self.sizes)
        if given:
            known = ", ".join([option.name for option in self.spec.options]) or "none"
            raise ConfigError(f"{self.name} has no option {', '.join(sorted(given))} (it has: {known})")

    @property
    def name(self) -> str:
        return self.spec.name if self.spec.problem is not None else self.algorithm.__name__

    @property
    def inner(self) -> tuple[type, ...]:
        """The algorithms that options put inside this one."""
        return tuple([value for value in self.arguments.values() if isinstance(value, type)])

    def operation(self, process: int, number: int) -> object:
        """What a process issues as its `number`-th operation where no user says."""
        resource = self.arguments.get("resource")
        return resource.example(process, number) if isinstance(resource, Resource) else (process, number)

    def operations(self, wanted: int) -> int:
        """How many operations are issued in each stay, as far as the problem knows any."""
        if wanted < 0 or (wanted and not self.problem.operations):
            why = "must not be negative" if wanted < 0 else f"is for weak exclusion, and {self.name} is not weak"
            raise ConfigError(f"--operations {why}")
        return wanted

    def node(self, process: int) -> Node:
        node: Node = self.algorithm(process, self.n, **self.arguments)
        return node

    def nodes(self) -> list[Node]:
        return [self.node(process) for process in range(self.n)]
