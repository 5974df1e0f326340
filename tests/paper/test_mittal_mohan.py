"""Mittal & Mohan 2007, sentence by sentence: TokenGME, sections 3 and 4. Processes are numbered from 0 here."""

from __future__ import annotations

from typing import Any

import pytest

from congenial.algorithms.group.token_gme import (
    NONE,
    PRIMARY,
    SECONDARY,
    Primary,
    Release,
    Request,
    Secondary,
    TokenGME,
)
from congenial.kernel.effects import EVERYONE
from congenial.kernel.errors import UnexpectedMessage
from congenial.kernel.node import INSIDE, WAITING
from congenial.kernel.out import Outbox
from congenial.kernel.trace import Event, Trace
from congenial.sim.result import Result
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate


def run(name: str, **parameters: Any) -> Result:
    result = simulate(name, **parameters)
    assert result.ok, result.verdict()
    assert result.entries == result.requests
    return result


def traced(name: str, seed: int = 1, **parameters: Any) -> list[Event]:
    trace = Trace()
    Scenario(name, **parameters).engine(seed, trace).run()
    return trace.events


def receive(node: TokenGME, src: int, msg: Any) -> Outbox:
    out = Outbox()
    node.receive(src, msg, out)
    return out


def request(node: TokenGME, group: int) -> Outbox:
    out = Outbox()
    node.request((group,), out)
    return out


def release(node: TokenGME) -> Outbox:
    out = Outbox()
    node.release(out)
    return out


def waiting_for(group: int, me: int = 2, n: int = 4) -> TokenGME:
    node = TokenGME(me, n)
    request(node, group)
    return node


def secondary(session: int = 5, group: int = 1, awaited: int = 0, n: int = 4) -> Secondary:
    return Secondary(session, group, awaited, (0,) * n)


# -- section 3.2, the main idea ----------------------------------------------------------------------------


def test_initially_the_first_process_has_the_primary_token() -> None:
    """3.2: "Initially, process p1 has the primary token, and the number of secondary tokens is zero."""
    assert [TokenGME(me, 3).holding for me in range(3)] == [PRIMARY, NONE, NONE]


def test_a_process_that_holds_a_token_of_the_type_enters_without_further_delay() -> None:
    node = waiting_for(1)
    assert receive(node, 0, secondary()).entered == (1, 5)
    assert release(node).sent == []
    out = request(node, 1)
    assert out.entered == (1, 5)
    assert out.sent == []


def test_otherwise_it_sends_a_request_to_all() -> None:
    assert request(TokenGME(2, 4), 7).sent == [(EVERYONE, Request(1, (7,)))]


def test_a_compatible_request_gets_a_secondary_token_even_while_the_holder_is_inside() -> None:
    node = TokenGME(0, 3)
    request(node, 1)
    out = receive(node, 2, Request(1, (1,)))
    assert out.sent == [(2, Secondary(1, 1, 0, (1, 0, 1)))]
    assert receive(node, 2, Request(1, (1,))).sent == []  # it is fulfilled now


def test_a_conflicting_request_is_queued_and_gets_the_primary_token_once_it_is_idle() -> None:
    node = TokenGME(0, 3)
    request(node, 1)
    assert receive(node, 1, Request(1, (2,))).sent == []
    assert node.queue == [1]
    out = release(node)
    assert out.sent == [(1, Primary(2, 2, 0, 0, (1, 1, 0), (), (), ()))]
    assert node.holding == NONE


def test_an_idle_secondary_token_is_released_on_learning_of_a_conflict() -> None:
    node = waiting_for(1)
    receive(node, 0, secondary())
    assert receive(node, 1, Request(1, (2,))).sent == []  # busy
    assert release(node).sent == [(EVERYONE, Release(5))]
    assert node.holding == NONE


def test_a_request_that_the_token_knows_to_be_fulfilled_is_no_conflict() -> None:
    node = waiting_for(1)
    receive(node, 0, Secondary(5, 1, 0, (0, 1, 0, 0)))
    receive(node, 1, Request(1, (2,)))
    assert release(node).sent == []
    assert node.holding == SECONDARY


def test_all_of_the_selected_type_get_tokens_and_one_of_them_is_primary() -> None:
    node = TokenGME(0, 5)
    request(node, 9)
    for src, group in ((1, 2), (2, 3), (3, 3), (4, 3)):
        receive(node, src, Request(1, (group,)))
    tokens = dict(release(node).sent)
    assert isinstance(tokens[2], Primary)
    assert isinstance(tokens[3], Secondary)
    assert isinstance(tokens[4], Secondary)
    assert (tokens[2].issued, tokens[2].queue, tokens[2].ages) == (2, (1,), (1,))


def test_the_next_holder_learns_from_the_queue_of_requests_still_on_their_way() -> None:
    node = waiting_for(3)
    receive(node, 0, Primary(4, 3, 0, 0, (0, 6, 1, 0), (1,), ((8,),), (2,)))
    assert receive(node, 1, Request(7, (8,))).sent == []
    assert node.queue == [1]


def test_a_token_is_unsafe_until_all_of_the_previous_session_are_released() -> None:
    """Condition (1)."""
    node = waiting_for(1)
    assert receive(node, 0, secondary(session=5, awaited=2)).entered is None
    assert receive(node, 1, Release(4)).entered is None
    assert receive(node, 3, Release(4)).entered == (1, 5)


def test_releases_that_came_before_the_token_count_and_older_sessions_do_not() -> None:
    node = waiting_for(1)
    receive(node, 1, Release(3))
    receive(node, 3, Release(4))
    receive(node, 3, Release(3))
    assert receive(node, 0, secondary(session=5, awaited=2)).entered is None
    assert receive(node, 1, Release(4)).entered == (1, 5)


def test_a_release_of_the_same_session_says_that_it_is_safe() -> None:
    """Condition (2)."""
    node = waiting_for(1)
    receive(node, 0, secondary(session=5, awaited=2))
    assert receive(node, 1, Release(5)).entered == (1, 5)


def test_ones_own_release_counts() -> None:
    """3.3: a process that broadcasts also sends a copy to itself."""
    node = waiting_for(1)
    receive(node, 0, secondary(session=5))
    release(node)
    request(node, 2)  # gives its token of group 1 back
    assert receive(node, 0, secondary(session=6, group=2, awaited=1)).entered == (2, 6)


def test_a_token_is_busy_while_it_is_not_safe() -> None:
    node = waiting_for(1)
    receive(node, 0, Primary(5, 1, 1, 0, (0, 0, 1, 0), (), (), ()))
    assert receive(node, 1, Request(1, (2,))).sent == []  # else the token would be passed on here
    assert receive(node, 3, Request(1, (1,))).sent == [(3, Secondary(5, 1, 1, (0, 0, 1, 1)))]
    assert node.phase == WAITING
    receive(node, 0, Release(4))
    assert node.phase == INSIDE


def test_an_idle_holder_that_wants_another_group_begins_the_session_itself() -> None:
    node = TokenGME(0, 3)
    request(node, 1)
    receive(node, 2, Request(1, (1,)))
    release(node)
    out = request(node, 2)
    assert out.sent == [(EVERYONE, Request(2, (2,)))]  # by which process 2 learns to release its token
    assert out.entered is None
    assert receive(node, 2, Release(1)).entered == (2, 2)


def test_a_token_nobody_asked_for_is_refused() -> None:
    with pytest.raises(UnexpectedMessage):
        receive(TokenGME(2, 4), 0, secondary())


# -- section 3.5, performance ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["token-gme", "token-gme-fifo", "token-gme-types"])
@pytest.mark.parametrize("n", [2, 5, 20])
def test_theorem_8_message_complexity(name: str, n: int) -> None:
    """Per request at most n-1 REQUEST, n-1 RELEASE and one TOKEN message."""
    for seed, (groups, think) in enumerate([(1, 50), (2, 50), (2, 0), (10, 5), (10, 500)]):
        result = run(name, nodes=n, groups=groups, think=think, requests=40, seed=seed)
        kinds = result.messages_by_kind
        asked = kinds.get("Request", 0) // (n - 1)
        assert asked <= result.entries
        assert kinds.get("Primary", 0) + kinds.get("Secondary", 0) <= asked
        assert kinds.get("Release", 0) <= (n - 1) * kinds.get("Secondary", 0)
        assert result.messages_per_entry <= 2 * n - 1


def test_theorem_9_amortised_message_size() -> None:
    sizes = []
    for n in (10, 40, 80):
        result = run("token-gme", nodes=n, groups=10, requests=15)
        sizes.append(result.integers_per_entry / result.messages_per_entry)
    assert max(sizes) < 5
    assert sizes[2] < sizes[0]


@pytest.mark.parametrize("name", ["token-gme", "token-gme-fifo", "ra1", "ra2"])
def test_theorem_10_synchronisation_delay_is_one_hop(name: str) -> None:
    result = run(name, nodes=12, groups=4, think=0, hold="constant:50", delay="constant:1", requests=20)
    assert result.sync_delay_mean == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("name", ["token-gme", "token-gme-types", "ra1", "ra2"])
def test_theorem_11_waiting_time_is_two_hops(name: str) -> None:
    result = run(name, nodes=8, groups=5, load="turns", requests=6, delay="constant:1")
    assert result.waiting_time_max == pytest.approx(2.0)


@pytest.mark.parametrize("name", ["token-gme", "token-gme-fifo", "token-gme-types", "token-gme-bounded", "ra1", "ra2"])
def test_theorem_12_maximum_concurrency_is_n(name: str) -> None:
    result = run(name, nodes=30, groups=1, load="burst", hold="constant:1000")
    assert result.concurrency_max == 30
    assert result.sessions == 1


# -- section 3.4, starvation -------------------------------------------------------------------------------


@pytest.mark.parametrize("skew", ["", "20/95"])
def test_theorem_6_bounds_the_sessions_a_queued_request_sees(skew: str) -> None:
    """At most m(n+1)-1 sessions are begun before one of its type: its age never exceeds that."""
    n, m = 12, 5
    oldest = 0
    for seed in range(4):
        for event in traced("token-gme", seed, nodes=n, groups=m, skew=skew, think=1, hold=1, delay=5, requests=60):
            if event.event == "send" and event.message == "Primary":
                oldest = max([oldest, *event.fields["ages"]])
    assert 0 < oldest <= m * (n + 1) - 1


# -- section 1, readers and writers ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["token-gme", "token-gme-bounded", "ra1", "ra2"])
def test_readers_and_writers_are_a_special_case(name: str, tmp_path: Any) -> None:
    """n+1 groups: one for all readers, and one for the writes of each process."""
    n = 6
    rows = ["time,process,group,hold"]
    for turn in range(8):
        for process in range(n):
            writes = (turn + process) % 4 == 0
            rows.append(f"{turn * 30},{process},{process + 1 if writes else 0},10")
    path = tmp_path / "load.csv"
    path.write_text("\n".join(rows))
    inside: dict[int, int] = {}
    readers = 0
    for event in traced(name, nodes=n, load=str(path), delay=1):
        if event.event == "enter":
            inside[event.node] = event.group
            assert len(inside) == 1 or set(inside.values()) == {0}
            readers = max(readers, len(inside))
        elif event.event == "exit":
            del inside[event.node]
    assert readers > 2


# -- section 4, experiments in small -----------------------------------------------------------------------


def test_priority_waits_less_than_fifo_under_a_skewed_load() -> None:
    load: dict[str, Any] = {"nodes": 40, "groups": 30, "skew": "20/80", "requests": 40, "think": 10}
    assert run("token-gme", **load).waiting_time_mean < run("token-gme-fifo", **load).waiting_time_mean


def test_agrees_with_an_independent_implementation() -> None:
    """About 86 messages per entry and a mean wait of 516, by a prototype written apart from this one."""
    result = run("token-gme", nodes=50, groups=50, skew="20/80", requests=40)
    assert result.messages_per_entry == pytest.approx(86, rel=0.03)
    assert result.waiting_time_mean == pytest.approx(516, rel=0.06)
