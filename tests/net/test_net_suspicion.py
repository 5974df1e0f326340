"""The failure detector: what counts as a mistake of its own, and how its patience grows and shrinks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from netlab import QUICK
from town import town

from congenial.net.link import Link
from congenial.net.storage import Storage
from congenial.net.suspicion import LEFT, MEMORY, RESTARTED, SILENT, Suspicion
from congenial.net.turn import Turn
from congenial.net.wire import Ack, Frame

BRIEF = QUICK.suspect_after


class Watch:
    """A detector with one peer, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 100.0
        self.link = Link(self, Turn(Storage()), 1, "b", self.now, BRIEF)
        self.suspicion = Suspicion("a", [self.link], QUICK, self.now, lambda link: None)

    def now(self) -> float:
        return self.time

    def on_frame(self, link: Link, frame: Frame) -> None: ...

    def on_sign_of_life(self, link: Link) -> None:
        self.suspicion.trust(link)

    def on_acknowledged(self, link: Link) -> None: ...

    def on_echo(self, link: Link, sent: float, allowed: float) -> None: ...

    @property
    def allowed(self) -> float:
        return self.link.patience.allowed

    def pass_time(self, seconds: float, speaks: bool) -> None:
        end = self.time + seconds
        while self.time < end:
            self.time += self.suspicion.period
            if speaks:
                self.link.on_frame(Ack(0))
            self.suspicion.look(self.time, True)

    def silence(self, seconds: float) -> None:
        self.pass_time(seconds, speaks=False)
        assert self.link.away
        self.link.on_frame(Ack(0))
        assert not self.link.away


def test_a_short_silence_was_a_mistake_up_to_a_limit() -> None:
    watch = Watch()
    seen = [watch.allowed]
    for _ in range(8):
        watch.silence(watch.allowed + 0.2)
        seen.append(watch.allowed)
        watch.pass_time(1.0, speaks=True)
    assert seen[:4] == pytest.approx([BRIEF, 1.5 * BRIEF, 2 * BRIEF, 2.5 * BRIEF])
    assert seen[-1] == 4 * BRIEF


def test_patience_returns_to_what_was_configured() -> None:
    watch = Watch()
    for _ in range(6):
        watch.silence(watch.allowed + 0.2)
    shrinking = [watch.allowed]
    for _ in range(7):
        watch.pass_time(MEMORY * BRIEF + 1, speaks=True)
        shrinking.append(watch.allowed)
    assert shrinking == sorted(shrinking, reverse=True)
    assert shrinking[1] < shrinking[0]
    assert shrinking[-1] == BRIEF
    watch.pass_time(3 * MEMORY * BRIEF, speaks=True)
    assert watch.allowed == BRIEF


def test_patience_does_not_shrink_while_the_peer_is_silent() -> None:
    """The peer was told how long it may be silent (`congenial.net.lease`); that must stay true."""
    watch = Watch()
    for _ in range(6):
        watch.silence(watch.allowed + 0.2)
    watch.pass_time(MEMORY * BRIEF - 1, speaks=True)
    watch.pass_time(3.9 * BRIEF, speaks=False)
    assert watch.allowed == 4 * BRIEF
    assert not watch.link.away


def test_a_silence_that_no_patience_would_have_bridged_teaches_nothing() -> None:
    """A process that was suspended, or a cable that was cut, for long: it was right to go on without the peer."""
    watch = Watch()
    watch.silence(5 * BRIEF)
    assert watch.allowed == BRIEF


@pytest.mark.parametrize("why", [RESTARTED, LEFT])
def test_crashes_are_no_mistakes(why: str) -> None:
    watch = Watch()
    for _ in range(20):
        watch.pass_time(BRIEF + 0.2, speaks=False)
        assert watch.link.away
        assert watch.link.misjudged
        watch.suspicion.suspect(watch.link, why)  # its new incarnation greets us, or it says goodbye after all
        watch.link.on_frame(Ack(0))
        assert not watch.link.away
    assert watch.allowed == BRIEF
    before = watch.time
    watch.pass_time(BRIEF, speaks=True)
    while not watch.link.away:
        watch.pass_time(0.01, speaks=False)
    assert watch.time - before < 2 * BRIEF + 0.2


def test_a_pause_of_this_process_is_no_silence_of_the_peer() -> None:
    watch = Watch()
    for _ in range(5):
        watch.time += 10 * BRIEF  # this process was stopped
        watch.suspicion.look(watch.time, True)
        assert not watch.link.away
        watch.pass_time(BRIEF / 2, speaks=False)  # what the peer has sent meanwhile is yet to be read
        assert not watch.link.away
        watch.pass_time(0.2, speaks=True)
    watch.pass_time(BRIEF + 0.2, speaks=False)
    assert watch.link.away
    watch.suspicion.suspect(watch.link, SILENT)


@pytest.mark.deep
def test_crashes_and_returns_do_not_make_the_cluster_slower(tmp_path: Path) -> None:
    async def story() -> None:
        async with town(3, tmp_path) as made:

            async def seen(state: str) -> None:
                async with asyncio.timeout(20):
                    while any([made.link(name, "c")["state"] != state for name in "ab"]):
                        await asyncio.sleep(0.02)

            for _ in range(6):
                await made.kill("c")
                await seen("away")
                await made.start("c")
                await seen("up")
            for name in "ab":
                assert made.link(name, "c")["patience"] == BRIEF

    asyncio.run(asyncio.wait_for(story(), 120))
