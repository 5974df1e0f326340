"""A recording: a run to be shown, with the system that it is a run of.

It comes from the simulator, from a counterexample, or from a trace that was run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from congenial.checker.counterexample import Counterexample
from congenial.checker.replay import STEPS, replay, traced_system
from congenial.kernel.errors import CongenialError
from congenial.kernel.trace import Event, Trace
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import run_recorded
from congenial.systems.catalogue import find_algorithm
from congenial.systems.system import System
from congenial.trace_files import read_trace

MOST_EVENTS = 400_000  # of a run that a page shows: browsers become too slow with more


@dataclass(frozen=True)
class Recording:
    """A run that a page shows. `about` holds the parameters worth showing, as name and value. `timed`: its times are
    simulated times, not the numbers of steps. `seed`: that of the simulator, with which it drew the nodes' choices.
    `cut_short`: the run went on after the last event. `seen`: set if a cluster was watched from outside."""

    system: System
    events: Sequence[Event]
    about: tuple[tuple[str, str], ...]
    verdict: str
    ok: bool
    timed: bool = True
    seed: int | None = None
    cut_short: bool = False
    seen: Seen | None = None


@dataclass(frozen=True)
class Seen:
    """How to speak of events that were seen from outside. The system of the recording then only says what the problem
    is. A second on the page is `second` of the times of the events."""

    title: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    second: float


class Enough(CongenialError):
    """The run has more events than a page can show."""


class FirstEvents(Trace):
    """The first `most` events of a run, which is then stopped."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.stopped = False

    def record(self, event: Event) -> None:
        if len(self.events) >= self.most:
            self.stopped = True
            raise Enough(f"more than {self.most} events")
        self.events.append(event)


def simulated(
    scenario: Scenario, seed: int = 1, most: int = MOST_EVENTS, trace: FirstEvents | None = None
) -> Recording:
    """Run a scenario once, and record it, in a `trace` of the caller's or a new one. A run that goes wrong is recorded
    until it does."""
    trace = FirstEvents(most) if trace is None else trace
    result, system = run_recorded(scenario, seed, trace)
    verdict = f"no violation in the first {len(trace.events)} events" if trace.stopped else result.verdict()
    return Recording(
        system, trace.events, _parameters(scenario, seed), verdict, trace.stopped or result.ok,
        seed=seed, cut_short=trace.stopped,
    )  # fmt: skip


def beginning(scenario: Scenario, seed: int) -> Recording:
    """A run of which nothing has happened yet."""
    return Recording(scenario.system(), [], _parameters(scenario, seed), "it is still running", True, seed=seed)


def _parameters(scenario: Scenario, seed: int) -> tuple[tuple[str, str], ...]:
    """The parameters of a scenario that differ from the usual ones, and those that always matter."""
    usual = Scenario(scenario.algorithm)
    always = ("nodes", "requests", "think", "hold", "delay")
    shown: list[tuple[str, str]] = []
    for name in Scenario.__dataclass_fields__:
        value = getattr(scenario, name)
        if name in always or (name not in ("algorithm", "options") and value != getattr(usual, name)):
            text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            shown.append((name, text if len(text) <= 80 else f"{text[:77]}..."))
    shown.extend([(name, str(value)) for name, value in scenario.settings().items()])
    return (*shown, ("seed", str(seed)))


def counterexample(
    found: Counterexample, algorithm: str, nodes: int, options: dict[str, str], source: str
) -> Recording:
    """A counterexample of the checker or the fuzzer (`source` says which). Its times are the numbers of its steps."""
    system = System(find_algorithm(algorithm), nodes, options)
    about = (("found by", source), ("nodes", str(nodes)), *options.items())
    return Recording(system, found.events, about, found.verdict(), False, timed=False)


def replayed(path: str) -> Recording:
    """A trace file, run again. Steps happen at the times that the file gives them."""
    again = replay(path)
    events = read_trace(path)
    system, _ = traced_system(path, events)
    times = [event.t for event in events if event.event in STEPS]
    timed = any([t != int(t) for t in times])
    shown = [_at(event, times) for event in again.events] if timed else again.events
    about = (("trace", path.rpartition("/")[2]), ("nodes", str(again.nodes)), *system.options.items())
    return Recording(system, shown, about, again.verdict(), again.ok, timed=timed)


def _at(event: Event, times: list[float]) -> Event:
    """An event of a replay, whose time is the number of its step, at the time of that step."""
    step = int(event.t)
    time = times[step - 1] if step <= len(times) else times[-1] + step - len(times)
    return Event(
        time, event.event, event.node, event.peer, event.id, event.message, event.fields, event.groups, event.group,
        event.fence, event.timer, event.choices, event.operation, event.result,
    )  # fmt: skip
