"""What weak exclusion costs: Romano & Rodrigues 2009, section 5 and table 1, exactly."""

from __future__ import annotations

import pytest

from congenial.lab.claims import REPRODUCED
from congenial.lab.papers.wme import WME, InSteps
from congenial.lab.steps import measure


@pytest.mark.parametrize("claim", WME.all_claims(), ids=[claim.text for claim in WME.all_claims()])
def test_table_1(claim: object) -> None:
    test = getattr(claim, "criterion", None)
    assert isinstance(test, InSteps)
    assert test.judge({}).verdict == REPRODUCED


@pytest.mark.parametrize("n", [4, 7, 12])
def test_messages_to_the_last(n: int) -> None:
    exact = {
        "wme-1": {"enter": 2 * (n - 1), "exit to another": n - 1, "operation": n * (n - 1), "answer": n * (n - 1)},
        "wme-2": {"enter": 2 * (n - 1), "exit to another": n - 1, "operation": 3 * (n - 1), "answer": 3 * (n - 1)},
        "wme-consensus-fast": dict.fromkeys(("enter", "exit", "operation", "answer"), (n + 1) * (n - 1)),
        "wme-consensus-lean": dict.fromkeys(("enter", "exit", "operation", "answer"), 4 * (n - 1)),
    }
    for name, formulas in exact.items():
        measured = measure(name, n)
        assert {action: measured[action].messages for action in formulas} == formulas, name


def test_a_process_that_counts_the_acknowledgements_is_answered_first() -> None:
    costs = measure("wme-2", 8)
    assert (costs["answer"].steps, costs["operation"].steps) == (2, 3)


@pytest.mark.parametrize("n", [2, 3])
def test_of_three_processes_two_are_a_majority(n: int) -> None:
    """A process that receives a proposal knows that two have it: the fast form saves a step there."""
    assert measure("wme-consensus-fast", n)["enter"].steps == 2
