"""Results as self-contained HTML: what a notebook shows for them (`_repr_html_`).

Colours follow those of the notebook, light or dark. There are no scripts, and nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from congenial.kernel.trace import Event
from congenial.view.charts import Curve, chart, mark
from congenial.view.spacetime import as_svg

GOOD, BAD = "#009E73", "#D55E00"
MOST_DRAWN = 80  # events of a diagram; of more, the last
CELL = "padding: 2px 12px 2px 0; text-align: {}; vertical-align: top; border-bottom: 1px solid #88888844"


def block(title: str, verdict: str, ok: bool, *parts: str) -> str:
    """A title, a verdict and what follows."""
    head = f'<p style="margin: 0 0 6px"><b>{escape(title)}</b>'
    if verdict:
        head += f' <span style="color: {GOOD if ok else BAD}; font-weight: 600">{escape(verdict)}</span>'
    return f'<div class="congenial" style="font-family: sans-serif; line-height: 1.4">{head}</p>{"".join(parts)}</div>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table. A column whose name starts with '>' holds numbers and is aligned to the right."""
    sides = ["right" if head.startswith(">") else "left" for head in heads]
    lines = []
    if any(heads):
        lines.append(_row("th", [head.lstrip(">") for head in heads], sides))
    lines += [_row("td", row, sides) for row in rows]
    return f'<div style="overflow-x: auto"><table style="border-collapse: collapse">{"".join(lines)}</table></div>'


def _row(tag: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    made = [f'<{tag} style="{CELL.format(side)}">{escape(c)}</{tag}>' for c, side in zip(cells, sides, strict=True)]
    return f"<tr>{''.join(made)}</tr>"


def bars(rows: Sequence[tuple[str, float]]) -> str:
    """Numbers with bars as long as they are large."""
    most = max([number for _, number in rows], default=0.0) or 1.0
    lines = [
        f'<tr><td style="{CELL.format("left")}">{escape(name)}</td><td style="{CELL.format("right")}">{number:g}</td>'
        f'<td style="width: 160px; padding: 3px 0"><div style="height: 10px; background: #0072B2; '
        f'width: {100 * number / most:.1f}%"></div></td></tr>'
        for name, number in rows
    ]
    return f'<table style="border-collapse: collapse">{"".join(lines)}</table>'


def charts(titled: Sequence[tuple[str, str, Sequence[Curve]]]) -> str:
    """Charts side by side, each with a title and the name of its x axis; one legend for all."""
    drawn = "".join([chart(title, label, curves) for title, label, curves in titled])
    known = {curve.name: curve.number for _, _, curves in titled for curve in curves}
    legend = "".join(
        [f'<span style="margin-right: 16px">{mark(number)} {escape(name)}</span>' for name, number in known.items()]
    )
    return f'<div>{legend}</div><div style="display: flex; flex-wrap: wrap">{drawn}</div>'


def folded(title: str, *parts: str) -> str:
    """What a reader opens if it is wanted."""
    return f"<details><summary>{escape(title)}</summary>{''.join(parts)}</details>"


def diagram(events: Sequence[Event], nodes: int, title: str) -> str:
    """A space-time diagram, and its events in words."""
    drawn = list(events)[-MOST_DRAWN:]
    svg = as_svg(drawn, nodes, title)
    note = "" if len(drawn) == len(events) else f"<p>The last {len(drawn)} of {len(events)} events:</p>"
    words = "".join([f"<li>{escape(str(event))}</li>" for event in events])
    style = "overflow: auto; max-height: 480px; background: #ffffff"
    return f'{note}<div style="{style}">{svg}</div>' + folded(
        f"{len(events)} events", f'<ol style="font-family: monospace; list-style: none; padding: 0">{words}</ol>'
    )
