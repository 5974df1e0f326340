"""The options that bound what may happen in a run, for `check` and `fuzz` alike: the fields of `Bounds`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from congenial.cli.options import with_options
from congenial.kernel.errors import ConfigError

BOUNDS = "What may happen"


def bounds(
    requests: Annotated[int, typer.Option(help="How often each process may ask.", rich_help_panel=BOUNDS)] = 2,
    groups: Annotated[
        int | None,
        typer.Option(help="How many groups there are; if not given, those of --wants, or one.", rich_help_panel=BOUNDS),
    ] = None,
    wants: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="What each process may ask for: '0;1;0,1' by process; 0|1 means either one.",
            rich_help_panel=BOUNDS,
        ),
    ] = "",
    order: Annotated[
        str,
        typer.Option(
            metavar="any|fifo",
            help="Do channels keep the order of messages? If not given, as the algorithm needs it.",
            rich_help_panel=BOUNDS,
        ),
    ] = "",
    crashes: Annotated[int, typer.Option(help="Crashes that may happen.", rich_help_panel=BOUNDS)] = 0,
    losses: Annotated[int, typer.Option(help="Messages that may be lost.", rich_help_panel=BOUNDS)] = 0,
    duplicates: Annotated[int, typer.Option(help="Messages that may arrive twice.", rich_help_panel=BOUNDS)] = 0,
    suspicions: Annotated[
        int, typer.Option(help="False suspicions that the failure detector may have.", rich_help_panel=BOUNDS)
    ] = 0,
    lasting: Annotated[
        bool,
        typer.Option(
            "--lasting", help="A suspicion may last longer than timers run, as in a cut.", rich_help_panel=BOUNDS
        ),
    ] = False,
    timers: Annotated[
        str,
        typer.Option(
            metavar="free|quiet|patient",
            help="When timers run out: any time, when no message is under way, or when nothing else can happen. If "
            "not given, as the algorithm needs it.",
            rich_help_panel=BOUNDS,
        ),
    ] = "",
    recovery: Annotated[
        bool,
        typer.Option(
            "--recovery/--no-recovery", help="A crashed process recovers in the end, or never.", rich_help_panel=BOUNDS
        ),
    ] = True,
    operations: Annotated[
        int,
        typer.Option(
            help="Operations that may be issued in each stay, under weak exclusion; their order is judged.",
            rich_help_panel=BOUNDS,
        ),
    ] = 0,
) -> dict[str, Any]:
    """The fields of `Bounds`."""
    return {
        "requests": requests, "groups": groups, "wants": wants, "order": order, "crashes": crashes, "losses": losses,
        "duplicates": duplicates, "suspicions": suspicions, "lasting": lasting, "timers": timers, "recovery": recovery,
        "operations": operations,
    }  # fmt: skip


def check_effects(given: dict[str, Any]) -> None:
    """Refuse options that would change nothing."""
    if not given["recovery"] and not given["crashes"]:
        raise ConfigError("--no-recovery has no effect without --crashes")
    if given["lasting"] and not given["suspicions"]:
        raise ConfigError("--lasting has no effect without --suspicions")


def with_bounds(requests: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a subcommand the options above; it gets the bounds as its argument `given`. `requests` is the default."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        return with_options(command, bounds, requests=requests)

    return decorate
