"""The options that describe a run, said once for all subcommands that run something."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from congenial.kernel.errors import ConfigError

ALGORITHM, LOAD, NETWORK, FAULTS, RUNS = "Algorithm", "Load", "Network", "Faults", "Runs"
TIME = "MEAN or KIND:VALUES"
KINDS = "exponential:MEAN, uniform:LOW,HIGH, constant:VALUE, lognormal:MEAN,SIGMA or file:PATH"

Parameters = dict[str, Any]
"""The parameters of a `Scenario`, all but the algorithm."""


def parameters(
    nodes: Annotated[int, typer.Option("--nodes", "-n", help="Processes.", rich_help_panel=LOAD)] = 10,
    groups: Annotated[int, typer.Option("--groups", "-m", help="Groups to ask for.", rich_help_panel=LOAD)] = 1,
    requests: Annotated[int, typer.Option("--requests", "-r", help="Of each process.", rich_help_panel=LOAD)] = 100,
    think: Annotated[
        str,
        typer.Option(metavar=TIME, help=f"Time between requests: a mean (exponential), {KINDS}.", rich_help_panel=LOAD),
    ] = "50",
    hold: Annotated[
        str, typer.Option(metavar=TIME, help="Time inside; a bare mean x is uniform on 0..2x.", rich_help_panel=LOAD)
    ] = "20",
    skew: Annotated[
        str, typer.Option(metavar="A/B", help="A% of the groups draw B% of the requests: 20/80.", rich_help_panel=LOAD)
    ] = "",
    load: Annotated[
        str, typer.Option(help="closed, burst, single, turns, or a .csv file of arrivals.", rich_help_panel=LOAD)
    ] = "closed",
    delay: Annotated[str, typer.Option(metavar=TIME, help="Of a message.", rich_help_panel=NETWORK)] = "10",
    bandwidth: Annotated[
        float, typer.Option(help="Integers per unit of time; 0: no limit.", rich_help_panel=NETWORK)
    ] = 0.0,
    fifo: Annotated[
        bool | None,
        typer.Option(
            "--fifo/--unordered", help="Of channels; else as the algorithm needs it.", rich_help_panel=NETWORK
        ),
    ] = None,
    quorums: Annotated[
        str, typer.Option(help="plane, grid, majority, singleton or auto.", rich_help_panel=ALGORITHM)
    ] = "",
    tree: Annotated[str, typer.Option(help="star, line, balanced or random.", rich_help_panel=ALGORITHM)] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any option of the algorithm.", rich_help_panel=ALGORITHM),
    ] = None,
    loss: Annotated[
        list[str] | None,
        typer.Option(metavar="SHARE[@FROM-TO]", help="Messages are lost.", rich_help_panel=FAULTS),
    ] = None,
    duplicate: Annotated[
        list[str] | None,
        typer.Option(metavar="SHARE[@FROM-TO]", help="Messages arrive twice.", rich_help_panel=FAULTS),
    ] = None,
    reorder: Annotated[
        list[str] | None,
        typer.Option(metavar="SHARE[@FROM-TO]", help="FIFO messages are overtaken.", rich_help_panel=FAULTS),
    ] = None,
    crash: Annotated[
        list[str] | None,
        typer.Option(metavar="P@FROM[-TO]", help="Process P crashes; or RATE/DURATION.", rich_help_panel=FAULTS),
    ] = None,
    pause: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P@FROM[-TO]", help="Process P stops for a while; or RATE/DURATION.", rich_help_panel=FAULTS
        ),
    ] = None,
    partition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P,..|P,..@FROM[-TO]", help="The network splits; or RATE/DURATION.", rich_help_panel=FAULTS
        ),
    ] = None,
    suspect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P@FROM[-TO]", help="All falsely suspect process P; or RATE/DURATION.", rich_help_panel=FAULTS
        ),
    ] = None,
    detector: Annotated[
        str, typer.Option(metavar="heartbeat:PERIOD,TIMEOUT", help="Watch for silence.", rich_help_panel=FAULTS)
    ] = "",
    detection: Annotated[
        float | None, typer.Option(help="Time until a crash is known to the others.", rich_help_panel=FAULTS)
    ] = None,
    warmup: Annotated[float, typer.Option(help="Measure from this time on.", rich_help_panel=RUNS)] = 0.0,
    until: Annotated[float, typer.Option(help="Stop at this time.", show_default=False, rich_help_panel=RUNS)] = float(
        "inf"
    ),
) -> Parameters:
    """What these options come to as parameters of a `Scenario`."""
    if detection is not None and not detection >= 0:
        raise ConfigError(f"--detection must not be negative, and is {detection:g}")
    options = {name: value for name, value in (("quorums", quorums), ("tree", tree)) if value}
    options.update(algorithm_options(settings))
    return {
        "nodes": nodes, "groups": groups, "requests": requests, "think": think, "hold": hold, "skew": skew,
        "load": load, "delay": delay, "bandwidth": bandwidth, "fifo": fifo, "warmup": warmup, "until": until,
        "loss": tuple(loss or ()), "duplicate": tuple(duplicate or ()), "reorder": tuple(reorder or ()),
        "crash": tuple(crash or ()), "pause": tuple(pause or ()), "partition": tuple(partition or ()),
        "suspect": tuple(suspect or ()), "detector": detector,
        "detection": -1.0 if detection is None else detection, "options": options,
    }  # fmt: skip


def algorithm_options(settings: list[str] | None) -> dict[str, str]:
    """The options of an algorithm, as --set gives them."""
    options: dict[str, str] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise ConfigError(f"--set {setting!r} is not like name=value")
        options[name.strip()] = value.strip()
    return options


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a subcommand the options above; it gets what they come to as its argument `given`."""
    own = inspect.signature(command, eval_str=True).parameters
    shared = inspect.signature(parameters, eval_str=True).parameters
    both = [p.replace(kind=p.KEYWORD_ONLY) for p in (*own.values(), *shared.values()) if p.name != "given"]

    def with_all_options(**values: Any) -> None:
        given = parameters(**{name: values.pop(name) for name in shared})
        command(given=given, **values)

    # typer reads the options off the signature
    with_all_options.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
    with_all_options.__annotations__ = {p.name: p.annotation for p in both}
    with_all_options.__doc__ = command.__doc__
    return with_all_options


def complete_algorithm(incomplete: str) -> list[tuple[str, str]]:
    """For the shell: catalogue names, with their titles."""
    from congenial.systems.catalogue import ALGORITHMS

    return [(name, kind.spec.title) for name, kind in ALGORITHMS.items() if name.startswith(incomplete)]


NAMED = "A name from `congenial list`, or path/to/file.py:ClassName; behind it +restart or +epochs to survive crashes."
Algorithm = Annotated[str, typer.Argument(help=NAMED, autocompletion=complete_algorithm)]
Seed = Annotated[int, typer.Option(help="Equal seeds give equal runs.", rich_help_panel=RUNS)]
Repeat = Annotated[int, typer.Option(help="Runs, with seeds SEED, SEED+1, ...", rich_help_panel=RUNS)]
Precision = Annotated[
    float, typer.Option(help="Repeat until the 95% intervals are within this share: 0.02.", rich_help_panel=RUNS)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")]
