"""The formulas of Swaroop & Singh 2007, section VI: which load is for which form, and the smallest of the runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from congenial.cli import main
from congenial.kernel.trace import Trace
from congenial.lab import papers
from congenial.lab.exhibits import CostTable
from congenial.lab.papers.drs_gme import AGAIN, CLAIMS, DRS_GME, FORMS, IN_TURN, LATE, LATE_SIZE, TABLE
from congenial.lab.papers.paper import Paper
from congenial.lab.replication import Replication
from congenial.sim.simulate import run_recorded, simulate


def test_a_line_about_one_load_is_about_no_other() -> None:
    ordinary, special = TABLE.rows[: len(FORMS)], TABLE.rows[len(FORMS) :]
    assert [TABLE.loads_of(row) for row in special] == [
        ["token lost"], ["in time"], ["complete lost"], ["complete late"]
    ]  # fmt: skip
    usual = ["light", "heavy", "one group", "own groups", "all together", "alone"]
    assert all([TABLE.loads_of(row) == usual for row in ordinary])
    sweeps = TABLE.sweeps(quick=True)
    assert sweeps["claims, token lost"].algorithms == ("drs-gme-faults",), "the others would wait forever"
    assert sweeps["claims, heavy"].algorithms == tuple(FORMS)
    for sweep in sweeps.values():
        sweep.validate()
    assert {figure for claim in CLAIMS for figure in claim.criterion.figures} <= {*sweeps, *LATE.sweeps(quick=True)}


def test_small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loads = {load: {**fixed, "requests": min(3, int(fixed.get("requests", 3)))} for load, fixed in TABLE.loads.items()}
    table = CostTable("claims", TABLE.title, TABLE.rows, loads, TABLE.shown_loads, (3, 4), "VI")
    small = Paper("drs-gme", DRS_GME.title, DRS_GME.reference, (table,), CLAIMS, DRS_GME.assumptions)
    monkeypatch.setitem(papers.PAPERS, "drs-gme", small)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "drs-gme/claims", "--quick", "--jobs", "1", "--docs", "docs"])
    assert not end.value.code
    page = (tmp_path / "docs" / "reproductions" / "drs-gme.md").read_text()
    assert "## Claims: 18 reproduced, 1 not run" in page
    title = "a lost token, which one process has passed on before"
    assert f"| {title} | drs-gme-faults | n + 1 more | 8 at n = 4; alone 8 |  |  | 8.0 |" in page


def test_the_token_that_is_lost_late_is_the_one_to_the_first_process_in_its_second_turn() -> None:
    """By then every process has passed the token on."""
    trace = Trace()
    scenario = Replication("drs-gme-faults", (*IN_TURN.items(), ("nodes", LATE_SIZE)), LATE.seed).scenario()
    run_recorded(scenario, LATE.seed, trace)
    sent = [event for event in trace.events if event.event == "send" and AGAIN + 1 <= event.t <= AGAIN + 3]
    assert [(event.message, event.node, event.peer) for event in sent] == [("Token", LATE_SIZE - 1, 0)]
    passed = {event.node for event in trace.events if event.message == "Token" and event.event == "send"}
    assert passed == set(range(LATE_SIZE))


def test_section_6_n_tokens_are_made_again() -> None:
    """ "2n (n 'gen_token' and n token) extra messages are exchanged": one of the n GEN_TOKENs would go to oneself."""
    made: dict[str, int] = {}
    for name, sweep in LATE.sweeps(quick=True).items():
        scenario = sweep.replication("drs-gme-faults", (LATE_SIZE,), 0).scenario()
        made[name] = simulate(scenario, seed=LATE.seed).messages
    assert made["late, token lost late"] - made["late, in turn"] == 2 * LATE_SIZE - 1
