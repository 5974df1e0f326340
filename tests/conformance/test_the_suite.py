"""The suite itself: it takes files and classes, says what it saw, and fails what is broken with a run that shows it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from congenial.algorithms.group.ra1 import RA1
from congenial.algorithms.group.token_gme import TokenGME
from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala
from congenial.algorithms.token.suzuki_kasami import Request, SuzukiKasami
from congenial.checker.check import check
from congenial.kernel.errors import ConfigError
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups
from congenial.kernel.spec import Spec
from congenial.testing import conformance


def failures(algorithm: type[Node], about: str) -> dict[str, str]:
    found = {}
    for case in conformance(algorithm, states=3000, runs=10):
        if about in case.name:
            try:
                case.run()
            except AssertionError as error:
                found[case.name] = str(error)
    return found


def test_a_file_s_algorithm_is_tested_as_the_class_is(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from congenial.algorithms.permission.ricart_agrawala import RicartAgrawala\n"
        "class Mine(RicartAgrawala):\n    pass\n"
    )
    names = [str(case) for case in conformance(f"{file}:Mine")]
    assert names == [str(case) for case in conformance(RicartAgrawala)]
    assert len(set(names)) == len(names)
    case = conformance(f"{file}:Mine")[names.index("all runs of 2 processes, 1 request each, channels in any order")]
    assert case.run().endswith("states, all there are")


def test_an_option_that_is_not_there_is_refused_at_once() -> None:
    with pytest.raises(ConfigError):
        conformance("ricart-agrawala", options={"color": "red"})


class Unsafe(RicartAgrawala):
    """Enters without waiting for anybody."""

    spec: ClassVar[Spec] = replace(RicartAgrawala.spec, fences=False)

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        if self.phase == WAITING:
            self.enter(out)

    def receive(self, src: int, msg: Message, out: Out) -> None:
        pass


class Chatty(SuzukiKasami):
    """Sends twice as many messages as it says."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        if self.phase == WAITING:
            out.broadcast(Request(self.requested[self.me]))


class Unsocial(TokenGME):
    """Lets nobody join."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if self.phase != INSIDE:
            super().receive(src, msg, out)


HIDDEN: dict[int, int] = {}


class Secretive(RicartAgrawala):
    """Keeps state outside of itself."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        HIDDEN[id(self)] = HIDDEN.get(id(self), 0) + 1
        self.highest = max(self.highest, HIDDEN[id(self)])
        super().receive(src, msg, out)


@pytest.mark.parametrize("about", ["simulation, heavy", "all runs of 2", "random schedules"])
def test_what_is_unsafe_fails_in_every_driver_with_a_run_that_shows_it(about: str) -> None:
    for text in failures(Unsafe, about).values():
        assert "process" in text
        assert "inside" in text
    assert len(failures(Unsafe, about)) >= 2


def test_a_counterexample_is_readable() -> None:
    text = failures(Unsafe, "all runs of 2 processes, 1 request each, fifo").popitem()[1]
    assert text.startswith("SAFETY: process")
    assert "0 asks to enter" in text
    assert text.endswith("ENTERS")


def test_an_algorithm_that_keeps_others_of_the_group_out_fails() -> None:
    assert failures(Unsocial, "everybody inside together")


class Modest(TokenGME):
    """Admits to a flaw that it does not have."""

    spec: ClassVar[Spec] = replace(TokenGME.spec, concurrent_entry=False)


class HonestlyUnsocial(Unsocial):
    """Admits that it lets nobody join."""

    spec: ClassVar[Spec] = replace(TokenGME.spec, concurrent_entry=False)


def test_an_algorithm_that_admits_to_a_lack_of_concurrent_entry_must_lack_it() -> None:
    assert "everybody always got in" in failures(Modest, "not always everybody inside").popitem()[1]
    assert not failures(HonestlyUnsocial, "not always everybody inside")
    assert [case for case in conformance(Modest) if "everybody" in str(case)]


class OneAtATime(RA1):
    """Defers requests for its own group like any other."""

    def _on_request(self, src: int, number: int, group: int, out: Out) -> None:
        super()._on_request(src, number, -1, out)


class HonestlyOneAtATime(OneAtATime):
    spec: ClassVar[Spec] = replace(RA1.spec, concurrent_entry=False)


def test_the_checker_believes_a_spec_that_admits_to_it() -> None:
    found = check(OneAtATime, nodes=2, requests=1).counterexample
    assert found is not None
    assert found.kind == "concurrent entry"
    assert check(HonestlyOneAtATime, nodes=2, requests=1).ok


def test_an_algorithm_that_sends_more_than_its_spec_says_fails() -> None:
    failed = failures(Chatty, "simulation, turns")
    assert "messages per entry; the spec says" in failed.popitem()[1]


def test_state_that_is_kept_elsewhere_is_noticed() -> None:
    failed = failures(Secretive, "copies behave alike")
    assert any("keep state out of sight" in text for text in failed.values())


def test_every_case_says_what_it_saw() -> None:
    for case in conformance("token-gme", states=1500, runs=5):
        assert any(character.isdigit() for character in case.run()), case
