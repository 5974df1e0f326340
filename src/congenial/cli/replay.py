"""`congenial replay`: run a trace again."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.check import SvgTo, show_events, write_svg
from congenial.cli.options import Json

EXAMPLES = """
congenial replay broken.ndjson
congenial replay broken.ndjson --svg broken.svg
"""


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A trace written by `check`, `fuzz` or `sim`.")],
    svg: SvgTo = "",
    json: Json = False,
) -> None:
    """Take the steps of a trace again, one by one, with the real nodes, and say what happens.

    The exit code is 1 if something goes wrong, as it did when the trace was made.
    """
    from congenial.checker.replay import replay
    from congenial.cli.output import print_json

    system, played = replay(file)
    if svg:
        write_svg(svg, played.events, system.n, played.text)
    if json:
        events = [event.as_dict() for event in played.events]
        print_json({"algorithm": system.name, "kind": played.kind, "text": played.text, "events": events})
    else:
        show_events(played.events, system.n)
        print(f"{played.kind.upper()}: {played.text}" if played.kind else "nothing wrong in this run")
    if played.kind:
        raise typer.Exit(1)
