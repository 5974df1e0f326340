"""Leases under random schedules: what the members of views tell each other, without a network and without agreement.

The views come from nowhere: whatever `congenial.parts.views` could decide on may be decided on, as soon as a majority
of the voters takes part. Processes learn of views late or never, crash, come back with their memory or without, leave,
and grant each other leases (`congenial.net.view_lease`). Each has a clock of its own, and these run at different
speeds, though never more than they may. Each schedule is a seed.

The judge knows until when programs may rely on the lease of each life of each process. While a process that is no
member any more, or was none in between, may be relied on, no view without it may be served.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import deque
from typing import Any

from congenial.net.view_lease import Grants, Life, Record, ViewLease
from congenial.parts.views import Member, View, Voter

PATIENCE, LONGEST = 3.0, 12.0
DRIFT = 0.2  # much, or a second that was taken for another one would hardly show
STEPS = 400
Channel = tuple[int, int, int, int]  # sender and its life, receiver and its life


class Process:
    """A process."""

    def __init__(self, world: World, me: int) -> None:
        self.world = world
        self.me = me
        self.speed = world.rng.choice([1 - DRIFT, world.rng.uniform(1 - DRIFT, 1.0), 1.0])  # of its clock
        self.birth = 0
        self.life = 0
        self.up = True
        self.leaving = False
        self.saved = world.views[0], Record()  # its disk
        self.begin(world.views[0])

    def begin(self, view: View) -> None:
        """A new life."""
        self.view = view
        self.grants = Grants(self.me, LONGEST, self.clock, DRIFT)
        self.lease = ViewLease(self.me, LONGEST, DRIFT, 1.0, PATIENCE, self.clock)
        self.voted = False
        self.told: set[int] = set()
        self.rest = 0.0
        self.serves_at = -1.0
        self.later: list[tuple[int, View, float, float]] = []

    def clock(self) -> float:
        return self.world.now * self.speed

    @property
    def since(self) -> int:
        return self.since_in(self.view)

    def since_in(self, view: View) -> int:
        member = view.member(self.me)
        return member[3] if member is not None and member[1:3] == (self.birth, self.life) else -1

    def is_voter(self) -> bool:
        return (self.me, self.birth) in self.view.voters

    def keep(self) -> None:
        self.save(self.grants.record(self.view, PATIENCE, None if self.leaving else self.lease))

    def save(self, record: Record) -> None:
        self.saved = self.view, record

    @property
    def record(self) -> Record:
        return self.saved[1]

    def follow(self, view: View) -> None:
        before, self.view = self.view, view
        self.voted = False
        granted = self.grants.on_view(before, view, self.since)
        promised = self.lease.begin(view, self.birth, self.since)
        self.keep()
        self.told = set()
        self.rest = 0.0
        self.serves_at = -1.0
        if self.since >= 0:
            for process in view.processes:
                self.world.send(self, process, ("told", view, max(granted, promised), self.lease.left()))
        later, self.later = self.later, []
        for told in later:
            self.on_told(*told)

    def on_told(self, peer: int, view: View, rest: float, lease: float) -> None:
        if view.number > self.view.number:
            self.later.append((peer, view, rest, lease))
        if view is not self.view or self.since < 0:
            return
        self.rest = max(self.rest, self.grants.seconds_here(rest))
        member = view.member(peer)
        assert member is not None
        self.grants.on_told(member[:3], lease)
        self.told.add(peer)
        if len(self.told) == len(view.members):
            self.grants.on_all_told(self.rest)
            self.serves_at = self.clock() + self.rest

    def on_beat(self, peer: int, sent: float) -> None:
        member = self.view.member(peer)
        granted = -1
        seconds = self.world.rng.choice([PATIENCE, PATIENCE, PATIENCE, 2 * PATIENCE, LONGEST])
        if member is not None and self.is_voter() and not self.voted:
            self.grants.grant(member[:3], seconds)
            self.save(self.record._replace(members=max(self.record.members, seconds)))
            granted = self.view.number
        self.world.send(self, peer, ("echo", sent, seconds, granted))

    def on_echo(self, peer: int, sent: float, seconds: float, granted: int) -> None:
        if granted >= 0 and not self.voted:
            if not self.leaving:
                self.save(self.record._replace(own=max(self.record.own, seconds)))
            self.lease.grant_in(granted, peer, sent, seconds)


class World:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 1000.0
        n = self.rng.choice([2, 3, 3, 3, 4, 5, 6])
        founders = self.rng.randint(1, min(n, 5))
        voters = tuple([(process, 0) for process in range(founders)])
        self.views = [View(0, tuple([(process, 0, 0, 0, "") for process in range(founders)]), voters)]
        self.channels: dict[Channel, deque[tuple[Any, ...]]] = {}
        self.relied: dict[tuple[Life, int], float] = {}  # until when, by life and first view without a gap
        self.story: list[str] = []
        self.fault = ""
        self.served = 0
        self.processes = [Process(self, me) for me in range(n)]
        for process in self.processes:
            process.follow(self.views[0])

    def note(self, text: str) -> None:
        self.story.append(f"{self.now - 1000.0:8.3f}  {text}")

    # -- the network -----------------------------------------------------------------------------------

    def send(self, sender: Process, dst: int, message: tuple[Any, ...]) -> None:
        key = (sender.me, sender.life, dst, self.processes[dst].life)
        self.channels.setdefault(key, deque()).append(message)

    def deliver(self) -> None:
        full = [key for key in self.channels if self.channels[key]]
        if full:
            self._deliver(self.rng.choice(full), self.rng.randint(1, 4))

    def settle(self) -> None:
        """Some hear each other, learn of the last view, and of what the others have sent."""
        some = {process.me for process in self.processes if self.rng.random() < 0.9}
        for process in self.up():
            if process.me in some and process.view is not self.views[-1]:
                process.follow(self.views[-1])
        for _ in range(3):
            self.beat()
            for key in list(self.channels):
                if key[0] in some and key[2] in some:
                    self._deliver(key, len(self.channels[key]))

    def _deliver(self, key: Channel, most: int) -> None:
        src, _, dst, life = key
        receiver = self.processes[dst]
        for _ in range(most):
            if not self.channels[key]:
                break
            message = self.channels[key].popleft()
            if not receiver.up or receiver.life != life:
                continue
            if message[0] == "told":
                receiver.on_told(src, *message[1:])
            elif message[0] == "beat":
                receiver.on_beat(src, *message[1:])
            elif self.processes[src].life == key[1]:
                receiver.on_echo(src, *message[1:])
            self.look()

    # -- what happens ----------------------------------------------------------------------------------

    def run(self) -> World:
        rng = self.rng
        actions = [self.deliver, self.beat, self.follow, self.decide, self.serve, self.crash, self.restart, self.leave]
        actions.append(self.settle)
        usual = [20.0, 4.0, 8.0, 2.0, 4.0, 1.0, 2.0, 0.2, 1.0]
        weights = [weight * rng.choice([0.3, 1.0, 3.0]) for weight in usual]  # no two schedules are alike
        pace = rng.choice([0.0, 0.01, 0.05])
        for _ in range(STEPS):
            self.now += rng.choice([0.0, pace])
            if rng.random() < 0.02:
                self.now += rng.choice([0.3, 1.0, PATIENCE, LONGEST])
            if rng.random() < 0.05:
                self.serve_in_time()
            rng.choices(actions, weights)[0]()
            self.look()
            if self.fault:
                break
        return self

    def up(self) -> list[Process]:
        return [process for process in self.processes if process.up]

    def beat(self) -> None:
        for sender in self.up():
            for dst in range(len(self.processes)):
                if dst != sender.me and self.rng.random() < 0.7:
                    self.send(sender, dst, ("beat", sender.clock()))

    def follow(self) -> None:
        """A process learns of the next view, or of a later one."""
        late = [process for process in self.up() if process.view is not self.views[-1]]
        if late:
            process = self.rng.choice(late)
            number = process.view.number + 1
            if self.rng.random() < 0.3:
                number = self.rng.randint(number, len(self.views) - 1)
            process.follow(self.views[number])
            self.note(f"{process.me} follows view {number}, rest {process.grants.outside - process.clock():.2f}")

    def decide(self) -> None:
        rng, last = self.rng, self.views[-1]
        willing = [process for process in self.up() if process.view is last and process.is_voter()]
        if 2 * len(willing) <= len(last.voters):
            return
        rng.shuffle(willing)
        number = last.number + 1
        members: list[Member] = []
        for process in self.processes:
            there = last.member(process.me)
            now = (process.me, process.birth, process.life)
            if there is not None and there[:3] == now:
                if not process.leaving and rng.random() < 0.8:
                    members.append(there)
            elif process.up and not process.leaving and process.view.number >= last.number - 1 and rng.random() < 0.7:
                members.append((*now, number, ""))
        births = {member[:2] for member in members}
        stay = [voter for voter in last.voters if voter in births]
        if 2 * len(stay) <= len(last.voters):
            return
        left = tuple([process.me for process in self.processes if process.leaving and process.since_in(last) >= 0])
        for process in willing[: len(last.voters) // 2 + 1 + rng.randint(0, 1)]:
            process.voted = True
        view = View(number, tuple(members), self._voters(last, births), left)
        self.views.append(view)
        self.note(f"view {number}: {[member[:4] for member in members]}, voters {view.voters}, left {left}")
        if len(last.voters) == 1:
            willing[0].follow(view)  # it knows at once what it has decided alone

    def _voters(self, last: View, there: set[Voter]) -> tuple[Voter, ...]:
        """The same as before, or others. Those that are away are not the majority."""
        away = [voter for voter in last.voters if voter not in there]
        if 2 * len(away) < len(last.voters) and self.rng.random() < 0.6:
            return last.voters
        present = self.rng.sample(sorted(there), self.rng.randint(1, len(there)))
        absent = self.rng.sample(away, self.rng.randint(0, min(len(away), len(present) - 1)))
        return (*present, *absent)

    def crash(self) -> None:
        process = self.rng.choice(self.processes)
        if process.up:
            process.up = False
            self.note(f"{process.me} crashes")

    def restart(self) -> None:
        """A process comes back, sometimes without its memory."""
        down = [process for process in self.processes if not process.up]
        if not down:
            return
        process = self.rng.choice(down)
        process.up = True
        process.leaving = False
        view, record = process.saved
        forgets = self.rng.random() < 0.15
        if forgets:
            process.birth, process.life = self.rng.randrange(1, 1 << 40), process.life + 1
            view = self.views[0]
        else:
            process.life += 1
        process.begin(view)
        if not forgets:
            process.grants.recover(view, record)
        process.follow(view)
        self.note(f"{process.me} is restarted in view {view.number}{' and has forgotten' if forgets else ''}")

    def leave(self) -> None:
        """A member holds nothing any more, and stops when a view says that it has left."""
        process = self.rng.choice(self.processes)
        if process.up and process.since >= 0 and len(process.view.members) > 1:
            process.leaving = True
            process.keep()
            self.relied.pop(((process.me, process.birth, process.life), process.since), None)
            self.note(f"{process.me} leaves")

    def serve(self) -> None:
        for process in self.up():
            if 0.0 <= process.serves_at <= process.clock() and process.since >= 0:
                process.serves_at = -1.0
                process.keep()
                self.served += 1
                self._judge(process)

    def serve_in_time(self) -> None:
        """Time goes on until the next process serves."""
        waits = [(process.serves_at - process.clock()) / process.speed for process in self.up()]
        waits = [wait for wait in waits if wait > 0.0]
        if waits:
            self.now += min(waits) + 1e-9
            self.look()
            self.serve()

    # -- the judge -------------------------------------------------------------------------------------

    def look(self) -> None:
        """Programs rely on what their members' leases say now."""
        for process in self.up():
            if process.leaving and process.since < 0:
                process.up = False
            if process.since >= 0 and not process.leaving and not process.lease.has_run_out():
                key = ((process.me, process.birth, process.life), process.since)
                self.relied[key] = max(self.relied.get(key, 0.0), self.now + process.lease.left() / process.speed)

    def _judge(self, server: Process) -> None:
        view = server.view
        there = {(member[:3], member[3]) for member in view.members}
        for (life, since), until in self.relied.items():
            if until > self.now + 1e-6 and since <= view.number and (life, since) not in there:
                self.fault = (
                    f"{server.me} serves view {view.number}, but {life}, a member since view {since}, may be relied on "
                    f"for {until - self.now:.3f} s"
                )
                self.note(self.fault)
                return


def run(seed: int) -> World:
    return World(seed).run()


def main() -> None:
    parser = argparse.ArgumentParser(description="Leases under random schedules.")
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1, help="of the first one")
    parser.add_argument("--story", action="store_true", help="tell what happened")
    options = parser.parse_args()
    wrong = views = served = 0
    for seed in range(options.seed, options.seed + options.schedules):
        world = run(seed)
        views += len(world.views)
        served += world.served
        if world.fault:
            wrong += 1
            print(f"seed {seed}: {world.fault}")
        if options.story:
            print("\n".join(world.story))
    print(f"{options.schedules} schedules, {views} views, {served} times served, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
