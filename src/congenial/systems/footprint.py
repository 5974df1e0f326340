"""How much memory a large system will take, estimated from two small ones, before it is built.

Nodes keep lists of all processes, quorums are built for every process: some systems grow with the square of their
size, others hardly at all. So two small systems of the same algorithm and options are built and measured, and their
growth is continued. A system that would take more than `CONGENIAL_MEMORY` gigabytes is refused.
"""

from __future__ import annotations

import gc
import os
import sys
from math import log
from types import FunctionType, ModuleType
from typing import Any

from congenial.kernel.errors import ConfigError, CongenialError

SMALL_SYSTEM = 1000  # processes; up to here any system fits
LESSER = (121, 127, 133, 128, 100)  # squares, a prime, a plane, a power of two: some option may want such a number
GREATER = (400, 401, 381, 512, 441)
VARIABLE = "CONGENIAL_MEMORY"
GIGABYTES = 2.0  # if the variable does not say otherwise


def check_footprint(algorithm: Any, name: str, n: int, arguments_for: Any) -> None:
    """Refuse a system of n processes that is too large. `arguments_for(n)`: the arguments of a node's constructor."""
    if n <= SMALL_SYSTEM:
        return
    lesser = _measured(algorithm, LESSER, arguments_for)
    greater = _measured(algorithm, GREATER, arguments_for)
    if lesser is None or greater is None:
        return  # it cannot be built for such sizes; whether it can for n turns out now
    growth = max(1.0, log(greater[1] / lesser[1]) / log(greater[0] / lesser[0]))
    gigabytes = greater[1] * (n / greater[0]) ** growth / 1e9
    most = _allowed()
    if gigabytes > most:
        raise ConfigError(
            f"{n} processes of {name} would take about {gigabytes:.3g} GB of memory, more than {most:g} GB: take fewer "
            f"nodes, or allow more by the environment variable {VARIABLE} (in GB)"
        )


def _allowed() -> float:
    text = os.environ.get(VARIABLE, "")
    try:
        allowed = float(text) if text else GIGABYTES
    except ValueError:
        allowed = -1.0
    if not allowed > 0:
        raise ConfigError(f"the environment variable {VARIABLE} must be a number of gigabytes above 0, not {text!r}")
    return allowed


def _measured(algorithm: Any, sizes: tuple[int, ...], arguments_for: Any) -> tuple[int, int] | None:
    """The first of the sizes that the algorithm can be built for, and how many bytes its nodes take then."""
    for n in sizes:
        try:
            arguments = arguments_for(n)
            return n, bytes_of([algorithm(process, n, **arguments) for process in range(n)])
        except CongenialError:
            continue
        except Exception:
            return None  # it cannot be made at all, and says so when it is made
    return None


def bytes_of(thing: object) -> int:
    """The size of an object with all that it alone leads to; what it shares within counts once."""
    seen: set[int] = set()
    waiting: list[Any] = [thing]
    total = 0
    while waiting:
        some = waiting.pop()
        if id(some) in seen or isinstance(some, (type, FunctionType, ModuleType)):
            continue
        seen.add(id(some))
        total += sys.getsizeof(some)
        waiting.extend(gc.get_referents(some))
    return total
