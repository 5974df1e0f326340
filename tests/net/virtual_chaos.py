"""Chaos in virtual time (`virtual.py`): real members, whose machines crash, pause and come back, with their memory or
without, whose cables are cut in part, in one direction or for good, and whose clocks run differently. Others enter by
seeds and leave. Members, also founders, are replaced by others for good, and come back by seeds, perhaps at another
address. Votes are given and taken away. A judge that sees everything watches groups, capacities, fences and leases.
With --disputes programs sometimes name another k for a semaphore. In the end, when all is well again, every member must
get every lock soon, and give and take votes.

    python tests/net/virtual_chaos.py --runs 1000 --seed 1

A run is a minute of virtual time, and takes a second or two. Equal seeds give equal runs.

Limits of the package are rarely reached by so few locks. They can be squeezed, by module of `congenial.net` and name:

    python tests/net/virtual_chaos.py --squeeze viewed.MOVED_AT_A_TIME=1 link.MOST_UNACKNOWLEDGED=3
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from virtual import Machine
from virtual_cluster import DRIFT, PATIENCE, VirtualCluster, live

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.net import logs
from congenial.net.errors import ClusterDegraded, LockLost
from congenial.net.locks import Cluster
from congenial.net.members import Member
from congenial.net.names import process_number
from congenial.parts.views import Views
from congenial.problems.weak import Counter as CounterObject
from congenial.testing.scene import OUTDATED, Scene

SECONDS = 60.0  # of faults
LOCKS = 2  # of each kind
K = 2
LONGEST_FAULT = 6 * PATIENCE
CALM = 12 * PATIENCE  # after the last fault; then all must be well
LONGEST_WAIT = 8 * PATIENCE  # for a lock, when all is well
BUGS = ("lock.failed", "message.dropped", "callback.failed")  # events that no fault explains
FORGOTTEN = 35.0  # seconds after its last use a semaphore is forgotten, and another k counts


class World(VirtualCluster):
    def __init__(self, seed: int, folder: Path, objects: int = 0, disputes: bool = False) -> None:
        self.disputes = disputes  # do programs sometimes name another k?
        self.holders: dict[str, dict[str, tuple[int, Any, Machine]]] = {}  # of semaphores
        self.rng = random.Random(seed)
        self.objects = objects  # guarded ones, which all programs name
        super().__init__(self.rng.choice([2, 3, 3, 4, 5]), seed, folder)
        self.scenes: dict[str, Scene] = {}
        self.done: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.violations: list[str] = []
        self.hit: set[str] = set()
        self.forgetful = ""  # the member that has lost its memory and has no vote yet
        self.promoted: set[str] = (
            set()
        )  # those that are about to become voters, and must not be lost for good meanwhile
        self.lasting = list(self.places)  # those that are to be there in the end: founders, or others in their places
        self.by_seeds: set[str] = set()  # those of them that do not start as founders
        self.births: dict[str, int] = {}  # of their memories
        self.parts: dict[str, Views] = {}  # of all, in their last lives
        self.addresses = 0  # of those that have come to stay
        self.former: dict[str, str] = {}  # addresses of those that have gone
        self.calm = False
        self.departing = 0  # processes that leave, or lose their votes: nobody else is lost meanwhile
        self.leaving = 0  # processes that must not take their votes with them: no faults meanwhile

    def object_to(self, text: str) -> None:
        self.note(f"VIOLATION {text}")
        self.violations.append(f"at {self.loop.now:.4f}: {text}")

    # -- members ---------------------------------------------------------------------------------------

    def rate(self) -> float:
        return 1 + self.rng.uniform(-DRIFT, DRIFT) / 2

    def on_start(self, name: str, machine: Machine) -> None:
        cluster = self.clusters[name]
        for number in range(self.objects):
            cluster.guarded(f"object {number}", CounterObject())
        for number in range(2):
            asyncio.create_task(self._use(cluster, machine, f"{name}{number}"))  # noqa: RUF006 (a machine keeps it)

    def crash(self, name: str) -> None:
        super().crash(name)
        for scene in self.scenes.values():  # it holds nothing any more
            for who in [who for who in scene.inside if who.startswith(f"{name}/")]:
                scene.leave(who)
        for holders in self.holders.values():
            for who in [who for who in holders if who.startswith(f"{name}/")]:
                del holders[who]

    async def _use(self, cluster: Cluster, machine: Machine, who: str) -> None:
        """What a program does."""
        rng = random.Random(f"{who} {self.rng.random()}")
        attempt = 0
        while not self.calm:
            attempt += 1
            try:
                await self._attempt(cluster, machine, f"{cluster.name}/{who}.{attempt}", rng)
                result = "entered"
            except CongenialError as error:
                result = type(error).__name__
            self.done[result] += 1
            await asyncio.sleep(rng.uniform(0, 0.2))

    async def _attempt(self, cluster: Cluster, machine: Machine, who: str, rng: random.Random) -> None:
        kind = rng.choice(["mutex", "mutex", "group", "book", "semaphore"])
        name = f"{kind} {rng.randrange(LOCKS)}"
        timeout = rng.choice([None, 1.0, 8 * PATIENCE])
        group, limit = None, 0
        if kind == "mutex":
            lock = cluster.mutex(name, timeout=timeout)
        elif kind == "group":
            group = rng.choice(["red", "green"])
            lock = cluster.group(name, group, timeout=timeout)
        elif kind == "book" and rng.random() < 0.7:
            group = "readers"
            lock = cluster.shared(name, timeout=timeout)
        elif kind == "book":
            lock = cluster.exclusive(name, timeout=timeout)
        else:
            limit = K - 1 if self.disputes and rng.random() < 0.1 else K
            lock = cluster.semaphore(name, limit, timeout=timeout)
        scene = self.scenes.setdefault(name, Scene())
        async with lock as held:
            left = held.valid_for()
            now = self.loop.now
            wrong = scene.enter(who, group, held.fence, limit, now + left / machine.rate, now)
            self._judge(name, wrong)
            holders = self.holders.setdefault(name, {})
            for other, (k, theirs, place) in holders.items():
                if k != limit and self.network.context_of(place).run(theirs.valid_for) > 0:
                    self.object_to(f"{name}: {who} is one of {limit}, while {other} is one of {k}")
            holders[who] = (limit, held, machine)
            try:
                stay = rng.uniform(0, 0.05) if rng.random() < 0.95 else rng.uniform(0, 4 * PATIENCE)
                await asyncio.sleep(stay)
                if not limit and group is None:
                    self._write(scene, name, who, held, machine)
            finally:
                scene.leave(who)
                holders.pop(who, None)

    def _write(self, scene: Scene, name: str, who: str, held: Any, machine: Machine) -> None:
        """As a holder should that cannot have its fence looked at: it looks at its lease."""
        left = held.valid_for()
        if left <= 0:
            raise LockLost("the lease is over")
        now = self.loop.now
        self._judge(name, scene.use(who, held.fence, scene.value + 1, now + left / machine.rate, now))

    def _judge(self, name: str, wrong: str) -> None:
        if wrong == OUTDATED:
            self.done["outdated"] += 1
        elif wrong:
            self.object_to(f"{name}: {wrong}")

    # -- faults ----------------------------------------------------------------------------------------

    async def run(self) -> None:
        for name in self.lasting:
            self.start(name)
        await asyncio.sleep(2 * PATIENCE)
        others = [asyncio.create_task(self._guests(number)) for number in range(self.rng.randrange(3))]
        others += [asyncio.create_task(self._replacements()), asyncio.create_task(self._roles())]
        under_way: set[asyncio.Task[None]] = set()
        while self.loop.now < SECONDS:
            await asyncio.sleep(self.rng.expovariate(1 / (2 * PATIENCE)))
            most = len(self.lasting)
            if self.rng.random() > 0.1:
                most = (most + 1) // 2  # else perhaps no majority is left
            well = self._well()
            if well and len(self.hit) < most and not self.leaving:
                task = asyncio.create_task(self._hit(self.rng.choice(well)))
                under_way.add(task)
                task.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way, *others)
        await asyncio.sleep(CALM)
        self.calm = True
        await asyncio.sleep(FORGOTTEN if self.disputes else 4 * PATIENCE)
        well = [self.network.run(self.machines[name], self._all_is_well(name)) for name in self.lasting]
        await asyncio.gather(*well)
        await self._votes_are_well()
        for error in self.loop.errors:
            self.object_to(f"an error that nobody has caught: {error}")

    def _well(self) -> list[str]:
        return [name for name in self.lasting if name not in self.hit]

    async def _hit(self, name: str) -> None:
        fault = self.rng.choice(["crash", "crash", "pause", "cut", "part", "mute", "deafen", "slow"])
        seconds = self.rng.uniform(0, LONGEST_FAULT)
        self.hit.add(name)
        self.faults[fault] += 1
        self.note(f"{fault} {name} for {seconds:.2f} s")
        others = [other for other in self.places if other != name]
        if fault == "crash":
            await self._crash_for(name, seconds)
        elif fault == "pause":
            self.network.pause(self.machines[name])
            await asyncio.sleep(seconds)
            self.network.go_on(self.machines[name])
        elif fault == "slow":
            self.network.delays[self.places[name]] = self.rng.choice([0.05, 0.2, 0.6])
            await asyncio.sleep(seconds)
            self.network.delays.pop(self.places[name])
        else:
            if fault == "part":
                others = [self.rng.choice(others)]
            await self.cut_cables(name, others, fault != "deafen", fault != "mute", seconds)
        self.note(f"{name} is well")
        self.hit.discard(name)

    async def _crash_for(self, name: str, seconds: float) -> None:
        forgets = not self.forgetful and self.rng.random() < 0.3 and name not in self.promoted and self._suffice(name)
        self.crash(name)
        if forgets:
            self.forgetful = name
            self.note(f"{name} has forgotten everything")
            self._forget(name)
        await asyncio.sleep(seconds)
        if forgets and not self._can_be_found(name):
            self.by_seeds.add(name)
        self._start_again(name)
        if forgets:  # until it is a member again, nobody else had better forget
            await self._until(lambda: self._takes_part(name), f"{name} is not let in again")
            self.forgetful = ""

    def _can_be_found(self, name: str) -> bool:
        """True if a founder without memory can meet others: one that knows where it is, or where it knows it to be."""
        process, nodes = process_number(name, self.config.members), self.config.nodes
        links = [cluster._host.membership.link_to.get(process) for cluster in self.clusters.values()]
        known = any([link is not None and link.places for link in links])
        return known or any([nodes.get(other) == self.places[other] for other in self.clusters])

    async def _until(self, condition: Callable[[], bool], complaint: str) -> None:
        """Wait for something that must have happened when all faults are over for a while."""
        while not condition():
            if self.loop.now > SECONDS + LONGEST_FAULT + CALM:
                self.object_to(complaint)
                return
            await asyncio.sleep(0.1)

    def _forget(self, name: str) -> None:
        self.births.pop(name, None)
        self.parts.pop(name, None)
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def _start_again(self, name: str) -> asyncio.Task[None]:
        seeds = tuple([self.places[other] for other in self.lasting if other != name])
        return self.start(name, seeds if name in self.by_seeds else ())

    async def _guests(self, number: int) -> None:
        """One process after the other enters the cluster, and leaves it or crashes."""
        visit = 0
        while self.loop.now < SECONDS - 4 * LONGEST_FAULT:
            visit += 1
            name = f"guest{number}-{visit}"
            self.places[name] = f"127.0.{number + 1}.{visit}:7101"
            self.faults["guest"] += 1
            self.note(f"{name} comes")
            self.start(name, tuple([self.places[other] for other in self.lasting]))
            await asyncio.sleep(self.rng.uniform(1, 10) * PATIENCE)
            await self._go(name, self.rng.random() < 0.5)

    async def _go(self, name: str, leaves: bool) -> None:
        """A process leaves, or crashes and does not come back. If it has a vote that is needed it leaves, while no
        other one is hit."""
        while name in self.promoted or ((self.hit or self.departing) and not self._suffice()):
            await asyncio.sleep(0.1)
        cluster = self.clusters.get(name)
        if cluster is not None and (leaves or not self._suffice()):
            self.note(f"{name} leaves")
            needed = not self._suffice()
            self.leaving += needed
            self.departing += 1
            await self.network.run(self.machines[name], self._leave(name, cluster))
            self.departing -= 1
            self.leaving -= needed
        voters = [member.name for member in self._members() if member.voter]
        self.note(f"{name} is gone; the voters are {' '.join(voters)}")
        self.crash(name)
        del self.places[name]

    def _suffice(self, without: str = "") -> bool:
        """Whether those that come back, with their memory, are a majority of the voters, even without one of them: what
        crashes for good, or forgets, must not take away what nobody can give back. Of the voters in the last view, and
        in each that some would have next."""
        for name, cluster in self.clusters.items():
            if cluster._host.membership.opened.is_set():
                self.parts[name] = cluster._host.locks.agreement.node.views
                self.births[name] = self.parts[name].birth
        if not self.parts:
            return False
        founders = self.config.members
        view = max([views.view for views in self.parts.values()], key=lambda view: view.number)
        following = view.number + 1
        every: list[Any] = [view.voters]
        for views in self.parts.values():
            consensus = views.consensus
            values = [consensus.proposals.get(following), consensus.accepted.get(following, (0, None))[1]]
            every += [value[1] for value in values if value is not None]  # type: ignore[index]
        born = {name: (process_number(name, founders), birth) for name, birth in self.births.items()}
        known = [born[name] for name in {*self.lasting, *self.clusters} if name in born]
        if self.departing or not {member[:2] for member in view.members} <= set(known):
            return False  # one is lost after the other
        lasting = [born[name] for name in self.lasting if name != without and name in born]
        return all([2 * len([voter for voter in lasting if voter in voters]) > len(voters) for voters in every])

    async def _leave(self, name: str, cluster: Cluster) -> None:
        for task in self.machines[name].tasks:
            if task.get_coro().__name__ == "_use":  # type: ignore[union-attr]
                task.cancel()
        await asyncio.sleep(0.01)
        await cluster.leave()

    # -- replacement and roles -------------------------------------------------------------------------

    async def _replacements(self) -> None:
        """Members are replaced, one after the other. Their names come back, and others are replaced by them."""
        absent: list[str] = []
        heirs = 0
        while self.loop.now < SECONDS - 4 * LONGEST_FAULT:
            await asyncio.sleep(self.rng.uniform(0, 8) * PATIENCE)
            heirs += 1
            name = f"heir{heirs}"
            if absent and self.rng.random() < 0.6:
                name = absent.pop(self.rng.randrange(len(absent)))
            await self._come(name)
            if self.rng.random() < 0.5:
                await self._assign(name, "voter")
            await self._until(self._all_take_part, "some are not let in")
            if len(self.lasting) > len(self.config.members):
                old = self.rng.choice(self._well())
                await self._remove(old)
                absent.append(old)

    async def _come(self, name: str) -> None:
        """A process that is to last enters, at an address of its own or at one that it has had before."""
        self.faults["came"] += 1
        remembers = (self.folder / name).exists()
        nodes = self.config.nodes
        if name not in self.by_seeds:  # perhaps it can come back as the founder that it was
            found = [other for other in self._well() if other in nodes and self.places[other] == nodes[other]]
            if not remembers or not found:
                self._forget(name)  # the directory of a founder is for a founder
                remembers = False
                self.by_seeds.add(name)
        place = self.former.get(name, "")
        if not place or (name in self.by_seeds and self.rng.random() < 0.5):
            self.addresses += 1
            place = f"127.0.9.{self.addresses}:7101"
        self.places[name] = place
        how = "by seeds" if name in self.by_seeds else "as a founder"
        self.note(f"{name} comes to stay, {how}, at {place}, {'with' if remembers else 'without'} its memory")
        await self._start_again(name)
        await self._until(lambda: self._takes_part(name), f"{name} is not let in")
        self.lasting.append(name)

    def _all_take_part(self) -> bool:
        """One that does not, and is not restarted, may know and hear only those that are about to be replaced."""
        there = [name for name in self.lasting if name in self.clusters]
        return len(self._well()) > 0 and all([self._takes_part(name) for name in there])

    def _takes_part(self, name: str) -> bool:
        cluster = self.clusters.get(name)
        return cluster is not None and cluster._host.membership.opened.is_set() and cluster._host.membership.is_member()

    async def _remove(self, name: str) -> None:
        """A process goes for good, and the others are told that it is not expected back."""
        leaves = self.rng.random() < 0.5
        self.faults["left" if leaves else "removed"] += 1
        self.lasting.remove(name)
        self.former[name] = self.places[name]
        await self._go(name, leaves)
        if self.rng.random() < 0.5:
            self._forget(name)
        while self._counts_on(name):
            if self.loop.now > SECONDS + LONGEST_FAULT + CALM:
                self.object_to(f"{name} cannot be removed")
                return
            await self._assign(name, "gone")
            await asyncio.sleep(0.1)

    def _last(self) -> Cluster | None:
        """One of those that know the last view."""
        numbers = {name: cluster._host.locks.agreements() for name, cluster in self.clusters.items()}
        return self.clusters[max(numbers, key=lambda name: (numbers[name], name))] if numbers else None

    def _members(self) -> list[Member]:
        cluster = self._last()
        return cluster.members() if cluster is not None else []

    def _counts_on(self, name: str) -> bool:
        """Is it a member, or a voter? That is known by number: where it is away, its name may not be known."""
        cluster = self._last()
        unnamed = name.startswith("process ")
        process = int(name.removeprefix("process ")) if unnamed else process_number(name, self.config.members)
        return cluster is not None and process in cluster._host.locks.agreement.everyone()

    async def _assign(self, name: str, role: str) -> None:
        """Some member gives a role to another one, if it can."""
        askers = [asker for asker in self._well() if self._takes_part(asker)]
        if role == "voter" and name in (self.forgetful, *self.promoted):
            return  # the vote of a process that has forgotten would be lost with its memory
        if askers:
            asker = self.rng.choice(askers)
            promoted = {name} if role == "voter" else set()
            self.promoted |= promoted
            machine = self.machines[asker]
            asking = self.network.run(machine, self._try_to_assign(self.clusters[asker], name, role))
            while not asking.done() and not machine.crashed:
                await asyncio.sleep(0.05)
            self.promoted -= promoted
            self.note(f"{asker} makes {name} {role}: {asking.result() if asking.done() else 'crashed'}")

    async def _try_to_assign(self, cluster: Cluster, name: str, role: str) -> str:
        try:
            await cluster.assign(name, role)
        except (ConfigError, ClusterDegraded) as error:
            return str(error)
        self.faults[f"made {role}"] += 1
        return "done"

    async def _roles(self) -> None:
        """Votes are given and taken away, and those are said to be gone that have crashed; sometimes they are not."""
        while self.loop.now < SECONDS:
            await asyncio.sleep(self.rng.expovariate(1 / (6 * PATIENCE)))
            role = self.rng.choice(["voter", "member", "gone"])
            if role == "voter":
                await self._assign(self.rng.choice(self.lasting), role)
            elif role == "member":
                name = self.rng.choice(self.lasting)
                if self._suffice(name):
                    self.departing += 1
                    await self._assign(name, role)
                    self.departing -= 1
            else:
                away = [member.name for member in self._members() if member.name not in self.clusters]
                comes_back = [name for name in away if name in self.lasting]
                if away and (not comes_back or (len(away) == 1 and self._suffice(away[0]))):
                    await self._assign(self.rng.choice(away), role)

    # -- afterwards ------------------------------------------------------------------------------------

    async def _all_is_well(self, name: str) -> None:
        cluster = self.clusters.get(name)
        if cluster is None:
            self.object_to(f"{name} has not started again")
            return
        for number in range(LOCKS):
            locks = [
                cluster.mutex(f"mutex {number}", timeout=LONGEST_WAIT),
                cluster.group(f"group {number}", "red", timeout=LONGEST_WAIT),
                cluster.exclusive(f"book {number}", timeout=LONGEST_WAIT),
                cluster.semaphore(f"semaphore {number}", K, timeout=LONGEST_WAIT),
            ]
            for lock in locks:
                try:
                    async with lock:
                        pass
                except CongenialError as error:
                    self.object_to(f"all is well, but {name} does not get {lock.name}: {error}")

    async def _votes_are_well(self) -> None:
        """All that are there know each other as members; votes of others can be ended, and given and taken away."""
        there = sorted(self.lasting)
        for name in there:
            cluster = self.clusters.get(name)
            present = [member.name for member in cluster.members() if member.present] if cluster is not None else []
            if present != there:
                self.object_to(f"all is well, but {name} sees {present} instead of {there}")
        if self.violations:
            return
        members = self.clusters[there[0]].members()
        wishes = [(member.name, "gone") for member in members if not member.present]
        others = [member.name for member in members if member.present and not member.voter]
        if others:
            name = self.rng.choice(others)
            wishes += [(name, "voter"), (name, "member")]
        for name, role in wishes:
            if role == "gone" and not self._counts_on(name):
                continue  # it has lost its vote with another one: their number is odd
            asker = self.rng.choice(there)
            result = await self.network.run(self.machines[asker], self._try_to_assign(self.clusters[asker], name, role))
            if result != "done":
                self.object_to(f"all is well, but {asker} cannot make {name} {role}: {result}")
        voters = [member.name for member in self._members() if member.voter]
        if not set(voters) <= set(there) or len(voters) % 2 == 0:
            self.object_to(f"all is well, but the voters are {voters}, of {there}")


@contextlib.contextmanager
def squeezed(limits: Mapping[str, float]) -> Iterator[None]:
    """Let constants of the package have other values for a while: `viewed.MOVED_AT_A_TIME` is one."""
    before = {name: _limit(name, value) for name, value in limits.items()}
    try:
        yield
    finally:
        for name, value in before.items():
            _limit(name, value)


def _limit(name: str, value: float) -> float:
    """Give a constant a value. Returns the one that it had."""
    module, _, constant = name.partition(".")
    holder: Any = import_module(f"congenial.net.{module}")
    before: float = getattr(holder, constant)
    setattr(holder, constant, value)
    return before


class Watch(logging.Handler):
    """Reads what the members log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.world: World | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.world is not None and getattr(record, "event", "") in BUGS:
            self.world.object_to(record.getMessage())

    def watched(self, world: World) -> World:
        self.world = world
        return world


def run(seed: int, limits: Mapping[str, float] | None = None, objects: int = 0, disputes: bool = False) -> World:
    watch = Watch()
    logs.logger.addHandler(watch)
    try:
        with squeezed(limits or {}):
            return live(lambda folder: watch.watched(World(seed, folder, objects, disputes)))
    finally:
        logs.logger.removeHandler(watch)


def number(text: str) -> float:
    return int(text) if text.isdecimal() else float(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Chaos in virtual time.")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--disputes", action="store_true", help="programs disagree on how many a semaphore lets in")
    parser.add_argument("--story", action="store_true", help="tell what happened")
    parser.add_argument("--squeeze", nargs="+", default=[], metavar="MODULE.NAME=VALUE", help="limits of congenial.net")
    parser.add_argument("--objects", type=int, default=0, help="guarded objects that all programs name")
    options = parser.parse_args()
    limits = {name: number(value) for name, _, value in [each.partition("=") for each in options.squeeze]}
    logging.getLogger("congenial").addHandler(logging.NullHandler())
    done: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    wrong = 0
    for seed in range(options.seed, options.seed + options.runs):
        world = run(seed, limits, options.objects, options.disputes)
        done += world.done
        faults += world.faults
        if options.story:
            print("\n".join(world.story))
        if world.violations:
            wrong += 1
            print(f"seed {seed}: {'; '.join(world.violations[:3])}", flush=True)
    listed = ", ".join([f"{count} {what}" for what, count in sorted(faults.items())])
    print(f"{options.runs} runs, {sum(faults.values())} faults ({listed}); {dict(done)}; {wrong} runs with violations")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
