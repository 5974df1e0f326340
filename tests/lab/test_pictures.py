"""Pictures and pages: files that are what they should be, alike whenever they are made, and readable by everyone."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from standin import made_up

from congenial.lab.axis_plots import scale_x
from congenial.lab.chart_plots import plot_chart
from congenial.lab.claim_plots import COLOUR
from congenial.lab.claims import Claim, Criterion
from congenial.lab.contest_plots import colours_of, legible, luminance
from congenial.lab.criteria import At, Everywhere, Extreme, Trend
from congenial.lab.joint_criteria import AtTheSameTime
from congenial.lab.page import comparison_page
from congenial.lab.parameters import METRICS
from congenial.lab.plots import OKABE_ITO, curve_of, palette, plot, shades
from congenial.lab.results import SweepResult
from congenial.lab.rows import frame, write_csv
from congenial.lab.sweep import Sweep

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("kind", ["absolute", "ratio"])
@pytest.mark.deep
def test_equal_results_give_equal_pictures(kind: str, tmp_path: Path) -> None:
    outcome = made_up("nodes", {5: 2.2, 50: 0.3, 500: 0.01}, 0.004)
    first = plot(outcome, kind, "a title", tmp_path / "first")
    second = plot(outcome, kind, "a title", tmp_path / "second")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert first[0].read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(first[1]).getroot().tag == f"{SVG}svg"


def test_curves_bands_and_colours_are_drawn(tmp_path: Path) -> None:
    _, svg = plot(made_up("nodes", {5: 2.2, 50: 0.3}, 0.01), "absolute", "a title", tmp_path / "x")
    text = svg.read_text()
    for colour in OKABE_ITO[:2]:
        assert text.count(f"stroke: {colour.lower()}") >= 4, "a curve in each of four panels"
    assert text.count('id="FillBetweenPolyCollection') == 8, "a band for each of two curves in each of four panels"


@pytest.mark.parametrize(
    "ratios", [{"50/50": 1.0, "10/90": 0.9}, {0.0: 1.0, 50.0: 0.9, 4000.0: 0.5}, {3: 0.9}, {1: 5.0, 2: 0.01}]
)
def test_all_kinds_of_axes(ratios, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    parameter = "skew" if "50/50" in ratios else "think"
    for kind in ("absolute", "ratio"):
        for path in plot(made_up(parameter, ratios, 0.001), kind, "a title", tmp_path / kind):
            assert path.stat().st_size > 1000


@pytest.mark.deep
def test_two_parameters_make_a_column_for_each_second_value(tmp_path: Path) -> None:
    one = made_up("nodes", {3: 0.5, 5: 0.6})
    sweep = Sweep(one.sweep.algorithms, {"nodes": (3, 5), "hold": (1, 2, 3)}, least=3, most=3)
    outcome = SweepResult(sweep, {(n, h): records for (n,), records in one.runs.items() for h in (1.0, 2.0, 3.0)})
    _, svg = plot(outcome, "ratio", "a title", tmp_path / "x")
    assert len(re.findall(r'id="axes_\d+"', svg.read_text())) == 12
    assert [value for value, _ in curve_of(outcome, "ratio", "suzuki-kasami", "throughput", 2.0)] == [3, 5]


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    outcome = made_up("nodes", {5: 2.2, 50: 0.3}, 0.01)
    _, svg = plot(outcome, "ratio", "a <title>", tmp_path / "x")
    page = comparison_page(outcome, "a <title>", [("Ratios", svg)], "congenial sweep <x>")
    assert "<h1>a &lt;title&gt;</h1>" in page
    assert "congenial sweep &lt;x&gt;" in page
    assert "suzuki-kasami" in page
    assert "2.2 ± 0.025" in page
    sources = re.findall(r'(?:src|href)="(.{0,30})', page)
    assert sources
    assert all([source.startswith("data:image/svg+xml;base64,") for source in sources])


def test_ratios_are_taken_run_by_run() -> None:
    outcome = made_up("nodes", {5: 2.0}, 0.5)
    ratio = outcome.ratio((5,), "suzuki-kasami", "throughput")
    assert ratio is not None
    assert ratio.value == pytest.approx(2.0)
    # three runs with ratios 1.5, 2, 2.5: t(2) * s / sqrt(3)
    assert ratio.half == pytest.approx(4.302653 * 0.5 / 3**0.5, rel=1e-4)


def test_a_baseline_of_zero_has_no_ratio() -> None:
    outcome = made_up("nodes", {5: 2.0})
    for record in outcome.runs[(5,)]["ricart-agrawala"]:
        record.measures["waiting_time_mean"] = 0.0
    assert outcome.ratio((5,), "suzuki-kasami", "waiting_time_mean") is None
    assert outcome.ratios()[0]["waiting_time_mean"] is None


def test_csv_numbers_come_back_as_they_were(tmp_path: Path) -> None:
    import polars

    rows = made_up("nodes", {5: 1 / 3, 7: 0.1 + 0.2}, 0.01).means()
    write_csv(tmp_path / "x.csv", rows)
    assert polars.read_csv(tmp_path / "x.csv").equals(frame(rows))


# -- what people must be able to read ----------------------------------------------------------------------


def texts(svg: Path) -> list[str]:
    """What is written in a picture. Letters are drawn, and a comment says what they spell."""
    return re.findall(r"<!-- (.+?) -->", svg.read_text())


@pytest.mark.parametrize("count", [1, 8, 9, 14, 21, 30])
def test_no_colour_is_used_twice(count: int) -> None:
    assert len(set(palette(count))) == count
    assert len(set(shades(OKABE_ITO[0], count))) == count


@pytest.mark.parametrize(("metrics", "panels"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5)])
def test_no_panel_is_empty(metrics: int, panels: int, tmp_path: Path) -> None:
    made = made_up("nodes", {5: 2.2, 50: 0.3}, 0.01)
    names = ("messages_per_entry", "waiting_time_mean", "throughput", "sync_delay_mean", "fairness")[:metrics]
    outcome = SweepResult(replace(made.sweep, metrics=names), made.runs)
    _, svg = plot(outcome, "absolute", "a title", tmp_path / "x")
    assert len(re.findall(r'id="axes_\d+"', svg.read_text())) == panels
    assert len([text for text in texts(svg) if text in {METRICS[name] for name in names}]) == panels


@pytest.mark.parametrize(
    ("criterion", "drawn"),
    [
        (At(("1",), "throughput", 5, 1.9, 2.1), 2),
        (Extreme(("1",), "throughput", 1.9, 2.4), 2),
        (Everywhere(("1",), "throughput", 0.2, 2.4), 2),
        (Everywhere(("1",), "throughput", 0.0, 1.0), 1),
        (At(("1",), "throughput", 5, 1.0, float("inf")), 1),
        (AtTheSameTime(("1",), "throughput", 1.9, 2.1, "waiting_time_mean", 0.2, 0.4), 2),
        (Trend(("1",), "throughput"), 0),
        (At(("2",), "throughput", 5, 1.9, 2.1), 0),
    ],
)
def test_the_paper_s_value_and_range_are_drawn(criterion: Criterion, drawn: int, tmp_path: Path) -> None:
    claim = Claim("it is so", "4.1", "around 2.1", criterion)
    made = made_up("nodes", {5: 2.2, 50: 0.3}, 0.01)
    outcome = SweepResult(replace(made.sweep, metrics=("throughput",)), made.runs)
    _, svg = plot(outcome, "ratio", "a title", tmp_path / "x", "1", [claim])
    marks = [mark for mark in re.findall(r'style="([^"]*)"', svg.read_text()) if COLOUR.lower() in mark]
    assert len(marks) >= drawn + 1, "the range, the number in it, and the key"
    if not drawn:
        assert len(marks) == 1
    notes = [text for text in texts(svg) if text.startswith(("the paper", "(at"))]
    expected = {"the paper: around 2.1"} if isinstance(criterion, Trend) else set()
    expected |= {"the paper gives no number"} if criterion.figures == ("2",) else set()
    if isinstance(criterion, (Extreme, AtTheSameTime)):
        expected.add("(at the right edge: of the largest difference, whichever figure shows it)")
    assert set(notes) == {"the paper's value, or what counts as it", *expected}


@pytest.mark.parametrize("criterion", [None, Extreme(("1",), "throughput", 0.2, 0.4)])
def test_an_axis_begins_where_its_values_begin(criterion: Criterion | None, tmp_path: Path) -> None:
    """Also one that begins with 0 and is logarithmic from there on."""
    claims = [Claim("it is so", "4.1", "0.3", criterion)] if criterion else []
    made = made_up("think", {0.0: 2.2, 50.0: 1.0, 4000.0: 0.3}, 0.01)
    outcome = SweepResult(replace(made.sweep, metrics=("throughput",)), made.runs)
    _, svg = plot(outcome, "ratio", "a title", tmp_path / "x", "1", claims)
    drawn = svg.read_text().partition('id="legend_1"')[0]
    box = re.search(r'id="patch_2">\s*<path d="M ([\d.]+) [\d.]+\s*L ([\d.]+)', drawn)
    assert box is not None
    left, right = float(box[1]), float(box[2])
    first, *_, last = re.findall(r'<use xlink:href="#\w+" x="([\d.]+)" y="[\d.]+" style="fill: #0072b2; stroke', drawn)
    assert float(first) - left < 0.1 * (right - left)
    assert right - float(last) < 0.15 * (right - left)


def test_small_ratios_are_drawn_on_a_logarithmic_axis(tmp_path: Path) -> None:
    """Beside the line at 1 they would all lie on the axis."""
    made = made_up("nodes", {5: 0.04, 50: 0.03}, 0.001)
    outcome = SweepResult(replace(made.sweep, metrics=("throughput",)), made.runs)
    _, svg = plot(outcome, "ratio", "a title", tmp_path / "x")
    assert {"0.05", "0.1", "1"} <= set(texts(svg))


def test_a_long_legend_is_not_cut_off(tmp_path: Path) -> None:
    claim = Claim("it is so", "4.1", "0.3", Extreme(("1",), "throughput", 0.2, 0.4))
    made = made_up("nodes", {5: 2.2, 50: 0.3}, 0.01)
    outcome = SweepResult(replace(made.sweep, metrics=("throughput",)), made.runs)
    _, svg = plot(outcome, "ratio", "a title", tmp_path / "x", "1", [claim])
    legend = svg.read_text().partition('id="legend_1"')[2]
    left = [float(x) for x in re.findall(r"translate\(([-\d.]+) ", legend)]
    assert min(left) > 0


def test_every_curve_of_a_chart_is_named_in_its_colour(tmp_path: Path) -> None:
    small = made_up("nodes", {5: 2.2, 50: 0.3}, 0.01)
    large = made_up("nodes", {50: 2.2, 5000: 0.3}, 0.01)
    names = small.sweep.algorithms
    _, svg = plot_chart({"light": [small, large], "heavy": [small]}, "a title", tmp_path / "x")
    written = texts(svg)
    for name in names:
        assert written.count(name) == 3, "once in each panel"
    assert len([text for text in written if " load, " in text]) == 3
    assert "light load, 50 to 5000 processes" in written


def test_names_of_pale_curves_can_be_read() -> None:
    families = {str(count): [f"{count}, {number}" for number in range(count)] for count in (7, 5, 4, 3, 2, 3)}
    colours = [*colours_of(families, ["2"]).values(), *OKABE_ITO]
    assert any([contrast(colour) < 2 for colour in colours])
    assert all([contrast(legible(colour)) >= 4.5 for colour in colours])
    assert [legible(colour) for colour in OKABE_ITO[:1]] == ["#0072b2"], "dark enough as it is"


def contrast(colour: str) -> float:
    return 1.05 / (luminance(colour) + 0.05)


@pytest.mark.parametrize(
    "values", [(0.0, 50.0, 200.0, 500.0, 1000.0, 2000.0, 4000.0), (2, 5, 10, 20, 50, 100, 200, 300, 500), (5, 10, 1000)]
)
def test_labels_of_an_axis_do_not_touch(values: tuple[float, ...]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 2.9), layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    scale_x(axes, values)
    canvas.draw()
    labels = [label for label in axes.get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    assert all([left.x1 + 2 < right.x0 for left, right in pairwise(boxes)])
    assert labels[-1].get_text() == f"{values[-1]:g}"
    assert len(labels) >= min(5, len(values))
