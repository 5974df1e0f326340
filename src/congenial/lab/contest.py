"""The tables of a contest: who is best where, and everybody at one point."""

from __future__ import annotations

from congenial.lab.findings import leaders
from congenial.lab.papers.paper import Contest
from congenial.lab.replication import Value
from congenial.lab.sweep import METRICS, PARAMETERS, Point
from congenial.lab.tables import Outcome, Row, show_value

NAMED = 3  # more than so many winners are counted, not named


def winner_lines(contest: Contest, outcome: Outcome) -> list[Row]:
    """For every value of the varied parameter who is best in what; and the best yardstick, if that is better still."""
    (parameter,) = outcome.sweep.vary
    lines: list[Row] = []
    for point in outcome.records:
        line: Row = {PARAMETERS[parameter]: show_value(point[0])}
        for metric in outcome.sweep.metrics:
            line[METRICS[metric]] = _winners(contest, outcome, point, metric)
        lines.append(line)
    return lines


def _winners(contest: Contest, outcome: Outcome, point: Point, metric: str) -> str:
    entrants = contest.entrants()
    first = leaders(outcome, point, metric, entrants)
    best = outcome.mean(point, first[0], metric).value
    text = f"{len(first)} of {len(entrants)}" if len(first) > NAMED else ", ".join(first)
    text = f"{text}: {best:.3g}"
    overall = leaders(outcome, point, metric, (*entrants, *contest.yardsticks()))
    if not set(overall) & set(entrants):
        text += f" (but {overall[0]}: {outcome.mean(point, overall[0], metric).value:.3g})"
    return text


def standings(outcome: Outcome, value: Value) -> list[Row]:
    """Everybody at one value of the varied parameter."""
    lines: list[Row] = []
    for algorithm in outcome.sweep.algorithms:
        line: Row = {"algorithm": algorithm}
        for metric in outcome.sweep.metrics:
            line[METRICS[metric]] = str(outcome.mean((value,), algorithm, metric))
        lines.append(line)
    return lines
