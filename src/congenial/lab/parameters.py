"""What a sweep can vary, fix and measure: names, and the one form of each value."""

from __future__ import annotations

from typing import Any

from congenial.kernel.errors import ConfigError
from congenial.kernel.inputs import shown
from congenial.lab.replication import Value
from congenial.sim.chance import Distribution
from congenial.sim.faults import MessageFault, Outage, Partition, RandomOutages, RandomPartitions
from congenial.sim.result import MEASURES
from congenial.sim.scenario import FAULTS, WHOLE

METRICS: dict[str, str] = {
    "messages_per_entry": "messages per entry",
    "integers_per_message": "integers per message",
    "integers_per_entry": "integers per entry",
    "waiting_time_mean": "waiting time",
    "waiting_time_p50": "waiting time, median",
    "waiting_time_p90": "waiting time, 90%",
    "waiting_time_p99": "waiting time, 99%",
    "waiting_time_max": "waiting time, longest",
    "sync_delay_mean": "synchronisation delay",
    "sync_delay_min": "synchronisation delay, shortest",
    "sync_delay_max": "synchronisation delay, longest",
    "throughput": "entries per unit of time",
    "concurrency_mean": "inside together",
    "concurrency_max": "inside together, most",
    "fairness": "fairness (Jain)",
    "simulated_time": "simulated time",
    "lone_entries": "entries without competition",
    "free_entries": "entries without competition that cost nothing",
    "lone_cost_min": "messages of an entry without competition, least",
    "lone_cost_max": "messages of an entry without competition, most",
}
"""What can be measured, and its name on axes and in tables."""

USUAL_METRICS = ("messages_per_entry", "integers_per_message", "waiting_time_mean", "throughput")

PARAMETERS: dict[str, str] = {
    "nodes": "processes",
    "groups": "groups",
    "requests": "requests per process",
    "think": "mean time between requests",
    "hold": "mean time inside",
    "delay": "mean channel delay",
    "bandwidth": "bandwidth, integers per unit of time",
    "skew": "% of the groups / % of the requests",
    "fifo": "channels keep order",
    "load": "load",
    "warmup": "warm-up",
    "until": "end of the run",
    "loss": "share of messages lost",
    "duplicate": "share of messages duplicated",
    "reorder": "share of messages reordered",
    "crash": "crashes",
    "pause": "pauses",
    "partition": "partitions",
    "suspect": "false suspicions",
    "detector": "failure detector",
    "detection": "time until crashes are noticed",
}
"""What can be varied or fixed: parameters of `Scenario`, and their names on axes."""

AMOUNT = ("bandwidth", "warmup", "until", "detection")
DISTRIBUTION = "a number, or a distribution"
FAULT_VALUES = (str, int, float, MessageFault, Outage, Partition, RandomOutages, RandomPartitions)
AMOUNT_OR_TEXT = ("think", "hold", "delay")

assert set(METRICS) == {*MEASURES, "integers_per_message"}


def clean_value(name: str, value: Any) -> Value:
    """The one form of a parameter's value, so that 50, 50.0 and '50' mean the same run."""
    try:
        if isinstance(value, bool) and name != "fifo":
            raise ValueError(value)
        if name in WHOLE:
            if int(value) != float(value):
                raise ValueError(value)
            return int(value)
        if name in AMOUNT:
            return float(value)
        if name in AMOUNT_OR_TEXT:
            return _amount_or_text(value)
        if name == "fifo":
            return value if isinstance(value, bool) else {"true": True, "false": False}[str(value)]
        if name in FAULTS:
            items = value if isinstance(value, (list, tuple)) else [value]
            if not all([isinstance(item, FAULT_VALUES) and not isinstance(item, bool) for item in items]):
                raise ValueError(value)
            return " ".join([str(item) for item in items])
        if not isinstance(value, str):
            raise ValueError(value)
        return value
    except (ValueError, TypeError, KeyError, OverflowError):
        form = _form(name)
        raise ConfigError(f"{name} should be {form}, not {shown(value)}") from None


def _form(name: str) -> str:
    if name in WHOLE:
        return "a whole number"
    if name in AMOUNT:
        return "a number"
    if name in FAULTS:
        return "a text, or values of its class"
    return {"fifo": "true or false", "think": DISTRIBUTION, "hold": DISTRIBUTION, "delay": DISTRIBUTION}.get(
        name, "a text"
    )


def _amount_or_text(value: Any) -> Value:
    """A mean as a number; a distribution, as a text or as a value such as `Uniform(5, 15)`, as a text."""
    if not isinstance(value, (int, float, str, Distribution)):
        raise ValueError(value)
    try:
        return float(value)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return str(value)


def show_value(value: Value) -> str:
    """As on axes and in tables."""
    return f"{value:g}" if isinstance(value, float) else str(value)
