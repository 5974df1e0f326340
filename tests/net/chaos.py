"""Chaos: five nodes as processes, which are killed, stopped, cut off, slowed down and robbed of their memory, by a
seeded schedule, while programs use their locks and a witness outside judges. Meanwhile guests enter the cluster by
seeds, use its locks, and leave or are killed.

    python tests/net/chaos.py --seconds 300 --seed 7 [--algorithm home-gme+epochs]

runs it for as long as asked; the test suite runs it for half a minute. Needs root and network namespaces for the
cables; without them nodes are only killed and stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from netlab import answers, witness_process
from racks import Rack

from congenial.kernel.errors import ConfigError
from congenial.net.client import Client
from congenial.net.config import DEFAULT_ALGORITHM, follows_views, free_addresses
from congenial.net.errors import ClusterDegraded, LockLost, LockTimeout, NotHeld
from congenial.systems.catalogue import find_algorithm
from congenial.testing.witness import Outdated, Reporter

NODES = "abcde"
LOCKS = 3  # mutexes, and as many locks with groups
K = 2  # of the semaphore
PATIENCE = 0.5  # seconds of silence after which a node is suspected, at first; four times as long after many mistakes
TIMING = ["[timing]", "heartbeat = 0.1", f"suspect_after = {PATIENCE}", "reconnect_most = 0.1"]
GUESTS = 2  # at a time
LONGEST_FAULT = 6 * PATIENCE  # longer than the most patient node waits
SLACK = 8 * PATIENCE  # in which the last effects of a fault are over
BACK_WITHIN = 8 * PATIENCE  # twice the longest time to notice: no one waits longer for what one lost node held


class Machines:
    """The five nodes, each in its network namespace if there are any."""

    def __init__(self, folder: Path, algorithm: str = DEFAULT_ALGORITHM) -> None:
        self.folder = folder
        self.elastic = follows_views(algorithm)  # guests may come
        self.rack: Rack | None = Rack(folder, NODES)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self.rack.build()
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            if os.environ.get("CI"):
                raise
            print(f"NO NETWORK NAMESPACES, so no cables are cut: {getattr(error, 'stderr', error)}", file=sys.stderr)
            self.rack.tear_down()
            self.rack = None
        where = self.rack.addresses() if self.rack else dict(zip(NODES, free_addresses(len(NODES)), strict=True))
        self.seeds = list(where.values())
        nodes = [f'{name} = "{address}"' for name, address in where.items()]
        settings = ["insecure = true", f'algorithm = "{algorithm}"', 'state = "state/{name}"']
        lines = [*settings, "[nodes]", *nodes, *TIMING]
        (folder / "cluster.toml").write_text("\n".join(lines))

    def socket(self, name: str) -> Path:
        return self.folder / f"{name}.sock"

    def start(self, name: str, *more: str) -> None:
        """A guest begins with the name of the node beside which it runs."""
        words = [sys.executable, "-m", "congenial", "node", "--name", name, "--socket", str(self.socket(name)), *more]
        if self.rack:
            words = self.rack.inside(name[0], words)
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(words, cwd=self.folder, stdout=log, stderr=log)

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def forget(self, name: str) -> None:
        shutil.rmtree(self.folder / "state" / name)

    def signal(self, name: str, number: int) -> None:
        self.processes[name].send_signal(number)

    def tear_down(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        if self.rack:
            self.rack.tear_down()


@dataclass
class Tally:
    faults: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)  # what became of the programs' attempts
    writes: Counter[str] = field(default_factory=Counter)  # that the witness has accepted, by lock
    takeovers: list[float] = field(default_factory=list)  # seconds until somebody else had what a lost node held
    entered: dict[str, float] = field(default_factory=dict)  # when each holder came in
    troubles: list[tuple[str, float, float]] = field(default_factory=list)  # which node was hit, from when until when
    violations: list[str] = field(default_factory=list)  # of what must hold on any machine, however slow
    delays: list[str] = field(default_factory=list)  # what should not happen on one that is not overloaded
    superseded: int = 0
    refused: int = 0

    def was_hit(self, who: str) -> bool:
        """Had this holder's node been in trouble shortly before or after the holder came in?"""
        came = self.entered[who]
        return any([who[0] in hit and begin - SLACK < came < end + SLACK for hit, begin, end in self.troubles])

    def __str__(self) -> str:
        waits = sorted(self.takeovers)
        shown = f"{waits[len(waits) // 2]:.2f} s (median), {waits[-1]:.2f} s (longest)" if waits else "none measured"
        return (
            f"{sum(self.faults.values())} faults ({_listed(self.faults)}); {_listed(self.done)}; "
            f"{sum(self.writes.values())} writes; {self.superseded} superseded, {self.refused} refused; "
            f"taken over after {shown}, with a patience of {PATIENCE} to {4 * PATIENCE} s; "
            f"{len(self.violations)} violations, {len(self.delays)} delays"
        )


def _listed(counts: Counter[str]) -> str:
    return ", ".join([f"{count} {what}" for what, count in sorted(counts.items())])


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
        self.end = 0.0

    async def run(self) -> Tally:
        for name in NODES:
            self.machines.start(name)
        await self._until_all_answer()
        self.end = time.monotonic() + self.seconds
        async with Reporter(self.witness) as reporter:
            programs = [self._program(name, number, self.end) for name in NODES for number in range(3)]
            guests = [self._guests(number) for number in range(GUESTS if self.machines.elastic else 0)]
            await asyncio.gather(*programs, self._mischief(), *guests)
            await self._all_is_well()
            if self.reminding is not None:
                try:
                    await asyncio.wait_for(self.reminding, 60)
                except TimeoutError:
                    self.tally.delays.append("a member that has forgotten does not vote again after a minute")
            verdict = await reporter.verdict()
        tally = self.tally
        tally.violations += verdict["violations"]
        for lock, scene in verdict["scenes"].items():
            tally.superseded += scene["superseded"]
            tally.refused += scene["refused"]
            if scene["value"] != tally.writes[lock]:
                tally.violations.append(
                    f"{lock}: {tally.writes[lock]} writes were accepted, {scene['value']} are there"
                )
        if max(tally.takeovers, default=0) > BACK_WITHIN:
            tally.delays.append(f"a takeover took more than {BACK_WITHIN} s")
        for who in verdict["superseded"]:
            if not tally.was_hit(who):
                tally.delays.append(f"{who} was superseded although its node was well")
        return tally

    async def _until_all_answer(self) -> None:
        deadline = time.monotonic() + 60
        while not all([answers(self.machines.socket(name)) for name in NODES]):
            assert time.monotonic() < deadline, "a node does not start"
            await asyncio.sleep(0.05)

    # -- programs --------------------------------------------------------------------------------------

    async def _program(self, node: str, number: int, end: float) -> None:
        """Use the locks of a node, and come back whenever it does."""
        rng = random.Random(f"{node}{number} {self.rng.random()}")
        attempt = 0
        async with Reporter(self.witness) as reporter:
            while time.monotonic() < end:
                with contextlib.suppress(ClusterDegraded):
                    async with Client(self.machines.socket(node)) as client:
                        while time.monotonic() < end:
                            attempt += 1
                            result = await self._attempt(client, reporter, f"{node}{number}.{attempt}", rng)
                            self.tally.done[result] += 1
                            await asyncio.sleep(rng.uniform(0, 0.02))
                await asyncio.sleep(0.05)

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
        try:
            async with made as held:
                self.tally.entered[who] = time.monotonic()
                try:
                    await reporter.tell("enter", lock=lock, who=who, group=group, fence=held.fence, **limit)
                    if kind == "mutex":
                        value = await reporter.tell("read", lock=lock, who=who, fence=held.fence)
                        await asyncio.sleep(rng.uniform(0, 0.01) if rng.random() < 0.97 else 4 * PATIENCE)
                        await self._write(reporter, lock, who, held.fence, value + 1)
                    else:
                        await asyncio.sleep(rng.uniform(0, 0.02))
                finally:
                    await reporter.tell("leave", lock=lock, who=who)
        except LockTimeout:
            return "timed out"
        except LockLost:
            return "lost"
        except (ClusterDegraded, NotHeld) as error:
            if "is gone" in str(error):
                raise ClusterDegraded(str(error)) from error
            return "degraded"
        except Outdated:
            return "outdated"
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
            self.machines.start(name, "--seeds", ",".join(rng.sample(self.machines.seeds, 3)))
            deadline = time.monotonic() + 60
            while not answers(self.machines.socket(name)) and self.machines.processes[name].poll() is None:
                assert time.monotonic() < deadline, f"{name} does not start"
                await asyncio.sleep(0.05)
            until = min(time.monotonic() + rng.uniform(1, 10) * PATIENCE, self.end - LONGEST_FAULT)
            await asyncio.gather(*[self._program(name, program, until) for program in range(2)])
            leaves = rng.random() < 0.5
            self.tally.faults["guest leaves" if leaves else "guest killed"] += 1
            if leaves:
                self.machines.signal(name, signal.SIGTERM)
                await asyncio.to_thread(self.machines.processes[name].wait)
            else:
                self.tally.troubles.append((name, time.monotonic(), time.monotonic()))
                self.machines.kill(name)

    # -- faults ----------------------------------------------------------------------------------------

    async def _mischief(self) -> None:
        faults: list[str] = ["kill", "stop", *(["cut", "part", "slow"] if self.machines.rack else [])]
        under_way: set[asyncio.Task[None]] = set()
        while time.monotonic() < self.end - 3 * LONGEST_FAULT:
            await asyncio.gather(*under_way)
            await self._take_over()
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
        fault = self.rng.choice(["kill", "stop", *(["cut"] if self.machines.rack else [])])
        async with Client(self.machines.socket(holder)) as first, Client(self.machines.socket(heir)) as second:
            await first.mutex(lock, timeout=SLACK).acquire()
            hit = asyncio.create_task(self._hit(fault, holder, for_long=True))
            since = time.monotonic()
            try:
                await second.mutex(lock, timeout=2 * BACK_WITHIN).acquire()
            except LockTimeout:
                self.tally.delays.append(f"{lock}: {heir} waits for ever for what {holder} held ({fault})")
            self.tally.takeovers.append(time.monotonic() - since)
            await hit

    async def _hit(self, what: str, name: str, for_long: bool = False) -> None:
        fault = {"kill": self._kill, "stop": self._stop, "cut": self._cut, "part": self._part, "slow": self._slow}[what]
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
        self.machines.start(name)
        deadline = time.monotonic() + 60
        while not answers(self.machines.socket(name)):
            assert time.monotonic() < deadline, f"{name} does not start again"
            await asyncio.sleep(0.02)
        if forgets:
            self.reminding = asyncio.create_task(self._remember(name))
        return ""

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

    async def _cut(self, name: str, seconds: float) -> str:
        assert self.machines.rack is not None
        await asyncio.to_thread(self.machines.rack.cable, name, "down")
        await asyncio.sleep(seconds)
        await asyncio.to_thread(self.machines.rack.cable, name, "up")
        return ""

    async def _part(self, name: str, seconds: float) -> str:
        """Two nodes do not hear each other; the others hear both."""
        rack = self.machines.rack
        assert rack is not None
        other = self.rng.choice([other for other in NODES if other != name])
        await asyncio.to_thread(rack.part, name, other, True)
        await asyncio.sleep(seconds)
        await asyncio.to_thread(rack.part, name, other, False)
        return other

    async def _slow(self, name: str, seconds: float) -> str:
        rack = self.machines.rack
        assert rack is not None
        try:
            await asyncio.to_thread(rack.slow_down, name, "netem", "delay", f"{self.rng.choice([50, 200, 600])}ms")
        except subprocess.CalledProcessError:  # no delays in this kernel: a narrow band instead
            await asyncio.to_thread(rack.slow_down, name, "tbf", "rate", "64kbit", "burst", "1600", "latency", "2s")
        await asyncio.sleep(seconds)
        await asyncio.to_thread(rack.speed_up, name)
        return ""

    # -- afterwards ------------------------------------------------------------------------------------

    async def _all_is_well(self) -> None:
        """Everything can be had at every node."""
        await self._until_all_answer()
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
    machines = Machines(folder, algorithm)
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
    parser.add_argument("--keep", action="store_true", help="keep the nodes' logs and state")
    options = parser.parse_args()
    try:
        if not find_algorithm(options.algorithm).rejoins:
            parser.error(f"{options.algorithm} does not survive what happens here; try {options.algorithm}+epochs")
    except ConfigError as error:
        parser.error(str(error))
    folder = Path(tempfile.mkdtemp(prefix="congenial-chaos-"))
    try:
        tally = chaos(options.seconds, options.seed, folder, options.algorithm)
    finally:
        if options.keep:
            print(f"logs and state are in {folder}")
        else:
            shutil.rmtree(folder)
    print(tally)
    for violation in [*tally.violations, *tally.delays][:20]:
        print(violation)
    sys.exit(1 if tally.violations or tally.delays else 0)


if __name__ == "__main__":
    main()
