"""What nodes declare of their messages: all classes that they send, and all types that compiled classes do not keep."""

from __future__ import annotations

import ast
import copy
import pickle
import sys
from dataclasses import FrozenInstanceError, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from congenial.algorithms.token.suzuki_kasami import Privilege, Request, SuzukiKasami
from congenial.kernel.errors import ContractError
from congenial.kernel.message import (
    Message,
    Messages,
    field_names,
    field_types,
    fields_of,
    messages_of,
    nested_messages,
)
from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.part import Part
from congenial.kernel.trace import Trace
from congenial.net.codec import Vocabulary
from congenial.parts.consensus import Consensus
from congenial.parts.detectors import Heartbeat
from congenial.sim.scenario import Scenario
from congenial.systems.catalogue import ALGORITHMS, find_algorithm
from congenial.testing import conformance
from congenial.transform.instances import Inside
from congenial.transform.monitored import monitored

NAMES = [
    *ALGORITHMS,
    "suzuki-kasami+epochs",
    "token-gme+epochs",
    "raymond-tree+restart",
    "maekawa+restart",
    "home-gme+views",
]
KINDS = sorted({kind for name in NAMES for kind in messages_of(find_algorithm(name))}, key=str)
FAULTS: dict[str, Any] = {"crash": ("1@20-60", "0@80-120"), "detection": 2.0, "until": 20_000}


RUNS = [(name, {}) for name in NAMES] + [(name, FAULTS) for name in NAMES if find_algorithm(name).spec.faults != "none"]


@pytest.mark.parametrize(
    ("name", "faults"), RUNS, ids=lambda value: value if isinstance(value, str) else "crashes" if value else "no faults"
)
def test_every_message_of_a_run_is_declared(name: str, faults: dict[str, Any]) -> None:
    algorithm = find_algorithm(name)
    groups = 2 if algorithm.spec.problem is not None and algorithm.spec.problem.groups else 1
    trace = Trace()
    Scenario(algorithm, nodes=5, requests=4, think=5, hold=4, groups=groups, **faults).engine(seed=1, trace=trace).run()
    told = [event for event in trace.events if event.message]
    sent = {name for event in told for name in names_in({"message": event.message, "fields": event.fields})}
    assert sent
    assert sent <= {kind.__name__ for kind in messages_of(algorithm)}


def names_in(told: object) -> set[str]:
    """The names of all messages in what a trace tells of one."""
    found: set[str] = set()
    if isinstance(told, (list, tuple)):
        found.update(*[names_in(member) for member in told])
    elif isinstance(told, dict):
        found.update({told["message"]} if "message" in told else (), *[names_in(value) for value in told.values()])
    return found


@cache
def class_in_source(kind: type) -> ast.ClassDef:
    """The definition of a class, which compiled classes do not keep."""
    module = sys.modules[kind.__module__]
    path = Path(module.__file__ or "").parent / f"{kind.__module__.rpartition('.')[2]}.py"
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ClassDef) and statement.name == kind.__name__:
            return statement
    raise AssertionError(f"{kind} is not in {path}")


def sent_in_source(kind: type) -> set[type]:
    """The message classes whose names stand in calls in the body of a class."""
    names = vars(sys.modules[kind.__module__])
    calls = [node.func for node in ast.walk(class_in_source(kind)) if isinstance(node, ast.Call)]
    called = [names.get(function.id) for function in calls if isinstance(function, ast.Name)]
    return {thing for thing in called if isinstance(thing, type) and issubclass(thing, Message)}


@pytest.mark.parametrize("name", NAMES)
def test_every_message_that_the_source_can_send_is_declared(name: str) -> None:
    whole = find_algorithm(name)
    replaced = {Privilege} if "aged_token" in str(whole.__mro__) else set()
    if name == "token-gme-bounded":
        replaced = {kind for kind in messages_of(ALGORITHMS["token-gme"]) if kind not in messages_of(whole)}
    for kind in (whole, *whole.made_of):
        for ancestor in kind.__mro__[:-1]:
            made = ancestor is whole and "+" in name  # by a transform, without a source of its own
            if ancestor not in (Node, Part) and not made and ancestor.__module__ != "congenial.transform.instances":
                assert sent_in_source(ancestor) - replaced <= set(messages_of(whole)), ancestor


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}")
def test_no_type_of_a_field_is_lost_when_compiled(kind: type[Message]) -> None:
    written: dict[str, Any] = {}
    for ancestor in reversed(kind.__mro__):
        if ancestor in (Message, object):
            continue
        for line in class_in_source(ancestor).body:
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                names = dict(vars(sys.modules[ancestor.__module__]))
                written[line.target.id] = eval(ast.unparse(line.annotation), names)  # noqa: S307 (our own source)
    assert field_types(kind) == written
    declared = {each.name: each.metadata["type"] for each in fields_of(kind) if "type" in each.metadata}
    plain = (int, bool, str, float, Any, Message, tuple[int, ...])
    assert declared == {name: hint for name, hint in written.items() if hint not in plain}


SAMPLES: dict[Any, object] = {int: 7, bool: True, str: "a", float: 0.5, bytes: b"a", Message: Request(1)}


def sample(shape: Any) -> object:
    """A value of the type of a field."""
    members = get_args(shape)
    return tuple([sample(member) for member in members if member is not ...]) if members else SAMPLES.get(shape, ())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}")
def test_a_message_is_made_compared_copied_and_pickled_by_its_fields(kind: type[Any]) -> None:
    """Whether the decorator has made its constructor, or the build."""
    values = {name: sample(shape) for name, shape in field_types(kind).items()}
    made = kind(**values)
    assert made == kind(*values.values())
    assert [getattr(made, name) for name in values] == list(values.values())
    assert copy.copy(made) == made == pickle.loads(pickle.dumps(made)) == replace(made)
    for name in values:
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, values[name])
    with pytest.raises(TypeError):
        kind(*values.values(), 1)


class Told(Part):
    messages = (Heartbeat,)


class Asks(Node):
    messages = (Request,)
    made_of = (Told, SuzukiKasami, Told)


def test_messages_are_collected_in_a_fixed_order_each_once() -> None:
    assert messages_of(Asks) == (Request, Heartbeat, Privilege)
    assert messages_of(Told, Asks) == (Heartbeat, Request, Privilege)
    assert messages_of(Node) == messages_of() == messages_of(int) == ()


def test_a_transform_declares_its_own_messages_and_those_inside() -> None:
    kinds: Messages = messages_of(find_algorithm("suzuki-kasami+epochs"))
    assert {Inside, *SuzukiKasami.messages, *Consensus.messages} <= set(kinds)
    assert set(messages_of(monitored(SuzukiKasami, 1.0, 3.0))) == {Request, Privilege, Heartbeat}


@dataclass(frozen=True)
class Letter(Message):
    number: int
    pairs: tuple[tuple[int, str], ...] = field(metadata={"type": tuple[tuple[int, str], ...]})
    bodies: tuple[Message | None, ...]


def test_a_message_s_fields_have_names_types_and_messages_inside() -> None:
    assert field_names(Letter) == ("number", "pairs", "bodies")
    assert field_types(Letter)["pairs"] == tuple[tuple[int, str], ...]
    inner = Inside(1, Request(2))
    letter = Letter(1, ((1, "one"),), (None, inner))
    assert nested_messages(letter) == [letter, inner, Request(2)]


@dataclass(frozen=True)
class Undeclared(Message):
    pass


class Forgetful(SuzukiKasami):
    """Does not say that it sends `Undeclared`."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if isinstance(msg, Undeclared):
            return
        out.send(src, Undeclared())
        super().receive(src, msg, out)


def test_the_network_refuses_to_send_a_message_that_is_not_declared() -> None:
    vocabulary = Vocabulary(Forgetful)
    assert vocabulary.encode(Request(1))
    with pytest.raises(
        ContractError, match="Forgetful sends Undeclared, but does not declare it: add it to `messages`"
    ):
        vocabulary.encode(Undeclared())


def test_the_conformance_suite_notices_a_message_that_is_not_declared() -> None:
    cases = [case for case in conformance(Forgetful) if "declared" in case.name]
    assert len(cases) == 2
    for case in cases:
        with pytest.raises(AssertionError, match="Forgetful sends Undeclared, but does not declare it"):
            case.run()
