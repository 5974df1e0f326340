"""`Spec`: what a paper says about its algorithm in words, as data.

The table of `congenial list`, the tables in the docs and the tests of the cost laws are made from it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, floor, log2, sqrt

from congenial.kernel.errors import ConfigError
from congenial.kernel.problem import Problem

LAW_VARIABLES = ("n", "k", "q", "q_min", "i", "i_min", "r", "r_min", "a", "b", "D", "E", "L", "m", "l")
LAW_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": sqrt,
    "log2": log2,
    "ceil": ceil,
    "floor": floor,
    "min": min,
    "max": max,
}


class Law:
    """The least and the most that a quantity can be: two formulas over n (processes), k (entries at the same time), q
    and q_min (largest and smallest quorum), i, i_min, r, r_min (largest and smallest inform and request set, without
    the process itself), a (largest acquired set, without the process itself), b (the most processes that ask one
    member), D (diameter), E (edges), L (entries per round of bounded numbers), m (groups), l (leaders of a session).

    >>> Law("0", "2*(n-1)").most_for({"n": 5})
    8.0
    """

    def __init__(self, least: str, most: str | None = None) -> None:
        self.least = least
        self.most = least if most is None else most
        for formula in (self.least, self.most):
            names = {node.id for node in ast.walk(ast.parse(formula)) if isinstance(node, ast.Name)}
            unknown = names - set(LAW_VARIABLES) - set(LAW_FUNCTIONS)
            if unknown:
                raise ConfigError(f"law {formula!r} uses {', '.join(sorted(unknown))}; known are {LAW_VARIABLES}")

    def least_for(self, sizes: Mapping[str, int]) -> float:
        return self._value(self.least, sizes)

    def most_for(self, sizes: Mapping[str, int]) -> float:
        return self._value(self.most, sizes)

    def _value(self, formula: str, sizes: Mapping[str, int]) -> float:
        return float(eval(formula, {"__builtins__": {}, **LAW_FUNCTIONS}, dict(sizes)))  # noqa: S307 (names vetted above)

    def __str__(self) -> str:
        return self.most if self.least == self.most else f"{self.least} .. {self.most}"


@dataclass(frozen=True)
class Option:
    """A parameter of an algorithm besides `me` and `n`, such as its quorums.

    `build(text, n)` makes the value from what a user wrote; it becomes the keyword argument `name` of the node's
    constructor. If the value is a number that the cost laws use, `variable` is its name there. `choices` are values
    worth trying, perhaps not all; `build` may refuse one for some n. A value may be a structure with a method
    `sizes()`, which returns variables of the cost laws, and `settled(sizes)`, if it depends on other options as well.

    >>> Option("k", "2", "how many may be inside together", lambda text, n: int(text)).build("3", 5)
    3
    """

    name: str
    default: str
    help: str
    build: Callable[[str, int], object]
    variable: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Interchangeable:
    """Says that an algorithm treats all processes alike, except the `fixed` ones. The checker must know where process
    numbers are kept: `processes` names the attributes and message fields that hold them, alone or in collections;
    `indexed` names those that have a place for every process.

    >>> alike = Interchangeable(fixed=(0,), processes=("father", "queue"), indexed=("last",))
    >>> Spec("my-lock", "My own lock", MUTEX, symmetry=alike).symmetry.fixed
    (0,)
    """

    fixed: tuple[int, ...] = ()
    processes: tuple[str, ...] = ()
    indexed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Spec:
    """What is claimed about an algorithm.

    >>> spec = Spec("my-lock", "My own lock", MUTEX, messages=Law("2*(n-1)"))
    >>> spec.messages.most_for({"n": 10})
    18.0
    """

    name: str
    title: str
    problem: Problem | None
    reference: str = ""
    fifo: bool = False  # needs channels that keep the order of messages
    patient: bool = False  # needs time-outs that run out only when what they wait for will never come
    faults: str = "none"  # what it survives
    fences: bool = False  # it gives a fence with every entry
    messages: Law | None = None  # per entry
    size: str = ""  # the largest message, in integers
    waiting: Law | None = None  # hops from request to entry when nobody else asks
    sync_delay: Law | None = None  # hops from one holder's exit to the next one's entry under load
    concurrency: str = "1"  # how many processes can be inside together
    concurrent_entry: bool = True  # False: it breaks its problem's promise to those that ask later for the group inside
    options: tuple[Option, ...] = ()
    symmetry: Interchangeable | None = None
    flaws: tuple[str, ...] = ()  # what is known to be wrong with it
    mended_by: str = ""  # the algorithm to use instead, if this one is kept only to show its flaws


UNSPECIFIED = Spec(name="unspecified", title="an algorithm without a spec", problem=None)


class Settings:
    """A spec's options made concrete for n processes: `arguments` of the node's constructor, and `sizes`, the variables
    of the cost laws. `options` are as a user writes them."""

    def __init__(self, spec: Spec, name: str, n: int, options: Mapping[str, str]) -> None:
        given = dict(options)
        self.arguments: dict[str, object] = {}
        self.sizes: dict[str, int] = {"n": n}
        for option in spec.options:
            value = option.build(given.pop(option.name, option.default), n)
            self.arguments[option.name] = value
            if hasattr(value, "sizes"):
                self.sizes.update(value.sizes())
            elif option.variable and isinstance(value, int):
                self.sizes[option.variable] = value
        for argument, value in self.arguments.items():
            if hasattr(value, "settled"):  # a structure that depends on other options, too
                structure = value.settled(self.sizes)
                self.arguments[argument] = structure
                self.sizes.update(structure.sizes())
        if given:
            known = ", ".join([option.name for option in spec.options]) or "none"
            raise ConfigError(f"{name} has no option {', '.join(sorted(given))} (it has: {known})")
