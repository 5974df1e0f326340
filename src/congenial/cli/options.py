"""The options that describe a run, defined once for all subcommands that run something.

They are the parameters of `Scenario`, with two shorthands for options of algorithms (--quorums, --tree).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown

ALGORITHM, LOAD, NETWORK, FAULTS, RUNS = "Algorithm", "Load", "Network", "Faults", "Runs"

TIME = "MEAN or KIND:VALUES"
KINDS = "exponential:MEAN, uniform:LOW,HIGH, constant:VALUE, lognormal:MEAN,SIGMA or file:PATH"
SHARE = "SHARE[@FROM-TO]"
OUTAGE = "P@FROM[-TO]"


def complete_algorithm(incomplete: str) -> list[tuple[str, str]]:
    """For the shell: catalogue names, with their titles."""
    from congenial.systems.catalogue import ALGORITHMS

    return [(name, kind.spec.title) for name, kind in ALGORITHMS.items() if name.startswith(incomplete)]


# -- the algorithm -------------------------------------------------------------------------------------------

NAMED = (
    "A name from `congenial list`, or path/to/file.py:ClassName. With +restart, +epochs or +views appended it survives "
    "crashes."
)
Algorithm = Annotated[str, typer.Argument(help=NAMED, autocompletion=complete_algorithm)]
Quorums = Annotated[str, typer.Option(help="plane, grid, majority, singleton or auto.", rich_help_panel=ALGORITHM)]
Tree = Annotated[str, typer.Option(help="star, line, balanced or random.", rich_help_panel=ALGORITHM)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Any option of the algorithm.", rich_help_panel=ALGORITHM),
]

# -- the load ------------------------------------------------------------------------------------------------

Nodes = Annotated[int, typer.Option("--nodes", "-n", help="Number of processes.", rich_help_panel=LOAD)]
Groups = Annotated[int, typer.Option("--groups", "-m", help="Number of groups to ask for.", rich_help_panel=LOAD)]
Requests = Annotated[int, typer.Option("--requests", "-r", help="Requests of each process.", rich_help_panel=LOAD)]
Think = Annotated[
    str, typer.Option(metavar=TIME, help=f"Time between requests: a mean (exponential), {KINDS}.", rich_help_panel=LOAD)
]
Hold = Annotated[
    str, typer.Option(metavar=TIME, help="Time inside; a bare mean x is uniform on 0..2x.", rich_help_panel=LOAD)
]
Skew = Annotated[
    str, typer.Option(metavar="A/B", help="A% of the groups draw B% of the requests: 20/80.", rich_help_panel=LOAD)
]
Load = Annotated[
    str, typer.Option(help="closed, burst, single, turns, or a .csv file of arrivals.", rich_help_panel=LOAD)
]

# -- the network ---------------------------------------------------------------------------------------------

Delay = Annotated[str, typer.Option(metavar=TIME, help="Time that a message takes.", rich_help_panel=NETWORK)]
Bandwidth = Annotated[
    float, typer.Option(help="Integers per unit of time and channel; 0: no limit.", rich_help_panel=NETWORK)
]
Fifo = Annotated[
    bool | None,
    typer.Option(
        "--fifo/--unordered",
        help="Channels keep the order; if not given, as the algorithm needs it.",
        rich_help_panel=NETWORK,
    ),
]

# -- faults --------------------------------------------------------------------------------------------------

Loss = Annotated[list[str] | None, typer.Option(metavar=SHARE, help="Messages are lost.", rich_help_panel=FAULTS)]
Duplicate = Annotated[
    list[str] | None, typer.Option(metavar=SHARE, help="Messages arrive twice.", rich_help_panel=FAULTS)
]
Reorder = Annotated[
    list[str] | None, typer.Option(metavar=SHARE, help="FIFO messages are overtaken.", rich_help_panel=FAULTS)
]
Crash = Annotated[
    list[str] | None,
    typer.Option(metavar=OUTAGE, help="Process P crashes; or RATE/DURATION.", rich_help_panel=FAULTS),
]
Pause = Annotated[
    list[str] | None,
    typer.Option(metavar=OUTAGE, help="Process P stops for a while; or RATE/DURATION.", rich_help_panel=FAULTS),
]
Partition = Annotated[
    list[str] | None,
    typer.Option(metavar="P,..|P,..@FROM[-TO]", help="The network splits; or RATE/DURATION.", rich_help_panel=FAULTS),
]
Suspect = Annotated[
    list[str] | None,
    typer.Option(metavar=OUTAGE, help="All falsely suspect process P; or RATE/DURATION.", rich_help_panel=FAULTS),
]
Detector = Annotated[
    str,
    typer.Option(
        metavar="heartbeat:PERIOD,TIMEOUT", help="Processes suspect others that are silent.", rich_help_panel=FAULTS
    ),
]
Detection = Annotated[
    float | None, typer.Option(help="Time until all others learn of a crash.", rich_help_panel=FAULTS)
]

# -- runs ----------------------------------------------------------------------------------------------------

Warmup = Annotated[float, typer.Option(help="Measure from this time on.", rich_help_panel=RUNS)]
Until = Annotated[float, typer.Option(help="Stop at this time.", show_default=False, rich_help_panel=RUNS)]
Seed = Annotated[int, typer.Option(help="Equal seeds give equal runs.", rich_help_panel=RUNS)]
Repeat = Annotated[int, typer.Option(help="Number of runs, with seeds SEED, SEED+1, ...", rich_help_panel=RUNS)]
Precision = Annotated[
    float, typer.Option(help="Repeat until the 95% intervals are within this share: 0.02.", rich_help_panel=RUNS)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")]

# -- all of them ---------------------------------------------------------------------------------------------

Parameters = dict[str, Any]
"""The parameters of a `Scenario`, all but the algorithm."""


def parameters(
    nodes: Nodes = 10,
    groups: Groups = 1,
    requests: Requests = 100,
    think: Think = "50",
    hold: Hold = "20",
    skew: Skew = "",
    load: Load = "closed",
    delay: Delay = "10",
    bandwidth: Bandwidth = 0.0,
    fifo: Fifo = None,
    quorums: Quorums = "",
    tree: Tree = "",
    settings: Settings = None,
    loss: Loss = None,
    duplicate: Duplicate = None,
    reorder: Reorder = None,
    crash: Crash = None,
    pause: Pause = None,
    partition: Partition = None,
    suspect: Suspect = None,
    detector: Detector = "",
    detection: Detection = None,
    warmup: Warmup = 0.0,
    until: Until = float("inf"),
) -> Parameters:
    """These options as parameters of a `Scenario`."""
    given: Parameters = dict(locals())
    for name in ("loss", "duplicate", "reorder", "crash", "pause", "partition", "suspect"):
        given[name] = tuple(given[name] or ())
    for name in ("quorums", "tree", "settings"):
        del given[name]
    shorthands = {name: value for name, value in (("quorums", quorums), ("tree", tree)) if value}
    options = algorithm_options(settings)
    for name in shorthands:
        if name in options:
            raise ConfigError(f"--{name} and --set {name}=... are the same: give one of them")
    return {**given, "options": {**shorthands, **options}}


UNUSED = {
    "burst": ("requests", "think"),
    "single": ("requests", "think"),
    "turns": ("think",),
    ".csv": ("requests", "think", "groups", "skew"),
}
"""The options that a load makes no use of."""


def check_effects(given: Parameters) -> None:
    """Refuse options that would change nothing, since a user who gives them expects an effect."""
    from congenial.sim.workload import parse_skew

    usual = parameters()
    load = given["load"]
    for name in UNUSED.get(".csv" if load.endswith(".csv") else load, ()):
        if given[name] != usual[name]:
            raise ConfigError(f"--{name} has no effect with --load {load}: leave it out")
    if given["skew"] and parse_skew(given["skew"]) and given["groups"] == 1:
        raise ConfigError("--skew has no effect with one group: give --groups as well")
    if given["detection"] is not None and not given["crash"]:
        raise ConfigError("--detection has no effect without --crash")
    if given["reorder"] and given["fifo"] is False:
        raise ConfigError("--reorder has no effect with --unordered: only channels that keep the order can break it")


def algorithm_options(settings: list[str] | None) -> dict[str, str]:
    """The options of an algorithm, as --set gives them."""
    options: dict[str, str] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise ConfigError(f"--set {shown(setting)} is not like name=value")
        if name.strip() in options:
            raise ConfigError(f"--set gives {shown(name.strip())} twice")
        options[name.strip()] = value.strip()
    return options


def with_parameters(command: Callable[..., None]) -> Callable[..., None]:
    """Give a subcommand the options of `parameters`. It gets their result as its argument `given`."""
    return with_options(command, parameters)


def with_options(command: Callable[..., None], options: Callable[..., Any], **defaults: Any) -> Callable[..., None]:
    """Give a subcommand the options that are the parameters of a function, with other `defaults` where these say so.
    It gets what the function returns as its argument `given`."""
    own = inspect.signature(command, eval_str=True).parameters
    shared = [
        parameter.replace(default=defaults.get(name, parameter.default))
        for name, parameter in inspect.signature(options, eval_str=True).parameters.items()
    ]
    both = [p.replace(kind=p.KEYWORD_ONLY) for p in (*own.values(), *shared) if p.name != "given"]

    def with_all_options(**values: Any) -> None:
        given = options(**{parameter.name: values.pop(parameter.name) for parameter in shared})
        command(given=given, **values)

    # typer reads the options off the signature
    with_all_options.__signature__ = inspect.Signature(both)  # type: ignore[attr-defined]
    with_all_options.__annotations__ = {p.name: p.annotation for p in both}
    with_all_options.__doc__ = command.__doc__
    return with_all_options
