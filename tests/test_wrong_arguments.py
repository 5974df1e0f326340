"""Every parameter of every public function is given what it cannot take. The answer is an error of this package, in one
line, that names the parameter. A parameter without a row here fails the test."""

from __future__ import annotations

import inspect
import os
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import congenial
from congenial import (
    Arrival,
    Bounds,
    ConfigError,
    Constant,
    Exponential,
    LogNormal,
    Measured,
    MessageFault,
    Node,
    Outage,
    Partition,
    RandomOutages,
    RandomPartitions,
    Scenario,
    Sweep,
    Uniform,
    check,
    compare,
    fuzz,
    replay,
    reproduce,
    simulate,
    sweep,
)
from congenial.kernel.inputs import shown
from congenial.sim.detection import measure_detector
from congenial.sim.hops import measure_hops
from congenial.testing import conformance

NAN, INFINITE, HUGE = float("nan"), float("inf"), 10**30
TOO_LONG = 10**5000  # it cannot even be printed
NOTHING: Any = object()

COUNT = [True, 2.0, 2.5, "2", None, NAN, INFINITE, -1, 0, HUGE, -HUGE, TOO_LONG, [2], NOTHING]
COUNT_OR_NONE = [value for value in COUNT if value is not None]
COUNT_FROM_0 = [value for value in COUNT if value != 0]
SEED = [True, 2.0, "2", None, NAN, HUGE, -HUGE, TOO_LONG, [2], NOTHING]
AMOUNT = [True, "2", None, NAN, INFINITE, -1, -0.5, -INFINITE, TOO_LONG, [2], NOTHING]
AMOUNT_OR_NONE = [value for value in AMOUNT if value is not None]
TIME = [value for value in AMOUNT if value != INFINITE]
FLAG = [0, 1, "true", 2.0, [], NOTHING]
FLAG_NOT_NONE = [*FLAG, None]
TEXT = [None, True, 2, 2.5, NAN, b"x", ["x"], NOTHING, "?", "x" * 10_000]
PATH = [True, 2, 2.5, NAN, ["x"], NOTHING, "no\0name"]
ALGORITHM = [
    None, True, 2, NAN, [], NOTHING, int, Node, "", "no-such", "+", "lamport+", "lamport+x", "no/such.py:Node", "x:y z",
    ":", f"{__file__}:Nothing", f"{__file__}:", f"{__file__}:not a name", f"{os.path.dirname(__file__)}:Node",
]  # fmt: skip
OPTIONS = [True, 2, "k=2", ["k"], NOTHING, {"no-such": "1"}, {1: "1"}, {"k": None}, {"k": [1]}]
CALLBACK = [True, 2, "x", [1]]
DISTRIBUTION = [
    None, True, NAN, INFINITE, -1, TOO_LONG, [1], NOTHING, "", "x", "-1", "nan", "inf", "uniform:1", "uniform:5,1",
    "constant:", "constant:nan", "lognormal:1,-1", "file:", "file:no/such", "file:/", "gamma:1,2",
]  # fmt: skip
MESSAGE_FAULT = [True, NAN, INFINITE, -0.1, 1.1, None, NOTHING, "", "x", "2", "0.1@", "0.1@5-1", "0.1@nan", [None], {}]
MESSAGE_FAULT.remove("0.1@")  # from the beginning, forever
OUTAGE = [
    True,
    2,
    NAN,
    None,
    NOTHING,
    "",
    "x",
    "9@1",
    "-1@1",
    "0@5-1",
    "0@nan",
    "0/1",
    "1/0",
    "x/1",
    "nan/1",
    [None],
    {},
]
PARTITION = [*OUTAGE, "0,1@10", "0@1", "0|0@1", "0|@1", "|@1", Partition([[0, 1]], 5), Partition([[], [0, 1, 2, 3]], 5)]
SKEW = [None, True, 2, "x", "20", "20/800", "0/10", "nan/10", "20/80/3", NOTHING]
LOAD = [None, True, 2, [], [None], ["x"], NOTHING, "", "x", "no/such.csv", [Arrival(0, 99)], {}]
DETECTOR = [
    None,
    True,
    2,
    "x",
    "heartbeat",
    "heartbeat:0,1",
    "heartbeat:1",
    "heartbeat:nan,1",
    "heartbeat:1,inf",
    NOTHING,
]
WANTS = [
    True,
    2,
    NOTHING,
    "x",
    "0",
    "0;0;x",
    "0;-1",
    "0;;",
    [0, 1],
    [[0], [1]],
    [[(0,)], [(True,)]],
    [[("x",)], [(0,)]],
]
ORDER = [None, True, 2, "x", "FIFO", NOTHING]
NAMES = [None, True, 2, "lamport", [], {}, NOTHING]

SCENARIO: dict[str, list[Any]] = {
    "nodes": COUNT, "groups": COUNT, "requests": COUNT, "think": DISTRIBUTION, "hold": DISTRIBUTION,
    "delay": DISTRIBUTION, "bandwidth": AMOUNT, "skew": SKEW, "fifo": FLAG, "load": LOAD, "warmup": AMOUNT,
    "until": TIME, "loss": MESSAGE_FAULT, "duplicate": MESSAGE_FAULT, "reorder": MESSAGE_FAULT, "crash": OUTAGE,
    "pause": OUTAGE, "partition": PARTITION, "suspect": OUTAGE, "detector": DETECTOR, "detection": AMOUNT_OR_NONE,
    "operations": [*COUNT_FROM_0, 1], "options": OPTIONS,
}  # fmt: skip
WHEN_RUN: dict[str, list[Any]] = {
    "algorithm": [], "think": [], "hold": [], "delay": [], "skew": [None], "load": [], "detector": [None],
}  # fmt: skip
"""Of a scenario, what is looked at when it is run: files, and what takes the algorithm."""
BOUNDS: dict[str, list[Any]] = {
    "requests": COUNT, "groups": COUNT_OR_NONE, "wants": WANTS, "order": ORDER, "crashes": [*COUNT_FROM_0, 256],
    "losses": COUNT_FROM_0, "duplicates": COUNT_FROM_0, "suspicions": COUNT_FROM_0, "lasting": FLAG_NOT_NONE,
    "timers": ORDER, "recovery": FLAG_NOT_NONE, "operations": [*COUNT_FROM_0, 1],
}  # fmt: skip
RUNS: dict[str, list[Any]] = {"seed": SEED, "repeat": COUNT, "precision": AMOUNT, "progress": CALLBACK}
LAB: dict[str, list[Any]] = {"jobs": COUNT_FROM_0, "cluster": [None, True, 2, NOTHING], "progress": CALLBACK}
SMALL: dict[str, Any] = {"nodes": 2, "requests": 1}

Call = Callable[..., Any]
TABLE: dict[str, tuple[Call, dict[str, Any], dict[str, list[Any]]]] = {
    "simulate": (
        simulate,
        {"algorithm": "lamport", "nodes": 3, "requests": 1},
        {"algorithm": ALGORITHM, "trace": [*PATH, "no/such/place", "/"], **RUNS, **SCENARIO},
    ),
    "Scenario": (
        Scenario,
        {"algorithm": "lamport", "nodes": 3, "requests": 1},
        {**SCENARIO, "operations": COUNT_FROM_0, "options": OPTIONS[:5], **WHEN_RUN},
    ),
    "compare": (
        compare,
        {"algorithms": ["lamport"], "nodes": 3, "requests": 1},
        {"algorithms": [*NAMES, ["no-such"], [None], ["lamport", 2]], "jobs": COUNT_FROM_0, **RUNS, **SCENARIO},
    ),
    "check": (
        check,
        {"algorithm": "lamport", **SMALL},
        {
            "algorithm": ALGORITHM, "nodes": [*COUNT, 256], "options": OPTIONS, "bounds": [True, 2, {"requests": 1}],
            "reduce": FLAG, "symmetry": FLAG_NOT_NONE, "limit": COUNT, "jobs": COUNT, "progress": CALLBACK,
            "executor": [True, 2, "x", NOTHING], "trace": [*PATH, "no/such/place", "/"], **BOUNDS,
        },
    ),
    "fuzz": (
        fuzz,
        {"algorithm": "lamport", "runs": 1, **SMALL},
        {
            "algorithm": ALGORITHM, "nodes": COUNT, "runs": COUNT, "seed": SEED, "jobs": COUNT, "options": OPTIONS,
            "bounds": [True, 2, {"requests": 1}], "progress": CALLBACK,
            "trace": [*PATH, "no/such/place", "/"], **BOUNDS,
        },
    ),
    "Bounds": (Bounds, {}, {**BOUNDS, "wants": [], "operations": COUNT_FROM_0}),
    "replay": (replay, {"path": "no/such"}, {"path": [*PATH, None, "", "no/such", "/", __file__]}),
    "sweep": (
        sweep,
        {"what": Sweep(["lamport"], {"nodes": [2]}, {"requests": 1}, most=2, least=2)},
        {"what": [*PATH, None, "no/such", "/", __file__], "folder": [*PATH, "/proc/x", __file__], **LAB},
    ),
    "reproduce": (
        reproduce,
        {"paper": "wme"},
        {
            "paper": [*TEXT, "all", "no-such", "wme/9"], "figures": [True, 2, "table1", ["9"], [None], NOTHING],
            "quick": FLAG_NOT_NONE, "folder": [*PATH, "/proc/x", __file__], "docs": [*PATH, "docs"], **LAB,
        },
    ),
    "Sweep": (
        Sweep,
        {"algorithms": ["lamport"], "vary": {"nodes": [2]}},
        {
            "algorithms": [*NAMES, [None], ["lamport", "lamport"]],
            "vary": [None, 2, "x", [], {}, {"x": [1]}, {"nodes": []}, {"nodes": 2}, {"nodes": ["x"]},
                     {"nodes": [1, 1]}],
            "fixed": [None, 2, "x", {"x": 1}, {"nodes": 2}, {"requests": "x"}, {"think": None}, {"loss": [None]}],
            "metrics": [None, 2, "fairness", ["x"], [None], ["fairness", "fairness"]],
            "precision": [*AMOUNT, 0], "least": COUNT, "most": COUNT, "many": COUNT_FROM_0,
            "if_many": [None, 2, "x", {"x": 1}, {"nodes": 2}, {"fifo": "x"}], "seed": SEED, "name": [None, 2, []],
            "within": [None, 2, "x", [], {"x": 1}, {"fairness": 0}, {"fairness": "x"}, {"fairness near x": 1}],
        },
    ),
    "conformance": (
        conformance,
        {"algorithm": "lamport"},
        {"algorithm": ALGORITHM, "options": OPTIONS, "states": COUNT, "runs": COUNT},
    ),
    "measure_hops": (
        measure_hops,
        {"algorithm": "lamport", "nodes": 2},
        {"algorithm": ALGORITHM, "nodes": COUNT, "groups": COUNT, "options": OPTIONS},
    ),
    "measure_detector": (
        measure_detector,
        {"detector": "heartbeat:10,30", "nodes": 2, "runs": 1},
        {
            "detector": DETECTOR, "nodes": [*COUNT, 1], "duration": AMOUNT, "runs": COUNT, "seed": SEED,
            **{name: SCENARIO[name] for name in ("delay", "bandwidth", "fifo", "loss", "duplicate", "reorder", "crash",
                                                 "pause", "partition")},
        },
    ),
    "MessageFault": (MessageFault, {"rate": 0.5}, {"rate": [*AMOUNT, 1.5], "start": AMOUNT, "end": TIME}),
    "Outage": (Outage, {"process": 1, "start": 2}, {"process": COUNT_FROM_0, "start": AMOUNT, "end": [*TIME, 1]}),
    "Partition": (
        Partition,
        {"sides": [[0], [1]], "start": 2},
        {"sides": [None, 2, "01", [0, 1], [[0], [0]], [["x"]], [[True]]], "start": AMOUNT, "end": [*TIME, 1]},
    ),
    "RandomOutages": (RandomOutages, {"rate": 1, "duration": 1}, {"rate": [*AMOUNT, 0], "duration": [*AMOUNT, 0]}),
    "RandomPartitions": (
        RandomPartitions,
        {"rate": 1, "duration": 1},
        {"rate": [*AMOUNT, 0], "duration": [*AMOUNT, 0]},
    ),
    "Arrival": (
        Arrival,
        {"time": 1, "process": 0},
        {"time": AMOUNT, "process": COUNT_FROM_0, "groups": [None, 2, "0", (), (True,), ("x",), (-1,)],
         "hold": AMOUNT_OR_NONE},
    ),
}  # fmt: skip
ELSEWHERE = {"join", "join_blocking", "connect", "connect_blocking"}  # of the network: tests/net/ tries their settings
DISTRIBUTIONS: dict[str, tuple[Call, dict[str, Any]]] = {
    "Constant": (Constant, {"value": 1}),
    "Exponential": (Exponential, {"mean": 1}),
    "Uniform": (Uniform, {"low": 1, "high": 2}),
    "LogNormal": (LogNormal, {"mean": 1, "sigma": 1}),
}


def parameters_of(function: Call) -> set[str]:
    """By name, with those that are given as keywords of a TypedDict."""
    names: set[str] = set()
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            (fields,) = typing.get_args(typing.get_type_hints(function)[name])
            names |= set(typing.get_type_hints(fields))
        else:
            names.add(name)
    return names


@pytest.mark.parametrize("name", TABLE)
def test_every_parameter_has_a_row(name: str) -> None:
    function, _, rows = TABLE[name]
    assert set(rows) == parameters_of(function)


def test_every_public_function_has_a_table() -> None:
    functions = {name for name in congenial.__all__ if inspect.isfunction(getattr(congenial, name))}
    assert functions - ELSEWHERE <= set(TABLE)


CASES = [(name, parameter) for name, (_, _, rows) in TABLE.items() for parameter in rows]


@pytest.mark.parametrize("name", TABLE)
def test_what_is_right_is_taken(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the refusals below would mean nothing."""
    monkeypatch.chdir(tmp_path)
    function, right, _ = TABLE[name]
    if name != "replay":
        function(**right)


@pytest.mark.parametrize(("name", "parameter"), CASES, ids=[f"{name}-{parameter}" for name, parameter in CASES])
def test_what_is_wrong_is_refused_by_name(
    name: str, parameter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, right, rows = TABLE[name]
    for value in rows[parameter]:
        try:
            function(**{**right, parameter: value})
        except ConfigError as error:
            text = str(error)
        else:
            pytest.fail(f"{shown(value)} is taken")
        assert "\n" not in text
        assert len(text) < 500
        if parameter not in UNNAMED:
            assert parameter in text, f"{shown(value)}: {text}"
        assert not list(tmp_path.iterdir()), f"{shown(value)} has left something behind"


UNNAMED = {
    "algorithm", "algorithms",  # named by what was given: unknown algorithm 'x', there is no file x
    "options",  # named by the option: lamport has no option x
    "path", "what", "paper", "figures", "folder", "docs", "trace",  # named by what was given: cannot read x
    "vary", "fixed", "if_many", "metrics", "detector",  # named by the parameter inside
    "sides", "groups", "rate", "end", "start",
}  # fmt: skip


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("value", ["x", None, NAN, INFINITE, -1, [1]], ids=str)
def test_what_is_no_distribution_is_refused(name: str, value: Any) -> None:
    """Compiled, a wrong type is a TypeError, before our own code is reached."""
    function, right = DISTRIBUTIONS[name]
    for parameter in right:
        with pytest.raises((ConfigError, TypeError)):
            function(**{**right, parameter: value})


def test_measured_distributions_are_refused_too(tmp_path: Path) -> None:
    for words in ("", "x", "-1", "nan", "1 inf"):
        (tmp_path / "delays").write_text(words)
        with pytest.raises(ConfigError, match="delays"):
            Measured(str(tmp_path / "delays"))
