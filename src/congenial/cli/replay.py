"""`congenial replay`: run a trace again."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.options import Json
from congenial.cli.runs import SvgTo, check_outputs, show_events, write_svg

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

    check_outputs("", svg, file)
    again = replay(file)
    if svg:
        write_svg(svg, again.events, again.nodes, again.text)
    if json:
        print_json(again.as_dict())
    else:
        show_events(again.events, again.nodes)
        print(again.verdict())
    if not again.ok:
        raise typer.Exit(1)
