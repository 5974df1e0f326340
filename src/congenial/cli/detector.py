"""`congenial detector`: measure failure detectors."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.options import Json, Seed

EXAMPLES = """
congenial detector heartbeat:10,30 heartbeat:10,60
congenial detector heartbeat:10,40 --delay lognormal:5,1.5 --loss 0.05
congenial detector heartbeat:10,40 --pause 0.001/100 --json
"""


def command(
    detectors: Annotated[list[str], typer.Argument(metavar="heartbeat:PERIOD,TIMEOUT...", help="What to measure.")],
    nodes: Annotated[int, typer.Option(help="Processes.")] = 5,
    delay: Annotated[str, typer.Option(help="Channel delay: a mean, or a distribution such as uniform:5,15.")] = "10",
    loss: Annotated[list[str] | None, typer.Option(metavar="SHARE[@FROM-TO]", help="Messages get lost.")] = None,
    pause: Annotated[
        list[str] | None, typer.Option(metavar="P@FROM[-TO]", help="Process P stops for a while; or RATE/DURATION.")
    ] = None,
    duration: Annotated[float, typer.Option(help="Length of a run; else 200 periods.", show_default=False)] = 0.0,
    runs: Annotated[int, typer.Option(help="Runs; one crash in each.")] = 20,
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Measure failure detectors: how soon a crash is noticed, how often they err, and for how long.

    Every process sends a sign of life each PERIOD, and suspects whoever was silent for TIMEOUT; after a mistake about a
    process it is more patient with that one.
    """
    from congenial.cli.output import print_json, show, table
    from congenial.sim.detection import measure_detector

    network = {"delay": delay, "loss": tuple(loss or ()), "pause": tuple(pause or ())}
    measured = [
        measure_detector(name, nodes=nodes, duration=duration, runs=runs, seed=seed, **network) for name in detectors
    ]
    if json:
        print_json([quality.as_dict() for quality in measured])
        return
    rows = table(
        "detector", ">detection time", ">most", ">mistakes per time", ">of duration", ">accuracy", ">messages per time"
    )
    for quality in measured:
        rows.add_row(
            quality.detector,
            f"{quality.detection_time:.4g}",
            f"{quality.detection_time_max:.4g}{f', {quality.undetected} missed' if quality.undetected else ''}",
            f"{quality.mistake_rate:.3g}",
            f"{quality.mistake_duration:.4g}",
            f"{quality.accuracy:.6f}",
            f"{quality.messages_per_time:.3g}",
        )
    show(rows)
