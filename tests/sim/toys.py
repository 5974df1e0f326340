"""Small nodes, a scripted workload and a way to run them, for tests that look at the engine by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from librt.random import Random

from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups, Problem
from congenial.kernel.spec import Spec
from congenial.kernel.trace import Event, Trace
from congenial.sim.chance import Constant, Distribution
from congenial.sim.engine import Engine
from congenial.sim.workload import NEVER, Workload
from congenial.systems.system import System


class Anyone(Problem):
    """No exclusion at all: all processes may be inside at the same time."""

    def __init__(self) -> None:
        super().__init__("anyone", False, False)

    def admits(self, inside: int, current: int, group: int) -> bool:
        return True


ANYONE = Spec("anyone", "no exclusion", Anyone())


@dataclass(frozen=True)
class Note(Message):
    number: int


@dataclass(frozen=True)
class Pages(Message):
    text: tuple[int, ...]


class Announcer(Node):
    """Tells everyone when it asks, and enters immediately; remembers what it hears."""

    spec: ClassVar[Spec] = ANYONE

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.told = 0
        self.heard: list[tuple[int, int]] = []

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.told += 1
        out.broadcast(Note(self.told))
        self.enter(out)

    def release(self, out: Out) -> None:
        self.leave()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        assert isinstance(msg, Note)
        self.heard.append((src, msg.number))


class Script(Workload):
    """Requests at given times: (time, process, how long it stays)."""

    def __init__(self, n: int, arrivals: list[tuple[float, int, float]]) -> None:
        self.left = [sorted([(t, hold) for t, p, hold in arrivals if p == process]) for process in range(n)]
        self.stay = [0.0] * n
        self.count = len(arrivals)

    def think(self, process: int, now: float, rng: Random) -> float:
        if not self.left[process]:
            return NEVER
        time, self.stay[process] = self.left[process].pop(0)
        return max(0.0, time - now)

    def groups(self, process: int, rng: Random) -> Groups:
        return (0,)

    def hold(self, process: int, rng: Random) -> float:
        return self.stay[process]

    def total(self) -> int:
        return self.count


class Run:
    """A finished run: the engine as it stands, and its trace."""

    def __init__(self, engine: Engine, trace: Trace) -> None:
        self.engine = engine
        self.events = trace.events

    def node(self, process: int) -> Any:
        return self.engine.nodes[process]

    def of(self, *kinds: str) -> list[Event]:
        return [event for event in self.events if event.event in kinds]

    def times(self, kind: str, process: int) -> list[float]:
        return [event.t for event in self.events if event.event == kind and event.node == process]

    def nothing_leaks(self) -> bool:
        """Every envelope is free again, and no message is counted as on its way."""
        network = self.engine.network
        return network.free_count == len(network.messages) and network.under_way == 0


def make(
    algorithm: type[Node],
    n: int,
    arrivals: list[tuple[float, int, float]],
    delay: Distribution | float = 1.0,
    seed: int = 1,
    **settings: Any,
) -> tuple[Engine, Trace]:
    trace = Trace()
    channel = delay if isinstance(delay, Distribution) else Constant(delay)
    engine = Engine(System(algorithm, n), Script(n, arrivals), channel, seed, trace=trace, **settings)
    return engine, trace


def drive(
    algorithm: type[Node],
    n: int,
    arrivals: list[tuple[float, int, float]],
    delay: Distribution | float = 1.0,
    seed: int = 1,
    **settings: Any,
) -> Run:
    """Run to the end; a failure raises."""
    engine, trace = make(algorithm, n, arrivals, delay, seed, **settings)
    engine.run()
    return Run(engine, trace)
