"""The process shell: effects in order, the contract checked, nothing changed by what is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from congenial.kernel.effects import (
    EVERYONE,
    Answer,
    CancelTimer,
    Effect,
    Eject,
    Enter,
    Execute,
    Rest,
    Save,
    Send,
    SetTimer,
)
from congenial.kernel.errors import ContractError, IllegalStep, SafetyViolation, UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, INSIDE, WAITING, Node
from congenial.kernel.out import Out, Outbox
from congenial.kernel.problem import Groups
from congenial.kernel.shell import (
    Asked,
    Issued,
    Left,
    Process,
    ProcessEvent,
    Received,
    Recovered,
    Suspected,
    TimedOut,
    Trusted,
)
from congenial.kernel.state import state_of
from congenial.problems.group import GROUP
from congenial.problems.mutex import MUTEX


@dataclass(frozen=True)
class Do(Message):
    """Makes a `Puppet` do something."""

    what: str


class Puppet(Node):
    """Does in `receive` what the message says."""

    durable: ClassVar[tuple[str, ...]] = ("kept",)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.kept = 0
        self.lost = 0

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()

    def release(self, out: Out) -> None:
        self.leave()
        out.rest()

    def issue(self, operation: object, out: Out) -> None:
        out.execute(self.me, 1, operation, "done")

    def on_timer(self, timer: int, out: Out) -> None:
        out.set_timer(timer, 2.0)

    def on_suspect(self, peer: int, out: Out) -> None:
        out.send(peer, Do("are you there?"))

    def on_recover(self, out: Out) -> None:
        out.broadcast(Do("back"))

    def on_amnesia(self, out: Out) -> None:
        out.broadcast(Do("who am I?"))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        assert isinstance(msg, Do)
        if msg.what == "everything":
            out.send(0, msg)
            self.enter(out, 7, 3)
            out.broadcast(msg)
            self.lose(out)
            out.set_timer(4, 1.0)
            out.cancel_timer(4)
            self.kept += 1
            out.save()
            self.lost += 1
        elif msg.what == "enter":
            self.enter(out, 7, 3)
        elif msg.what == "enter unasked":
            out.enter(3, 7)
        elif msg.what == "eject":
            self.lose(out)
        elif msg.what == "eject from nowhere":
            out.eject()
        elif msg.what == "answer":
            out.answer(1, "done")
        elif msg.what == "talk to myself":
            out.send(self.me, msg)
        elif msg.what == "talk to nobody":
            out.send(self.n, msg)
        elif msg.what == "enter by hand":
            self.phase = INSIDE
        elif msg.what == "choose":
            out.send(0, Do(str(out.choose(10))))
        elif msg.what == "timer":
            out.set_timer(4, 1.0)
        elif msg.what == "eternal timer":
            out.set_timer(4, float("inf"))
        elif msg.what == "divide":
            self.kept = 1 // self.lost
        else:
            raise self.unexpected(src, msg)


def process() -> Process:
    return Process(Puppet(1, 3), GROUP)


def do(subject: Process, what: str, out: Outbox | None = None) -> list[Effect]:
    return subject.step(Received(0, Do(what)), out)


def inside() -> Process:
    subject = process()
    subject.step(Asked((2, 3)))
    do(subject, "enter")
    return subject


def books(subject: Process) -> tuple[object, ...]:
    """All that the shell knows, and the node's state."""
    return (
        state_of(subject.node), subject.up, subject.wants, subject.group, subject.fence, subject.issued,
        subject.pending, tuple(subject.timers), tuple(subject.suspects), subject.saved,
    )  # fmt: skip


def test_effects_come_in_the_order_in_which_the_node_made_them_but_for_what_is_saved() -> None:
    subject = process()
    subject.step(Asked((3,)))
    msg = Do("everything")
    assert do(subject, "everything") == [
        Save(), Send(0, msg), Enter(3, 7), Send(EVERYONE, msg), Eject(), SetTimer(4, 1.0), CancelTimer(4),
    ]  # fmt: skip
    assert (subject.phase, subject.timers) == (IDLE, [])
    assert subject.saved == (("kept", 1),)


def test_an_effect_tells_what_it_is() -> None:
    assert repr(Enter(3, 7)) == "Enter(3, 7)"
    assert Enter(3, 7) != Answer(3, 7)
    assert {Send(0, Do("x")), Send(0, Do("x"))} == {Send(0, Do("x"))}


def test_the_application_asks_enters_and_leaves() -> None:
    subject = process()
    assert subject.phase == IDLE
    assert subject.step(Asked((2, 3))) == []
    assert (subject.phase, subject.wants) == (WAITING, (2, 3))
    assert do(subject, "enter") == [Enter(3, 7)]
    assert (subject.phase, subject.group, subject.fence, subject.wants) == (INSIDE, 3, 7, ())
    assert subject.step(Left()) == [Rest()]
    assert subject.phase == IDLE


def test_where_there_are_no_groups_an_entry_is_for_what_was_asked() -> None:
    subject = Process(Puppet(1, 3), MUTEX)
    subject.step(Asked((5,)))
    do(subject, "enter")
    assert subject.group == 5


def test_operations() -> None:
    subject = inside()
    assert subject.step(Issued("add")) == [Execute(1, 1, "add", "done")]
    assert (subject.issued, subject.pending) == (1, True)
    do(subject, "answer")
    assert not subject.pending
    subject.step(Issued("add"))
    do(subject, "eject")
    assert (subject.phase, subject.pending) == (IDLE, False)


def test_timers() -> None:
    subject = process()
    do(subject, "timer")
    assert subject.timers == [4]
    assert subject.step(TimedOut(4)) == [SetTimer(4, 2.0)]
    assert subject.timers == [4]


def test_suspicions() -> None:
    subject = process()
    assert subject.step(Suspected(2)) == [Send(2, Do("are you there?"))]
    subject.step(Suspected(0))
    assert subject.suspects == [0, 2]
    assert subject.step(Trusted(2)) == []
    assert subject.suspects == [0]


def test_choices_are_answered_by_the_outbox() -> None:
    assert do(process(), "choose", Outbox((13,))) == [Send(0, Do("3"))]
    assert do(process(), "choose") == [Send(0, Do("0"))]


def test_a_crash_leaves_only_what_was_saved() -> None:
    subject = process()
    subject.step(Asked((3,)))
    do(subject, "everything")
    do(subject, "timer")
    subject.step(Suspected(2))
    subject.crash()
    assert (subject.up, subject.phase, subject.timers, subject.suspects) == (False, IDLE, [], [])
    with pytest.raises(ContractError, match="process 1 is down"):
        do(subject, "timer")
    subject.restart(Puppet(1, 3))
    node = subject.node
    assert isinstance(node, Puppet)
    assert (node.kept, node.lost) == (1, 0)
    assert subject.step(Recovered()) == [Send(EVERYONE, Do("back"))]
    assert subject.step(Recovered(forgetful=True)) == [Send(EVERYONE, Do("who am I?"))]


@pytest.mark.parametrize(
    ("subject", "event", "why"),
    [
        (process(), Left(), "leaves without being inside"),
        (process(), Issued("add"), "issues an operation without being inside"),
        (process(), TimedOut(4), "has no timer 4 set"),
        (process(), Asked(()), "asks for no group"),
        (inside(), Asked((1,)), "asks again before it has left"),
    ],
)
def test_an_event_that_cannot_happen_is_the_driver_s_mistake(subject: Process, event: ProcessEvent, why: str) -> None:
    before = books(subject)
    with pytest.raises(ContractError, match=f"process 1 {why}"):
        subject.step(event)
    assert books(subject) == before


def test_an_application_waits_for_its_operation() -> None:
    subject = inside()
    subject.step(Issued("add"))
    before = books(subject)
    for event, why in ((Left(), "leaves before its operation"), (Issued("add"), "before the last one is answered")):
        with pytest.raises(ContractError, match=why):
            subject.step(event)
    assert books(subject) == before


def test_an_event_that_the_node_refuses_changes_nothing() -> None:
    subject = inside()
    before = books(subject)
    with pytest.raises(IllegalStep, match="process 1: UnexpectedMessage: process 1") as caught:
        do(subject, "dance")
    assert caught.value.refused
    assert isinstance(caught.value.__cause__, UnexpectedMessage)
    assert books(subject) == before


def test_a_node_that_has_done_something_has_not_refused_the_event() -> None:
    with pytest.raises(IllegalStep, match="process 1 would enter while it is idle") as caught:
        do(process(), "everything")  # before that it has sent a message
    assert isinstance(caught.value.__cause__, ContractError)
    assert not caught.value.refused


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("divide", "process 1: ZeroDivisionError: integer division or modulo by zero"),
        ("talk to myself", r"process 1 sends Do\(what='talk to myself'\) to 1, which is no other process"),
        ("talk to nobody", "to 3, which is no other process"),
        ("eject from nowhere", "process 1 is ejected without being inside"),
        ("enter by hand", r"process 1 is inside by its phase, but idle by what it did: use wait\(\), enter\(\)"),
    ],
)
def test_a_node_that_breaks_the_contract_takes_an_illegal_step(what: str, why: str) -> None:
    with pytest.raises(IllegalStep, match=why) as caught:
        do(process(), what)
    assert not caught.value.refused


def test_a_timer_runs_out_at_some_time() -> None:
    with pytest.raises(IllegalStep, match=r"set_timer\(4, inf\)"):
        do(process(), "eternal timer")


def test_an_entry_that_nobody_asked_for_is_a_violation() -> None:
    with pytest.raises(SafetyViolation, match="process 1 enters without having asked"):
        do(process(), "enter unasked")
