"""What it costs to be able to regenerate a token: nothing, until one is lost."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.kernel.errors import ConfigError
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System

DESCENDANTS = ("mishra-srimani", "nishio-li-manning")
LOADS: dict[str, dict[str, Any]] = {
    "light": {"think": 500, "hold": 1, "requests": 6},
    "heavy": {"think": 0, "hold": 5, "requests": 6},
    "burst": {"load": "burst"},
    "turns": {"load": "turns", "requests": 2},
}
LOST: dict[str, Any] = {"load": "single", "delay": "constant:2", "loss": ("1@1-3",)}  # the token, sent at time 2


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("n", [2, 5, 16])
@pytest.mark.parametrize("algorithm", DESCENDANTS)
def test_without_faults_an_entry_costs_n_or_nothing(algorithm: str, n: int, load: str) -> None:
    """ "the same as the original" (Mishra-Srimani); "N" (Nishio-Li-Manning)."""
    for fifo in (True, False):
        result = simulate(algorithm, nodes=n, fifo=fifo, **LOADS[load])
        assert result.ok
        kinds = result.messages_by_kind
        assert set(kinds) <= {"Request", "AgedPrivilege"}
        assert kinds["Request"] == (n - 1) * kinds["AgedPrivilege"]


@pytest.mark.parametrize("n", [2, 3, 9])
def test_mishra_srimani_sends_five_messages_to_or_from_each_for_a_new_token(n: int) -> None:
    kinds = simulate("mishra-srimani", nodes=n, **LOST).messages_by_kind
    for kind in ("PrivilegeCheck", "NoCritical", "CreatePrivilege", "Update", "Recovered"):
        assert kinds[kind] == n - 1
    assert "FalseAlarm" not in kinds


@pytest.mark.parametrize("n", [2, 3, 9])
def test_nishio_li_manning_sends_two(n: int) -> None:
    kinds = simulate("nishio-li-manning", nodes=n, **LOST).messages_by_kind
    assert kinds["TokenMissing"] == kinds["Ack"] == n - 1
    assert "Nack" not in kinds


@pytest.mark.parametrize("algorithm", DESCENDANTS)
def test_time_outs_grow_with_the_number_of_processes(algorithm: str) -> None:
    assert System(ALGORITHMS[algorithm], 7).arguments == {"patience": 7000.0, "reply": 1000.0}
    given = System(ALGORITHMS[algorithm], 7, {"patience": "50", "reply": "2.5n"})
    assert given.arguments == {"patience": 50.0, "reply": 17.5}
    for text in ("0", "-1n", "n", "soon", "inf", "nan"):
        with pytest.raises(ConfigError, match="a time-out must be a number above 0"):
            System(ALGORITHMS[algorithm], 7, {"patience": text})
