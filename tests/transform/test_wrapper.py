"""Wrappers: whatever a driver does to the node, and asks of it, reaches the node inside."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala
from congenial.checker.check import check
from congenial.checker.fuzz import fuzz
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.out import Out, Outbox
from congenial.kernel.spec import Spec
from congenial.problems.mutex import MUTEX
from congenial.sim.simulate import simulate
from congenial.transform.monitored import Monitored
from congenial.transform.wrapper import Wrapper

OWN = {"wait", "enter", "leave", "lose", "unexpected"}  # what nodes call themselves
CALLS: dict[str, tuple[Any, ...]] = {  # what drivers call, and with what before the `Out`
    "request": ((0,),),
    "release": (),
    "issue": ("an operation",),
    "could_enter": (),
    "receive": (1, Message()),
    "on_timer": (3,),
    "on_suspect": (1,),
    "on_trust": (1,),
    "has_issued": (7,),
    "on_recover": (),
    "on_amnesia": (),
    "has_beliefs": (),
    "belief": (),
    "contradiction": ("one", "other"),
}
ANSWERS = {"could_enter": True, "has_beliefs": True, "belief": "mine", "contradiction": "they differ"}
WITHOUT_OUT = ("has_issued", *ANSWERS)


def recording(name: str) -> Any:
    def record(self: Any, *arguments: Any) -> object:
        self.calls.append((name, [one for one in arguments if not isinstance(one, Out)]))
        return ANSWERS.get(name)

    return record


class Listener(Node):
    """Records what it is called. (The methods are set below, one for each in `CALLS`.)"""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.calls: list[tuple[str, list[Any]]] = []


for call in CALLS:
    setattr(Listener, call, recording(call))


def test_every_method_of_a_node_is_known_here() -> None:
    public = {name for name, value in vars(Node).items() if callable(value) and not name.startswith("_")}
    assert public == OWN | set(CALLS)


@pytest.mark.parametrize("kind", [Wrapper, Monitored])
@pytest.mark.parametrize("name", CALLS)
def test_it_is_forwarded_with_its_arguments_and_its_answer(kind: type[Wrapper], name: str) -> None:
    inner = Listener(0, 3)
    outer = kind(0, 3, inner)
    if name == "release":
        outer.phase = INSIDE
    arguments = CALLS[name]
    if kind is Monitored and name == "on_timer":
        arguments = (3 + outer.detector.timers,)  # type: ignore[attr-defined]
    outs = () if name in WITHOUT_OUT else (Outbox(),)
    answer = getattr(outer, name)(*arguments, *outs)
    assert inner.calls == [(name, list(CALLS[name]))]
    assert answer == ANSWERS.get(name)


# -- in the drivers ----------------------------------------------------------------------------------------------------


def test_a_process_that_returns_goes_on_counting_its_operations_with_a_detector_of_its_own() -> None:
    faults: dict[str, Any] = {"detector": "heartbeat:10,200", "crash": ["1@300-500"]}
    result = simulate("home-gme+replicas", nodes=3, operations=2, until=5000, **faults)
    assert result.ok, result.violation


class Envious(RicartAgrawala):
    """Believes that nobody is inside while another one waits."""

    def belief(self) -> object:
        return self.phase

    def contradiction(self, one: object, other: object) -> str:
        return "one is inside, and one waits" if {one, other} == {INSIDE, WAITING} else ""


class Wrapped(Wrapper):
    spec: ClassVar[Spec] = Spec(name="wrapped", title="a wrapper", problem=MUTEX)
    inside: ClassVar[type[RicartAgrawala]] = RicartAgrawala
    made_of = (RicartAgrawala,)

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n, type(self).inside(me, n))


class WrappedEnvious(Wrapped):
    inside = Envious


class TwiceWrapped(Wrapped):
    def __init__(self, me: int, n: int) -> None:
        Wrapper.__init__(self, me, n, WrappedEnvious(me, n))


@pytest.mark.parametrize("algorithm", [WrappedEnvious, TwiceWrapped])
def test_what_the_inner_node_believes_is_compared(algorithm: type[Node]) -> None:
    result = check(algorithm, nodes=2, requests=1)
    assert result.counterexample is not None
    assert result.counterexample.text == "processes 0 and 1: one is inside, and one waits"
    assert not result.reduced, "what is left out could hold a contradiction"
    found = fuzz(algorithm, nodes=3, runs=5).counterexample
    assert found is not None
    assert found.text.endswith("one is inside, and one waits")


def test_a_wrapper_of_a_node_that_believes_nothing_is_explored_as_the_node_is() -> None:
    assert check(Wrapped, nodes=3, requests=1).reduced == check(RicartAgrawala, nodes=3, requests=1).reduced
    assert check(Wrapped, nodes=3, requests=1, reduce=True).reduced
