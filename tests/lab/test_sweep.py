"""A sweep as data: what it accepts, what it refuses and how, and its way to TOML and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standin import TINY

from congenial.cli.sweep import parse_fixed, parse_vary
from congenial.kernel.errors import ConfigError
from congenial.lab.parameters import METRICS, clean_value, show_value
from congenial.lab.sweep import Sweep

GOOD = """
algorithms = ["suzuki-kasami", "maekawa quorums=grid"]
precision = 0.1

[vary]
nodes = [4, 9]

[fixed]
think = "uniform:5,15"
"""

BAD = {
    "no TOML": ("algorithms = [", "bad.toml is not TOML: "),
    "no algorithms": ("[vary]\nnodes = [3]", "bad.toml: 'algorithms' is missing"),
    "nothing varied": ("algorithms = ['maekawa']", "bad.toml: 'vary' is missing"),
    "an unknown item": (GOOD.replace("precision", "precison"), "bad.toml: a sweep has no 'precison'; it has: "),
    "a text for a list": ("algorithms = 'maekawa'\n[vary]\nnodes = [3]", "algorithms should be a list, not 'maekawa'"),
    "a number among names": ("algorithms = [3]\n[vary]\nnodes = [3]", "algorithms should be a list of texts"),
    "a value for a list": ("algorithms = ['maekawa']\n[vary]\nnodes = 3", "nodes should vary over a list of values"),
    "no values": ("algorithms = ['maekawa']\n[vary]\nnodes = []", "there are no values for nodes"),
    "an unknown parameter": ("algorithms = ['maekawa']\n[vary]\nnods = [3]", "vary: there is no parameter 'nods'"),
    "half a process": ("algorithms = ['maekawa']\n[vary]\nnodes = [3.5]", "nodes should be a whole number, not 3.5"),
    "a value twice": ("algorithms = ['maekawa']\n[vary]\nnodes = [3, 3.0]", "nodes 3 is named twice"),
    "an algorithm twice": ("algorithms = ['a', 'a']\n[vary]\nnodes = [3]", "algorithm a is named twice"),
    "an unknown metric": ("algorithms = ['a']\nmetrics = ['speed']\n[vary]\nnodes = [3]", "there is no metric 'speed'"),
    "varied and fixed": (GOOD + "nodes = 3", "nodes is both varied and fixed"),
    "three parameters": (
        "algorithms = ['a']\n[vary]\nnodes = [3]\nhold=[1]\nthink=[1]",
        "one or two parameters, not 3",
    ),
    "no precision": (GOOD.replace("0.1", "0"), "precision must be above 0"),
    "a text for a number": (GOOD.replace("0.1", "'fine'"), "precision should be a number, not 'fine'"),
    "a bound on what is not measured": (GOOD + "[within]\nspeed = 0.1", "within: 'speed' should be a metric of this"),
    "a bound at no value": (GOOD + "[within]\n'throughput at 5' = 0.1", "'throughput at 5' should be a metric of this"),
    "a bound near nothing": (GOOD + "[within]\n'throughput near x' = 0.1", "'x' is not a number"),
    "a bound of nothing": (GOOD + "[within]\nthroughput = 0", "within: throughput should be a number above 0, not 0"),
    "too few runs": ("least = 1\n" + GOOD, "2 <= least <= most replications, not 1 and 30"),
}


def test_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "good.toml"
    path.write_text(GOOD)
    sweep = Sweep.from_toml(path)
    assert sweep.name == "good"
    assert sweep.points() == [(4,), (9,)]
    assert sweep.baseline == "maekawa quorums=grid"
    scenario = sweep.replication(sweep.baseline, (9,), 2).scenario()
    assert (scenario.algorithm, scenario.nodes, scenario.options) == ("maekawa", 9, {"quorums": "grid"})
    assert str(scenario.workload().thinking) == "uniform:5,15"  # type: ignore[attr-defined]


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_in_one_line(case: str, tmp_path: Path) -> None:
    text, reason = BAD[case]
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        Sweep.from_toml(path)
    assert reason in str(error.value)
    assert "bad.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wrong_run_is_found_before_anything_runs() -> None:
    for algorithms, fixed, reason in (
        (("mekawa",), {}, "did you mean 'maekawa'"),
        (("maekawa quorums=round",), {}, "round"),
        (("maekawa grid",), {}, "'grid' is not like quorums=grid"),
        (("maekawa",), {"skew": "often"}, "skew 'often'"),
        (("maekawa",), {"think": "-5"}, "think"),
        (("maekawa",), {"loss": "2"}, "between 0 and 1"),
    ):
        with pytest.raises(ConfigError, match=reason):
            Sweep(algorithms, {"nodes": (4,)}, fixed).validate()


values = st.one_of(st.integers(1, 50), st.floats(0, 1e6), st.sampled_from(["uniform:5,15", "constant:3"]))


@given(
    st.lists(values, min_size=1, max_size=4, unique_by=lambda value: clean_value("think", value)),
    st.sampled_from([(), ("fifo", True), ("loss", "0.1@0-5 0.2"), ("until", float("inf")), ("skew", "20/80")]),
    st.integers(-5, 5),
)
def test_toml_and_back(thinks: list[int | float | str], fixed: tuple[str, object], seed: int) -> None:
    extra = {fixed[0]: fixed[1]} if fixed else {}
    metrics = tuple(METRICS)[:3]
    within = {
        metrics[0]: 0.25,
        f"{metrics[0]} near 1": 0.1,
        f"{metrics[1]} at {show_value(clean_value('think', thinks[0]))}": 0.01,
    }
    sweep = Sweep(("a", "b c=\"d'"), {"think": tuple(thinks)}, extra, metrics, seed=seed, within=within)  # type: ignore[arg-type]
    import tomllib

    assert Sweep.from_dict(tomllib.loads(sweep.to_toml()), "text") == sweep


def test_from_the_command_line() -> None:
    assert parse_vary("nodes=5, 10,20") == ("nodes", (5, 10, 20))
    assert parse_vary("think=uniform:5,15;50") == ("think", ("uniform:5,15", 50.0))
    assert parse_fixed("fifo=true") == ("fifo", True)
    for text in ("nodes", "nodes:3"):
        with pytest.raises(ConfigError, match="is not like nodes=5,10,20"):
            parse_vary(text)
    with pytest.raises(ConfigError, match="true or false, not 'yes'"):
        parse_fixed("fifo=yes")


def test_where_there_are_many_processes_other_parameters_hold() -> None:
    sweep = Sweep(("a",), {"nodes": (10, 100, 101)}, {"requests": 500}, many=100, if_many={"requests": 5, "until": 9})
    assert [sweep.parameters(point)["requests"] for point in sweep.points()] == [500, 500, 5]
    assert [sweep.parameters(point).get("until") for point in sweep.points()] == [None, None, 9.0]


def test_equal_seeds_mean_equal_requests_for_all_algorithms() -> None:
    first, second = (TINY.replication(name, (5,), 4) for name in ("suzuki-kasami", "ricart-agrawala"))
    assert first.seed == second.seed == TINY.seed + 4
    assert first.parameters == second.parameters


def test_a_run_names_the_command_that_repeats_it() -> None:
    sweep = Sweep(("maekawa quorums=grid",), {"nodes": (9,)}, {"think": 5.5, "fifo": False, "loss": "0.1 0.2@5-6"})
    assert sweep.replication(sweep.baseline, (9,), 0).command() == (
        "congenial sim maekawa --set quorums=grid --unordered --loss 0.1 --loss 0.2@5-6 --nodes 9 --think 5.5 --seed 1"
    )
