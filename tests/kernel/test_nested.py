"""Inner nodes, parts, and messages in messages: through every driver as if they were one thing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nested import (
    Batch,
    Count,
    Counter,
    Counting,
    Inner,
    TaggedAny,
    TaggedRicartAgrawala,
    TaggedStar,
    TaggedSuzukiKasami,
)

from congenial.algorithms.permission.ricart_agrawala import Reply, Request, RicartAgrawala
from congenial.algorithms.token.raymond_tree import RaymondTree
from congenial.algorithms.token.suzuki_kasami import Privilege, SuzukiKasami
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.checker.replay import replay, write_trace
from congenial.checker.stepper import Action, Stepper
from congenial.kernel.errors import ContractError, UnexpectedMessage
from congenial.kernel.message import Message, integers
from congenial.kernel.node import Node
from congenial.kernel.out import Outbox
from congenial.kernel.state import copy_of, durable_state, node_from, restore_durable, state_of
from congenial.kernel.trace import CRASH, DELIVER, EXIT, RECOVER, REQUEST, SEND, Event, message_event
from congenial.net.codec import Vocabulary, message_kinds
from congenial.net.errors import ProtocolError
from congenial.net.frames import FrameReader, encode_frame
from congenial.net.wire import Data
from congenial.sim.scenario import Scenario
from congenial.sim.simulate import simulate
from congenial.systems.system import System
from congenial.testing import conformance
from congenial.trace_files import TraceFile, read_trace

WRAPPED = [(TaggedSuzukiKasami, SuzukiKasami), (TaggedRicartAgrawala, RicartAgrawala), (TaggedAny, SuzukiKasami)]


# -- state -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TaggedSuzukiKasami, TaggedAny, Counting])
def test_a_copy_shares_no_inner_node_and_no_part(kind: type[Node]) -> None:
    engine = Scenario(kind, nodes=4, requests=5, think=20, hold=20, until=100.0).engine(3)
    engine.run()
    for node in engine.nodes:
        before = state_of(node)
        hash(before)
        copy = copy_of(node)
        assert type(copy) is kind
        assert state_of(copy) == before == state_of(node_from(before))
        if isinstance(copy, Counting):
            copy.history[0].heard[9] = [1]
        else:
            assert isinstance(copy, TaggedSuzukiKasami | TaggedAny)
            copy.inner.phase = 9
        assert state_of(copy) != before
        assert state_of(node) == before


def test_a_set_of_pairs_is_state_too() -> None:
    node = Counting(0, 2)
    node.counter.heard = {1: [2]}
    odd: Any = node
    odd.pairs = {(1, 2), (0, 3)}
    assert copy_of(odd).pairs == {(1, 2), (0, 3)}


def test_of_a_part_survives_what_its_class_names() -> None:
    node = Counting(1, 3)
    node.counter.best = 5
    node.counter.heard[0] = [5]
    node.other.best = 4
    node.recoveries = 2
    fresh = Counting(1, 3)
    restore_durable(fresh, durable_state(node))
    assert (fresh.counter.best, fresh.recoveries) == (5, 2)
    assert fresh.counter.heard == {}
    assert fresh.other.best == 0


def test_a_part_that_was_saved_must_be_there_to_be_restored() -> None:
    class Late(Counting):
        def __init__(self, me: int, n: int) -> None:
            super().__init__(me, n)
            self.counter: Any = None

    late = Late(0, 2)
    late.counter = Counter()
    with pytest.raises(ContractError, match=r"Late\.counter was saved"):
        restore_durable(Late(0, 2), durable_state(late))


def test_a_part_survives_a_crash() -> None:
    stepper = Stepper(System(Counting, 2), False)
    stepper.take(Action(REQUEST, 0, groups=(0,)))
    while stepper.deliverable():
        packet = stepper.deliverable()[0]
        stepper.take(Action(DELIVER, int(packet.dst), int(packet.src), int(packet.number)))
    for event in (EXIT, CRASH, RECOVER):
        stepper.take(Action(event, 0))
    node = stepper.nodes[0]
    assert isinstance(node, Counting)
    assert (node.counter.best, node.recoveries) == (1, 1)


# -- drivers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wrapper", "inner"), WRAPPED)
def test_a_wrapper_that_changes_nothing_has_as_many_states(wrapper: type[Node], inner: type[Node]) -> None:
    outside, inside = [check(kind, nodes=3, requests=1) for kind in (wrapper, inner)]
    assert outside.ok
    assert outside.complete
    assert (outside.states, outside.transitions, outside.depth) == (inside.states, inside.transitions, inside.depth)
    assert outside.most_messages == inside.most_messages


@pytest.mark.parametrize(("wrapper", "inner"), WRAPPED)
def test_a_wrapper_that_changes_nothing_costs_as_much(wrapper: type[Node], inner: type[Node]) -> None:
    outside, inside = [simulate(kind, nodes=6, requests=10, seed=3) for kind in (wrapper, inner)]
    assert outside.ok
    assert outside.messages_by_kind == {"Inner": sum(inside.messages_by_kind.values())}
    assert outside.messages_per_entry == inside.messages_per_entry
    assert outside.integers_per_entry == pytest.approx(
        inside.integers_per_entry + inside.messages_per_entry
    )  # + instance
    assert outside.waiting_time_mean == inside.waiting_time_mean


@pytest.mark.parametrize("case", conformance(TaggedSuzukiKasami, runs=5, states=5000), ids=str)
def test_a_wrapper_passes_the_suite(case: Any) -> None:
    case.run()


def test_processes_are_renamed_in_inner_nodes_and_messages() -> None:
    star = {"tree": "star"}
    outside = check(TaggedStar, nodes=4, requests=1, symmetry=True)
    inside = check(RaymondTree, nodes=4, requests=1, symmetry=True, options=star)
    assert outside.ok
    assert outside.complete
    assert outside.states == inside.states < check(RaymondTree, nodes=4, requests=1, options=star).states


def test_what_makes_no_sense_to_either_is_refused() -> None:
    node = TaggedRicartAgrawala(0, 3)
    before = state_of(node)
    for bad in (Reply(), Inner(7, Privilege((), (), 0)), Inner(7, Reply())):
        with pytest.raises(UnexpectedMessage):
            node.receive(1, bad, Outbox())
        assert state_of(node) == before


# -- messages --------------------------------------------------------------------------------------------------

NESTED = [
    Inner(7, Request(3)),
    Inner(7, Inner(8, Reply())),
    Batch((Request(1), Inner(2, Request(1 << 70)), Reply()), None),
    Batch((), Inner(1, Reply())),
]


def test_a_message_in_a_message_counts_for_what_it_carries() -> None:
    assert integers(Inner(7, Request(3))) == 1 + integers(Request(3))
    assert integers(Batch((Request(1), Request(2)), None)) == 2 * integers(Request(1))


@pytest.mark.parametrize("message", NESTED)
def test_a_trace_has_messages_in_messages(message: Message, tmp_path: Path) -> None:
    event = message_event(1.0, SEND, 0, 1, 5, message)
    file = TraceFile(tmp_path / "t.ndjson")
    file.record(event)
    file.close()
    (again,) = read_trace(tmp_path / "t.ndjson")
    assert again.as_dict() == json.loads(json.dumps(event.as_dict()))
    assert "Re" in str(again)
    assert str(again).replace("[", "(").replace("]", ")") == str(event).replace(",)", ")")


def test_a_trace_tells_a_message_in_a_message_as_it_is_written() -> None:
    event = message_event(0.0, SEND, 0, 1, 5, Inner(7, Inner(8, Request(3))))
    assert str(event).endswith("0 sends Inner(instance=7, body=Inner(instance=8, body=Request(number=3))) to 1")
    pair = message_event(0.0, SEND, 0, 1, 5, Batch((Request(3),), None))
    assert str(pair).endswith("Batch(bodies=(Request(number=3),), last=None) to 1")


def test_a_run_of_a_wrapper_can_be_replayed(tmp_path: Path) -> None:
    found = fuzz(Careless, nodes=3, runs=50).counterexample
    assert found is not None
    system = System(Careless, 3)
    path = str(tmp_path / "t.ndjson")
    write_trace(path, f"{Path(__file__)}:Careless", system.n, {}, False, found.events)
    assert replay(path).kind == found.kind


class Careless(TaggedRicartAgrawala):
    """Takes any message for a reply."""

    def receive(self, src: int, msg: Message, out: Any) -> None:
        super().receive(src, Inner(7, Reply()) if self.phase == 1 else msg, out)


@pytest.mark.parametrize("message", NESTED)
def test_messages_in_messages_travel(message: Message) -> None:
    vocabulary = Vocabulary(TaggedRicartAgrawala)
    raw = encode_frame(Data(1, 2, "lock", vocabulary.encode(message)))
    (frame,) = FrameReader(vocabulary.decode_frame).feed(raw)
    assert isinstance(frame, Data)
    assert vocabulary.message(frame.body) == message
    assert sum(form.sent for form in vocabulary.forms.values()) == 1
    assert sum(form.heard for form in vocabulary.forms.values()) == 1


def test_a_vocabulary_knows_inner_algorithms_and_parts() -> None:
    assert {Inner, Request, Reply} <= set(message_kinds(TaggedRicartAgrawala))
    assert {Count, Request, Reply} <= set(message_kinds(Counting))
    system = System(TaggedAny, 2)
    assert system.inner == (SuzukiKasami,)
    assert Privilege in message_kinds(system.algorithm, *system.inner)
    schemas = {Vocabulary(TaggedAny, *inner).schema for inner in ((), (SuzukiKasami,), (RicartAgrawala,))}
    assert len(schemas) == 3


def heard(vocabulary: Vocabulary, body: object) -> Message:
    frame = vocabulary.decode_frame(msgspec.msgpack.encode([3, 1, 2, "lock", body]))
    assert isinstance(frame, Data)
    return vocabulary.message(frame.body)


def test_an_inner_message_of_the_wrong_kind_or_depth_is_refused() -> None:
    vocabulary = Vocabulary(TaggedRicartAgrawala)
    tag = 2 * message_kinds(TaggedRicartAgrawala).index(Inner)
    reply = [2 * message_kinds(TaggedRicartAgrawala).index(Reply)]
    assert heard(vocabulary, [tag, 7, [tag, 8, reply]]) == Inner(7, Inner(8, Reply()))
    opening = msgspec.msgpack.encode([tag, 7, 1])[:-1]
    too_deep = [msgspec.Raw(opening * depth + msgspec.msgpack.encode(reply)) for depth in (900, 5000)]
    for bad in ([99, 1], 5, [], "x", None, [tag, 7, 1], *too_deep):
        with pytest.raises(ProtocolError):
            heard(vocabulary, [tag, 7, bad])


def test_begin_still_reads_as_before() -> None:
    assert str(Event(0.0, "begin", -1, fields={"algorithm": "x", "options": {"a": 1}})).endswith("options={'a': 1}")
