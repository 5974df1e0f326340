"""In a notebook results show themselves, as HTML that stands by itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from congenial import Sweep, check, compare, fuzz, reproduce, simulate, sweep
from congenial.kernel.trace import Event
from congenial.sim.result import Result
from congenial.view.charts import Curve, Spot, chart

EVIL = "<script>alert(1)</script>"


class Balanced(HTMLParser):
    """Reads HTML, and notes the tags that are open and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.text = ""
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.opened.append(tag)
        self.tags.add(tag)
        assert not [name for name, _ in attributes if name.startswith("on") or name in ("src", "href")]

    def handle_startendtag(self, tag: str, attributes: Any) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(thing: Any) -> Balanced:
    """What a notebook shows: whole, without scripts, and without anything from elsewhere."""
    html = thing._repr_html_()
    read = Balanced(html)
    assert read.opened == []
    assert "script" not in read.tags
    assert "link" not in read.tags
    assert set(re.findall(r"https?://[^\s\"'<]+", html)) <= {"http://www.w3.org/2000/svg"}
    return read


def test_a_result() -> None:
    result = simulate("ricart-agrawala", nodes=4, requests=5, repeat=3)
    read = shown(result)
    assert "ricart-agrawala (seed 1, 3 runs):" in read.text
    assert result.verdict() in read.text
    for kind, count in result.messages_by_kind.items():
        assert f"{kind}{count}" in read.text
    for name, value in result.lines():
        if not name.startswith(" "):
            assert f"{name}{value}" in read.text


def test_a_result_that_went_wrong_shows_its_last_events() -> None:
    result = simulate("suzuki-kasami", nodes=3, requests=5, loss="0.5")
    assert not result.ok
    read = shown(result)
    assert "DEADLOCK" in read.text
    assert "svg" in read.tags
    assert str(result.trace[-1]) in read.text


def test_a_comparison() -> None:
    made = compare(["lamport", "suzuki-kasami"], nodes=4, requests=5)
    read = shown(made)
    assert "2 algorithms under the same load, 4 processes:" in read.text
    for result in made.results:
        assert f"{result.waiting_time_mean:.4g}" in read.text


@pytest.mark.parametrize(
    "vary", [{"nodes": [3, 5]}, {"nodes": [3, 5], "think": [0, 50]}, {"load": ["burst", "closed"]}]
)
def test_a_sweep(vary: dict[str, list[Any]]) -> None:
    result = sweep(Sweep(["lamport", "suzuki-kasami"], vary, {"requests": 5}, least=2, most=2))
    read = shown(result)
    html = result._repr_html_()
    second = len(vary.get("think", [1]))
    assert html.count("<svg xmlns") == len(result.sweep.metrics) * second
    for row in result.means():
        value = row["messages_per_entry"]
        assert isinstance(value, float)
        assert f"{row['algorithm']}: {value:.4g}" in html
    assert "messages per entry" in read.text


def test_a_reproduction() -> None:
    made = reproduce("wme")
    read = shown(made)
    assert "16 reproduced" in read.text
    for item in made.claims:
        assert item.claim.text in read.text


def test_a_counterexample_and_what_found_it() -> None:
    result = check("maekawa", nodes=3, order="any")
    assert result.counterexample is not None
    read = shown(result.counterexample)
    assert "A counterexample of 8 steps:" in read.text
    assert result.counterexample.verdict() in read.text
    assert "svg" in read.tags
    assert result.counterexample.verdict() in shown(result).text
    assert "every state within the bounds was seen" in shown(check("lamport", nodes=2, requests=1)).text
    assert "nothing wrong in 5 random runs" in shown(fuzz("lamport", nodes=3, runs=5)).text
    found = fuzz("maekawa", nodes=3, order="any")
    assert "A counterexample of" in shown(found).text


def test_what_is_in_a_name_stays_text() -> None:
    result = simulate("lamport", nodes=2, requests=1)
    events = (Event(0.0, "send", 0, 1, 1, EVIL, {"x": EVIL}), Event(1.0, "deliver", 1, 0, 1, EVIL, {"x": EVIL}))
    fields = {**{name: getattr(result, name) for name in Result.__dataclass_fields__}, "algorithm": EVIL}
    evil = Result(**{**fields, "messages_by_kind": {EVIL: 1}, "violations": 1, "violation": EVIL, "trace": events})
    assert EVIL in shown(evil).text
    assert EVIL not in evil._repr_html_()


@pytest.mark.parametrize(
    "spots",
    [[], [Spot(1.0, 0.0)], [Spot(5.0, 2.0, 3.0)], [Spot(1.0, 0.001), Spot(2.0, 900.0, 1.0)], [Spot("a", 1.0)]],
    ids=str,
)  # fmt: skip
def test_a_chart_of_anything(spots: list[Spot]) -> None:
    drawn = chart("cost", "nodes", [Curve("one", 0, spots)])
    assert Balanced(drawn).opened == []
    assert "nan" not in drawn
    assert drawn.count("<title>") == len(spots)
