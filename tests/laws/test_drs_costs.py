"""What Swaroop & Singh 2007 claim of DRS_GME, measured: section VI, and the properties named in sections I and V."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from congenial.kernel.trace import Event, Trace
from congenial.sim.hops import measure_hops
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.catalogue import ALGORITHMS
from congenial.systems.system import System

FORMS = ("drs-gme", "drs-gme-faults", "drs-gme-extended", "drs-gme-extended-faults")
WITH_FAULTS = ("drs-gme-faults", "drs-gme-extended-faults")
LOADS: dict[str, dict[str, Any]] = {
    "light": {"think": 500, "hold": 1, "requests": 10},
    "heavy": {"think": 0, "hold": 5, "requests": 10},
    "hasty": {"think": 5, "hold": 0, "requests": 10, "delay": "lognormal:5,1.5"},
}


def traced(algorithm: str, seed: int = 1, **parameters: Any) -> list[Event]:
    trace = Trace()
    Scenario(algorithm, **parameters).engine(seed, trace).run()
    return trace.events


def of_kind(events: list[Event], message: str) -> list[Event]:
    return [event for event in events if event.event == "send" and event.message == message]


def arrivals(path: Path, rows: list[tuple[float, int, int, float]]) -> str:
    lines = [f"{time},{process},{group},{hold}" for time, process, group, hold in rows]
    path.write_text("\n".join(["time,process,group,hold", *lines]) + "\n")
    return str(path)


def waits(algorithm: str, n: int, load: str) -> list[float]:
    """How long each request waited, in the order of the requests, at one unit a hop."""
    asked: dict[int, tuple[int, float]] = {}
    waited: dict[int, float] = {}
    for event in traced(algorithm, nodes=n, groups=1, load=load, delay="constant:1"):
        if event.event == "request":
            asked[event.node] = (len(waited) + len(asked), event.t)
        elif event.event == "enter":
            number, since = asked.pop(event.node)
            waited[number] = event.t - since
    assert not asked
    return [waited[number] for number in sorted(waited)]


# -- section VI: messages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("name", FORMS)
def test_a_request_goes_to_each_process_once_at_most(name: str, load: str) -> None:
    """n-1 requests, and either a token or a start and a complete: n+1 at most. The answers to late copies count."""
    n = 8
    for seed in range(3):
        events = traced(name, seed, nodes=n, groups=3, **LOADS[load])
        sent: set[tuple[int, int, int]] = set()
        for event in of_kind(events, "Request"):
            assert event.fields is not None
            number: Any = event.fields["number"]
            receivers = [other for other in range(n) if other != event.node] if event.peer < 0 else [event.peer]
            for receiver in receivers:
                copy = (event.node, number, receiver)
                assert copy not in sent
                sent.add(copy)
        entries = len([event for event in events if event.event == "enter"])
        assert len(of_kind(events, "Start")) == len(of_kind(events, "Complete"))
        assert len(of_kind(events, "Start")) + len(of_kind(events, "Token")) <= entries


def test_in_the_best_case_no_message_is_exchanged(tmp_path: Path) -> None:
    load = arrivals(tmp_path / "alone.csv", [(10.0 * turn, 0, turn % 3, 5.0) for turn in range(20)])
    assert of_kind(traced("drs-gme", nodes=9, load=load, groups=1), "Request") == []
    assert simulate("drs-gme", nodes=9, load=load, groups=1).messages == 0


@pytest.mark.parametrize("n", [3, 9, 20])
def test_in_the_worst_case_n_plus_1(n: int, tmp_path: Path) -> None:
    """Its first request, to all, and as a follower."""
    load = arrivals(tmp_path / "follower.csv", [(0.0, 0, 0, 100.0), (50.0, 1, 0, 1.0)])
    result = simulate("drs-gme", nodes=n, load=load, groups=1, delay="constant:1")
    assert result.messages_by_kind == {"Request": n - 1, "Start": 1, "Complete": 1}


def test_request_sets_shrink_to_those_that_ask(tmp_path: Path) -> None:
    """ "reduces the number of messages [...] considerably, when the system is lightly loaded": three of twenty ask."""
    rows = [(100.0 * turn, turn % 3, turn % 2, 5.0) for turn in range(300)]
    load = arrivals(tmp_path / "few.csv", rows)
    result = simulate("drs-gme", nodes=20, load=load, groups=1, delay="constant:1")
    assert result.messages_per_entry < 4  # against 20 with static sets
    assert simulate("token-gme", nodes=20, load=load, groups=1, delay="constant:1").messages_per_entry > 19


def test_only_the_token_is_of_the_size_of_n() -> None:
    for event in traced("drs-gme", nodes=12, groups=3, requests=10, think=0):
        if event.event == "send" and event.message != "Token":
            assert event.fields is not None
            assert len(event.fields) <= 3


# -- section VI: synchronisation delay ---------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMS)
def test_synchronisation_delay(name: str) -> None:
    """t_m after a captain alone; 2 t_m "if the last process exited from CS is a follower"."""
    each_alone = measure_hops(name, 2, groups=2).sync_delay
    together = measure_hops(name, 9, groups=3).sync_delay
    assert each_alone is not None
    assert together is not None
    assert (each_alone.least, each_alone.most) == (1, 1)
    assert together.most == 2


# -- section VI: concurrency and forum switches ------------------------------------------------------------


@pytest.mark.parametrize("name", FORMS)
def test_all_can_be_inside_together(name: str) -> None:
    result = simulate(name, nodes=30, groups=1, load="burst", hold="constant:500")
    assert result.concurrency_max == 30


def switches(events: list[Event]) -> int:
    """The most sessions that began while somebody waited, its own included."""
    sessions: set[int] = set()
    asked: dict[int, int] = {}
    most = 0
    for event in events:
        if event.event == "request":
            asked[event.node] = len(sessions)
        elif event.event == "enter":
            sessions.add(event.fence)
            most = max(most, len(sessions) - asked.pop(event.node))
    return most


@pytest.mark.parametrize(("n", "m"), [(4, 10), (10, 4), (12, 2), (6, 6)])
@pytest.mark.parametrize("name", FORMS)
def test_at_most_min_n_m_sessions_until_a_request_is_served(name: str, n: int, m: int) -> None:
    """Stays are long: at most one session begins while a request is in transit."""
    lengths = set()
    for seed in range(3):
        load: dict[str, Any] = {"nodes": n, "groups": m, "think": 5, "hold": "constant:50", "delay": "constant:1"}
        events = traced(name, seed, requests=15, **load)
        assert 0 < switches(events) <= min(n, m) + 1
        for event in of_kind(events, "Token"):
            assert event.fields is not None
            queue: Any = event.fields["queue"]
            lengths.add(len(queue))
    assert max(lengths) <= min(n, m)


# -- smooth admission, concurrent occupancy ----------------------------------------------------------------


def test_smooth_admission(tmp_path: Path) -> None:
    """0 is captain until 200, 1 waits for another group since 50, 2 asks for the captain's at 100, 3 at 300, when 0 has
    left and 4 is still inside."""
    rows = [(0.0, 0, 0, 200.0), (50.0, 1, 1, 10.0), (90.0, 4, 0, 400.0), (100.0, 2, 0, 10.0), (300.0, 3, 0, 10.0)]
    load = arrivals(tmp_path / "smooth.csv", rows)
    for name in ("drs-gme", "drs-gme-faults"):
        _, conflicting, _, late, too_late = waits(name, 6, load)
        assert late == 2
        assert conflicting > 400
        assert too_late > 200
    for name in ("drs-gme-extended", "drs-gme-extended-faults"):
        assert waits(name, 6, load)[3] > 100  # section VII asks for an empty queue


@pytest.mark.parametrize("name", FORMS)
def test_concurrent_occupancy(name: str, tmp_path: Path) -> None:
    """Nobody asks for another group: nobody waits for another to leave, whether the captain is inside or not."""
    rows = [(20.0 * process, process, 0, 100.0 if process == 0 else 3000.0) for process in range(12)]
    assert max(waits(name, 12, arrivals(tmp_path / "same.csv", rows))) == 2


@pytest.mark.parametrize("name", FORMS)
def test_thousands_of_groups_appear_while_running(name: str, tmp_path: Path) -> None:
    """Runs are alike, whether a few groups take turns or each is a new one."""
    n, rounds = 7, 350
    costs = []
    for new in (True, False):
        rows = [
            (20.0 * turn, process, turn * n + process if new and turn > 50 else process, 5.0)
            for turn in range(rounds)
            for process in range(n)
        ]
        result = simulate(name, nodes=n, load=arrivals(tmp_path / f"{new}.csv", rows), groups=1)
        assert result.ok
        assert result.entries == n * rounds
        costs.append((result.messages, result.sessions))
    assert costs[0] == costs[1]


# -- section VI: performance in case of message loss -------------------------------------------------------

LOST: dict[str, Any] = {"load": "single", "delay": "constant:2", "loss": ("1@1-3",)}  # the token, sent at time 2


@pytest.mark.parametrize("n", [2, 5, 12])
def test_a_lost_token_costs_one_gen_token_for_each_other_and_one_token(n: int) -> None:
    """ "n+1 (n gen_token and one token)"; what a process would send to itself is not sent."""
    lost = simulate("drs-gme-faults", nodes=n, **LOST)
    assert lost.ok
    assert lost.messages_by_kind == {"Request": n - 1, "GenToken": n - 1, "Token": 2}


def test_at_most_n_tokens_are_made_again(tmp_path: Path) -> None:
    """All but the last have passed the token on, and 0, which has had it first, knows of none since."""
    n = 6
    rows = [(0.0, 0, 0, 1.0), *[(100.0 * process, process, process, 1.0) for process in range(1, n)]]
    rows.append((1000.0, 0, 0, 1.0))
    load = arrivals(tmp_path / "round.csv", rows)
    options = {"patience": "500", "reply": "500"}
    result = simulate(
        "drs-gme-faults", nodes=n, load=load, groups=1, delay="constant:1", loss=("1@999-1002",), options=options
    )
    assert result.ok
    asked = result.messages_by_kind["GenToken"]
    copies = result.messages_by_kind["Token"] - n  # n sessions were begun by a token that arrived
    assert asked == n - 1
    assert 0 < copies <= n


@pytest.mark.parametrize("n", [2, 6, 11])
@pytest.mark.parametrize("name", WITH_FAULTS)
def test_in_the_worst_case_n_tokens_are_made_again_with_2n_extra_messages(name: str, n: int, tmp_path: Path) -> None:
    """ "In the worst case, n such tokens may be generated and 2n (n 'gen_token' and n token) extra messages are
    exchanged for token generation." Each process has had the token, in turn, and passed it on; the last one passes it
    to the first, and it is lost. One of the n GEN_TOKENs would go to the sender itself and is not sent."""
    rows = [(100.0 * process, process, process, 1.0) for process in range(n)]
    again = 100.0 * n + 100.0
    load = arrivals(tmp_path / "round.csv", [*rows, (again, 0, 0, 1.0)])
    common: dict[str, Any] = {"nodes": n, "load": load, "groups": 1, "delay": "constant:1"}
    usual = simulate(name, **common)
    lost = simulate(name, loss=(f"1@{again + 0.5}-{again + 1.5}",), **common)
    assert usual.ok
    assert lost.ok
    assert lost.messages_by_kind["GenToken"] == n - 1
    assert lost.messages_by_kind["Token"] - usual.messages_by_kind["Token"] == n
    assert lost.messages - usual.messages == 2 * n - 1


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("name", WITH_FAULTS)
def test_a_lost_complete_costs_two_messages_more_and_a_late_one_one(name: str, n: int) -> None:
    """ "two extra messages are required for each 'complete' message that was lost, and one extra message for the sites,
    which are not able to send 'complete' message in time." All enter together, twice; T2 is 1000."""
    load: dict[str, Any] = {"nodes": n, "groups": 1, "think": "constant:5000", "requests": 2, "delay": "constant:1"}
    usual = simulate(name, hold="constant:500", **load)
    lost = simulate(name, hold="constant:500", loss=("1@5501-5503",), **load)
    late = simulate(name, hold="constant:1500", **load)
    assert usual.ok
    assert lost.ok
    assert late.ok
    assert lost.messages - usual.messages == 2 * (n - 1)  # all of the first time
    assert late.messages - usual.messages == 2 * (n - 1)  # one each, both times


def test_the_average_size_of_messages_does_not_depend_on_n_in_the_best_case() -> None:
    """ "in the best case (all processes requesting for the same session), the average message size will be O(1)" """
    for n in (5, 10, 25):
        result = simulate("drs-gme", nodes=n, groups=1, think=0, hold=5, requests=10)
        assert result.integers_per_entry / result.messages_per_entry < 2.2


def test_in_the_worst_case_it_is_bounded_by_n_and_far_below(tmp_path: Path) -> None:
    """ "in the worst case (all processes requesting for a different session); n token messages will be exchanged,
    besides the 'request' messages. Therefore, in this case the average message size will be O(n)." The n-1 requests
    beside each token keep the average small: it does not grow with n. It does where two processes take turns, so that
    there is one request for each token."""
    sizes = []
    for n in (5, 10, 25):
        result = simulate("drs-gme", nodes=n, groups=1000, think=0, hold=5, requests=10)
        sizes.append(result.integers_per_entry / result.messages_per_entry)
    assert sizes[-1] < 1.25 * sizes[0]
    pairs = []
    for n in (5, 25):
        load = arrivals(tmp_path / f"{n}.csv", [(100.0 * turn, turn % 2, turn % 2, 5.0) for turn in range(100)])
        result = simulate("drs-gme", nodes=n, load=load, groups=1, delay="constant:1")
        pairs.append(result.integers_per_entry / result.messages_per_entry)
    assert 2.5 < pairs[1] / pairs[0] < 5


def test_a_lost_complete_costs_two_messages(tmp_path: Path) -> None:
    rows = [(0.0, 0, 0, 200.0), (50.0, 1, 0, 100.0), (160.0, 2, 1, 1.0)]
    load = arrivals(tmp_path / "complete.csv", rows)
    cost = []
    for loss in ((), ("1@151-153",)):
        options = {"patience": "10000", "reply": "500"}
        result = simulate(
            "drs-gme-faults", nodes=3, load=load, groups=1, delay="constant:1", loss=loss, options=options
        )
        assert result.ok
        assert result.messages_by_kind.get("IsComplete", 0) == len(loss)
        cost.append(result.messages)
    assert cost[1] == cost[0] + 2


def test_t_req_is_no_bound_on_the_wait_for_a_token_that_is_not_lost() -> None:
    """(n+1) t_m + (n-1) t_c: a session lasts longer if a follower is admitted late. That costs only messages."""
    n, t_m, t_c = 4, 10, 20
    options = {"patience": str((n + 1) * t_m + (n - 1) * t_c), "reply": "1000"}
    load: dict[str, Any] = {"nodes": n, "groups": 3, "requests": 50, "think": 0, "delay": f"constant:{t_m}"}
    result = simulate("drs-gme-faults", hold=f"constant:{t_c}", options=options, **load)
    assert result.ok
    assert result.messages_by_kind["GenToken"] > 0


def test_time_outs_grow_with_the_number_of_processes() -> None:
    assert System(ALGORITHMS["drs-gme-faults"], 7).arguments == {"patience": 7000.0, "reply": 1000.0}


def test_no_form_is_missing_here() -> None:
    assert set(FORMS) == {name for name in ALGORITHMS if name.startswith("drs-gme")}
