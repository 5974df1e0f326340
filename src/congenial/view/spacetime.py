"""Space-time diagrams of traces, as text and as SVG: a line for each process, an arrow for each message."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from congenial.kernel import trace
from congenial.kernel.trace import Event

OWN = {
    trace.REQUEST: "asks",
    trace.ENTER: "ENTERS",
    trace.EXIT: "leaves",
    trace.EJECT: "EJECTED",
    trace.TIMER: "timer",
    trace.CRASH: "CRASHES",
    trace.RECOVER: "recovers",
    trace.PAUSE: "stops",
    trace.RESUME: "goes on",
    trace.SUSPECT: "suspects",
    trace.TRUST: "trusts",
}


def own_text(event: Event) -> str:
    """An event that concerns one process only, in a word or two."""
    text = OWN[event.event]
    if event.event == trace.REQUEST and event.groups not in ((), (0,)):
        return f"{text} {'|'.join(map(str, event.groups))}"
    if event.event == trace.ENTER and event.group > 0:
        return f"{text} {event.group}"
    if event.event in (trace.SUSPECT, trace.TRUST):
        return f"{text} {event.peer}"
    return text


def as_text(events: Sequence[Event], nodes: int, width: int = 100) -> str:
    """A diagram for the terminal. Time runs downwards; an arrow is drawn where its message arrives."""
    gap = max(12, min(24, (width - 8) // max(1, nodes)))
    columns = [8 + gap // 2 + gap * process for process in range(nodes)]
    lines = [_row(columns, " ", [(column, str(p)) for p, column in enumerate(columns)])]
    for event in events:
        if event.event in OWN:
            lines.append(_row(columns, "│", [(columns[event.node], own_text(event))], event.t))
        elif event.event in (trace.DELIVER, trace.DROP):
            lines.append(_arrow(columns, event))
    return "\n".join(lines)


def _row(columns: list[int], line: str, labels: list[tuple[int, str]], t: float | None = None) -> str:
    cells = list(" " * (columns[-1] + 40))
    for column in columns:
        cells[column] = line
    for column, label in labels:
        start = max(0, column - len(label) // 2)
        cells[start : start + len(label)] = label
    if t is not None:
        cells[: len(f"{t:6.6g}")] = f"{t:6.6g}"
    return "".join(cells).rstrip()


def _arrow(columns: list[int], event: Event) -> str:
    start, end = columns[event.peer], columns[event.node]
    left, right = min(start, end), max(start, end)
    cells = list(_row(columns, "│", [], event.t).ljust(right + 1))
    for at in range(left + 1, right):
        cells[at] = "─"
    inner = right - left - 3
    label = f" {event.message} "[:inner]
    middle = left + 2 + (inner - len(label)) // 2
    cells[middle : middle + len(label)] = label
    lost = event.event == trace.DROP
    if end > start:
        cells[start], cells[right - 1] = "├", "✗" if lost else "▶"
    else:
        cells[start], cells[left + 1] = "┤", "✗" if lost else "◀"
    return "".join(cells).rstrip()


ROW, COLUMN, MARGIN = 26, 150, 60
COLOURS = {"line": "#999999", "message": "#0072B2", "inside": "#009E73", "lost": "#D55E00", "text": "#222222"}


def as_svg(events: Sequence[Event], nodes: int, title: str = "") -> str:
    """A diagram for a page. Arrows lead from sending to arrival; bars show when a process is inside."""
    place = {id(event): MARGIN + ROW * number for number, event in enumerate(events)}
    height = MARGIN + ROW * (len(events) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{COLUMN * nodes + MARGIN}" height="{height}" '
        f'font-family="sans-serif" font-size="12" fill="{COLOURS["text"]}">',
        '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
        f'<path d="M0,0 L7,3 L0,6 z" fill="{COLOURS["message"]}"/></marker></defs>',
        f"<title>{escape(title)}</title>",
    ]
    across = [MARGIN + COLUMN * process for process in range(nodes)]
    for process, x in enumerate(across):
        parts.append(f'<text x="{x}" y="30" text-anchor="middle" font-weight="bold">process {process}</text>')
        parts.append(f'<line x1="{x}" y1="40" x2="{x}" y2="{height - 10}" stroke="{COLOURS["line"]}"/>')
    sent: dict[int, int] = {}
    entered: dict[int, int] = {}
    for event in events:
        y = place[id(event)]
        x = across[event.node] if 0 <= event.node < nodes else 0
        if event.event == trace.SEND:
            sent[event.id] = y
        elif event.event in (trace.DELIVER, trace.DROP):
            lost = event.event == trace.DROP
            parts.append(_svg_message(across[event.peer], sent.get(event.id, y), x, y, event, lost))
        elif event.event in OWN:
            weight = ' font-weight="bold"' if event.event in (trace.ENTER, trace.CRASH, trace.EJECT) else ""
            parts.append(f'<circle cx="{x}" cy="{y}" r="3"/>')
            parts.append(f'<text x="{x + 8}" y="{y + 4}"{weight}>{escape(own_text(event))}</text>')
            if event.event == trace.ENTER:
                entered[event.node] = y
            elif event.event in (trace.EXIT, trace.CRASH, trace.EJECT) and event.node in entered:
                parts.append(_svg_bar(x, entered.pop(event.node), y))
    for process, y in entered.items():
        parts.append(_svg_bar(across[process], y, height - 10))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _svg_message(x1: int, y1: int, x2: int, y2: int, event: Event, lost: bool) -> str:
    colour = COLOURS["lost" if lost else "message"]
    dash = ' stroke-dasharray="4 3"' if lost else ""
    what = ", ".join(f"{name}={value}" for name, value in (event.fields or {}).items())
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"{dash} marker-end="url(#head)">'
        f"<title>{escape(f'{event.message}({what})')}</title></line>"
        f'<text x="{(x1 + x2) // 2}" y="{(y1 + y2) // 2 - 4}" text-anchor="middle" fill="{colour}">'
        f"{escape(event.message)}{' (lost)' if lost else ''}</text>"
    )


def _svg_bar(x: int, top: int, bottom: int) -> str:
    return (
        f'<rect x="{x - 5}" y="{top}" width="10" height="{max(2, bottom - top)}" fill="{COLOURS["inside"]}" '
        'fill-opacity="0.5"/>'
    )
