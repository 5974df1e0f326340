"""The comparison page of a sweep: one self-contained HTML file with pictures, tables and parameters."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path

from congenial.lab.parameters import METRICS, PARAMETERS, show_value
from congenial.lab.results import SweepResult

CSS = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 64rem; margin: 2rem auto;
  padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.5rem }
img { max-width: 100%; height: auto }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; text-align: right }
th:first-child, td:first-child { text-align: left }
pre { background: #f5f5f5; padding: 0.8rem; overflow-x: auto; font-size: 0.85rem }
.note { color: #555 }
"""


def comparison_page(result: SweepResult, title: str, pictures: Sequence[tuple[str, Path]], repeat: str) -> str:
    """`pictures` are captions and SVG files; `repeat` says how to run the sweep again."""
    sweep = result.sweep
    varied = " and ".join([PARAMETERS[name] for name in sweep.vary])
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{CSS}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(', '.join(sweep.algorithms))}, varied: {escape(varied)}. Means of several runs with equal requests"
        f" for all, ± half a 95% confidence interval.</p>",
    ]
    for caption, path in pictures:
        data = b64encode(path.read_bytes()).decode("ascii")
        parts.append(f"<h2>{escape(caption)}</h2>")
        parts.append(f'<img alt="{escape(caption)}: see the tables below" src="data:image/svg+xml;base64,{data}">')
    parts += ["<h2>Means</h2>", _table(result, "absolute")]
    if len(sweep.algorithms) > 1:
        parts += [f"<h2>Ratios to {escape(sweep.baseline)}</h2>", _table(result, "ratio")]
        parts.append('<p class="note">Ratios are taken run by run, between runs with equal seeds.</p>')
    parts += ["<h2>How to repeat it</h2>", f"<pre>{escape(repeat)}</pre>", "</body></html>"]
    return "\n".join(parts) + "\n"


def _table(result: SweepResult, kind: str) -> str:
    sweep = result.sweep
    algorithms = sweep.algorithms if kind == "absolute" else sweep.algorithms[:-1]
    heads = ["algorithm", *sweep.vary, "runs", *[METRICS[metric] for metric in sweep.metrics]]
    lines = ['<div class="wide"><table>', "<tr>" + "".join([f"<th>{escape(head)}</th>" for head in heads]) + "</tr>"]
    for algorithm in algorithms:
        for point, records in result.runs.items():
            cells = [algorithm, *[show_value(value) for value in point], str(len(records[algorithm]))]
            for metric in sweep.metrics:
                made = result.mean if kind == "absolute" else result.ratio
                estimate = made(point, algorithm, metric)
                cells.append("-" if estimate is None else str(estimate))
            lines.append("<tr>" + "".join([f"<td>{escape(cell)}</td>" for cell in cells]) + "</tr>")
    return "\n".join([*lines, "</table></div>"])
