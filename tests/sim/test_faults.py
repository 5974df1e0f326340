"""Faults: each kind, by rate and by script, judged from the trace."""

from __future__ import annotations

from math import sqrt

import pytest
from toys import ANYONE, Announcer, Note, Run, drive

from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.kernel.message import Message
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.sim.chance import Constant, Distribution, Exponential, Uniform
from congenial.sim.faults import (
    Faults,
    MessageFault,
    Outage,
    Partition,
    RandomOutages,
    RandomPartitions,
)
from congenial.sim.simulate import simulate

EVERY_TEN = [(10.0 * k, 0, 0.0) for k in range(100)]  # process 0 tells everyone, a hundred times
BURST = [(0.01 * k, 0, 0.0) for k in range(200)]
NEXT_DAY = [(20000.0, process, 0.0) for process in range(4)]
CHANNELS = [Constant(1.0), Exponential(1.0)]  # in the queue, and in the bag


@pytest.mark.parametrize("delay", CHANNELS, ids=str)
class TestLoss:
    def test_a_rate_loses_that_share_of_messages(self, delay: Distribution) -> None:
        run = drive(Announcer, 11, EVERY_TEN, delay, faults=Faults(loss=(MessageFault(0.3),)))
        lost = len(run.of("drop"))
        assert lost + len(run.of("deliver")) == 1000
        assert abs(lost - 300) < 5 * sqrt(1000 * 0.3 * 0.7)
        assert run.nothing_leaks()

    def test_rate_one_loses_everything(self, delay: Distribution) -> None:
        run = drive(Announcer, 3, EVERY_TEN, delay, faults=Faults(loss=(MessageFault(1.0),)))
        assert len(run.of("drop")) == 200
        assert not run.of("deliver")
        assert run.nothing_leaks()

    def test_a_script_loses_what_is_sent_in_its_stretch_of_time(self, delay: Distribution) -> None:
        run = drive(Announcer, 2, EVERY_TEN, delay, faults=Faults(loss=(MessageFault(1.0, 95, 205),)))
        assert [event.t for event in run.of("drop")] == [10.0 * k for k in range(10, 21)]

    def test_a_stretch_on_top_of_a_rate_leaves_the_rate_as_it_was(self, delay: Distribution) -> None:
        run = drive(Announcer, 2, EVERY_TEN, delay, faults=Faults(loss=(MessageFault(1.0), MessageFault(1.0, 95, 205))))
        assert len(run.of("drop")) == 100

    def test_overlapping_stretches_each_count_while_they_last(self, delay: Distribution) -> None:
        run = drive(
            Announcer,
            2,
            EVERY_TEN,
            delay,
            faults=Faults(loss=(MessageFault(1.0, 95, 205), MessageFault(1.0, 155, 305))),
        )
        assert [event.t for event in run.of("drop")] == [10.0 * k for k in range(10, 31)]


@pytest.mark.parametrize("delay", CHANNELS, ids=str)
class TestDuplication:
    def test_a_rate_doubles_that_share_of_messages(self, delay: Distribution) -> None:
        run = drive(Announcer, 11, EVERY_TEN, delay, faults=Faults(duplication=(MessageFault(0.3),)))
        assert abs(len(run.of("deliver")) - 1300) < 5 * sqrt(1000 * 0.3 * 0.7)
        assert run.nothing_leaks()

    def test_a_script_doubles_what_is_sent_in_its_stretch_of_time(self, delay: Distribution) -> None:
        run = drive(Announcer, 2, EVERY_TEN, delay, faults=Faults(duplication=(MessageFault(1.0, 95, 205),)))
        heard = [number for _, number in run.node(1).heard]
        assert [number for number in range(1, 101) if heard.count(number) == 2] == list(range(11, 22))
        assert len(heard) == 111

    def test_a_duplicate_is_not_counted_as_sent(self, delay: Distribution) -> None:
        run = drive(Announcer, 2, EVERY_TEN, delay, faults=Faults(duplication=(MessageFault(1.0),)))
        assert run.engine.meter.deliveries == 200
        assert [int(kind.count) for kind in run.engine.meter.kinds.values()] == [100]


class TestReordering:
    def heard(self, faults: Faults) -> list[int]:
        run = drive(Announcer, 2, BURST, Uniform(0, 10), fifo=True, faults=faults)
        assert run.nothing_leaks()
        return [number for _, number in run.node(1).heard]

    def test_fifo_channels_keep_the_order(self) -> None:
        assert self.heard(Faults(loss=(MessageFault(0.0),))) == list(range(1, 201))

    def test_a_rate_breaks_it(self) -> None:
        heard = self.heard(Faults(reordering=(MessageFault(0.2),)))
        assert sorted(heard) == list(range(1, 201))
        assert heard != sorted(heard)

    def test_a_script_breaks_it_in_its_stretch_of_time_only(self) -> None:
        heard = self.heard(Faults(reordering=(MessageFault(1.0, 0.995, 1.505),)))
        straight = [number for number in heard if not 101 <= number <= 151]
        strays = [number for number in heard if 101 <= number <= 151]
        assert straight == sorted(straight)
        assert strays != sorted(strays)


class Diarist(Node):
    """Keeps one number durably and one not; tells what its failure detector says."""

    spec = ANYONE
    durable = ("kept",)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.kept = [me]
        self.lost = 0
        self.news: list[str] = []

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.lost += 1
        self.kept.append(10 * self.me + self.lost)
        if self.lost != 2:  # the second request is not saved
            out.save()
        out.set_timer(1, 5.0)
        self.enter(out)

    def release(self, out: Out) -> None:
        self.leave()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        self.news.append(f"note from {src}")

    def on_timer(self, timer: int, out: Out) -> None:
        self.news.append("timer")

    def on_recover(self, out: Out) -> None:
        self.news.append("recovered")
        out.broadcast(Note(self.me))

    def on_suspect(self, peer: int, out: Out) -> None:
        self.news.append(f"suspect {peer}")

    def on_trust(self, peer: int, out: Out) -> None:
        self.news.append(f"trust {peer}")


class TestCrash:
    def test_a_crashed_process_does_nothing_more(self) -> None:
        run = drive(Announcer, 3, EVERY_TEN, faults=Faults(crashes=(Outage(0, 95.0),)))
        assert len(run.times("request", 0)) == 10
        assert run.times("crash", 0) == [95.0]
        assert run.engine.judge.waiters() == []

    @pytest.mark.parametrize("delay", CHANNELS, ids=str)
    def test_what_is_sent_to_a_crashed_process_is_lost(self, delay: Distribution) -> None:
        run = drive(Announcer, 3, EVERY_TEN, delay, faults=Faults(crashes=(Outage(1, 55.0),)))
        assert all(event.node == 1 and event.t >= 55 for event in run.of("drop"))
        assert len(run.node(1).heard) + len(run.of("drop")) == 100
        assert len(run.of("drop")) >= 94
        assert len(run.node(2).heard) == 100
        assert run.nothing_leaks()

    def test_a_message_under_way_survives_its_sender(self) -> None:
        run = drive(Announcer, 2, [(0.0, 0, 9.0)], delay=5.0, faults=Faults(crashes=(Outage(0, 1.0),)))
        assert run.node(1).heard == [(0, 1)]

    def test_a_crash_inside_ends_the_stay_at_once(self) -> None:
        run = drive(Announcer, 2, [(0.0, 0, 50.0), (20.0, 1, 1.0)], faults=Faults(crashes=(Outage(0, 10.0),)))
        assert run.engine.judge.inside == 0
        assert not run.times("exit", 0)
        assert run.engine.meter.most_inside == 1

    def test_durable_attributes_come_back_as_last_saved_and_others_as_at_first(self) -> None:
        arrivals = [(0.0, 1, 0.0), (10.0, 1, 0.0), (40.0, 1, 0.0)]
        run = drive(Diarist, 2, arrivals, faults=Faults(crashes=(Outage(1, 20.0, 30.0),)))
        assert run.times("recover", 1) == [30.0]
        assert run.node(1).kept == [1, 11, 11]  # the second was not saved before the crash; lost counts from 0 again
        assert run.node(1).lost == 1
        assert run.node(1).news == ["recovered"]
        assert run.node(0).news == ["note from 1"]

    def test_never_saved_means_as_at_the_start(self) -> None:
        run = drive(Diarist, 2, [], faults=Faults(crashes=(Outage(1, 1.0, 2.0),)))
        assert run.node(1).kept == [1]

    def test_timers_die_with_the_process(self) -> None:
        run = drive(Diarist, 2, [(0.0, 1, 0.0)], faults=Faults(crashes=(Outage(1, 4.0, 4.5),)))
        assert not run.of("timer")

    def test_a_request_that_was_due_meanwhile_is_made_on_recovery(self) -> None:
        run = drive(Announcer, 2, EVERY_TEN, faults=Faults(crashes=(Outage(0, 95.0, 195.0),)))
        assert run.times("request", 0) == [10.0 * k for k in range(10)] + [195.0] * 10 + [
            10.0 * k for k in range(20, 100)
        ]

    def test_a_request_due_later_is_made_when_it_is_due(self) -> None:
        run = drive(Announcer, 2, [(50.0, 0, 0.0)], faults=Faults(crashes=(Outage(0, 10.0, 20.0),)))
        assert run.times("request", 0) == [50.0]

    def test_a_crash_takes_away_only_the_request_it_interrupts(self) -> None:
        arrivals = [(0.0, 0, 30.0), (50.0, 0, 1.0)]
        run = drive(Announcer, 2, arrivals, faults=Faults(crashes=(Outage(0, 10.0, 20.0),)))
        assert run.times("request", 0) == [0.0, 50.0]
        assert run.times("exit", 0) == [51.0]

    def test_random_crashes_take_their_share_of_time(self) -> None:
        faults = Faults(crashes=(RandomOutages(0.1, 5.0),))
        run = drive(Announcer, 4, NEXT_DAY, faults=faults, until=10000.0, seed=3)
        assert abs(away(run, "crash", "recover") / 40000 - 1 / 3) < 0.02  # 5 of every 10 + 5

    def test_a_process_that_stays_away_is_not_waited_for(self) -> None:
        result = simulate("ricart-agrawala", nodes=3, requests=5, crash=("1@0",), load="burst", seed=2)
        assert 1 not in result.waiting
        assert result.waiting == (0, 2)  # they wait for its reply


def away(run: Run, gone: str, back: str) -> float:
    """The time that all processes together were down or paused."""
    total = 0.0
    for process in range(run.engine.n):
        returns = [*run.times(back, process), run.engine.now]
        total += sum(end - start for start, end in zip(run.times(gone, process), returns, strict=False))
    return total


class TestDetector:
    def news(self, *crashes: Outage, detection: float = 5.0, until: float = 1000.0) -> list[list[str]]:
        faults = Faults(crashes=crashes, detection=detection)
        run = drive(Diarist, 3, [(500.0, 2, 0.0)], faults=faults, until=until)
        return [[f"{e.t:g} {e.event} {e.peer}" for e in run.of("suspect", "trust") if e.node == p] for p in range(3)]

    def test_the_others_are_told_after_the_detection_time(self) -> None:
        assert self.news(Outage(0, 10.0)) == [[], ["15 suspect 0"], ["15 suspect 0"]]

    def test_and_told_of_the_recovery(self) -> None:
        assert self.news(Outage(0, 10.0, 20.0))[1] == ["15 suspect 0", "25 trust 0"]

    def test_no_process_is_told_without_a_detector(self) -> None:
        assert self.news(Outage(0, 10.0, 20.0), detection=-1.0) == [[], [], []]

    def test_a_crash_shorter_than_the_detection_time_is_not_noticed(self) -> None:
        assert self.news(Outage(0, 10.0, 12.0)) == [[], [], []]

    def test_trust_is_only_given_back_where_it_was_taken(self) -> None:
        """Process 1 was down when 0 was suspected."""
        news = self.news(Outage(0, 10.0, 30.0), Outage(1, 12.0, 34.0))
        assert news[1] == []
        assert news[2] == ["15 suspect 0", "17 suspect 1", "35 trust 0", "39 trust 1"]

    def test_a_recovered_process_learns_which_others_are_down(self) -> None:
        news = self.news(Outage(0, 10.0), Outage(1, 12.0, 20.0))
        assert news[1] == ["25 suspect 0"]

    def test_the_node_is_called(self) -> None:
        faults = Faults(crashes=(Outage(0, 10.0, 20.0),), detection=5.0)
        run = drive(Diarist, 2, [(100.0, 1, 0.0)], faults=faults)
        assert run.node(1).news == ["suspect 0", "note from 0", "trust 0"]

    def test_a_paused_process_is_told_when_it_goes_on(self) -> None:
        faults = Faults(crashes=(Outage(0, 10.0),), pauses=(Outage(1, 12.0, 50.0),), detection=5.0)
        run = drive(Diarist, 3, [(90.0, 2, 0.0)], faults=faults)
        assert [(e.t, e.event, e.peer) for e in run.of("suspect", "trust") if e.node == 1] == [(50.0, "suspect", 0)]

    def test_a_paused_process_is_not_told_of_itself(self) -> None:
        faults = Faults(crashes=(Outage(1, 10.0, 20.0),), pauses=(Outage(1, 22.0, 50.0),), detection=5.0)
        run = drive(Diarist, 2, [(90.0, 0, 0.0)], faults=faults)
        assert [e for e in run.of("suspect", "trust") if e.node == 1] == []


class Fidgety(Node):
    """Sets a timer when it asks; every message sets the same timer again, ten later."""

    spec = ANYONE

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        out.set_timer(1, 3.0)
        out.broadcast(Note(1))
        self.enter(out)

    def release(self, out: Out) -> None:
        self.leave()

    def receive(self, src: int, msg: Message, out: Out) -> None:
        out.set_timer(1, 10.0)

    def on_timer(self, timer: int, out: Out) -> None:
        pass


class Ousted(Announcer):
    """Loses its section to any message it receives while inside."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        super().receive(src, msg, out)
        if self.phase == 2:
            self.lose(out)


class TestPause:
    @pytest.mark.parametrize("delay", CHANNELS, ids=str)
    def test_events_during_a_pause_are_deferred_in_order(self, delay: Distribution) -> None:
        run = drive(Announcer, 2, EVERY_TEN, delay, faults=Faults(pauses=(Outage(1, 95.0, 205.0),)))
        deliveries = run.times("deliver", 1)
        assert not [t for t in deliveries if 95 <= t < 205]
        assert deliveries.count(205.0) >= 10
        assert len(deliveries) == 100
        assert not run.of("drop")
        assert run.nothing_leaks()

    def test_fifo_order_survives_a_pause(self) -> None:
        run = drive(Announcer, 2, EVERY_TEN, Uniform(0, 50), fifo=True, faults=Faults(pauses=(Outage(1, 95.0, 205.0),)))
        assert [number for _, number in run.node(1).heard] == list(range(1, 101))

    def test_asking_and_leaving_wait_too(self) -> None:
        arrivals = [(0.0, 0, 10.0), (50.0, 0, 1.0)]
        run = drive(Announcer, 2, arrivals, faults=Faults(pauses=(Outage(0, 5.0, 20.0), Outage(0, 45.0, 60.0))))
        assert run.times("exit", 0) == [20.0, 61.0]
        assert run.times("request", 0) == [0.0, 60.0]

    def test_a_timer_that_ran_out_meanwhile_fires_on_return(self) -> None:
        run = drive(Fidgety, 1, [(0.0, 0, 100.0)], faults=Faults(pauses=(Outage(0, 1.0, 20.0),)))
        assert run.times("timer", 0) == [20.0]

    def test_a_timer_set_again_by_a_deferred_message_does_not_fire_for_its_old_setting(self) -> None:
        arrivals = [(0.0, 0, 100.0), (1.5, 1, 0.0)]  # 0's timer would run out at 3, the message arrives at 2.5
        run = drive(Fidgety, 2, arrivals, faults=Faults(pauses=(Outage(0, 1.0, 20.0),)))
        assert run.times("timer", 0) == [30.0]

    def test_a_deferred_exit_is_forgotten_if_the_section_is_lost_first(self) -> None:
        arrivals = [(0.0, 0, 10.0), (3.0, 1, 0.0), (40.0, 0, 1.0)]
        run = drive(Ousted, 2, arrivals, faults=Faults(pauses=(Outage(0, 2.0, 20.0),)))
        assert run.times("eject", 0) == [20.0]
        assert run.times("exit", 0) == [41.0]

    def test_a_crash_during_a_pause_loses_what_was_deferred(self) -> None:
        faults = Faults(pauses=(Outage(1, 95.0, 205.0),), crashes=(Outage(1, 150.0, 180.0),))
        run = drive(Announcer, 2, EVERY_TEN, faults=faults)
        assert [event.t for event in run.of("drop")] == [150.0] * 5 + [151.0, 161.0, 171.0]
        assert run.nothing_leaks()

    def test_random_pauses_take_their_share_of_time(self) -> None:
        faults = Faults(pauses=(RandomOutages(0.1, 5.0),))
        run = drive(Announcer, 4, NEXT_DAY, faults=faults, until=10000.0, seed=3)
        assert abs(away(run, "pause", "resume") / 40000 - 1 / 3) < 0.02

    @pytest.mark.parametrize("algorithm", ["ricart-agrawala", "suzuki-kasami", "raymond-tree", "maekawa"])
    def test_pauses_only_delay(self, algorithm: str) -> None:
        """A paused process loses nothing, so every algorithm must survive it."""
        result = simulate(algorithm, nodes=7, requests=20, pause=("0.002/100",), seed=5)
        assert result.ok, result.verdict()
        assert result.entries == 140


class TestPartition:
    @pytest.mark.parametrize("delay", CHANNELS, ids=str)
    def test_messages_between_the_sides_are_lost_while_it_lasts(self, delay: Distribution) -> None:
        faults = Faults(partitions=(Partition(((0, 1), (2, 3)), 95.0, 205.0),))
        run = drive(Announcer, 4, EVERY_TEN, delay, faults=faults)
        assert {event.node for event in run.of("drop")} == {2, 3}
        assert sorted({event.t for event in run.of("drop")}) == [10.0 * k for k in range(10, 21)]
        assert len(run.node(1).heard) == 100
        assert [event.t for event in run.of("cut", "heal")] == [95.0, 205.0]
        assert run.nothing_leaks()

    def test_a_process_that_no_side_names_is_on_the_first_side(self) -> None:
        run = drive(Announcer, 3, EVERY_TEN, faults=Faults(partitions=(Partition(((), (1,)), 0.0),)))
        assert run.node(1).heard == []
        assert len(run.node(2).heard) == 100

    def test_two_partitions_at_once_both_cut(self) -> None:
        faults = Faults(partitions=(Partition(((0, 2), (1,)), 95.0, 305.0), Partition(((0, 1), (2,)), 195.0, 405.0)))
        run = drive(Announcer, 3, EVERY_TEN, faults=faults)
        assert [e.t for e in run.of("drop") if e.node == 1] == [10.0 * k for k in range(10, 31)]
        assert [e.t for e in run.of("drop") if e.node == 2] == [10.0 * k for k in range(20, 41)]

    def test_random_partitions_come_and_go(self) -> None:
        run = drive(Announcer, 10, EVERY_TEN, faults=Faults(partitions=(RandomPartitions(0.01, 50.0),)), seed=2)
        assert 3 <= len(run.of("cut")) <= 20
        assert len(run.of("heal")) >= len(run.of("cut")) - 2
        assert 50 < len(run.of("drop")) < 600
        assert run.nothing_leaks()


class TestDeadlock:
    def test_a_lost_token_is_a_deadlock_that_names_the_waiting_processes(self) -> None:
        """The token is with process 0, which leaves it to process 1 at time 20 and loses it on the way."""
        result = simulate(
            "suzuki-kasami", nodes=3, load="burst", hold="constant:20", delay="constant:1", loss=("1@19-21",)
        )
        assert not result.ok
        assert result.entries == 1
        assert result.waiting == (1, 2)
        assert result.verdict() == "DEADLOCK: nothing more can happen, and these wait: 1, 2"
        assert str(result.trace[-1]).endswith(
            "1 never receives Privilege(queue=(2,), served=(0, 0, 0), entries=1) from 0"
        )

    @pytest.mark.parametrize("algorithm", ["ricart-agrawala", "suzuki-kasami", "raymond-tree", "maekawa"])
    def test_loss_is_never_reported_as_success_unless_all_are_served(self, algorithm: str) -> None:
        verdicts = []
        for seed in range(10):
            result = simulate(algorithm, nodes=7, requests=10, loss=("0.02",), seed=seed)
            assert result.ok == (result.entries == 70)
            verdicts.append(result.ok)
        assert not all(verdicts)

    def test_random_faults_do_not_keep_a_deadlocked_run_going(self) -> None:
        result = simulate(
            SuzukiKasami, nodes=3, requests=5, crash=("0@0",), pause=("0.001/10",), partition=("0.001/10",)
        )
        assert result.waiting == (1, 2)  # the token was with process 0
