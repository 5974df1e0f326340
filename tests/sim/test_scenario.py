"""Scenarios: values and texts mean the same, wrong ones are refused by the name of the parameter."""

from __future__ import annotations

import ast
import doctest
import inspect
import pickle
from collections.abc import Iterator
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from congenial.cli.options import parameters
from congenial.kernel.errors import ConfigError
from congenial.sim.chance import (
    Constant,
    Distribution,
    Exponential,
    LogNormal,
    Measured,
    Uniform,
    parse_distribution,
)
from congenial.sim.faults import (
    MessageFault,
    Outage,
    Partition,
    RandomOutages,
    RandomPartitions,
    parse_message_fault,
    parse_outage,
    parse_partition,
)
from congenial.sim.scenario import Scenario, ScenarioFields
from congenial.sim.simulate import simulate
from congenial.sim.workload import Arrival

SOURCE = Path(__file__).resolve().parents[2] / "src"

DISTRIBUTIONS = [
    Constant(5),
    Constant(0.1),
    Exponential(1e-7),
    Exponential(1 / 3),
    Uniform(5, 15),
    LogNormal(10, 1.5),
]
FAULTS = {
    "loss": [MessageFault(0.1), MessageFault(0.3, 100, 200), MessageFault(1.0, 1e-7)],
    "crash": [Outage(2, 100, 200), Outage(0, 1 / 3), RandomOutages(1e-6, 50)],
    "partition": [Partition([[0, 1], [2, 3]], 100, 200), Partition([[4], [0]], 0.5), RandomPartitions(0.001, 50)],
}
PARSE: dict[str, Any] = {"loss": parse_message_fault, "crash": parse_outage, "partition": parse_partition}

TEXTS = Scenario(
    "suzuki-kasami",
    nodes=5,
    requests=5,
    think="exponential:40",
    hold="constant:3",
    delay="uniform:5,15",
    loss=("0.1@100-200",),
    crash=("2@100-200",),
    pause=("0.001/50",),
    partition=("0,1|2,3@300-320",),
)
VALUES = Scenario(
    "suzuki-kasami",
    nodes=5,
    requests=5,
    think=Exponential(40),
    hold=Constant(3),
    delay=Uniform(5, 15),
    loss=[MessageFault(0.1, start=100, end=200)],
    crash=Outage(process=2, start=100, end=200),
    pause=RandomOutages(rate=0.001, duration=50),
    partition=[Partition([[0, 1], [2, 3]], start=300, end=320)],
)


class TestValues:
    @pytest.mark.parametrize("value", DISTRIBUTIONS, ids=str)
    def test_a_distribution_is_the_text_it_prints(self, value: Distribution) -> None:
        assert parse_distribution(str(value), "delay") == value
        assert pickle.loads(pickle.dumps(value)) == value
        assert pickle.loads(pickle.dumps(value)).mean == value.mean
        assert hash(pickle.loads(pickle.dumps(value))) == hash(value)

    def test_so_are_measured_delays(self, tmp_path: Path) -> None:
        path = tmp_path / "delays.txt"
        path.write_text("1, 2, 6")
        value = Measured(str(path))
        assert value.mean == 3.0
        assert parse_distribution(str(value), "delay") == value
        assert pickle.loads(pickle.dumps(value)) == value

    def test_different_distributions_differ(self) -> None:
        assert len({str(value) for value in DISTRIBUTIONS}) == len(DISTRIBUTIONS)
        assert Constant(5) != Exponential(5)
        assert Uniform(0, 5) != Uniform(0, 5.5)
        assert Constant(5) != 5

    @pytest.mark.parametrize(("name", "value"), [(name, value) for name in FAULTS for value in FAULTS[name]], ids=str)
    def test_a_fault_is_the_text_it_prints(self, name: str, value: object) -> None:
        assert PARSE[name](str(value)) == value
        assert pickle.loads(pickle.dumps(value)) == value

    def test_a_scenario_of_values_runs_like_one_of_texts(self) -> None:
        results = [simulate(scenario, seed=3).as_dict() for scenario in (TEXTS, VALUES)]
        for result in results:
            del result["deliveries_per_second"]
        assert results[0] == results[1]

    def test_scenarios_can_be_compared_and_pickled(self) -> None:
        for scenario in (TEXTS, VALUES):
            again = pickle.loads(pickle.dumps(scenario))
            assert again == scenario
            assert again.faults() == scenario.faults()
            assert replace(scenario, nodes=6) != scenario
        assert replace(VALUES, crash=[Outage(2, 100, 200)]) == VALUES

    def test_texts_stay_as_they_are(self) -> None:
        assert TEXTS.loss == ("0.1@100-200",)
        assert TEXTS.delay == "uniform:5,15"
        assert Scenario("maekawa", loss="0.1").loss == ("0.1",)

    def test_a_bare_share_of_messages_will_do(self) -> None:
        assert Scenario("maekawa", loss=0.1).faults() == Scenario("maekawa", loss="0.1").faults()

    def test_arrivals_as_values(self, tmp_path: Path) -> None:
        path = tmp_path / "arrivals.csv"
        path.write_text("time,process,group,hold\n0,2,,\n5,0,1|2,30\n")
        listed = [Arrival(time=5, process=0, groups=(1, 2), hold=30), Arrival(time=0, process=2)]
        results = [simulate("ra1", nodes=3, groups=3, load=load) for load in (str(path), listed)]
        assert [result.entries for result in results] == [2, 2]
        assert results[0].waiting_time_mean == results[1].waiting_time_mean
        assert pickle.loads(pickle.dumps(listed)) == listed


class TestRefused:
    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ({"nodes": 0}, "nodes must be at least 1, not 0"),
            ({"nodes": 2.5}, "nodes must be a whole number, not 2.5"),
            ({"nodes": 1 << 20}, "nodes must be at most 1048575, not 1048576"),
            ({"groups": 0}, "groups must be at least 1, not 0"),
            ({"requests": -1}, "requests must be at least 1, not -1"),
            ({"bandwidth": -1.0}, "bandwidth must not be negative, and is -1"),
            ({"detection": -1.0}, "detection must not be negative, and is -1"),
            ({"operations": -1}, "operations must not be negative, and is -1"),
            ({"warmup": 100.0, "until": 50.0}, r"until \(50\) must be after warmup \(100\)"),
            ({"loss": 2}, "loss '2': a share of messages lies between 0 and 1"),
            ({"crash": "soon"}, "crash 'soon': this is neither"),
            ({"crash": Outage(10, 5)}, r"crash '10@5': 10 is not a process \(0..9\)"),
            ({"pause": ["x@5"]}, "pause 'x@5': 'x' is not the number of a process"),
            ({"suspect": "1@9-5"}, "suspect '1@9-5': it should begin at 0 or later, and not end before that"),
            ({"partition": [Partition([[0], [12]], 5)]}, "partition '0|12@5': 12 is not a process"),
            ({"partition": "0.1/0"}, "partition '0.1/0': rate and duration must be above 0"),
        ],
    )
    def test_when_it_is_made(self, given: dict[str, Any], reason: str) -> None:
        with pytest.raises(ConfigError, match=reason):
            Scenario("maekawa", **given)

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            ({"delay": "uniform:5,1"}, "delay 'uniform:5,1': uniform: the lower bound 5 exceeds the upper one, 1"),
            ({"think": "often"}, "think 'often' is none of"),
            ({"load": "heavy"}, "unknown load 'heavy'"),
            ({"load": [Arrival(1, 99)]}, r"load: 99 is not a process \(0\.\.9\)"),
            ({"operations": 1}, "operations are for weak exclusion, and maekawa is not weak"),
            ({"seed": 1 << 63}, "seed must fit into 64 bits"),
            ({"repeat": 0}, "repeat must be at least 1, not 0"),
            ({"precision": -0.1}, "precision must not be negative, and is -0.1"),
            ({"trace": "t", "repeat": 2}, "trace goes with a single run, not with repeat or precision"),
            ({"node": 5}, r"simulate\(\) got an unexpected keyword argument 'node'"),
        ],
    )
    def test_when_it_is_run(self, given: dict[str, Any], reason: str) -> None:
        with pytest.raises(ConfigError, match=reason):
            simulate("maekawa", **given)

    @pytest.mark.parametrize(
        "make", [lambda: Constant(-1), lambda: Uniform(2, 1), lambda: Outage(0, 5, 4), lambda: MessageFault(1.5)]
    )
    def test_values_check_themselves(self, make: Any) -> None:
        with pytest.raises(ConfigError):
            make()


class TestOneListOfParameters:
    def test_the_keywords_of_simulate_are_the_fields_of_a_scenario(self) -> None:
        declared = get_type_hints(Scenario)
        del declared["algorithm"]
        assert get_type_hints(ScenarioFields) == declared
        assert ScenarioFields.__required_keys__ == frozenset()

    def test_the_command_line_has_them_with_the_same_defaults(self) -> None:
        options = parameters()
        assert {item.name for item in fields(Scenario)} - set(options) == {"algorithm", "operations"}
        assert set(options) <= {item.name for item in fields(Scenario)}
        given, default = Scenario("maekawa", **options), Scenario("maekawa")
        for name in options:
            mine, theirs = getattr(given, name), getattr(default, name)
            assert mine == theirs or float(mine) == theirs, name

    def test_parameters_change_a_scenario(self) -> None:
        scenario = Scenario("ricart-agrawala", nodes=5, requests=3)
        assert simulate(scenario).nodes == 5
        assert simulate(scenario, nodes=4).messages_per_entry == 6.0


def examples() -> Iterator[Any]:
    """The docstrings with examples; from the source, since compiled functions have none."""
    for path in sorted([*(SOURCE / "congenial/sim").glob("*.py"), *(SOURCE / "congenial/systems").glob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ">>>" in (ast.get_docstring(node) or ""):
                name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
                yield pytest.param(name, ast.get_docstring(node), id=f"{path.stem}.{node.name}")


@pytest.mark.parametrize(("module", "text"), list(examples()))
def test_examples(module: str, text: str) -> None:
    names = dict(inspect.getmembers(import_module(module)))
    example = doctest.DocTestParser().get_doctest(text, names, module, None, None)
    assert doctest.DocTestRunner().run(example).failed == 0
