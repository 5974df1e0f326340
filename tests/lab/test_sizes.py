"""What counts as the size of a message (Mittal & Mohan 2007, section 4.1)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from congenial.lab.exhibits import Evidence
from congenial.lab.exhibits.sizes import traffic
from congenial.lab.papers.token_gme import SIZES, USUAL
from congenial.lab.replication import Replication, Value, replicate

SHORT: dict[str, Value] = {**USUAL, "warmup": 500.0, "until": 2500.0}
SMALL = replace(SIZES, nodes=(5, 10), fixed={key: value for key, value in SHORT.items() if key != "nodes"})


def test_all_that_is_counted_by_kind_is_what_a_run_measures() -> None:
    parameters = tuple({**SHORT, "nodes": 6}.items())
    measured = replicate(Replication("ra2", parameters, 1)).measures["integers_per_message"]
    found = traffic("ra2", parameters).values()
    total = sum([kind.vectors + kind.others for kind in found])
    assert total / sum([kind.count for kind in found]) == pytest.approx(measured)


def test_only_requests_and_replies_carry_vectors_of_n_integers_at_most() -> None:
    found = traffic("ra2", tuple({**SHORT, "nodes": 6}.items()))
    assert {name for name, kind in found.items() if kind.vectors} == {"Request", "Reply"}
    for kind in found.values():
        assert kind.vectors <= 6 * kind.count


def test_the_less_counts_the_larger_is_the_ratio() -> None:
    rows = SMALL.ratios()
    assert [row["what counts"] for row in rows] == [*SIZES.ways, "the paper"]
    everything, both, request, reply = [float(str(row["n = 5"])) for row in rows[:-1]]
    assert everything < both < min(request, reply)
    assert rows[-1]["n = 5"] == "2.22"


def test_with_the_vector_of_requests_alone_tokens_are_larger_only_with_fewer_than_10_processes() -> None:
    """Section 4.1: RA2 has smaller messages when "the number of processes is very small (fewer than 10)"."""
    (row,) = [row for row in SMALL.ratios() if row["what counts"] == "the vector in REQUEST"]
    assert float(str(row["n = 5"])) > 1 > float(str(row["n = 10"]))


def test_the_page_has_both_tables_and_their_data(tmp_path: Path) -> None:
    nothing = Evidence({}, [])
    SMALL.write(nothing, tmp_path, "", "")
    text = "\n".join(SMALL.page(nothing, tmp_path, tmp_path))
    assert "| the paper | 2.22 | below 1 |" in text
    assert (tmp_path / "sizes.csv").read_text().startswith("processes,kind,of all messages,vector,other integers\n5,")
