"""The Compare view, used as a person would use it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from browsing import PHONE, start, until
from congenial.lab.api import sweep
from congenial.lab.sweep import Sweep

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two sweeps, one of them over two parameters; the last algorithm is the baseline."""
    folder: Path = tmp_path_factory.mktemp("runs")
    names = ["ricart-agrawala", "suzuki-kasami", "maekawa quorums=grid", "naimi-trehel"]
    sweep(Sweep(names, {"nodes": [4, 9, 16]}, {"requests": 5}, least=2, most=2, name="sizes"), folder=folder / "sizes")
    both = {"nodes": [4, 9], "think": [0, 100]}
    sweep(Sweep(names[:2], both, {"requests": 5}, least=2, most=2, name="both"), folder=folder / "both")
    return folder


def opened(visit: Any, results: Path, name: str, **options: Any) -> Any:
    page = visit(start("--runs", str(results))[0], **options)
    page.select_option("#compare-table", f"{results.name}/{name}")
    page.wait_for_selector("#chart [data-series]")
    until(page, lambda: page.inner_text("#compare-about").startswith(f"{results.name}/{name}"))
    return page


def shown(page: Any) -> list[str]:
    """The algorithms that are drawn."""
    return sorted(page.eval_on_selector_all("#chart [data-series]", "all => all.map((one) => one.dataset.series)"))


def test_a_sweep_is_started_from_the_page_and_grows_there(visit: Any, studio: tuple[str, Any]) -> None:
    page = visit(studio[0])
    page.click("#view-compare")
    assert page.is_visible("text=Nothing to compare yet")
    page.click("[aria-label='Remove surrogate']")
    page.click("[aria-label='Remove ra2']")
    page.select_option("#sweep-algorithm", "maekawa")
    page.fill("#sweep-options", "quorums=grid")
    page.click("#sweep-add")
    page.fill("#sweep-values", "4, 9")
    page.click("text=Everything else")
    page.fill("#sweep-requests", "5")
    page.fill("#sweep-most", "3")
    page.click("#sweep-start")
    page.wait_for_selector("#sweep-said:has-text('18 runs in')")
    assert shown(page) == ["home-gme", "maekawa quorums=grid", "token-gme"]
    assert page.input_value("#compare-table") == "the sweep of this page"
    page.reload()  # what was measured is still there
    page.wait_for_selector("#chart [data-series='home-gme']")
    assert page.is_visible("#compare-plot")


def test_a_sweep_can_be_cancelled_and_what_is_wrong_with_one_is_said(visit: Any, studio: tuple[str, Any]) -> None:
    page = visit(f"{studio[0]}#compare")
    page.fill("#sweep-values", "100, 200, 300")
    page.click("text=Everything else")
    page.fill("#sweep-requests", "100000")
    page.click("#sweep-start")
    page.click("#sweep-cancel")
    page.wait_for_selector("#sweep-said.bad:has-text('it was cancelled')")
    page.fill("#sweep-values", "many")
    page.click("#sweep-start")
    page.wait_for_selector("#sweep-said.bad:has-text('nodes should be a whole number')")
    page.watched.complaints.clear()  # the browser's own line about the answer 400


def test_point_at_a_value_to_see_it_with_its_interval(visit: Any, results: Path) -> None:
    page = opened(visit, results, "sizes")
    page.select_option("#compare-measure", "waiting_time_mean")
    box = page.locator("#chart").bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 120)
    tip = page.inner_text("#chart-tip")
    assert "at nodes 4" in tip
    assert "2 runs" in tip
    with (results / "sizes/results.csv").open() as file:
        rows = {row["algorithm"]: row for row in csv.DictReader(file) if row["nodes"] == "4"}
    for name, row in rows.items():  # all values at this place stand beside the names
        value, half = float(row["waiting_time_mean"]), float(row["waiting_time_mean_half_width"])
        told = page.inner_text(f"[data-algorithm='{name}'] .value")
        shown_value, shown_half = [float(part.replace(",", "")) for part in told.split(" ± ")]
        assert shown_value == pytest.approx(value, rel=0.01)
        assert shown_half == pytest.approx(half, rel=0.06)
        if name in tip:
            assert told in tip
    page.mouse.move(box["x"] - 40, box["y"])
    assert not page.is_visible("#chart-tip")


def test_measures_axes_and_ratios_are_switched(visit: Any, results: Path) -> None:
    page = opened(visit, results, "sizes")
    before = page.get_attribute("#chart", "aria-label")
    page.select_option("#compare-measure", "waiting_time_mean")
    assert "waiting time by processes" in page.get_attribute("#chart", "aria-label") != before
    linear = page.get_attribute("#chart [data-series='maekawa quorums=grid'] path", "d")
    page.click("#compare-log-y")
    assert page.get_attribute("#chart [data-series='maekawa quorums=grid'] path", "d") != linear
    assert "waiting time (log)" in page.text_content("#chart")
    page.select_option("#compare-ratio", "ratio")
    assert "ratio to naimi-trehel" in page.text_content("#chart")
    assert shown(page) == ["maekawa quorums=grid", "ricart-agrawala", "suzuki-kasami"]
    page.click("#compare-values summary")
    page.wait_for_selector("#compare-rows tbody")
    assert page.locator("#compare-rows tbody tr").count() == 3


def test_a_sweep_over_two_parameters(visit: Any, results: Path) -> None:
    page = opened(visit, results, "both")
    path = page.get_attribute("#chart [data-series='suzuki-kasami'] path", "d")
    page.select_option("[data-parameter=think]", "0")
    assert page.get_attribute("#chart [data-series='suzuki-kasami'] path", "d") != path
    page.select_option("#compare-x", label="mean time between requests")
    assert page.locator("[data-parameter=nodes]").count() == 1


def test_algorithms_are_hidden_by_their_names(visit: Any, results: Path) -> None:
    page = opened(visit, results, "sizes")
    page.click("#compare-legend >> text=ricart-agrawala")
    assert "ricart-agrawala" not in shown(page)
    assert page.get_attribute("[data-algorithm='ricart-agrawala']", "aria-pressed") == "false"
    page.click("#compare-legend >> text=suzuki-kasami", modifiers=["Shift"])
    assert shown(page) == ["suzuki-kasami"]
    page.click("#compare-none")
    assert shown(page) == []
    assert "All algorithms are hidden" in page.inner_text("#compare-note")
    page.click("#compare-all")
    assert len(shown(page)) == 4


def test_everything_in_compare_has_a_key(visit: Any, results: Path) -> None:
    page = opened(visit, results, "sizes")
    keys = page.keyboard
    page.focus("#chart")
    keys.press("ArrowRight")
    first = page.inner_text("#compare-live")
    assert "nodes 4" in first
    keys.press("ArrowRight")
    assert "nodes 9" in page.inner_text("#compare-live")
    keys.press("ArrowDown")
    name = page.inner_text("#compare-live").split(",")[0]
    assert name != first.split(",")[0]
    keys.press("h")
    assert name not in shown(page)
    keys.press("a")
    assert name in shown(page)
    keys.press("m")
    assert page.input_value("#compare-measure") == "integers_per_message"
    keys.press("Shift+M")
    keys.press("y")
    keys.press("x")
    assert "(log)" in page.text_content("#chart")
    keys.press("r")
    assert page.input_value("#compare-ratio") == "ratio"
    keys.press("r")
    keys.press("f")
    assert page.get_attribute("#compare-frontier", "aria-pressed") == "true"
    place = page.input_value("[data-parameter=nodes]")
    keys.press(".")
    assert page.input_value("[data-parameter=nodes]") != place
    page.focus("[data-algorithm='naimi-trehel']")
    keys.press("Enter")
    assert "naimi-trehel" not in shown(page)


def test_the_frontier_says_who_is_better(visit: Any) -> None:
    page = visit(start("--runs", str(DOCS))[0])
    page.select_option("#compare-table", "docs/comparison/nodes")
    until(page, lambda: "comparison, nodes" in page.inner_text("#compare-about"))
    page.click("#compare-frontier")
    assert page.locator("#chart .front").count() == 1
    page.focus("#chart")
    told: dict[str, str] = {}
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    for _ in range(15):
        page.keyboard.press("ArrowRight")
        tip = page.inner_text("#chart-tip")
        told[tip.split(" at ")[0]] = tip
    assert any(["none is better in both" in text for text in told.values()])
    assert any(["Better in both:" in text for text in told.values()])


def test_the_published_reproductions_open(visit: Any) -> None:
    page = visit(start("--runs", str(DOCS / "reproductions"))[0])
    names = page.eval_on_selector_all("#compare-table option", "all => all.map((one) => one.value)")
    names = [name for name in names if name.startswith("reproductions/")]
    assert "reproductions/token-gme/6a" in names
    for name in names:
        page.select_option("#compare-table", name)
        paper = name.split("/")[1]
        until(page, lambda paper=paper: paper in page.inner_text("#compare-about"))
        page.wait_for_selector("#chart [data-series]")
    page.select_option("#compare-table", "reproductions/surrogate/quorums")  # rows that vary different parameters
    page.wait_for_selector("#compare-part")
    page.select_option("#compare-part", label="mean time between requests")
    assert "mean time between requests" in page.get_attribute("#chart", "aria-label")


@pytest.mark.parametrize("kind", ["svg", "png", "csv"])
def test_pictures_and_tables_are_saved(visit: Any, results: Path, tmp_path: Path, kind: str) -> None:
    page = opened(visit, results, "sizes", color_scheme="dark")
    page.click("#compare-legend >> text=maekawa")
    with page.expect_download() as saved:
        page.click(f"#export-{kind}")
    path = tmp_path / saved.value.suggested_filename
    saved.value.save_as(path)
    assert path.suffix == f".{kind}"
    if kind == "csv":
        with path.open() as file:
            rows = list(csv.DictReader(file))
        assert {row["algorithm"] for row in rows} == {"ricart-agrawala", "suzuki-kasami", "naimi-trehel"}
        with (results / "sizes/results.csv").open() as file:
            first = next(csv.DictReader(file))
        assert {name: float(rows[0][name]) for name in first if name.startswith("wait")} == {
            name: float(value) for name, value in first.items() if name.startswith("wait")
        }
        again = opened(visit, tmp_path, path.stem)
        assert len(shown(again)) == 3
    elif kind == "svg":
        text = path.read_text()
        assert "suzuki-kasami" in text
        assert 'fill="#ffffff"' in text  # on white, whatever the page looks like
    else:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_compare_fits_a_screen_and_a_phone(visit: Any, results: Path, scheme: str) -> None:
    page = opened(visit, results, "sizes", color_scheme=scheme)
    size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    assert size == [1280, 800]
    phone = opened(visit, results, "sizes", color_scheme=scheme, **PHONE)
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    phone.tap("#compare-legend >> text=suzuki-kasami")
    assert "suzuki-kasami" not in shown(phone)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input')].filter((e) =>
          !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)"""
    )
    assert nameless == []


def test_results_that_are_gone_or_broken_are_told(visit: Any, results: Path, tmp_path: Path) -> None:
    text = (results / "sizes/results.csv").read_text()
    (tmp_path / "good.csv").write_text(text)
    (tmp_path / "bad.csv").write_text(text.splitlines()[0])
    page = opened(visit, tmp_path, "good")
    page.select_option("#compare-table", f"{tmp_path.name}/bad")
    page.wait_for_selector("#compare-problem:has-text('has no rows')")
    (tmp_path / "good.csv").unlink()
    page.select_option("#compare-table", f"{tmp_path.name}/good")
    page.wait_for_selector("#compare-problem:has-text('no longer exist')")
    page.watched.complaints.clear()
