"""`congenial replay`: run a trace again."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.options import Json
from congenial.cli.runs import HtmlTo, SvgTo, check_outputs, show_events, write_svg

EXAMPLES = """
congenial replay broken.ndjson
congenial replay broken.ndjson --svg broken.svg
congenial replay run.ndjson --html run.html
"""


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A trace written by `check`, `fuzz` or `sim`.")],
    svg: SvgTo = "",
    html: HtmlTo = "",
    json: Json = False,
) -> None:
    """Repeat the steps of a trace, one by one, with the real nodes, and say what happens.

    The exit code is 1 if something goes wrong, as it did when the trace was made.
    """
    from congenial.checker.replay import replay
    from congenial.cli.output import print_json

    check_outputs("", svg, html, file)
    again = replay(file)
    if svg:
        write_svg(svg, again.events, again.nodes, again.text)
    if html:
        from congenial.studio.explore import explore_document, traced
        from congenial.studio.pages import write_page
        from congenial.studio.recording import replayed

        recording = replayed(file)
        write_page(html, recording, None if recording.timed else explore_document(*traced(file)))
    if json:
        print_json(again.as_dict())
    else:
        show_events(again.events, again.nodes)
        print(again.verdict())
    if not again.ok:
        raise typer.Exit(1)
