"""The engine: what it refuses, when it stops, and how it treats timers and channels."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from toys import ANYONE, Announcer, Note, Pages, drive, make

from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.kernel.errors import ConfigError, ContractError, IllegalStep, SafetyViolation, UnexpectedMessage
from congenial.kernel.message import Message
from congenial.kernel.node import IDLE, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups, Problem
from congenial.kernel.spec import Spec
from congenial.problems.group import GROUP
from congenial.problems.mutex import MUTEX
from congenial.sim.chance import Constant, Exponential, LogNormal, Uniform
from congenial.sim.engine import SimulationFailed
from congenial.sim.simulate import simulate


def spec(problem: Problem) -> Spec:
    return Spec("a test", "a test", problem)


class Rude(Node):
    """Enters as soon as it wants to, even while others are inside."""

    spec: ClassVar[Spec] = spec(MUTEX)

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.enter(out)

    def release(self, out: Out) -> None:
        self.leave()


class Crowd(Rude):
    """Enters group 1 whatever it asked for."""

    spec: ClassVar[Spec] = spec(GROUP)

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.enter(out, group=1)


class Mingler(Crowd):
    """Enters the group it asked for, even while others are inside."""

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.enter(out, group=groups[0])


class Intruder(Rude):
    """Enters when it has left, without having asked again."""

    def release(self, out: Out) -> None:
        out.enter(0, 0)


class Fenceless(Rude):
    """Gives every entry the same fence."""

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        self.enter(out, fence=5)


class Soliloquist(Rude):
    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        out.send(self.me, Note(1))


class Lost(Rude):
    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        out.send(self.n, Note(1))


class Clumsy(Rude):
    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        out.broadcast(Note(1))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        raise KeyError("oops")


class Deaf(Clumsy):
    def receive(self, src: int, msg: Message, out: Out) -> None:
        raise self.unexpected(src, msg)


class Undecided(Rude):
    def request(self, groups: Groups, out: Out) -> None:
        out.choose(0)


class Thief(Rude):
    """Is ejected without being inside."""

    def request(self, groups: Groups, out: Out) -> None:
        out.eject()


class Silent(Rude):
    """Enters without `self.enter`, so its phase does not say so."""

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        out.enter(0, 0)

    def release(self, out: Out) -> None:
        self.phase = IDLE


class SilentLater(Silent):
    """The same, when a message arrives."""

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        out.broadcast(Note(1))

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if self.phase == IDLE:
            out.send(src, Note(2))
        else:
            out.enter(0, 0)


class Stayer(Rude):
    """Leaves without `self.leave`."""

    def release(self, out: Out) -> None:
        pass


class Sleeper(Rude):
    """Waits without `self.wait`."""

    def request(self, groups: Groups, out: Out) -> None:
        pass


class Quitter(Rude):
    """Is ejected at once, without `self.lose`."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        out.eject()


ONE = [(3.0, 1, 2.0)]
TWO = [(3.0, 1, 2.0), (4.0, 0, 1.0)]
APART = [(3.0, 1, 2.0), (9.0, 0, 1.0)]


class TestTheMonitor:
    @pytest.mark.parametrize(
        ("algorithm", "arrivals", "error", "message"),
        [
            (
                Rude,
                TWO,
                SafetyViolation,
                r"process 0 enters while process 1 is inside \(at time 4, in a step of process 0\)",
            ),
            (Crowd, ONE, SafetyViolation, r"process 1 enters group 1, but asked for 0 \(at time 3, .* process 1\)"),
            (Intruder, ONE, SafetyViolation, r"process 1 enters without having asked \(at time 5, .* process 1\)"),
            (Fenceless, APART, SafetyViolation, r"process 0 enters with fence 5.* \(at time 9, .* process 0\)"),
            (
                Soliloquist,
                ONE,
                ContractError,
                r"process 1 sends .* to 1, which is no other process \(at time 3, .* 1\)",
            ),
            (Lost, ONE, ContractError, r"process 1 sends .* to 2, which is no other process \(at time 3, .* 1\)"),
            (Clumsy, ONE, KeyError, r"oops.* \(at time 4, in a step of process 0\)"),
            (
                Deaf,
                ONE,
                UnexpectedMessage,
                r"process 0 \(idle\) cannot make sense of .*Note.* \(at time 4, .* process 0\)",
            ),
            (Undecided, ONE, ContractError, r"choose\(0\): .* \(at time 3, in a step of process 1\)"),
            (Thief, ONE, ContractError, r"process 1 leaves without being inside \(at time 3, in a step of process 1\)"),
            (Silent, ONE, IllegalStep, r"process 1 is waiting by its phase, but inside by .* \(at time 3, .* 1\)"),
            (SilentLater, ONE, IllegalStep, r"process 1 is waiting by its phase, but inside by .* \(at time 7, .* 1\)"),
            (Stayer, ONE, IllegalStep, r"process 1 is inside by its phase, but idle by .* \(at time 5, .* 1\)"),
            (Sleeper, ONE, IllegalStep, r"process 1 is idle by its phase, but waiting by .* \(at time 3, .* 1\)"),
            (Quitter, ONE, IllegalStep, r"process 1 is inside by its phase, but idle by .* \(at time 3, .* 1\)"),
            (Node, ONE, NotImplementedError, r"Node does not say what a request does \(at time 3, .* process 1\)"),
        ],
        ids=lambda value: value.__name__ if isinstance(value, type) and issubclass(value, Node) else "",
    )
    def test_stops_the_run_and_says_when_and_where(
        self, algorithm: type[Node], arrivals: list[Any], error: type[Exception], message: str
    ) -> None:
        with pytest.raises(SimulationFailed, match=message) as caught:
            drive(algorithm, 2, arrivals)
        assert isinstance(caught.value.cause, error)

    def test_a_violation_ends_the_run_with_its_last_events(self) -> None:
        result = simulate(Rude, nodes=5, requests=50, think=10, hold=5)
        assert result.violations == 1
        assert not result.ok
        assert "enters while process" in result.violation
        assert result.verdict().startswith("VIOLATION: process")
        assert [event.event for event in result.trace][-1] == "request"  # the entry itself never happened
        assert 0 < len(result.trace) <= 60
        assert result.waiting == ()

    def test_groups_exclude_each_other(self) -> None:
        result = simulate(Mingler, nodes=5, groups=2, requests=50, think=10, hold=5)
        assert "enters group" in result.violation
        assert "inside for group" in result.violation

    def test_one_group_may_be_inside_together(self) -> None:
        result = simulate(Mingler, nodes=5, groups=1, requests=50, think=10, hold=50)
        assert result.ok
        assert result.concurrency_max == 5

    def test_an_interpreted_variant_of_a_compiled_algorithm_is_caught_too(self) -> None:
        class Impatient(SuzukiKasami):
            def request(self, groups: Groups, out: Out) -> None:
                self.wait()
                self._ask(out)
                self._enter(out)  # without the token

        result = simulate(Impatient, nodes=5, requests=20, think=10, hold=5)
        assert "enters while process" in result.violation or "fence" in result.violation


class Ticker(Node):
    """Timers 1 and 2 when it asks; what it does then is up to `plan`."""

    spec: ClassVar[Spec] = ANYONE
    plan: ClassVar[list[tuple[str, int, float]]] = []

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)

    def request(self, groups: Groups, out: Out) -> None:
        self.wait()
        for what, timer, delay in self.plan:
            if what == "set":
                out.set_timer(timer, delay)
            else:
                out.cancel_timer(timer)
        self.enter(out)

    def release(self, out: Out) -> None:
        self.leave()

    def on_timer(self, timer: int, out: Out) -> None:
        pass


def ticks(*plan: tuple[str, int, float]) -> list[tuple[float, int]]:
    class Planned(Ticker):
        pass

    Planned.plan = list(plan)
    run = drive(Planned, 1, [(10.0, 0, 100.0)])
    return [(event.t, event.timer) for event in run.of("timer")]


class TestTimers:
    def test_run_out_once_after_their_delay(self) -> None:
        assert ticks(("set", 1, 5.0), ("set", 2, 3.0)) == [(13.0, 2), (15.0, 1)]

    def test_a_new_setting_replaces_the_old_one(self) -> None:
        assert ticks(("set", 1, 5.0), ("set", 1, 7.0)) == [(17.0, 1)]
        assert ticks(("set", 1, 5.0), ("set", 1, 2.0)) == [(12.0, 1)]

    def test_can_be_cancelled_and_set_again(self) -> None:
        assert ticks(("set", 1, 5.0), ("cancel", 1, 0.0)) == []
        assert ticks(("set", 1, 5.0), ("cancel", 1, 0.0), ("set", 1, 6.0)) == [(16.0, 1)]

    def test_cancelling_what_is_not_set_does_nothing(self) -> None:
        assert ticks(("cancel", 1, 0.0), ("set", 2, 1.0)) == [(11.0, 2)]

    def test_zero_delay_comes_after_the_step(self) -> None:
        assert ticks(("set", 0, 0.0)) == [(10.0, 0)]

    @pytest.mark.parametrize(
        ("timer", "delay"), [(-1, 1.0), (1, -1.0), (1, float("inf")), (1 << 30, 1.0), (1, float("nan"))]
    )
    def test_impossible_settings_are_refused(self, timer: int, delay: float) -> None:
        with pytest.raises(SimulationFailed, match=r"set_timer\("):
            ticks(("set", timer, delay))

    def test_timers_of_different_processes_are_apart(self) -> None:
        class Planned(Ticker):
            plan: ClassVar[list[tuple[str, int, float]]] = [("set", 1, 5.0)]

        run = drive(Planned, 2, [(10.0, 0, 100.0), (11.0, 1, 100.0)])
        assert [(event.t, event.node) for event in run.of("timer")] == [(15.0, 0), (16.0, 1)]

    def test_timers_alone_do_not_keep_a_run_going_for_ever(self) -> None:
        """A process that waits forever and only sets timers is reported as stuck."""

        class Hopeful(Ticker):
            def request(self, groups: Groups, out: Out) -> None:
                self.wait()
                out.set_timer(1, 1.0)

            def on_timer(self, timer: int, out: Out) -> None:
                out.set_timer(1, 1.0)

        result = simulate(Hopeful, nodes=2, load="single")
        assert result.waiting == (1,)
        assert result.verdict().startswith("DEADLOCK")

    def test_timers_left_over_do_not_prolong_a_run(self) -> None:
        class Planned(Ticker):
            plan: ClassVar[list[tuple[str, int, float]]] = [("set", 1, 1e6)]

        assert drive(Planned, 1, [(10.0, 0, 5.0)]).engine.now == 15.0


class TestChannels:
    BURST: ClassVar[list[tuple[float, int, float]]] = [(0.1 * k, 0, 0.0) for k in range(100)]

    @pytest.mark.parametrize("delay", [Exponential(10), Uniform(0, 20), LogNormal(10, 1.5), Constant(3)], ids=str)
    def test_fifo_channels_keep_the_order(self, delay: Any) -> None:
        run = drive(Announcer, 3, self.BURST, delay, fifo=True)
        assert [number for _, number in run.node(2).heard] == list(range(1, 101))
        assert run.nothing_leaks()

    @pytest.mark.parametrize("delay", [Exponential(10), Uniform(0, 20), LogNormal(10, 1.5)], ids=str)
    def test_others_do_not(self, delay: Any) -> None:
        run = drive(Announcer, 3, self.BURST, delay)
        heard = [number for _, number in run.node(2).heard]
        assert heard != sorted(heard)
        assert sorted(heard) == list(range(1, 101))
        assert run.nothing_leaks()

    def test_fifo_holds_per_channel_only(self) -> None:
        """What is sent by another process, or to another, may arrive earlier."""
        arrivals = self.BURST + [(0.1 * k, 1, 0.0) for k in range(100)]
        run = drive(Announcer, 3, arrivals, Uniform(0, 20), fifo=True)
        times = [t for t, _ in [(event.t, event.node) for event in run.of("deliver") if event.node == 2]]
        assert times == sorted(times)
        assert [source for source, _ in run.node(2).heard] != [0, 1] * 100
        assert run.times("deliver", 1) != run.times("deliver", 2)

    def test_equal_times_keep_the_order_of_sending(self) -> None:
        run = drive(Announcer, 2, [(0.0, 0, 0.0)] * 10, Constant(1))
        assert [number for _, number in run.node(1).heard] == list(range(1, 11))

    @pytest.mark.parametrize("fifo", [True, False])
    def test_bandwidth_adds_the_time_to_send_each_integer(self, fifo: bool) -> None:
        class Author(Announcer):
            def request(self, groups: Groups, out: Out) -> None:
                self.wait()
                out.broadcast(Pages(tuple(range(20))))
                self.enter(out)

            def receive(self, src: int, msg: Message, out: Out) -> None:
                pass

        run = drive(Author, 2, [(5.0, 0, 0.0)], Constant(1), bandwidth=10.0, fifo=fifo)
        assert run.times("deliver", 1) == [5.0 + 20 / 10 + 1.0]

    def test_bandwidth_with_exponential_delays_adds_the_same(self) -> None:
        def mean_delay(bandwidth: float) -> float:
            run = drive(Announcer, 2, [(100.0 * k, 0, 0.0) for k in range(2000)], Exponential(2), bandwidth=bandwidth)
            assert run.nothing_leaks()
            sent, received = run.times("send", 0), run.times("deliver", 1)
            return sum(b - a for a, b in zip(sent, received, strict=True)) / 2000

        assert mean_delay(0.1) == pytest.approx(12.0, abs=0.25)
        assert mean_delay(0.0) == pytest.approx(2.0, abs=0.25)

    def test_a_broadcast_is_one_object(self) -> None:
        received: list[Message] = []

        class Collector(Announcer):
            def receive(self, src: int, msg: Message, out: Out) -> None:
                received.append(msg)

        drive(Collector, 50, [(0.0, 0, 0.0)])
        assert len(received) == 49
        assert len({id(message) for message in received}) == 1

    def test_a_process_alone_sends_nothing(self) -> None:
        run = drive(Announcer, 1, [(0.0, 0, 1.0)])
        assert not run.of("send")
        assert run.engine.network.sent_count == 0


class TestTheEnd:
    def test_a_run_ends_when_all_are_served_and_nothing_is_under_way(self) -> None:
        run = drive(Announcer, 2, [(0.0, 0, 2.0)], Constant(7))
        assert run.engine.now == 7.0
        assert run.node(1).heard == [(0, 1)]

    def test_or_when_time_is_up(self) -> None:
        run = drive(Announcer, 2, [(0.0, 0, 2.0), (50.0, 0, 1.0)], Constant(7), until=20.0)
        assert run.engine.now == 20.0
        assert run.engine.meter.entries == 1

    @pytest.mark.parametrize("delay", [7.0, Exponential(7)])
    def test_time_never_goes_back(self, delay: Any) -> None:
        run = drive(Announcer, 4, [(float(k), k % 4, 1.5) for k in range(100)], delay, warmup=20.0, until=90.0)
        times = [event.t for event in run.events]
        assert times == sorted(times)
        assert run.engine.now == 90.0

    def test_a_run_that_ends_before_its_warm_up_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"until \(50\) must be after warmup \(100\)"):
            simulate("suzuki-kasami", warmup=100.0, until=50.0)

    def test_time_up_is_not_a_deadlock(self) -> None:
        result = simulate("suzuki-kasami", nodes=5, think=0, hold=100, until=250.0)
        assert result.ok
        assert result.entries < result.requests
        assert result.verdict() == f"{result.entries} entries counted of 500 requests, no violation"

    def test_progress_is_reported_while_it_runs(self) -> None:
        seen: list[int] = []
        simulate("ricart-agrawala", nodes=20, requests=300, progress=seen.append)
        assert seen == sorted(seen)
        assert len(seen) > 1
        assert seen[-1] <= 6000

    def test_a_run_without_requests_is_over_at_once(self) -> None:
        engine, _ = make(Announcer, 3, [])
        engine.run()
        assert engine.now == 0.0
