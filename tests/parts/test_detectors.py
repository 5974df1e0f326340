"""Failure detectors: heartbeats by themselves, around any algorithm, and how good they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.kernel.effects import EVERYONE
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.node import WAITING, Node
from congenial.kernel.out import Out, Outbox
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec
from congenial.kernel.state import copy_of, state_of
from congenial.kernel.trace import ENTER, SUSPECT, TRUST, Trace
from congenial.net.codec import message_kinds
from congenial.parts.detectors import BEAT, NOBODY, Heartbeat, Heartbeats, Patience, parse_heartbeats
from congenial.problems.mutex import MUTEX
from congenial.sim.detection import Findings, measure_detector
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.transform.monitored import monitored

# -- the part --------------------------------------------------------------------------------------------------


def test_it_begins_with_a_sign_of_life_and_a_timer_for_everyone() -> None:
    part, out = Heartbeats(1, 3, 10.0, 25.0), Outbox()
    part.start(out)
    assert out.sent == [(EVERYONE, Heartbeat())]
    assert out.timers_set == [(BEAT, 10.0), (1, 25.0), (3, 25.0)]
    again = Outbox()
    part.start(again)
    assert (again.sent, again.timers_set) == ([], [])


def test_it_beats_for_ever() -> None:
    part, out = Heartbeats(1, 3, 10.0, 25.0), Outbox()
    assert part.on_timer(BEAT, out) == NOBODY
    assert out.sent == [(EVERYONE, Heartbeat())]
    assert out.timers_set == [(BEAT, 10.0)]


def test_silence_is_suspected_and_a_mistake_makes_patient() -> None:
    part = Heartbeats(0, 3, 10.0, 25.0)
    out = Outbox()
    assert not part.heard(2, out)
    assert out.timers_set == [(3, 25.0)]
    assert part.on_timer(3, Outbox()) == 2
    assert part.suspects == {2}
    out = Outbox()
    assert part.heard(2, out)
    assert part.suspects == set()
    assert out.timers_set == [(3, 35.0)]
    assert part.patience[1].allowed == 25.0  # with others it is as before


def test_patience_ends() -> None:
    patience = Patience(1.0, 2.0, 4.0)
    for expected in (3.0, 4.0, 4.0):
        patience.was_wrong()
        assert patience.allowed == expected


@pytest.mark.parametrize("text", ["", "heartbeat", "heartbeat:1", "heartbeat:0,1", "heartbeat:1,x", "sonar:1,2"])
def test_what_is_no_detector(text: str) -> None:
    with pytest.raises(ConfigError, match="heartbeat:PERIOD,TIMEOUT"):
        parse_heartbeats(text)


# -- around an algorithm -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question(Message):
    pass


@dataclass(frozen=True)
class Answer(Message):
    pass


class Asker(Node):
    """Process 0 asks all others, and enters when each has answered or is suspected."""

    spec: ClassVar[Spec] = Spec("asker", "an asker", MUTEX)
    messages = (Question, Answer)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.missing: set[int] = set()
        self.suspects: set[int] = set()

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        if self.me == 0:
            self.missing = {peer for peer in range(1, self.n) if peer not in self.suspects}
            out.broadcast(Question())
            self._look(out)

    def release(self, out: Out) -> None:
        self.leave()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Question):
            out.send(src, Answer())
        else:
            self.missing.discard(src)
            self._look(out)

    def on_suspect(self, peer: int, out: Out) -> None:
        self.suspects.add(peer)
        self.missing.discard(peer)
        self._look(out)

    def on_trust(self, peer: int, out: Out) -> None:
        self.suspects.discard(peer)

    def _look(self, out: Out) -> None:
        if self.me == 0 and self.phase == WAITING and not self.missing:
            self.enter(out)


def entered_at(**parameters: object) -> float:
    """When process 0 gets in, with process 2 down from the beginning."""
    trace = Trace()
    scenario = Scenario(Asker, nodes=3, load="burst", delay="constant:1", until=300.0, crash=("2@0",), **parameters)  # type: ignore[arg-type]
    scenario.engine(1, trace).run()
    times = [event.t for event in trace.events if event.event == ENTER and event.node == 0]
    return times[0] if times else -1.0


def test_a_crash_is_noticed_by_heartbeats_too() -> None:
    assert entered_at() == -1.0
    assert entered_at(detection=7.0) == 7.0  # the perfect one
    assert entered_at(detector="heartbeat:10,25") == 25.0
    assert entered_at(suspect=("2@4",)) == 4.0  # rightly, as it happens


def test_an_algorithm_with_heartbeats_is_as_good_and_costs_heartbeats_more() -> None:
    plain = simulate("suzuki-kasami", nodes=5, requests=10, delay="constant:3")
    beating = simulate("suzuki-kasami", nodes=5, requests=10, delay="constant:3", detector="heartbeat:100,300")
    assert beating.ok
    assert beating.algorithm == "suzuki-kasami"
    counts = dict(beating.messages_by_kind)
    assert counts.pop("Heartbeat") > 0
    assert counts == plain.messages_by_kind
    assert beating.waiting_time_mean == plain.waiting_time_mean


def test_it_is_a_node_like_any_other() -> None:
    kind = monitored(SuzukiKasami, 1.0, 3.0)
    node = kind(0, 3)
    node.request((0,), Outbox())
    assert state_of(copy_of(node)) == state_of(node)
    assert {Heartbeat, *message_kinds(SuzukiKasami)} <= set(message_kinds(kind))
    assert fuzz(kind, nodes=3, requests=1, runs=5, timers="patient").ok


def test_timers_of_the_inner_node_are_not_the_detector_s() -> None:
    class Sleeper(Asker):
        def request(self, groups: Groups, out: Out) -> None:
            self.wait()
            out.set_timer(0, 5.0)
            out.set_timer(1, 9.0)
            out.cancel_timer(1)

        def on_timer(self, timer: int, out: Out) -> None:
            assert timer == 0
            self.enter(out)

    node = monitored(Sleeper, 1.0, 3.0)(0, 2)
    out = Outbox()
    node.request((0,), out)
    assert out.timers_set == [(0, 1.0), (2, 3.0), (3, 5.0)]
    assert out.timers_cancelled == [4]
    out = Outbox()
    node.on_timer(3, out)
    assert out.entered is not None


# -- false suspicions in the simulator ---------------------------------------------------------------------------


def suspicions(**parameters: object) -> list[tuple[float, str, int, int]]:
    trace = Trace()
    Scenario(Asker, nodes=3, load="burst", delay="constant:50", until=300.0, **parameters).engine(1, trace).run()  # type: ignore[arg-type]
    return [(e.t, e.event, e.node, e.peer) for e in trace.events if e.event in (SUSPECT, TRUST)]


def test_false_suspicions_by_script() -> None:
    assert suspicions(suspect=("1@10-20",)) == [
        (10.0, "suspect", 0, 1),
        (10.0, "suspect", 2, 1),
        (20.0, "trust", 0, 1),
        (20.0, "trust", 2, 1),
    ]


def test_false_suspicions_that_overlap_each_other_and_a_crash() -> None:
    assert [line for line in suspicions(suspect=("1@10-20", "1@15-30")) if line[2] == 0] == [
        (10.0, "suspect", 0, 1),
        (30.0, "trust", 0, 1),
    ]
    down = suspicions(suspect=("1@10-20",), crash=("1@12-40",), detection=5.0)
    assert [line for line in down if line[2] == 0] == [(10.0, "suspect", 0, 1), (45.0, "trust", 0, 1)]


def test_false_suspicions_by_rate() -> None:
    events = suspicions(suspect=("0.02/5",))
    assert len([event for event in events if event[1] == "suspect"]) > 6
    assert {event[3] for event in events} == {0, 1, 2}
    assert events == suspicions(suspect=("0.02/5",))


def test_false_suspicions_in_the_checker() -> None:
    """Harmless for the asker: it just waits for less."""
    assert check(Asker, nodes=2, requests=1, suspicions=1, crashes=1, recovery=False).violations == 0


# -- quality ---------------------------------------------------------------------------------------------------


def test_with_constant_delays_it_never_errs_and_detects_in_time() -> None:
    """Chen, Toueg and Aguilera 2002: a crash is noticed at the latest a timeout after the arrival of the last sign of
    life, which was sent at most a period before the crash."""
    quality = measure_detector("heartbeat:10,25", delay="constant:4", runs=10)
    assert (quality.mistakes, quality.mistake_rate, quality.mistake_duration, quality.accuracy) == (0, 0.0, 0.0, 1.0)
    assert quality.undetected == 0
    assert 25 + 4 - 10 <= quality.detection_time <= quality.detection_time_max <= 25 + 4
    assert quality.messages_per_time == pytest.approx(4 / 10, rel=0.02)


def test_patience_trades_detection_time_for_mistakes() -> None:
    hasty, patient = [measure_detector(f"heartbeat:10,{t}", delay="exponential:10", runs=10) for t in (20, 60)]
    assert hasty.mistake_rate > 5 * patient.mistake_rate
    assert hasty.accuracy < patient.accuracy
    assert hasty.detection_time < patient.detection_time
    assert 0 < hasty.mistake_duration < 20


def test_mistakes_become_rare_as_it_learns() -> None:
    """Eventually perfect: what is too short in the beginning does not stay so."""
    short, long = [measure_detector("heartbeat:10,11", delay="uniform:1,20", duration=d, runs=5) for d in (300, 3000)]
    assert short.mistakes > 20
    assert long.mistake_rate < short.mistake_rate / 4


def test_losses_are_taken_for_crashes_for_a_while() -> None:
    lossy = measure_detector("heartbeat:10,15", delay="constant:1", loss=("0.1",), runs=5)
    assert lossy.mistakes > 0
    assert lossy.accuracy > 0.95
    assert lossy.undetected == 0


def test_a_crash_near_the_end_is_counted_as_not_noticed() -> None:
    assert measure_detector("heartbeat:10,500", duration=600.0, runs=2, delay="constant:1").undetected == 8


def test_findings_by_hand() -> None:
    found = Findings()
    opinions = [(10.0, 0, 1, True), (14.0, 0, 1, False), (40.0, 0, 1, True), (90.0, 0, 2, True)]
    found.add([*opinions, (95.0, 1, 2, True)], 3, 80.0, 100.0)
    assert (found.mistakes, found.durations) == (2, [4.0])
    assert found.wrong == 4.0 + 60.0
    assert found.watched == 2 * 100.0 + 2 * 80.0
    assert sorted(found.detections) == [10.0, 15.0]
    assert found.undetected == 0


def test_what_cannot_be_measured() -> None:
    with pytest.raises(ConfigError, match="nodes must be at least 2"):
        measure_detector("heartbeat:1,2", nodes=1)
