"""What processes believe, and cuts: the checker sees what no event shows."""

from __future__ import annotations

from typing import Any

import pytest
from faulty import Polite

from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Out


class Envious(RicartAgrawala):
    """Believes that nobody is inside while another one waits."""

    def belief(self) -> object:
        return self.phase

    def contradiction(self, one: object, other: object) -> str:
        return "one is inside, and one waits" if {one, other} == {INSIDE, WAITING} else ""


class Content(Envious):
    def contradiction(self, one: object, other: object) -> str:
        return "both are inside" if one == other == INSIDE else ""


@pytest.mark.parametrize("reduce", [True, False])
def test_a_contradiction_is_found_with_the_run_that_leads_to_it(reduce: bool) -> None:
    result = check(Envious, nodes=2, requests=1, reduce=reduce)
    assert result.counterexample is not None
    assert result.counterexample.kind == "safety"
    assert result.counterexample.text == "processes 0 and 1: one is inside, and one waits"
    assert result.counterexample.actions[-1].event in ("request", "deliver")
    assert not result.reduced, "what is left out could hold a contradiction"


def test_beliefs_that_agree_change_nothing() -> None:
    plain = check(RicartAgrawala, nodes=3, requests=1, reduce=False)
    result = check(Content, nodes=3, requests=1, reduce=False)
    assert result.ok
    assert result.states == plain.states


def test_random_runs_compare_beliefs_as_well() -> None:
    assert fuzz(Content, nodes=4, runs=20).ok
    result = fuzz(Envious, nodes=4, runs=20)
    assert result.counterexample is not None
    assert result.counterexample.text.endswith("one is inside, and one waits")


# -- cuts ------------------------------------------------------------------------------------------------------------


class Deaf(Polite):
    """If it suspects a process for longer than a timer runs, it answers no more."""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.deaf = False

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if not self.deaf:
            super().receive(src, msg, out)

    def on_suspect(self, peer: int, out: Out) -> None:
        out.set_timer(0, 1.0)

    def on_trust(self, peer: int, out: Out) -> None:
        out.cancel_timer(0)

    def on_timer(self, timer: int, out: Out) -> None:
        self.deaf = True


def test_a_cut_may_outlast_timers() -> None:
    bounds: dict[str, Any] = {"nodes": 2, "requests": 1, "suspicions": 1, "timers": "patient"}
    assert check(Deaf, **bounds).ok
    assert check(Deaf, **bounds, lasting=True).deadlocks == 1
    assert fuzz(Deaf, **bounds, runs=50).ok
    assert not fuzz(Deaf, **bounds, lasting=True, runs=50).ok


def test_a_cut_ends() -> None:
    """Otherwise this were a starvation: the timer runs out again and again."""

    class Insistent(Deaf):
        def on_timer(self, timer: int, out: Out) -> None:
            self.deaf = not self.deaf
            out.set_timer(0, 1.0)

        def receive(self, src: int, msg: Message, out: Out) -> None:
            Polite.receive(self, src, msg, out)

    assert check(Insistent, nodes=2, requests=1, suspicions=1, timers="patient", lasting=True).ok


def test_lasting_is_yes_or_no() -> None:
    with pytest.raises(ConfigError, match="lasting"):
        check(Deaf, lasting=3)  # type: ignore[arg-type]
