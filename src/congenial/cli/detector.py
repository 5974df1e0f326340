"""`congenial detector`: measure failure detectors."""

from __future__ import annotations

from typing import Annotated

import typer

from congenial.cli.options import Delay, Json, Loss, Nodes, Pause, Seed

EXAMPLES = """
congenial detector heartbeat:10,30 heartbeat:10,60
congenial detector heartbeat:10,40 --delay lognormal:5,1.5 --loss 0.05
congenial detector heartbeat:10,40 --pause 0.001/100 --json
"""


def command(
    detectors: Annotated[list[str], typer.Argument(metavar="heartbeat:PERIOD,TIMEOUT...", help="What to measure.")],
    nodes: Nodes = 5,
    delay: Delay = "10",
    loss: Loss = None,
    pause: Pause = None,
    duration: Annotated[float, typer.Option(help="Length of a run; 0: 200 periods.", show_default=False)] = 0.0,
    runs: Annotated[int, typer.Option(help="Number of runs; one crash in each.")] = 20,
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Measure failure detectors: how soon they notice a crash, how often they are mistaken, and for how long.

    Every process sends a heartbeat each PERIOD, and suspects a process that was silent for TIMEOUT. After a mistake
    about a process its timeout for that process grows.
    """
    from congenial.cli.output import print_json, show, table
    from congenial.sim.detection import measure_detector

    measured = [
        measure_detector(
            name, nodes=nodes, duration=duration, runs=runs, seed=seed, delay=delay, loss=loss or (), pause=pause or ()
        )
        for name in detectors
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
