"""Romano & Rodrigues 2009, section 4, sentence by sentence."""

from __future__ import annotations

from typing import Any

import pytest
from steps import node, receive, release, request, step

from congenial.algorithms.weak.wme1 import WME1, Ack, Granted, Invoke, NewEpoch, Request
from congenial.algorithms.weak.wme2 import WME2, DoInvoke
from congenial.algorithms.weak.wme_consensus import ENTER, EXIT, Suggest, WMEConsensusFast
from congenial.kernel.errors import ContractError, UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox
from congenial.kernel.state import state_of
from congenial.parts.consensus import Accept, Propose
from congenial.problems.weak import fence_of


def issue(process: Node, operation: object) -> list[str]:
    return step(lambda out: process.issue(operation, out))


def told(process: Node, source: int, message: Message) -> Outbox:
    out = Outbox()
    process.receive(source, message, out)
    return out


def inside(me: int, n: int, algorithm: type[Node] = WME1) -> Any:
    """The owner, in its critical section."""
    process = node(algorithm, me, n)
    request(process)
    return process


def test_a_process_that_has_the_token_enters_at_once() -> None:
    """ "If si already owns the token ... a new CS can be immediately established upon the reception of a try." """
    assert request(node(WME1, 0, 3)) == ["enters"]


def test_a_process_without_it_increases_its_number_and_tells_everyone() -> None:
    """ "Otherwise, si ... increases the reqId value and broadcasts a REQUEST message tagged with" it."""
    assert request(node(WME1, 2, 3)) == ["Request(epoch=0, number=1) to all"]


def test_the_owner_outside_passes_the_token_on_by_telling_everyone() -> None:
    """ "... it transfers the token by broadcasting a GRANTED message tagged with the curSN + 1 sequence number, the
    identity of the new token owner, and the reqId value." """
    owner: Any = node(WME1, 0, 3)
    grant = "Granted(epoch=0, place=1, owner=2, number=1, entries=0) to all"
    assert receive(owner, 2, Request(0, 1)) == [grant]
    assert (owner.owner, owner.place, owner.granted) == (2, 1, [0, 0, 1])


def test_a_process_that_is_not_the_owner_queues_the_request() -> None:
    """ "... if sj is not the current token owner, the request is just added to the reqs queue." """
    other: Any = node(WME1, 1, 3)
    assert receive(other, 2, Request(0, 1)) == []
    assert other.requests == [(2, 1)]
    # a grant "triggers the update of the k-th entry of the granted vector, the increase of the global sequence number,
    # as well as the removal of the corresponding CS request from the reqs queue"
    assert receive(other, 0, Granted(0, 1, 2, 1, 0)) == []
    assert (other.requests, other.granted, other.place, other.owner) == ([], [0, 0, 1], 1, 2)
    # "the granted vector is used to determine whether the incoming CS request has already been served"
    receive(other, 2, Request(0, 1))
    assert other.requests == []


def test_the_requesting_stub_enters_with_its_grant() -> None:
    asker = node(WME1, 2, 3)
    request(asker)
    assert receive(asker, 0, Granted(0, 1, 2, 1, 4)) == ["enters"]


def test_a_process_that_does_not_want_its_grant_any_more_keeps_the_token_or_passes_it_on() -> None:
    """The end of an epoch can undo a grant that has been used (docs/errata.md)."""
    idle = node(WME1, 2, 3)
    assert receive(idle, 0, Granted(0, 1, 2, 1, 4)) == []
    assert request(idle) == ["enters"]
    other = node(WME1, 2, 3)
    receive(other, 1, Request(0, 1))
    (passed,) = told(other, 0, Granted(0, 1, 2, 1, 4)).sent
    assert passed[1] == Granted(0, 2, 1, 1, 4)


def test_on_exit_the_token_goes_to_the_first_in_the_queue_or_stays() -> None:
    """ "... the token is, respectively, either transferred ... to the stub whose request is first in queue, or locally
    retained." """
    owner = inside(0, 3)
    assert release(owner) == []
    request(owner)
    receive(owner, 2, Request(0, 1))
    receive(owner, 1, Request(0, 1))
    assert release(owner) == ["Granted(epoch=0, place=1, owner=2, number=1, entries=2) to all"]


def test_an_operation_is_told_to_everyone_and_acknowledged_to_everyone() -> None:
    """ "... broadcasts an INVOKE message carrying the operation along with the curSN + 1 sequence number. Upon
    reception ... a stub appends the operation to opHist, increases curSN and broadcasts back an ACK message." """
    owner = inside(0, 5)
    assert issue(owner, "add") == ["Invoke(epoch=0, place=1, issuer=0, number=1, operation=add) to all"]
    other: Any = node(WME1, 1, 5)
    assert receive(other, 0, Invoke(0, 1, 0, 1, "add")) == ["Ack(epoch=0, place=1) to all"]
    assert (other.history, other.place) == ([(1, 0, 1, "add")], 1)


def test_a_majority_has_to_have_it_before_it_is_executed() -> None:
    """ "In order for an operation to be invoked on the local copy of the shared resource, a stub waits to gather a
    majority of ACK messages." """
    owner = inside(0, 5)
    issue(owner, "add")
    assert told(owner, 1, Ack(0, 1)).executed == []
    out = told(owner, 2, Ack(0, 1))
    assert out.executed == [(0, 1, "add", 1)]
    assert out.answered == (1, 1)


def test_what_comes_too_early_waits() -> None:
    other: Any = node(WME1, 1, 3)
    assert receive(other, 0, Invoke(0, 2, 0, 2, "b")) == []
    assert receive(other, 0, Invoke(1, 1, 0, 1, "next epoch")) == []
    out = told(other, 0, Invoke(0, 1, 0, 1, "a"))
    assert [operation for _, _, operation, _ in out.executed] == ["a", "b"]
    assert len(other.ahead) == 1


def test_a_process_that_suspects_the_owner_reports_and_names_itself() -> None:
    """ "... broadcasts a NEWEP message conveying its CS requests queue, the granted vector, the curSN, the sequence of
    operations stored in opHist, as well his own identity." """
    process: Any = node(WME1, 1, 3)
    receive(process, 2, Request(0, 1))
    receive(process, 0, Invoke(0, 1, 0, 1, "a"))
    out = Outbox()
    process.on_suspect(0, out)
    report = NewEpoch(0, True, 1, 1, (0, 0, 0), ((2, 1),), ((1, 0, 1, "a"),))
    assert [message for _, message in out.sent] == [report]
    assert process.blocked


def test_a_process_that_does_not_suspect_names_the_owner() -> None:
    """ "... if sj is not suspecting the current token owner, sk, sj specifies sk's identity, rather than his own." """
    process: Any = node(WME1, 2, 3)
    answer = "NewEpoch(epoch=0, suspecting=False, place=0, owner=0, granted=(0, 0, 0), requests=(), history=()) to all"
    assert answer in receive(process, 1, NewEpoch(0, True, 0, 1, (0, 0, 0), (), ()))


def end_epoch(process: Any, place: int, owner: int, history: tuple[Any, ...] = ()) -> Outbox:
    """Another process's report is decided upon."""
    value = (place, owner, (0,) * process.n, (), history)
    process.receive(0, Propose(0, 0, value), Outbox())
    return told(process, 3 if process.me != 3 else 4, Accept(0, 0))


def test_a_former_owner_inside_is_ejected_and_its_operation_fails() -> None:
    process = inside(1, 5, Owned)
    issue(process, "a")
    out = end_epoch(process, 0, 2)
    assert (out.ejected, out.executed, process.pending, process.epoch) == (True, [], None, 1)


def test_an_operation_that_others_know_of_is_executed_and_answered() -> None:
    process = inside(1, 5, Owned)
    issue(process, "a")
    out = end_epoch(process, 1, 2, ((1, 1, 1, "a"),))
    assert (out.executed, out.answered, out.ejected) == ([(1, 1, "a", 1)], (1, 1), True)


def test_a_process_that_is_owner_still_issues_its_operation_again() -> None:
    """ "... if there are no operations in opHist* to be executed but si results to still be the token owner, si
    re-broadcasts his last issued operation in the new epoch." """
    process = inside(1, 5, Owned)
    issue(process, "a")
    out = end_epoch(process, 0, 1)
    assert [message for _, message in out.sent][-1] == Invoke(1, 1, 1, 1, "a")


def test_a_process_that_waits_asks_again_with_a_new_number_or_enters() -> None:
    asker = node(WME1, 1, 5)
    request(asker)
    assert [message for _, message in end_epoch(asker, 0, 2).sent][-1] == Request(1, 2)
    asker = node(WME1, 1, 5)
    request(asker)
    assert end_epoch(asker, 0, 1).entered == (0, fence_of(1, 1))


class Owned(WME1):
    """Process 1 has the token at first."""

    def __init__(self, me: int, n: int, resource: Any) -> None:
        super().__init__(me, n, resource)
        self.owner = 1


def test_wme_2_acknowledges_to_the_owner_who_tells_all_to_execute() -> None:
    """Section 5: "ACKs messages are not broadcast ... but only sent to the current CS Owner. The latter waits to gather
    a majority of ACKs before broadcasting a DO INVOKE message whose reception triggers the actual execution." """
    other: Any = node(WME2, 1, 3)
    assert receive(other, 0, Invoke(0, 1, 0, 1, "a")) == ["Ack(epoch=0, place=1) to 0"]
    owner = inside(0, 3, WME2)
    issue(owner, "a")
    out = told(owner, 1, Ack(0, 1))
    assert out.answered == (1, 1)
    assert [message for _, message in out.sent] == [DoInvoke(0, 1)]
    assert told(other, 0, DoInvoke(0, 1)).executed == [(0, 1, "a", 1)]


def test_by_consensus_a_command_is_spread_and_then_decided() -> None:
    """Section 5: "the execution of a consensus instance, preceded by a preliminary reliable broadcast aimed at
    spreading the consensus proposal value"."""
    asker = node(WMEConsensusFast, 2, 3)
    command = (ENTER, 2, 1, 0, None)
    assert request(asker) == [f"Suggest(command={command}) to all"]
    assert receive(asker, 0, Propose(0, 0, command)) == ["Accept(instance=0, ballot=0) to all", "enters"]
    assert release(asker) == [f"Suggest(command={(EXIT, 2, 0, 1, None)}) to all"]
    assert told(asker, 0, Propose(1, 0, (EXIT, 2, 0, 1, None))).rested


def test_one_operation_at_a_time_and_inside_only() -> None:
    process = node(WME1, 0, 3)
    with pytest.raises(ContractError, match="is not inside"):
        issue(process, "a")
    request(process)
    issue(process, "a")
    with pytest.raises(ContractError, match="waits for the outcome of another"):
        issue(process, "b")
    with pytest.raises(ContractError, match="waits for the outcome of an operation"):
        release(process)


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (WME1, Granted(0, 0, 1, 1, 0)),
        (WME1, NewEpoch(0, True, 0, 9, (0, 0, 0), (), ())),
        (WME1, NewEpoch(0, True, 0, 1, (0,), (), ())),
        (WME1, DoInvoke(0, 1)),
        (WMEConsensusFast, Suggest((9, 0, 0, 0, None))),
        (WMEConsensusFast, Request(0, 1)),
    ],
    ids=str,
)
def test_messages_that_cannot_be(algorithm: type[Node], message: Message) -> None:
    process = node(algorithm, 1, 3)
    before = state_of(process)
    with pytest.raises(UnexpectedMessage):
        receive(process, 2, message)
    assert state_of(process) == before


def test_a_process_that_recovers_takes_no_part() -> None:
    for algorithm in (WME1, WMEConsensusFast):
        process = node(algorithm, 1, 3)
        process.on_recover(Outbox())
        assert request(process) == []
        assert receive(process, 0, Propose(0, 0, None)) == []
        process.on_suspect(0, Outbox())
