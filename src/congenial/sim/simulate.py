"""`simulate`: run a scenario, once, several times, or until the measures are precise enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Unpack

from congenial.kernel import inputs
from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import amount, callback, whole
from congenial.kernel.node import Node
from congenial.kernel.trace import BEGIN, Event, Trace
from congenial.sim.chance import plain
from congenial.sim.engine import Engine, SimulationFailed
from congenial.sim.result import MEASURES, Result
from congenial.sim.scenario import Scenario, ScenarioFields
from congenial.sim.statistics import half_width, jain, mean, percentile
from congenial.systems.system import System
from congenial.trace_files import TraceFile, as_path

LAST_EVENTS = 60  # that are shown when a run goes wrong
WATCHED = ("messages_per_entry", "waiting_time_mean", "throughput")  # the measures that must be precise enough
MOST_RUNS = 10_000

Progress = Callable[[int], None]
"""Called from time to time with the number of entries so far."""


def simulate(
    algorithm: str | type[Node] | Scenario,
    *,
    seed: int = 1,
    repeat: int = 1,
    precision: float = 0.0,
    trace: str | Path = "",
    progress: Progress | None = None,
    **parameters: Unpack[ScenarioFields],
) -> Result:
    """Simulate an algorithm, or a scenario. The `parameters` are those of `Scenario`.

    The scenario is run `repeat` times, with seeds seed, seed+1, ... With a `precision` (0.02: within 2%) it is run at
    least that often, and until the 95% confidence intervals of messages, waiting time and throughput are within that
    share of the mean. `trace` names a file for all events of a single run, one JSON object a line. `progress` is called
    from time to time with the number of entries so far.

    >>> simulate("ricart-agrawala", nodes=5, requests=20).messages_per_entry
    8.0
    >>> simulate(Scenario("ricart-agrawala", nodes=5), requests=20, seed=2).messages_per_entry
    8.0
    """
    try:
        if isinstance(algorithm, Scenario):
            scenario = replace(algorithm, **parameters)
        else:
            scenario = Scenario(algorithm, **parameters)
    except TypeError as error:
        raise ConfigError(str(error).replace("Scenario.__init__()", "simulate()")) from None
    return run(scenario, seed, repeat, precision, trace, progress)


def run(
    scenario: Scenario,
    seed: int = 1,
    repeat: int = 1,
    precision: float = 0.0,
    trace: str | Path = "",
    progress: Progress | None = None,
) -> Result:
    """Run a scenario; the other parameters are those of `simulate`."""
    check_runs(seed, repeat, precision)
    callback(progress, "progress")
    if not isinstance(trace, str) and trace is not None:
        trace = str(as_path(trace, "trace"))
    if trace and (repeat > 1 or precision > 0):
        raise ConfigError("trace goes with a single run, not with repeat or precision")
    results: list[Result] = []
    least = max(repeat, 3) if precision > 0 else repeat
    while len(results) < least or (precision > 0 and not _precise(results, precision)):
        done = sum([result.entries for result in results])
        results.append(run_once(scenario, seed + len(results), trace, _offset(progress, done)))
        if not results[-1].ok or len(results) == MOST_RUNS:
            break
    return combine(results)


def check_runs(seed: int, repeat: int, precision: float) -> None:
    """Refuse what no number of runs can be."""
    whole(repeat, "repeat", 1)
    inputs.seed(seed, max(repeat, MOST_RUNS))
    amount(precision, "precision")


def run_once(scenario: Scenario, seed: int, trace: str | Path = "", progress: Progress | None = None) -> Result:
    """One run. If it goes wrong, it is repeated exactly to record its last events."""
    recorder = TraceFile(trace) if trace else None
    try:
        engine = scenario.engine(seed, recorder, progress or _check_signals)
        if recorder is not None:
            recorder.record(_beginning(scenario, engine))
        result = _run_engine(scenario, engine, seed)
        if result.ok and engine.now < scenario.warmup:
            raise ConfigError(
                f"warmup must end before the run, which is over at {plain(engine.now)}, and is {plain(scenario.warmup)}"
            )
    except BaseException as error:
        if recorder is not None:
            recorder.give_up(isinstance(error, KeyboardInterrupt))
        raise
    if recorder is not None:
        recorder.close()
    return result if result.ok else replace(result, trace=_last_events(scenario, seed))


def run_recorded(scenario: Scenario, seed: int, trace: Trace) -> tuple[Result, System]:
    """One run whose events go into a trace of the caller's. Also returns the system that was run."""
    engine = scenario.engine(seed, trace, _check_signals)
    return _run_engine(scenario, engine, seed), engine.system


def _run_engine(scenario: Scenario, engine: Engine, seed: int) -> Result:
    start = process_time()
    failure: SimulationFailed | None = None
    try:
        engine.run()
    except SimulationFailed as error:
        failure = error
    return _result(scenario, engine, seed, process_time() - start, failure)


def _check_signals(entries: int) -> None:
    """Compiled code notices Ctrl-C only when it calls interpreted code."""


def _beginning(scenario: Scenario, engine: Engine) -> Event:
    """The first line of a trace: what is needed to run it again."""
    name = scenario.algorithm if isinstance(scenario.algorithm, str) else engine.system.name
    fifo = scenario.keeps_order(engine.system)
    about = {"algorithm": name, "nodes": scenario.nodes, "options": scenario.settings(), "fifo": fifo}
    return Event(0.0, BEGIN, -1, fields=dict(about))


def _last_events(scenario: Scenario, seed: int) -> tuple[Event, ...]:
    trace = Trace(LAST_EVENTS)
    try:
        scenario.engine(seed, trace).run()
    except SimulationFailed:
        pass
    return tuple(trace.events[-LAST_EVENTS:])


def _result(scenario: Scenario, engine: Engine, seed: int, seconds: float, failure: SimulationFailed | None) -> Result:
    meter = engine.meter
    entries = int(meter.entries)
    waits = sorted(meter.waits)
    delays = list(meter.sync_delays)
    counts: dict[str, int] = {}
    for kind in meter.kinds.values():  # messages of an inner and an outer node may have the same name
        counts[kind.name] = counts.get(kind.name, 0) + int(kind.count)
    total = sum(counts.values())
    elapsed = engine.now - meter.begin
    waiting_means = [
        wait / count for wait, count in zip(meter.waits_by_process, meter.entries_by_process, strict=True) if count
    ]
    served = failure is None and engine.now < scenario.until
    return Result(
        algorithm=engine.system.name,
        nodes=scenario.nodes,
        groups=scenario.groups,
        requests=engine.workload.total(),
        entries=entries,
        messages=total,
        messages_per_entry=total / entries if entries else 0.0,
        messages_by_kind=dict(sorted(counts.items())),
        integers_per_entry=sum([int(kind.integers) for kind in meter.kinds.values()]) / entries if entries else 0.0,
        waiting_time_mean=mean(waits),
        waiting_time_p50=percentile(waits, 0.5),
        waiting_time_p90=percentile(waits, 0.9),
        waiting_time_p99=percentile(waits, 0.99),
        waiting_time_max=waits[-1] if waits else 0.0,
        sync_delay_mean=mean(delays),
        sync_delay_min=min(delays) if delays else 0.0,
        sync_delay_max=max(delays) if delays else 0.0,
        throughput=entries / elapsed if elapsed > 0 else 0.0,
        concurrency_mean=meter.mean_inside(),
        concurrency_max=float(meter.most_inside),
        sessions=int(meter.sessions),
        fairness=jain(waiting_means),
        simulated_time=engine.now,
        lone_entries=float(meter.lone_entries),
        free_entries=float(meter.free_entries),
        lone_cost_min=float(meter.lone_cost_min),
        lone_cost_max=float(meter.lone_cost_max),
        deliveries=int(meter.deliveries),
        deliveries_per_second=int(meter.deliveries) / seconds if seconds > 0 else 0.0,
        violations=0 if failure is None else 1,
        seed=seed,
        waiting=tuple(engine.waiters()) if served else (),
        violation="" if failure is None else str(failure),
    )


def combine(results: list[Result]) -> Result:
    """One result of several runs: counts added up, measures averaged, the last run's verdict."""
    if len(results) == 1:
        return results[0]
    kinds: dict[str, int] = {}
    for result in results:
        for kind, count in result.messages_by_kind.items():
            kinds[kind] = kinds.get(kind, 0) + count
    seconds = sum([r.deliveries / r.deliveries_per_second for r in results if r.deliveries_per_second > 0])
    deliveries = sum([r.deliveries for r in results])
    samples = {name: [float(getattr(r, name)) for r in results] for name in MEASURES}
    return replace(
        results[-1],
        requests=sum([r.requests for r in results]),
        entries=sum([r.entries for r in results]),
        messages=sum([r.messages for r in results]),
        messages_by_kind=kinds,
        sessions=sum([r.sessions for r in results]),
        deliveries=deliveries,
        deliveries_per_second=deliveries / seconds if seconds > 0 else 0.0,
        violations=sum([r.violations for r in results]),
        seed=results[0].seed,
        runs=len(results),
        intervals={name: half_width(values) for name, values in samples.items()},
        **{name: mean(values) for name, values in samples.items()},  # type: ignore[arg-type]
    )


def _precise(results: list[Result], precision: float) -> bool:
    for name in WATCHED:
        values = [float(getattr(result, name)) for result in results]
        if half_width(values) > precision * abs(mean(values)):
            return False
    return True


def _offset(progress: Progress | None, done: int) -> Progress | None:
    if progress is None:
        return None
    report = progress
    return lambda entries: report(done + entries)
