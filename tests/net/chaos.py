"""Chaos: five nodes as processes, which are killed, stopped, blocked, cut off in part or on the whole, muted, slowed
down, given slow disks and full ones, and robbed of their memory, by a seeded schedule. Meanwhile programs use their
locks, and a guarded object; a witness outside judges groups, capacities, fences and leases. Guests enter the cluster by
seeds, use its locks, and leave or are killed. Nodes are replaced by others for good, and later come back at another
address. No request may wait for too long.

    python tests/net/chaos.py --seconds 300 --seed 7 [--algorithm home-gme+epochs]

runs it for as long as asked; the test suite runs it for half a minute. Needs root, for cables and disks; without it
nodes are only killed, stopped and blocked.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from journals import Journals
from machines import NODES, PATIENCE, Machines
from netlab import WITNESS, answers, witness_process

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.net.client import Client
from congenial.net.config import DEFAULT_ALGORITHM
from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout, NotHeld
from congenial.net.held import Losable
from congenial.net.lease import clock
from congenial.systems.catalogue import find_algorithm
from congenial.testing.witness import Outdated, Reporter

LOCKS = 3  # mutexes, and as many locks with groups
K = 2  # of the semaphore
MANY = 10_000  # locks of which programs hold a hundred at a time
AT_A_TIME = 100
GUESTS = 2  # at a time
LONGEST_FAULT = 6 * PATIENCE  # longer than the most patient node waits
SLACK = 8 * PATIENCE  # in which the last effects of a fault are over
BACK_WITHIN = 8 * PATIENCE  # twice the longest time to notice: no one waits longer for what one lost node held
LONGEST_WAIT = 60 * PATIENCE  # of any request, however many faults there are meanwhile
NODE = Path(__file__).with_name("troubled_node.py")

Use = Callable[[Client, Reporter, int], Awaitable[None]]  # the number of the attempt


@dataclass
class Takeover:
    """Somebody got what a node held that was hit."""

    what: str
    began: float
    took: float


@dataclass
class Tally:
    faults: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)  # what became of the programs' attempts
    writes: Counter[str] = field(default_factory=Counter)  # that the witness has accepted, by lock
    takeovers: list[Takeover] = field(default_factory=list)
    entered: dict[str, float] = field(default_factory=dict)  # when each holder came in
    troubles: list[tuple[str, float, float]] = field(default_factory=list)  # which node was hit, from when until when
    violations: list[str] = field(default_factory=list)  # of what must hold on any machine, however slow
    delays: list[str] = field(default_factory=list)  # what should not happen on one that is not overloaded
    superseded: int = 0
    refused: int = 0
    lost: dict[str, float] = field(default_factory=dict)  # when each holder that lost its lock could know it
    stays: dict[str, str] = field(default_factory=dict)  # when each holder came in and left, and why it lost its lock
    overtaken: int = 0  # of these, how many had yet to leave when the next one came, or had yet to say they were there
    longest_wait: float = 0.0
    waited_for: str = ""  # then
    operations: int = 0  # on the guarded object
    lost_operations: int = 0

    def was_hit(self, who: str) -> bool:
        """Had this holder's node been in trouble shortly before or after the holder came in?"""
        came = self.entered[who]
        return any([who[0] in hit and begin - SLACK < came < end + SLACK for hit, begin, end in self.troubles])

    def were_apart(self, one: str, other: str, expired: set[str]) -> bool:
        """Did one of these holders lose the lock before the other one came in? What they say may arrive later. Of those
        inside nodes it is only known whose lease ran out."""
        known = one in self.entered and other in self.entered
        lost = known and (
            self.lost.get(one, math.inf) <= self.entered[other] or self.lost.get(other, math.inf) <= self.entered[one]
        )
        return lost or one in expired or other in expired

    def troubles_during(self, begin: float, end: float) -> str:
        """Which nodes were hit in that time, and when, in seconds after its begin."""
        hit = [trouble for trouble in self.troubles if trouble[1] < end and trouble[2] > begin]
        return ", ".join([f"{who} {since - begin:.1f} to {until - begin:.1f} s" for who, since, until in hit]) or "none"

    def __str__(self) -> str:
        waits = sorted([takeover.took for takeover in self.takeovers])
        shown = f"{waits[len(waits) // 2]:.2f} s (median), {waits[-1]:.2f} s (longest)" if waits else "none measured"
        return (
            f"{sum(self.faults.values())} faults ({_listed(self.faults)}); {_listed(self.done)}; "
            f"{sum(self.writes.values())} writes; {self.superseded} superseded, {self.refused} refused, "
            f"{self.overtaken} overtaken; "
            f"{self.operations} operations on the object, {self.lost_operations} lost; "
            f"the longest wait {self.longest_wait:.1f} s ({self.waited_for}); "
            f"taken over after {shown}, with a patience of {PATIENCE} to {4 * PATIENCE} s; "
            f"{len(self.violations)} violations, {len(self.delays)} delays"
        )


def _listed(counts: Counter[str]) -> str:
    return ", ".join([f"{count} {what}" for what, count in sorted(counts.items())])


def now() -> str:
    """As the logs of the nodes have it, and a little more exact."""
    return f"{time.strftime('%H:%M:%S')}.{int(time.time() % 1 * 1000):03}"


class Chaos:
    def __init__(self, machines: Machines, witness: Path, seconds: float, seed: int) -> None:
        self.machines = machines
        self.witness = witness
        self.seconds = seconds
        self.rng = random.Random(seed)
        self.tally = Tally()
        self.hit: set[str] = set()  # nodes in trouble
        self.forgetful = 0  # how many have just lost their memory
        self.reminding: asyncio.Task[None] | None = None
        self.takeovers = 0
        self.replaced = 0
        self.end = 0.0

    async def run(self) -> Tally:
        for name in NODES:
            self.machines.start(name)
        await self._until_answers(*NODES)
        self.end = time.monotonic() + self.seconds
        async with Reporter(self.witness) as reporter:
            programs = [self._program(name, number, self.end) for name in NODES for number in range(3)]
            if self.machines.elastic:  # elsewhere every lock has an agreement of its own
                programs += [self._collector(name) for name in NODES]
            guests = [self._guests(number) for number in range(GUESTS if self.machines.elastic else 0)]
            await asyncio.gather(*programs, self._mischief(), *guests)
            await self._all_is_well()
            if self.reminding is not None:
                try:
                    await asyncio.wait_for(self.reminding, 60)
                except TimeoutError:
                    self.tally.delays.append("a member that has forgotten does not vote again after a minute")
            verdict = await reporter.verdict()
        self._judge(verdict)
        return self.tally

    def _judge(self, verdict: dict[str, Any]) -> None:
        tally = self.tally
        judged = Journals()
        judged.read(self.machines.folder)
        tally.troubles += judged.blocked
        tally.faults["loop blocked"] += len(judged.blocked)
        tally.faults["object lost"] += judged.forks
        tally.operations, tally.lost_operations = judged.operations, judged.lost
        tally.violations += judged.violations
        for violation in verdict["violations"]:
            met = verdict["met"][violation]
            lock, _, what = violation.partition(": ")
            intruder = what.split()[0]
            together = [who for who in met if not tally.were_apart(who, intruder, judged.expired)]
            if met and len(together) < (K if lock.startswith("semaphore") else 1):
                tally.overtaken += 1
            else:
                stays = [f"{who} {tally.stays.get(who, '')}" for who in (intruder, *met)]
                tally.violations.append(f"{violation} ({'; '.join(stays)})")
        for lock, scene in verdict["scenes"].items():
            tally.superseded += scene["superseded"]
            tally.refused += scene["refused"]
            if lock.startswith("mutex") and scene["value"] != tally.writes[lock]:
                tally.violations.append(
                    f"{lock}: {tally.writes[lock]} writes were accepted, {scene['value']} are there"
                )
        for takeover in tally.takeovers:
            if takeover.took > BACK_WITHIN:
                hit = tally.troubles_during(takeover.began, takeover.began + takeover.took)
                tally.delays.append(f"{takeover.what}, for {takeover.took:.1f} s; nodes hit meanwhile: {hit}")
        for who in verdict["superseded"]:
            if who in tally.entered and not tally.was_hit(who):
                came = tally.entered[who]
                hit = tally.troubles_during(came - SLACK, came + SLACK)
                tally.delays.append(
                    f"{who} was superseded although its node was well: there {tally.stays[who]}; nodes hit from "
                    f"{SLACK:g} s before: {hit}"
                )
        if tally.longest_wait > LONGEST_WAIT:
            tally.delays.append(f"a request waited for {tally.longest_wait:.1f} s")

    async def _until_answers(self, *names: str) -> None:
        """Until these nodes have started, or guests among them have been refused."""
        deadline = time.monotonic() + 60
        for name in names:
            while not answers(self.machines.socket(name)):
                if name not in NODES and self.machines.processes[name].poll() is not None:
                    break
                assert time.monotonic() < deadline, f"{name} does not start"
                await asyncio.sleep(0.02)

    # -- programs --------------------------------------------------------------------------------------

    async def _keep_using(self, node: str, end: float, use: Use) -> None:
        """Use the locks of a node again and again, and come back whenever it does."""
        attempt = 0
        async with Reporter(self.witness) as reporter:
            while time.monotonic() < end:
                with contextlib.suppress(ClusterDegraded):
                    async with Client(self.machines.socket(node)) as client:
                        while time.monotonic() < end:
                            attempt += 1
                            await use(client, reporter, attempt)
                await asyncio.sleep(0.05)

    async def _program(self, node: str, number: int, end: float) -> None:
        rng = random.Random(f"{node}{number} {self.rng.random()}")

        async def use(client: Client, reporter: Reporter, attempt: int) -> None:
            self.tally.done[await self._attempt(client, reporter, f"{node}{number}.{attempt}", rng)] += 1
            await asyncio.sleep(rng.uniform(0, 0.02))

        await self._keep_using(node, end, use)

    async def _attempt(self, client: Client, reporter: Reporter, who: str, rng: random.Random) -> str:
        kind = rng.choice(["mutex", "mutex", "group", "semaphore"])
        lock = f"{kind} {rng.randrange(LOCKS)}"
        group = rng.choice(["red", "green"]) if kind == "group" else None
        limit = {"limit": K} if kind == "semaphore" else {}
        timeout = rng.choice([None, 1.0, 4 * PATIENCE])
        if group is not None:
            made = client.group(lock, group, timeout=timeout)
        elif limit:
            made = client.semaphore(lock, K, timeout=timeout)
        else:
            made = client.mutex(lock, timeout=timeout)
        asked = time.monotonic()
        try:
            async with made as held:
                self._enter(client, held, who, lock, asked)
                try:
                    await reporter.tell("enter", lock=lock, who=who, group=group, fence=held.fence, **limit)
                    if kind == "mutex":
                        value = await reporter.tell("read", lock=lock, who=who, fence=held.fence)
                        await asyncio.sleep(rng.uniform(0, 0.01) if rng.random() < 0.97 else 4 * PATIENCE)
                        await self._write(reporter, lock, who, held.fence, value + 1)
                    else:
                        await asyncio.sleep(rng.uniform(0, 0.02))
                finally:
                    await self._leave(reporter, held, who, lock)
        except (CongenialError, Outdated, AssertionError) as error:
            return self._outcome(who, error)
        return "entries"

    def _outcome(self, who: str, error: Exception) -> str:
        """What became of an attempt, in a word. `ClusterDegraded` if its node is gone."""
        if isinstance(error, LockLost):
            return "lost"
        if isinstance(error, (ClusterDegraded, NotHeld)):
            if "is gone" in str(error):
                raise ClusterDegraded(str(error)) from error
            return "degraded"
        words = {LockTimeout: "timed out", Outdated: "outdated", AssertionError: "objected to"}
        return words[type(error)]

    def _enter(self, client: Client, held: Losable, who: str, lock: str, asked: float) -> None:
        self.tally.entered[who] = clock()
        self.tally.stays[who] = f"from {now()}"
        held.on_lost(lambda: self.tally.lost.setdefault(who, min(clock(), client.until)))
        self._waited(asked, who, lock)

    async def _leave(self, reporter: Reporter, held: Losable, who: str, lock: str) -> None:
        try:
            await reporter.tell("leave", lock=lock, who=who)
        finally:
            self.tally.stays[who] += f" to {now()}{'' if held.held else f', which lost it: {held.lost}'}"

    def _waited(self, since: float, who: str, lock: str) -> None:
        waited = time.monotonic() - since
        if waited > self.tally.longest_wait:
            self.tally.longest_wait = waited
            self.tally.waited_for = f"{who} for {lock}, until {now()}"

    async def _collector(self, node: str) -> None:
        """Hold many locks at a time, again and again."""
        rng = random.Random(f"{node} collects {self.rng.random()}")

        async def use(client: Client, reporter: Reporter, attempt: int) -> None:
            stay = rng.uniform(0, 2 * PATIENCE)
            chosen = [(f"many {lock}", f"{node}many.{attempt}.{lock}") for lock in rng.sample(range(MANY), AT_A_TIME)]
            holding = [self._collect(client, reporter, lock, who, stay) for lock, who in chosen]
            results = await asyncio.gather(*holding, return_exceptions=True)
            self.tally.done.update([f"many: {result}" for result in results if type(result) is str])
            for result in results:
                if isinstance(result, BaseException):
                    raise result
            await asyncio.sleep(rng.uniform(0, 2 * PATIENCE))

        await self._keep_using(node, self.end, use)

    async def _collect(self, client: Client, reporter: Reporter, lock: str, who: str, stay: float) -> str:
        asked = time.monotonic()
        try:
            async with client.mutex(lock, timeout=LONGEST_WAIT) as held:
                self._enter(client, held, who, lock, asked)
                try:
                    await reporter.tell("enter", lock=lock, who=who, group=None, fence=held.fence)
                    await asyncio.sleep(stay)
                finally:
                    await self._leave(reporter, held, who, lock)
        except (CongenialError, Outdated, AssertionError) as error:
            if isinstance(error, LockTimeout):
                self._waited(asked, who, lock)
            return self._outcome(who, error)
        return "entries"

    async def _write(self, reporter: Reporter, lock: str, who: str, fence: int, value: int) -> None:
        writing = asyncio.ensure_future(reporter.tell("write", lock=lock, who=who, fence=fence, value=value))
        writing.add_done_callback(
            lambda told: self.tally.writes.update([lock] if not told.cancelled() and told.exception() is None else [])
        )
        await asyncio.shield(writing)

    # -- guests ----------------------------------------------------------------------------------------

    async def _guests(self, number: int) -> None:
        """One process after the other enters the cluster, and leaves it or crashes."""
        rng = random.Random(f"guests {number} {self.rng.random()}")
        visits = 0
        while time.monotonic() < self.end - 3 * LONGEST_FAULT:
            visits += 1
            name = f"{rng.choice(NODES)}-{number}-{visits}"
            self.machines.start(name, rng.sample(NODES, 3))
            await self._until_answers(name)
            until = min(time.monotonic() + rng.uniform(1, 10) * PATIENCE, self.end - LONGEST_FAULT)
            await asyncio.gather(*[self._program(name, program, until) for program in range(2)])
            leaves = rng.random() < 0.5
            self.tally.faults["guest leaves" if leaves else "guest killed"] += 1
            if leaves:
                await self._end(name)
            else:
                self.tally.troubles.append((name, time.monotonic(), time.monotonic()))
                self.machines.kill(name)

    # -- faults ----------------------------------------------------------------------------------------

    async def _mischief(self) -> None:
        faults = ["kill", "stop", "block", "slow disk"]
        if self.machines.namespaces:
            faults += ["cut", "part", "mute", "slow", "full disk"]
        under_way: set[asyncio.Task[None]] = set()
        while time.monotonic() < self.end - 3 * LONGEST_FAULT:
            await asyncio.gather(*under_way)
            await self._take_over()
            if self.machines.elastic and self.takeovers % 2 == 0 and self.forgetful == 0:
                await self._replace()
            for _ in range(20):
                await asyncio.sleep(self.rng.uniform(0, 1.2 * PATIENCE))
                most = 4 if self.rng.random() < 0.1 else 2  # now and then there is no majority
                well = [name for name in NODES if name not in self.hit]
                if len(self.hit) < most and well and time.monotonic() < self.end - 2 * LONGEST_FAULT:
                    task = asyncio.create_task(self._hit(self.rng.choice(faults), self.rng.choice(well)))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)

    async def _take_over(self) -> None:
        """Among nodes that are well, have one hold a lock, hit it, and see when another one gets the lock."""
        await asyncio.sleep(SLACK if self.takeovers else PATIENCE)
        self.takeovers += 1
        lock = f"takeover {self.takeovers}"
        holder, heir = self.rng.sample(NODES, 2)
        fault = self.rng.choice(["kill", "stop", *(["cut"] if self.machines.namespaces else [])])
        async with Client(self.machines.socket(holder)) as first, Client(self.machines.socket(heir)) as second:
            await first.mutex(lock, timeout=LONGEST_WAIT).acquire()
            hit = asyncio.create_task(self._hit(fault, holder, for_long=True))
            since = time.monotonic()
            try:
                await second.mutex(lock, timeout=LONGEST_WAIT).acquire()
            except LockTimeout:
                self.tally.delays.append(f"{lock}: {heir} waits forever for what {holder} held ({fault})")
            what = f"{lock}: {heir} waited for what {holder} held ({fault}), until {now()}"
            self.tally.takeovers.append(Takeover(what, since, time.monotonic() - since))
            await hit

    async def _replace(self) -> None:
        """Another process takes the place of a node for good. Later the node comes back, and the other one leaves."""
        name, place = self.rng.sample(NODES, 2)
        self.replaced += 1
        heir = f"{place}-heir-{self.replaced}"
        self.machines.start(heir, [other for other in NODES if other != name])
        await self._until_answers(heir)
        if self.rng.random() < 0.5:
            await self._assign(place, heir, "voter")
        self.tally.faults["replace"] += 1
        self.tally.troubles.append((name, time.monotonic(), float("inf")))
        trouble = len(self.tally.troubles) - 1
        if self.rng.random() < 0.5:
            self.machines.kill(name)
        else:
            await self._end(name)
        await self._assign(place, name, "gone")
        await asyncio.sleep(self.rng.uniform(0, LONGEST_FAULT))
        self.machines.move(name)
        await self._start_again(name)
        self.tally.troubles[trouble] = (name, self.tally.troubles[trouble][1], time.monotonic())
        await self._end(heir)

    async def _assign(self, place: str, name: str, role: str) -> None:
        """Have a node give a member a vote, or say that it is gone, as soon as it can."""
        deadline = time.monotonic() + 60
        async with Client(self.machines.socket(place)) as client:
            while True:
                roles = {member.name: "voter" if member.voter else "member" for member in await client.members()}
                if roles.get(name, "gone") == role:
                    return
                assert time.monotonic() < deadline, f"{name} does not become {role}"
                with contextlib.suppress(ConfigError, ClusterDegraded):  # it is not yet here, or not yet away
                    await client.assign(name, role)
                await asyncio.sleep(0.05)

    async def _end(self, name: str) -> None:
        self.machines.signal(name, signal.SIGTERM)
        await asyncio.to_thread(self.machines.processes[name].wait)

    async def _hit(self, what: str, name: str, for_long: bool = False) -> None:
        fault = {
            "kill": self._kill,
            "stop": self._stop,
            "block": self._block,
            "slow disk": self._slow_disk,
            "full disk": self._full_disk,
            "cut": self._cut,
            "part": self._part,
            "mute": self._mute,
            "slow": self._slow,
        }[what]
        self.hit.add(name)
        self.tally.faults[what] += 1
        trouble = len(self.tally.troubles)
        self.tally.troubles.append((name, time.monotonic(), float("inf")))
        also = await fault(name, LONGEST_FAULT if for_long else self.rng.uniform(0, LONGEST_FAULT))
        self.tally.troubles[trouble] = (name + also, self.tally.troubles[trouble][1], time.monotonic())
        self.hit.discard(name)

    async def _kill(self, name: str, seconds: float) -> str:
        self.machines.kill(name)
        forgets = self.rng.random() < 0.3 and self.forgetful == 0
        if forgets:
            self.forgetful += 1
            self.tally.faults["forget"] += 1
            self.machines.forget(name)
        await asyncio.sleep(seconds)
        await self._start_again(name)
        if forgets:
            self.reminding = asyncio.create_task(self._remember(name))
        return ""

    async def _start_again(self, name: str) -> None:
        self.machines.start(name)
        await self._until_answers(name)

    async def _remember(self, name: str) -> None:
        """Until it has been reminded by all others and votes again, nobody else had better forget."""
        while True:
            with contextlib.suppress(ClusterDegraded):
                async with Client(self.machines.socket(name)) as client:
                    told = (await client.status_of_all())[name]
                    if told is not None and told["past"] != "forgetful" and not told["abstains"]:
                        self.forgetful -= 1
                        return
            await asyncio.sleep(0.2)

    async def _stop(self, name: str, seconds: float) -> str:
        self.machines.signal(name, signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self.machines.signal(name, signal.SIGCONT)
        return ""

    async def _block(self, name: str, seconds: float) -> str:
        self.machines.signal(name, signal.SIGUSR1)
        await asyncio.sleep(seconds)
        return ""

    async def _slow_disk(self, name: str, seconds: float) -> str:
        mark = self.machines.slow_mark(name)
        mark.touch()
        await asyncio.sleep(seconds)
        mark.unlink()
        return ""

    async def _full_disk(self, name: str, seconds: float) -> str:
        """Perhaps the node can go on, perhaps it cannot and ends. It is restarted anyhow."""
        self.machines.fill_disk(name)
        await asyncio.sleep(seconds)
        self.machines.empty_disk(name)
        self.machines.kill(name)
        await self._start_again(name)
        return ""

    async def _cut(self, name: str, seconds: float) -> str:
        assert self.machines.namespaces is not None
        await asyncio.to_thread(self.machines.namespaces.cable, name, "down")
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.machines.namespaces.cable, name, "up")
        return ""

    async def _part(self, name: str, seconds: float) -> str:
        """Two nodes do not hear each other; the others hear both."""
        other = self.rng.choice([other for other in NODES if other != name])
        await self._part_from(name, [other], seconds)
        return other

    async def _mute(self, name: str, seconds: float) -> str:
        """It hears the others, and nobody hears it."""
        await self._part_from(name, [other for other in NODES if other != name], seconds)
        return ""

    async def _part_from(self, name: str, others: list[str], seconds: float) -> None:
        namespaces = self.machines.namespaces
        assert namespaces is not None
        for other in others:
            await asyncio.to_thread(namespaces.part, name, other, True)
        await asyncio.sleep(seconds)
        for other in others:
            await asyncio.to_thread(namespaces.part, name, other, False)

    async def _slow(self, name: str, seconds: float) -> str:
        namespaces = self.machines.namespaces
        assert namespaces is not None
        try:
            await asyncio.to_thread(
                namespaces.slow_down, name, "netem", "delay", f"{self.rng.choice([50, 200, 600])}ms"
            )
        except subprocess.CalledProcessError:  # no delays in this kernel: a narrow band instead
            await asyncio.to_thread(
                namespaces.slow_down, name, "tbf", "rate", "64kbit", "burst", "1600", "latency", "2s"
            )
        await asyncio.sleep(seconds)
        await asyncio.to_thread(namespaces.speed_up, name)
        return ""

    # -- afterwards ------------------------------------------------------------------------------------

    async def _all_is_well(self) -> None:
        """Everything can be had at every node."""
        await self._until_answers(*NODES)
        for name in NODES:
            async with Client(self.machines.socket(name)) as client:
                for number in range(LOCKS):
                    for attempt in range(5):
                        try:
                            async with client.mutex(f"mutex {number}", timeout=30):
                                pass
                            async with client.group(f"group {number}", "red", timeout=30):
                                pass
                            async with client.semaphore(f"semaphore {number}", K, timeout=30):
                                pass
                            break
                        except LockLost:  # the last fault's last effects
                            assert attempt < 4


def chaos(seconds: float, seed: int, folder: Path, algorithm: str = DEFAULT_ALGORITHM) -> Tally:
    program = [sys.executable, str(NODE), str(folder / WITNESS), str(seed)]
    machines = Machines(folder, algorithm, program)
    try:
        with witness_process(folder) as witness:
            return asyncio.run(Chaos(machines, witness, seconds, seed).run())
    finally:
        machines.tear_down()


def main() -> None:
    parser = argparse.ArgumentParser(description="Chaos among five nodes.")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--algorithm", default=DEFAULT_ALGORITHM, help="of the locks; it must survive crashes")
    parser.add_argument("--keep", action="store_true", help="keep the nodes' logs and state, even if nothing was wrong")
    options = parser.parse_args()
    try:
        if not find_algorithm(options.algorithm).rejoins:
            parser.error(f"{options.algorithm} does not survive what happens here; try {options.algorithm}+epochs")
    except ConfigError as error:
        parser.error(str(error))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before its time"))  # and tears down what it has set up
    folder = Path(tempfile.mkdtemp(prefix="congenial-chaos-"))
    wrong = True
    try:
        tally = chaos(options.seconds, options.seed, folder, options.algorithm)
        wrong = bool(tally.violations or tally.delays)
    finally:
        if options.keep or wrong:
            print(f"logs and state are in {folder}")
        else:
            shutil.rmtree(folder)
    print(tally)
    for violation in [*tally.violations, *tally.delays][:20]:
        print(violation)
    sys.exit(1 if tally.violations or tally.delays else 0)


if __name__ == "__main__":
    main()
