"""The vocabulary: messages and their size, laws, the outbox, occupancy, traces."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from congenial.algorithms.token.suzuki_kasami import Privilege, Request
from congenial.kernel.effects import EVERYONE
from congenial.kernel.errors import ConfigError, ContractError, SafetyViolation
from congenial.kernel.judge import Judge
from congenial.kernel.message import Measure, Message, field_names, field_values, integers
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox, PlainOut
from congenial.kernel.spec import Law
from congenial.kernel.trace import KINDS, Event, Trace, message_event
from congenial.problems.group import GROUP
from congenial.problems.kmutex import KMUTEX, build_k
from congenial.problems.mutex import MUTEX
from congenial.sim.engine import SimulationFailed
from congenial.sim.scenario import Scenario
from congenial.trace_files import TraceFile, read_trace


@dataclass(frozen=True)
class Parcel(Message):
    number: int
    label: str
    urgent: bool
    row: tuple[int, ...]
    nested: tuple[tuple[int, int], ...]
    nothing: None = None


@dataclass(frozen=True)
class Crate(Message):
    weight: tuple[int, int] = field(metadata={"type": tuple[int, int]})
    pairs: tuple[tuple[int, int], ...] = field(metadata={"type": tuple[tuple[int, int], ...]})
    table: tuple[tuple[int, tuple[int, ...]], ...] = field(metadata={"type": tuple[tuple[int, tuple[int, ...]], ...]})


@dataclass(frozen=True)
class Bare(Message):
    pass


class TestMessages:
    def test_have_fields_in_order(self) -> None:
        assert field_names(Parcel) == ("number", "label", "urgent", "row", "nested", "nothing")
        assert field_names(Bare) == ()
        assert field_names(Message) == ()
        assert field_values(Request(3)) == {"number": 3}

    @pytest.mark.parametrize(
        ("value", "size"),
        [
            (5, 1), (True, 1), ("name", 1), (2.5, 1), (None, 0), ((), 0), ((1, (2, 3)), 3), ([1, [2]], 2), ({1, 2}, 2),
            ({1: (2, 3)}, 3), (Bare(), 0), (Request(7), 1), (Privilege((1, 2), (0, 0, 0), 4), 6),
        ],
    )  # fmt: skip
    def test_size_in_integers(self, value: object, size: int) -> None:
        assert integers(value) == size

    @given(st.lists(st.integers()), st.lists(st.tuples(st.integers(), st.integers())))
    def test_the_quick_measure_agrees_with_the_slow_one(self, row: list[int], nested: list[tuple[int, int]]) -> None:
        parcel = Parcel(1, "x", True, tuple(row), tuple(nested))
        assert Measure(Parcel).size(parcel) == integers(parcel) == 3 + len(row) + 2 * len(nested)

    @given(st.lists(st.tuples(st.integers(), st.integers())), st.lists(st.tuples(st.integers(), st.tuples())))
    def test_declared_types_give_the_sizes_of_tuples(
        self, pairs: list[tuple[int, int]], table: list[tuple[int, tuple[int, ...]]]
    ) -> None:
        crate = Crate((1, 2), tuple(pairs), (*table, (1, (2, 3))))
        assert Measure(Crate).size(crate) == integers(crate) == 2 + 2 * len(pairs) + len(table) + 3

    def test_equal_messages_are_equal_and_cannot_be_changed(self) -> None:
        assert Request(3) == Request(3)
        assert hash(Request(3)) == hash(Request(3))
        assert Request(3) != Request(4)
        with pytest.raises(AttributeError):
            Request(3).number = 4  # type: ignore[misc]


class TestLaws:
    def test_are_formulas(self) -> None:
        law = Law("0", "2*(n-1) + ceil(sqrt(n))")
        assert law.least_for({"n": 10}) == 0
        assert law.most_for({"n": 10}) == 22
        assert str(law) == "0 .. 2*(n-1) + ceil(sqrt(n))"
        assert str(Law("n")) == "n"

    @pytest.mark.parametrize("formula", ["x+1", "__import__('os')", "n.bit_length() + y", "open('f')"])
    def test_know_their_variables_only(self, formula: str) -> None:
        with pytest.raises(ConfigError, match="law"):
            Law(formula)


class TestTheOutbox:
    def test_writes_down_what_a_step_does(self) -> None:
        out = Outbox()
        out.send(2, Request(1))
        out.broadcast(Request(2))
        out.enter(4, 9)
        out.save()
        assert out.sent == [(2, Request(1)), (EVERYONE, Request(2))]
        assert out.entered == (4, 9)
        assert out.saved
        assert not out.ejected

    def test_timers(self) -> None:
        out = Outbox()
        out.set_timer(1, 5.0)
        out.set_timer(1, 6.0)
        out.set_timer(2, 7.0)
        out.cancel_timer(2)
        out.cancel_timer(3)
        assert out.timers_set == [(1, 6.0)]
        assert out.timers_cancelled == [2, 3]
        out.set_timer(3, 1.0)
        assert out.timers_cancelled == [2]

    def test_choices_are_answered_in_order_and_written_down(self) -> None:
        out = Outbox((2, 1))
        assert [out.choose(3), out.choose(2), out.choose(5)] == [2, 1, 0]
        assert out.asked == [3, 2, 5]
        with pytest.raises(ContractError):
            out.choose(0)

    def test_one_entry_a_step(self) -> None:
        out = Outbox()
        out.enter(0, 1)
        with pytest.raises(ContractError, match="twice"):
            out.enter(0, 2)


class TestPhases:
    def test_go_round(self) -> None:
        node, out = Node(1, 3), Outbox()
        node.wait()
        node.enter(out, 7, 2)
        assert out.entered == (2, 7)
        node.leave()
        node.wait()
        node.enter(Outbox())
        lost = Outbox()
        node.lose(lost)
        assert lost.ejected
        assert node.phase == 0

    def test_and_no_other_way(self) -> None:
        node = Node(1, 3)
        with pytest.raises(ContractError, match="process 1 would enter while it is idle"):
            node.enter(Outbox())
        with pytest.raises(ContractError, match="process 1 would leave while it is idle"):
            node.leave()
        with pytest.raises(ContractError):
            node.lose(Outbox())
        node.wait()
        with pytest.raises(ContractError, match="process 1 asks to enter while it is waiting"):
            node.wait()


class TestTheJudge:
    def test_mutual_exclusion(self) -> None:
        books = Judge(MUTEX, 3)
        books.ask(0, (0,))
        books.ask(1, (0,))
        books.enter(0, 0, 1)
        assert (books.inside, books.waiting, books.waiters()) == (1, 1, [1])
        with pytest.raises(SafetyViolation, match="process 1 enters while process 0 is inside"):
            books.enter(1, 0, 2)
        books.leave(0)
        books.enter(1, 0, 2)

    def test_groups(self) -> None:
        books = Judge(GROUP, 4)
        for process, groups in enumerate([(1,), (1, 2), (2,), (1,)]):
            books.ask(process, groups)
        assert books.enter(0, 1, 1) == 1
        assert books.enter(1, 1, 1) == 1
        with pytest.raises(
            SafetyViolation, match="process 2 enters group 2 while processes 0, 1 are inside for group 1"
        ):
            books.enter(2, 2, 2)
        with pytest.raises(SafetyViolation, match="process 3 enters group 2, but asked for 1"):
            books.enter(3, 2, 2)

    def test_no_entry_without_a_request(self) -> None:
        with pytest.raises(SafetyViolation, match="without having asked"):
            Judge(MUTEX, 2).enter(0, 0, 0)

    def test_nobody_asks_twice_or_leaves_twice(self) -> None:
        books = Judge(MUTEX, 2)
        books.ask(0, (0,))
        with pytest.raises(ContractError, match="asks again"):
            books.ask(0, (0,))
        with pytest.raises(ContractError, match="without being inside"):
            books.leave(0)

    def test_fences_grow(self) -> None:
        books = Judge(MUTEX, 2)
        for fence in (3, 4, 9):
            books.ask(0, (0,))
            books.enter(0, 0, fence)
            books.leave(0)
        books.ask(0, (0,))
        with pytest.raises(SafetyViolation, match="fence 9"):
            books.enter(0, 0, 9)

    def test_a_crash_frees(self) -> None:
        books = Judge(MUTEX, 2)
        books.ask(0, (0,))
        books.ask(1, (0,))
        books.enter(0, 0, 0)
        books.crash(0)
        books.crash(1)
        assert (books.inside, books.waiting, books.waiters()) == (0, 0, [])


class TestTraces:
    def test_survive_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "trace.ndjson"
        file, memory = TraceFile(path), Trace()
        settings = {"nodes": 3, "requests": 3, "crash": ("1@50-60",), "pause": ("2@20-30",), "loss": ("0.1",)}
        settings |= {"partition": ("0|1,2@70-80",), "detection": 1.0}
        for trace in (file, memory):
            with suppress(SimulationFailed):  # a process that forgets what it agreed to is not safe
                Scenario("ricart-agrawala", **settings).engine(1, trace).run()  # type: ignore[arg-type]
            trace.close()
        assert [event.as_dict() for event in read_trace(path)] == [event.as_dict() for event in memory.events]
        assert len({event.event for event in memory.events}) > 10

    def test_keep_the_last_events(self) -> None:
        trace = Trace(keep=10)
        for number in range(1000):
            trace.record(Event(float(number), "exit", 0))
        assert trace.events[-10:][0].t == 990.0
        assert len(trace.events) < 20

    @pytest.mark.parametrize(
        "line", ["{", '{"t": 1}', '{"t": 1, "event": "sneeze", "node": 1}', '{"event": "exit", "x": 1}']
    )
    def test_what_is_no_event_is_named(self, tmp_path: Path, line: str) -> None:
        path = tmp_path / "trace.ndjson"
        path.write_text('{"t": 0, "event": "exit", "node": 1}\n' + line + "\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=r"trace\.ndjson, line 2: not a trace event"):
            read_trace(path)

    def test_what_cannot_be_read_or_written_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="nowhere"):
            read_trace(tmp_path / "nowhere")
        with pytest.raises(ConfigError, match="cannot write"):
            TraceFile(tmp_path / "no" / "where")

    def test_are_told_in_words(self) -> None:
        assert (
            str(message_event(1.5, "send", 2, -1, 1, Request(3))) == "     1.500  2 sends Request(number=3) to everyone"
        )
        assert str(message_event(1.5, "deliver", 2, 0, 1, Request(3))).endswith("2 receives Request(number=3) from 0")
        assert str(Event(0.0, "enter", 1, group=2)).endswith("1 ENTERS group 2")
        assert str(Event(0.0, "request", 1, groups=(1, 4))).endswith("1 asks to enter [1, 4]")
        assert str(Event(0.0, "begin", -1, fields={"nodes": 3})) == "     0.000  nodes=3"
        assert str(Event(0.0, "cut", 0, fields={"sides": [[0, 1], [2]]})).endswith("the network splits: 0, 1 | 2")
        assert str(Event(0.0, "heal", 0)) == "     0.000  the split ends"
        for kind in KINDS[1:]:
            if kind not in ("cut", "heal"):  # these are nobody's own
                assert str(Event(0.0, kind, 1, peer=0)).startswith("     0.000  1 ")


def test_k_entries_admit_k_and_need_to_be_told_k() -> None:
    assert [KMUTEX.sized({"k": 3}).admits(inside, 0, 0) for inside in range(5)] == [True, True, True, False, False]
    with pytest.raises(ConfigError, match="an option that says what k is"):
        KMUTEX.sized({"n": 3})
    occupancy = Judge(KMUTEX.sized({"k": 2}), 3)
    for process in range(3):
        occupancy.ask(process, (0,))
    occupancy.enter(0, 0, 0)
    occupancy.enter(1, 0, 0)
    with pytest.raises(SafetyViolation, match="process 2 enters while processes 0, 1 are inside"):
        occupancy.enter(2, 0, 0)
    occupancy.leave(0)
    occupancy.enter(2, 0, 0)


@pytest.mark.parametrize(("text", "what"), [("0", "at least 1"), ("few", "a whole number")])
def test_k_is_a_number_above_0(text: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        build_k(text, 3)


@pytest.mark.parametrize("out", [Outbox(), PlainOut()])
def test_no_step_enters_twice(out: Outbox | PlainOut) -> None:
    out.enter(0, 1)
    with pytest.raises(ContractError, match="enters the critical section twice"):
        out.enter(0, 2)
