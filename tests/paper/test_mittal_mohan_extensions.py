"""Mittal & Mohan 2007, sentence by sentence: type sets (5.1) and bounded numbers (5.2)."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from congenial.algorithms.group.token_gme import NO_GROUP, Primary, Release, Request
from congenial.algorithms.group.token_gme_bounded import (
    BoundedPrimary,
    BoundedSecondary,
    RequestsReset,
    ResetRequests,
    ResetSessions,
    SessionsReset,
    TokenGMEBounded,
)
from congenial.algorithms.group.token_gme_types import TokenGMETypes
from congenial.kernel.effects import EVERYONE
from congenial.kernel.message import Message
from congenial.kernel.out import Outbox
from congenial.parts.selection import priorities
from congenial.sim.simulate import simulate


def receive(node: TokenGMETypes | TokenGMEBounded, src: int, msg: Message) -> Outbox:
    out = Outbox()
    node.receive(src, msg, out)
    return out


def request(node: TokenGMETypes | TokenGMEBounded, *groups: int) -> Outbox:
    out = Outbox()
    node.request(groups, out)
    return out


def release(node: TokenGMETypes | TokenGMEBounded) -> Outbox:
    out = Outbox()
    node.release(out)
    return out


# -- section 5.1 -------------------------------------------------------------------------------------------


def test_a_request_compatible_with_the_token_is_admitted_for_its_group() -> None:
    node = TokenGMETypes(0, 4)
    request(node, 1)
    [(receiver, token)] = receive(node, 2, Request(1, (3, 1))).sent
    assert receiver == 2
    member = TokenGMETypes(2, 4)
    request(member, 3, 1)
    assert receive(member, 0, token).entered == (1, 1)


def test_unless_a_conflicting_request_is_already_queued() -> None:
    node = TokenGMETypes(0, 4)
    request(node, 1)
    receive(node, 1, Request(1, (2, 3)))
    assert receive(node, 2, Request(1, (1,))).sent == []
    assert node.queue == [1, 2]


def test_a_pending_request_belongs_to_all_its_subsets() -> None:
    node = TokenGMETypes(0, 5)
    request(node, 9)
    for src, groups in ((1, (4,)), (2, (5, 6)), (3, (6, 4)), (4, (6,))):
        receive(node, src, Request(1, groups))
    tokens = dict(release(node).sent)
    assert sorted(tokens) == [2, 3, 4]
    [primary] = [token for token in tokens.values() if isinstance(token, Primary)]
    assert (primary.group, primary.queue, primary.wanted) == (6, (1,), ((4,),))


def test_a_process_that_holds_a_token_of_any_of_its_types_enters_at_once() -> None:
    node = TokenGMETypes(0, 3)
    request(node, 2)
    release(node)
    assert request(node, 7, 2).entered == (2, 1)


def test_all_compatible_with_the_session_enter_within_two_hops(tmp_path: Path) -> None:
    """5.1: the property analogous to concurrent entry; here all sets have group 0 in common."""
    rows = ["time,process,group,hold", "0,3,0,5"]
    for turn in range(12):
        for process in range(9):
            rows.append(f"{turn * 60 + process + 20},{process},{1 + (turn + process) % 4}|0,{5 + process * 3}")
    path = tmp_path / "load.csv"
    path.write_text("\n".join(rows))
    result = simulate("token-gme-types", nodes=9, load=str(path), delay="constant:1")
    assert result.ok, result.verdict()
    assert result.entries == 12 * 9 + 1
    assert result.waiting_time_max <= 2 + 1e-9
    assert result.concurrency_max > 3


@pytest.mark.parametrize("sets", [1, 2, 4])
def test_type_sets_are_served_and_wider_ones_wait_less(sets: int, tmp_path: Path) -> None:
    waits = []
    for width in (1, sets):
        rng = Random(5)
        rows = ["time,process,group,hold"]
        for turn in range(25):
            for process in range(10):
                groups = rng.sample(range(8), 4)[:width]
                rows.append(f"{turn * 40},{process},{'|'.join([str(group) for group in groups])},10")
        path = tmp_path / f"load{width}.csv"
        path.write_text("\n".join(rows))
        result = simulate("token-gme-types", nodes=10, load=str(path), delay=5)
        assert result.ok, result.verdict()
        assert result.entries == 250
        assert result.messages_per_entry <= 2 * 10 - 1
        waits.append(result.waiting_time_mean)
    assert waits[1] < waits[0] or sets == 1


# -- section 5.2 -------------------------------------------------------------------------------------------


def test_after_request_smax_a_process_asks_all_to_reset_and_waits_for_their_agreement() -> None:
    """5.2.1"""
    node = TokenGMEBounded(2, 3, limit=2)
    for number in (1, 2):
        assert (EVERYONE, Request(number, (number,))) in request(node, number).sent
        out = receive(node, 0, BoundedSecondary(number, number, 0, (0, 0, number), (0, 0, 0)))
        assert out.entered == (number, 0)
        assert out.sent == ([] if number == 1 else [(EVERYONE, ResetRequests())])
        release(node)
    assert request(node, 5).sent == []  # "it stops generating any further requests"
    assert receive(node, 0, RequestsReset()).sent == []
    assert receive(node, 1, RequestsReset()).sent == [(EVERYONE, Request(1, (5,))), (EVERYONE, Release(2))]


def test_a_reset_of_requests_waits_for_all_smax_of_them() -> None:
    """5.2.1: "waits until it has received all REQUEST messages"."""
    node = TokenGMEBounded(2, 3, limit=3)
    receive(node, 1, Request(3, (4,)))
    assert receive(node, 1, ResetRequests()).sent == []
    assert receive(node, 1, Request(1, (4,))).sent == []
    assert receive(node, 1, Request(2, (4,))).sent == [(1, RequestsReset())]
    assert node.requested[1] == 0


def test_sessions_are_reset_before_the_one_after_smax() -> None:
    """5.2.2: RESET_SSN says how many tokens were issued; the session begins when all have confirmed."""
    node = TokenGMEBounded(0, 3, limit=2)
    request(node, 1)
    receive(node, 1, Request(1, (1,)))
    release(node)
    request(node, 2)
    assert receive(node, 1, Release(1)).entered == (2, 0)
    receive(node, 1, Request(2, (3,)))
    assert release(node).sent == [(EVERYONE, ResetSessions(1))]
    assert node.group == NO_GROUP  # nothing may be issued now
    assert receive(node, 2, Request(1, (2,))).sent == []
    assert receive(node, 2, SessionsReset()).sent == []
    [(receiver, token)] = receive(node, 1, SessionsReset()).sent
    assert receiver == 1
    assert isinstance(token, BoundedPrimary)
    assert (token.session, token.awaited, token.tokens, token.queue) == (1, 0, 0, (2,))


def test_a_reset_of_sessions_waits_for_all_releases() -> None:
    node = TokenGMEBounded(2, 3, limit=2)
    receive(node, 1, Release(1))
    assert receive(node, 0, ResetSessions(2)).sent == []
    assert receive(node, 1, Release(2)).sent == [(0, SessionsReset())]
    assert (node.latest, node.releases) == (0, 0)


def test_a_process_gets_one_secondary_token_in_a_session() -> None:
    node = TokenGMEBounded(0, 3, limit=4)
    request(node, 1)
    assert len(receive(node, 1, Request(1, (1,))).sent) == 1
    assert receive(node, 1, Request(2, (1,))).sent == []
    assert node.queue == [1]


@pytest.mark.parametrize("limit", [2, 3, 7])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 2), (5, 3), (8, 4)])
def test_5_2_3_bounds_of_all_integers_in_every_message_and_state(limit: int, n: int, m: int) -> None:
    Watched.m = m
    for seed, think in enumerate((0.0, 10.0)):
        options = {"limit": str(limit)}
        result = simulate(Watched, nodes=n, groups=m, requests=60, think=think, hold=5, options=options, seed=seed)
        assert result.ok, result.verdict()
        assert result.messages_per_entry <= 2 * n - 1 + 4 * (n - 1) / limit


class Watched(TokenGMEBounded):
    """Checks the bounds of 5.2.3 after every step."""

    m = 0  # groups

    def receive(self, src: int, msg: Message, out: Any) -> None:
        self.check_message(msg)
        super().receive(src, msg, out)
        self.check_state()

    def release(self, out: Any) -> None:
        super().release(out)
        self.check_state()

    def check_message(self, msg: Message) -> None:
        n, limit = self.n, self.limit
        if isinstance(msg, Request):
            assert 1 <= msg.number <= limit
        elif isinstance(msg, Release):
            assert 1 <= msg.session <= limit
        elif isinstance(msg, ResetSessions):
            assert msg.tokens <= n * limit
        elif isinstance(msg, BoundedSecondary | BoundedPrimary):
            assert 1 <= msg.session <= limit
            assert msg.awaited <= n
            assert max(msg.fulfilled) <= limit
            assert set(msg.rounds) <= {0, 1}
        if isinstance(msg, BoundedPrimary):
            assert msg.issued <= n
            assert msg.tokens <= n * limit
            assert max(msg.ages, default=0) <= Watched.m * (n + 1)

    def check_state(self) -> None:
        n, limit = self.n, self.limit
        assert max(self.requested) <= limit
        assert max(self.received) <= limit
        assert max(self.session, self.latest) <= limit
        assert max(self.awaited, self.issued, self.releases) <= n
        assert max(self.tokens, self.returned, self.expected) <= n * limit
        ages = priorities([self.wanted[process] for process in self.queue], self.ages)
        assert max(ages.values(), default=0) <= Watched.m * (n + 1)


class AsPublished(TokenGMEBounded):
    """Compares numbers as section 5.2.1 has it: plainly, except that smax counts as less than 1."""

    def _is_pending(self, process: int) -> bool:
        requested, fulfilled = self.requested[process], self.fulfilled[process]
        if fulfilled == self.limit and requested == 1:
            return True
        return requested > fulfilled


def test_as_published_a_late_request_passes_for_a_new_one() -> None:
    """Request 1 of process 1 has come here, request 2 = smax is late, and the token knows both to be fulfilled."""
    for algorithm, expected in ((AsPublished, 1), (TokenGMEBounded, 0)):
        node = algorithm(2, 3, limit=2)
        receive(node, 1, Request(1, (7,)))
        request(node, 7)
        token = BoundedPrimary(1, 7, 0, 0, (0, 2, 1), (), (), (), (0, 0, 0), (), 0)
        assert len(receive(node, 0, token).sent) == expected


def test_as_published_a_secondary_token_is_never_released() -> None:
    """Process 1 was served as number smax in this session after my token was issued, and asks for another group now."""
    for algorithm, expected in ((AsPublished, []), (TokenGMEBounded, [(EVERYONE, Release(1))])):
        node = algorithm(2, 3, limit=3)
        request(node, 7)
        receive(node, 0, BoundedSecondary(1, 7, 0, (0, 2, 1), (0, 0, 0)))
        release(node)
        for number in (1, 2, 3):
            receive(node, 1, Request(number, (7,)))
        receive(node, 1, ResetRequests())
        assert receive(node, 1, Request(1, (8,))).sent == expected


def test_as_published_some_runs_go_wrong() -> None:
    verdicts = [
        simulate(
            AsPublished,
            nodes=3,
            groups=2,
            requests=40,
            think=5,
            delay="lognormal:5,1.5",
            options={"limit": "2"},
            seed=s,
        )
        for s in range(12)
    ]
    assert not all([result.ok for result in verdicts])
