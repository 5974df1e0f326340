"""The two doors of a lock that follows views do the same: `ViewDoor`, which calls its node itself, and `LockDoor`,
whose node sits in a process shell. They get the same tasks, messages and views. What leaves on the links, what tasks
are given and what they lose must not differ."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import Any, cast

import pytest
from netlab import run

from congenial.algorithms.kmutex.home_k import Busy
from congenial.kernel.message import Message
from congenial.kernel.out import PlainOut
from congenial.kernel.state import state_of
from congenial.net.codec import Vocabulary
from congenial.net.config import ClusterConfig
from congenial.net.door import ALONE_WANT
from congenial.net.entrance import Era, Tally, Waiter, Want
from congenial.net.errors import ProtocolError
from congenial.net.frames import HEADER
from congenial.net.held import Held
from congenial.net.link import Link
from congenial.net.numbering import Numbering
from congenial.net.storage import Storage
from congenial.net.turn import Turn
from congenial.net.view_door import LockDoor, StepTools, ViewDoor
from congenial.net.view_lease import ViewLease
from congenial.net.wire import Data, LockData
from congenial.parts.views import View
from congenial.problems.epochs import InEpochs
from congenial.problems.group import GROUP
from congenial.systems.view_locks import HomeGMELock
from congenial.transform.lock_in_views import Inherited, InView

N = 3
ALL = tuple(range(N))
SETTINGS = (("leaders", "auto"), ("selection", "priority"))
WANTS = (Want(0, True, "rock"), Want(1, True, "bach"), ALONE_WANT)
SYSTEM = ClusterConfig(nodes={"a": "127.0.0.1:1"}).system()


class Below:
    """What a door needs of the membership, and of the locks that follow one agreement."""

    def __init__(self, me: int) -> None:
        self.me = me
        self.name = str(me)
        self.ended = ""
        self.serving = True
        self.turn = Turn(Storage())
        self.tally = Tally()
        self.vocabulary = Vocabulary(SYSTEM.algorithm, *SYSTEM.inner)
        self.links = [Link(cast(Any, self), self.turn, peer, str(peer), self.now, 1.0) for peer in ALL if peer != me]
        self.link_to = {link.peer: link for link in self.links}
        self.numbering = Numbering(N, 0)
        self.lease = ViewLease(me, 2.0, 0.0, 1.0, 1.0, self.now)
        self.lease.until = 1.0
        self.era = Era()
        self.fence_base = self.highest = 0
        self.membership = self.agreement = self.tries = self

    def now(self) -> float:
        return 0.0

    def remember_number(self, number: int) -> None:
        self.highest = number

    def check_crowd(self) -> None:
        """Links are never full here."""

    def renew(self) -> None:
        """Fences last for all that happens here."""

    def on_use(self, door: object) -> None:
        """Nothing is forgotten here."""

    def sent(self) -> list[tuple[int, Message]]:
        """What has left since the last time, as the receivers will read it."""
        found: list[tuple[int, Message]] = []
        for link in self.links:
            found += [(link.peer, self._read(frame)) for frame in link.unacknowledged]
            link.unacknowledged.clear()
        return found

    def _read(self, raw: bytes) -> Message:
        frame = self.vocabulary.table.decode_frame(raw[HEADER:])
        assert isinstance(frame, (Data, LockData))
        body = self.vocabulary.table.message(frame.body)
        if isinstance(frame, Data):
            return body
        return Inherited(frame.view, frame.fence, body) if frame.fence else InView(frame.view, body)


class Side:
    """One of the two doors of a member, and its tasks: each has a number, and waits or holds."""

    def __init__(self, me: int, bare: bool) -> None:
        self.below = Below(me)
        self.lock = HomeGMELock(me, N, SETTINGS)
        self.lock.begin(1, ALL, 1, True)
        self.lock.serving = self.lock.is_home()
        above = cast(Any, self.below)
        problem = InEpochs(GROUP)
        self.door: LockDoor
        if bare:
            tools = StepTools(PlainOut(), self.below.turn, self.below.link_to, self.below.vocabulary.table)
            self.door = ViewDoor(above, tools, "x", "x", self.lock, problem)
        else:
            self.door = LockDoor(above, "x", "x", self.lock, problem)
        self.waiting: dict[int, asyncio.Future[Held]] = {}
        self.holding: dict[int, Held] = {}
        self.lost: list[int] = []

    def arrive(self, task: int, want: Want) -> None:
        held = self.door.enter_now(want)
        if held is not None:
            self.holding[task] = held
            return
        self.waiting[task] = asyncio.get_running_loop().create_future()
        self.door.queue.add(Waiter(want, self.waiting[task], 0.0))
        self.door.pump()

    def give_up(self, task: int) -> None:
        self.waiting.pop(task).cancel()

    def leave(self, task: int) -> None:
        self.door.release(self.holding.pop(task))

    def run_out(self) -> None:
        """The lease is over, and a little later it goes on."""
        self.below.lease.until = -1.0
        self.door.lapse()
        self.door.pump()
        self.below.lease.until = 1.0
        self.door.pump()

    def hear(self, src: int, message: Message) -> str:
        """Why it was refused, or nothing."""
        try:
            self.door.receive(src, message)
        except ProtocolError as error:
            return str(error)
        return ""

    def outcome(self) -> tuple[object, ...]:
        """All that can be seen of a step."""
        for task, future in list(self.waiting.items()):
            if future.done():
                self.holding[task] = future.result()
                del self.waiting[task]
        self.lost += [task for task, held in self.holding.items() if not held.held]
        self.holding = {task: held for task, held in self.holding.items() if held.held}
        door, tally = self.door, self.below.tally
        return (
            sorted(self.below.sent(), key=lambda sending: sending[0]),
            {task: (held.fence, held.group) for task, held in self.holding.items()},
            sorted(self.waiting),
            self.lost,
            door.status(),
            door.error,
            door.idle,
            [door.could_enter_now(want) for want in WANTS],
            (tally.entries, tally.sessions, tally.losses, self.below.highest),
            state_of(self.lock),
        )


class Place:
    """A member, with both."""

    def __init__(self, me: int) -> None:
        self.me = me
        self.seated, self.bare = Side(me, False), Side(me, True)

    def happen(self, what: str, *arguments: Any) -> tuple[list[tuple[int, Message]], object]:
        results = [getattr(side, what)(*arguments) for side in (self.seated, self.bare)]
        return self.compare(f"{what} {arguments}", results)

    def turn(self, what: str, *arguments: Any) -> tuple[list[tuple[int, Message]], Any]:
        """The same for what the layer above calls."""
        results = [getattr(side.door, what)(*arguments) for side in (self.seated, self.bare)]
        return self.compare(what, results)

    def compare(self, what: str, results: list[Any]) -> tuple[list[tuple[int, Message]], Any]:
        seen = self.bare.outcome()
        assert self.seated.outcome() == seen, f"member {self.me}: {what}"
        assert results[0] == results[1]
        assert self.bare.door.error is None
        return cast(list[tuple[int, Message]], seen[0]), results[1]


class Story:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.places = [Place(me) for me in ALL]
        self.channels: dict[tuple[int, int], deque[Message]] = {}
        self.members: tuple[int, ...] = ALL
        self.since = [1] * N  # the view from which on each has been a member; -1: it is none
        self.tasks = 0

    def post(self, src: int, done: tuple[list[tuple[int, Message]], Any]) -> Any:
        for dst, message in done[0]:
            self.channels.setdefault((src, dst), deque()).append(message)
        return done[1]

    def step(self) -> None:
        rng = self.random
        full = [pair for pair in self.channels if self.channels[pair]]
        if full and rng.random() < 0.6:
            src, dst = rng.choice(full)
            message = self.channels[src, dst].popleft()
            assert not self.post(dst, self.places[dst].happen("hear", src, message))
            return
        me = rng.choice(self.members)
        place = self.places[me]
        kind = rng.random()
        if kind < 0.03:
            nonsense = InView(place.bare.lock.view, Busy(0))
            assert "cannot make sense of Busy" in self.post(me, place.happen("hear", (me + 1) % N, nonsense))
        elif kind < 0.06:
            self.post(me, place.happen("run_out"))
        elif place.bare.waiting and kind < 0.12:
            self.post(me, place.happen("give_up", rng.choice(list(place.bare.waiting))))
        elif place.bare.holding and kind < 0.6:
            self.post(me, place.happen("leave", rng.choice(list(place.bare.holding))))
        elif len(place.bare.waiting) < 4:
            self.tasks += 1
            self.post(me, place.happen("arrive", self.tasks, rng.choice(WANTS)))

    def move(self, number: int) -> None:
        """To a new view, with a member left out now and then, and another home."""
        self.channels.clear()  # what is under way belongs to the view before
        self.members = tuple(sorted(self.random.sample(ALL, self.random.choice([2, 3, 3]))))
        home = self.random.randrange(len(self.members))
        view = View(number, tuple([(member, 0, 0, 0, "") for member in self.members]), ())
        first = self.members[home]
        told: list[tuple[int, ...]] = []
        for me in ALL:
            member = me in self.members
            self.since[me] = -1 if not member else number if self.since[me] < 0 else self.since[me]
            holdings = self.post(me, self.places[me].turn("move", view, home, self.since[me]))
            told += [(me, *holding[1:]) for holding in holdings]
        for holding in told:
            self.post(first, self.places[first].turn("take_over", *holding))
        self.post(first, self.places[first].turn("serve"))
        for me in self.members:
            self.post(me, self.places[me].turn("pump"))


@pytest.mark.parametrize("seed", range(12))
def test_a_door_without_a_seat_does_what_one_with_a_seat_does(seed: int) -> None:
    async def told() -> None:
        story = Story(seed)
        for view in range(2, 60):
            for _ in range(story.random.randrange(60)):
                story.step()
            story.move(view)
        sides = [place.bare for place in story.places]
        assert sum([side.below.tally.entries for side in sides]) > 100
        assert sum([len(side.lost) for side in sides]) > 0

    run(told())
