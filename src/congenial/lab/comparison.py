"""Several algorithms under the same load, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, as_completed
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.kernel.inputs import algorithm_options, shown
from congenial.kernel.node import Node
from congenial.lab.runner import Progress, Status
from congenial.lab.workers import workers
from congenial.sim.result import Result
from congenial.sim.scenario import Scenario, ScenarioFields
from congenial.sim.simulate import run, run_once
from congenial.systems.catalogue import find_algorithm
from congenial.view.notebook import bars, block, table
from congenial.view.table import as_text, new_table

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = (
    ("messages / entry", "messages_per_entry"),
    ("integers / entry", "integers_per_entry"),
    ("mean waiting", "waiting_time_mean"),
    ("p99", "waiting_time_p99"),
    ("sync delay", "sync_delay_mean"),
    ("entries / time", "throughput"),
    ("fairness", "fairness"),
)


@dataclass(frozen=True)
class Comparison:
    """The results of several algorithms under the same load, in the order in which they were named.

    `print` shows them as a table.

    >>> [result.messages_per_entry for result in compare(["lamport", "ricart-agrawala"], nodes=3, requests=5).results]
    [6.0, 4.0]
    """

    results: tuple[Result, ...]

    @property
    def ok(self) -> bool:
        """True if nothing went wrong in any run."""
        return all([result.ok for result in self.results])

    def problems(self) -> list[str]:
        """One line for each algorithm that went wrong."""
        return [f"{result.algorithm}: {result.verdict()}" for result in self.results if not result.ok]

    def records(self) -> list[dict[str, object]]:
        """One flat row for each algorithm, for a data frame or a CSV file."""
        return [result.as_row() for result in self.results]

    def as_dict(self) -> dict[str, object]:
        """Everything, ready for JSON."""
        return {"results": [result.as_dict() for result in self.results]}

    def table(self, markdown: bool = False) -> Table:
        made = new_table("algorithm", *[f">{title}" for title, _ in COLUMNS], markdown=markdown)
        for result in self.results:
            made.add_row(result.algorithm, *[f"{getattr(result, measure):.4g}" for _, measure in COLUMNS])
        return made

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [
            [result.algorithm, *[f"{getattr(result, measure):.4g}" for _, measure in COLUMNS]]
            for result in self.results
        ]
        costs = [(result.algorithm, float(f"{result.messages_per_entry:.4g}")) for result in self.results]
        waits = [(result.algorithm, float(f"{result.waiting_time_mean:.4g}")) for result in self.results]
        drawn = "".join(
            [
                f'<div style="margin: 8px 40px 0 0"><b>{title}</b>{bars(values)}</div>'
                for title, values in (("messages per entry", costs), ("mean waiting", waits))
            ]
        )
        first = self.results[0]
        return block(
            f"{len(self.results)} algorithms under the same load, {first.nodes} processes:",
            "; ".join(self.problems()) or "no violation",
            self.ok,
            table(("algorithm", *[f">{title}" for title, _ in COLUMNS]), rows),
            f'<div style="display: flex; flex-wrap: wrap">{drawn}</div>',
        )

    def __str__(self) -> str:
        return "\n".join([as_text(self.table()), *self.problems()])


def scenarios_of(algorithms: Sequence[str | type[Node]], parameters: ScenarioFields) -> list[Scenario]:
    """A scenario for each algorithm. An option in `options` goes to the algorithms that have it."""
    if not isinstance(algorithms, (list, tuple)) or not algorithms:
        raise ConfigError(f"algorithms should be a list of at least one algorithm, not {shown(algorithms)}")
    options: Mapping[str, str] = algorithm_options(parameters.get("options", {}))
    known = [{option.name for option in find_algorithm(algorithm).spec.options} for algorithm in algorithms]
    for option in options:
        if not any([option in names for names in known]):
            listed = [name if isinstance(name, str) else name.__name__ for name in algorithms]
            raise ConfigError(f"none of {', '.join(listed)} has an option {option}")
    made = []
    for algorithm, names in zip(algorithms, known, strict=True):
        own = {option: value for option, value in options.items() if option in names}
        given: ScenarioFields = {**parameters, "options": own}
        try:
            made.append(Scenario(algorithm, **given))
        except TypeError as error:
            raise ConfigError(str(error).replace("Scenario.__init__()", "compare()")) from None
    return made


def run_comparison(
    scenarios: Sequence[Scenario], seed: int, repeat: int, precision: float, jobs: int, progress: Progress
) -> Comparison:
    """Run the scenarios one after the other, or with several `jobs` at the same time."""
    for scenario in scenarios:  # what is wrong with any of them is found before the first one runs
        scenario.system().operations(scenario.operations)
        scenario.channel_delay()
        scenario.workload()
    total = None
    if not precision > 0:
        total = sum([scenario.workload().total() * repeat for scenario in scenarios])
    if jobs == 1:
        results: list[Result] = []
        for scenario in scenarios:
            done = sum([result.entries for result in results])
            results.append(run(scenario, seed, repeat, precision, progress=_from(done, total, progress)))
        return Comparison(tuple(results))
    with workers(jobs) as pool:
        futures = [pool.executor.submit(_run, scenario, seed, repeat, precision) for scenario in scenarios]
        done = 0
        for future in as_completed(futures):
            done += _result_of(future).entries
            progress(Status(done, total))
    return Comparison(tuple([_with_events(s, future.result()) for s, future in zip(scenarios, futures, strict=True)]))


def _from(done: int, total: int | None, progress: Progress) -> Callable[[int], None]:
    """Counts the entries of one algorithm on from those of the algorithms before it."""
    return lambda entries: progress(Status(done + entries, total))


def _run(scenario: Scenario, seed: int, repeat: int, precision: float) -> Result:
    """In a worker process. Events are not sent back: compiled objects need not be picklable."""
    return replace(run(scenario, seed, repeat, precision), trace=())


def _with_events(scenario: Scenario, result: Result) -> Result:
    """If the last run went wrong, run it again, which repeats it exactly, for its last events."""
    return result if result.ok else replace(result, trace=run_once(scenario, result.seed + result.runs - 1).trace)


def _result_of(future: Future[Result]) -> Result:
    try:
        return future.result()
    except BrokenExecutor as error:
        raise CongenialError(f"a worker process died: {error}") from error
