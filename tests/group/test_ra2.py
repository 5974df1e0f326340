"""RA2's two vectors, in runs by hand: which request is older, and which reply is out of date."""

from __future__ import annotations

from schedules import Run

from congenial.algorithms.group.ra2 import RA2, Release, Reply, Request
from congenial.systems.catalogue import ALGORITHMS


def heard(run: Run, *pairs: tuple[int, int]) -> None:
    for src, dst in pairs:
        run.deliver_between(src, dst)


def test_it_needs_channels_that_keep_order() -> None:
    """Mittal & Mohan 2007, section 4: the compression of the vectors assumes FIFO channels."""
    assert ALGORITHMS["ra2"] is RA2
    assert RA2.spec.fifo


def test_a_request_made_in_knowledge_of_another_one_is_younger() -> None:
    """VSN makes the priority, whatever the numbers of the processes."""
    run = Run("ra2", 3)
    run.ask(2, 0)
    heard(run, (2, 0))
    run.ask(0, 1)
    run.ask(1, 2)  # knows of neither, and is as old as the first
    ranks = {(msg.number, msg.group): msg.rank for msg in run.sent if isinstance(msg, Request)}
    assert ranks == {(1, 0): 1, (1, 1): 2, (1, 2): 1}
    run.settle()
    for process in (1, 2, 0):
        assert run.inside() == [process]
        run.leave(process)
        run.settle()


def test_a_reply_is_out_of_date_if_its_sender_was_invited_since() -> None:
    """Process 1 agrees, then becomes a follower. The leader's VF tells of that entry."""
    run = Run("ra2", 3)
    run.ask(0, 0)
    heard(run, (0, 1), (0, 2), (1, 0), (2, 0))
    assert run.inside() == [0]
    run.ask(2, 1)
    heard(run, (2, 1), (1, 2))  # process 1 agrees
    run.ask(1, 0)
    heard(run, (1, 0), (0, 1))  # and is invited
    assert run.inside() == [0, 1]
    heard(run, (2, 0))
    run.leave(0)
    heard(run, (0, 2))
    assert run.inside() == [1]
    run.leave(1)
    assert isinstance(run.sent[-1], Release)
    run.settle()
    assert run.inside() == [2]


def test_a_follower_that_leaves_tells_of_those_it_invited_as_a_leader() -> None:
    """So the reply that it owes carries VF: nobody else can tell process 3 that process 1 is inside."""
    run = Run("ra2", 4)
    run.ask(0, 0)
    run.ask(2, 0)
    heard(run, (0, 1), (0, 2), (0, 3), (2, 0), (2, 1), (2, 3))
    heard(run, (2, 0), (1, 0), (3, 0), (0, 2), (1, 2), (3, 2))
    assert run.inside() == [0, 2]  # both as leaders
    run.ask(3, 1)
    heard(run, (3, 1), (1, 3))  # process 1 agrees
    run.ask(1, 0)
    heard(run, (1, 0), (0, 1))  # process 0 invites it, and process 2 does not know
    run.leave(0)
    run.ask(0, 0)
    heard(run, (0, 2), (0, 2), (2, 0), (2, 0))  # process 2 invites process 0, which is a follower now
    assert run.inside() == [0, 1, 2]
    heard(run, (3, 0), (3, 2))
    run.leave(2)
    heard(run, (2, 3))
    run.leave(0)
    reply = run.sent[-1]
    assert isinstance(reply, Reply)
    heard(run, (0, 3), (0, 3))
    assert run.inside() == [1]
    run.leave(1)
    run.settle()
    assert run.inside() == [3]
