"""Clusters that grow and shrink: processes enter by any member, leave, are replaced, moved, and get other roles."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from netlab import QUICK, crash

from congenial.kernel.errors import ConfigError
from congenial.net.certs import make_certificates
from congenial.net.config import ClusterConfig, Timing, free_addresses
from congenial.net.errors import ClusterDegraded
from congenial.net.joining import join
from congenial.net.locks import Cluster
from congenial.net.members import Member
from congenial.net.tls import Tls


def in_a_loop(story: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(story)
    def test(*arguments: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(story(*arguments, **named), 120))

    return test


class City:
    """A cluster whose members come and go."""

    def __init__(self, folder: Path | None, settings: dict[str, Any]) -> None:
        self.folder = folder
        self.settings = {"timing": QUICK, **settings}
        self.up: dict[str, Cluster] = {}
        self.nodes: dict[str, str] = {}  # the founders, where they were in the beginning
        self.places: dict[str, str] = {}

    async def found(self, *names: str) -> None:
        self.nodes = dict(zip(names, free_addresses(len(names)), strict=True))
        self.places |= self.nodes
        for name in names:
            await self._start(name, join(name, self.nodes, **self._settings(name)))
        for name in names:
            await self.up[name].ready(10)

    async def enter(self, name: str, *by: str, address: str = "", nodes: dict[str, str] | None = None) -> Cluster:
        """A process enters the cluster, by the named members or by any. Its file may list the founders."""
        seeds = [self.place(seed) for seed in by or self.up]
        address = address or self.places.get(name, "") or free_addresses(1)[0]
        self.places[name] = address
        member = await self._start(name, join(name, nodes, seeds=seeds, address=address, **self._settings(name)))
        await member.ready(10)
        return member

    async def _start(self, name: str, member: Cluster) -> Cluster:
        self.up[name] = await member.start()
        return member

    def place(self, name: str) -> str:
        return self.places[name]

    def _settings(self, name: str) -> dict[str, Any]:
        return {**self.settings, "state": str(self.folder / name) if self.folder else ""}

    async def kill(self, *names: str) -> None:
        for name in names:
            await crash(self.up.pop(name))

    async def leave(self, *names: str) -> None:
        for name in names:
            await self.up.pop(name).leave()

    def members(self, seen_by: str) -> dict[str, Member]:
        return {member.name: member for member in self.up[seen_by].members()}

    def present(self, seen_by: str) -> str:
        return "".join([name for name, member in self.members(seen_by).items() if member.present])

    def voters(self, seen_by: str) -> str:
        return "".join([name for name, member in self.members(seen_by).items() if member.voter])

    async def all_can_lock(self, *names: str) -> None:
        """Every member gets every lock, with fences that grow."""
        fence = 0
        for lock in names or ("x", "y", "z"):
            for member in self.up.values():
                async with member.mutex(lock, timeout=10) as held:
                    assert held.fence > fence or lock != "x"
                    fence = held.fence if lock == "x" else fence


@contextlib.asynccontextmanager
async def city(*founders: str, folder: Path | None = None, **settings: Any) -> AsyncIterator[City]:
    made = City(folder, settings)
    try:
        await made.found(*founders)
        yield made
    finally:
        for member in reversed(made.up.values()):
            await member.close()


async def eventually(condition: Callable[[], bool], seconds: float = 15) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


# -- coming and going ----------------------------------------------------------------------------------------------


@in_a_loop
async def test_a_cluster_of_one_grows() -> None:
    async with city("a") as town:
        held = await town.up["a"].mutex("kept").acquire()
        for name, by in zip("bcde", "aabc", strict=True):
            await town.enter(name, by)
        assert held.held
        await eventually(lambda: all([town.present(name) == "abcde" for name in "abcde"]))
        assert town.voters("a") == "abcde"
        assert await town.up["e"].try_mutex("kept") is None
        await town.all_can_lock()
        held.release()
        async with town.up["d"].mutex("kept", timeout=5):
            pass


@in_a_loop
async def test_at_most_five_vote_and_the_others_take_part() -> None:
    async with city("a", "b", "c") as town:
        for name in "defg":
            await town.enter(name)
        assert town.present("g") == "abcdefg"
        assert town.voters("g") == "abcde"
        await town.all_can_lock()
        async with contextlib.AsyncExitStack() as stack:
            for name in "adg":
                await stack.enter_async_context(town.up[name].semaphore("pool", 3, timeout=5))
            assert await town.up["c"].try_semaphore("pool", 3) is None
        async with town.up["a"].group("room", "red", timeout=5), town.up["g"].group("room", "red", timeout=5):
            assert await town.up["c"].try_group("room", "blue") is None


@in_a_loop
async def test_a_member_that_leaves_delays_nobody_and_takes_its_vote_along() -> None:
    async with city("a") as town:
        for name in "bcde":
            await town.enter(name)
        for name in "bcd":
            await town.up.pop(name).close()
        await eventually(lambda: town.present("a") == town.present("e") == "ae")
        assert town.voters("a") == "a"
        await town.all_can_lock()
        await town.leave("a")
        await eventually(lambda: town.present("e") == town.voters("e") == "e")
        await town.all_can_lock()


@in_a_loop
async def test_every_founder_is_replaced_while_a_lock_is_held() -> None:
    async with city("a", "b", "c") as town:
        keeper = await town.enter("k")
        held = await keeper.mutex("kept").acquire()
        for old, new in zip("abc", "def", strict=True):
            await town.enter(new)
            await town.leave(old)
            await town.all_can_lock()
        assert held.held
        assert town.present("k") == "defk"
        assert town.voters("k") in ("def", "dek", "dfk", "efk")
        await town.enter("g", "e")
        assert await town.up["g"].try_mutex("kept") is None
        held.release()
        await town.all_can_lock("kept")


@in_a_loop
async def test_a_new_member_that_crashes_is_replaced_by_one_of_the_same_name() -> None:
    async with city("a", "b", "c") as town:
        await town.enter("d")
        held = await town.up["d"].mutex("x").acquire()
        await town.kill("d")
        async with town.up["a"].mutex("x", timeout=10) as taken:
            assert taken.fence > held.fence
        await town.enter("d")
        await town.all_can_lock()
        assert town.present("d") == "abcd"


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("remembers", [False, True])
@in_a_loop
async def test_a_founder_comes_back_by_seeds_at_another_address(remembers: bool, listed: bool, tmp_path: Path) -> None:
    async with city("a", "b", "c", folder=tmp_path if remembers else None) as town:
        await town.kill("a")
        town.folder = None  # of another machine
        moved = await town.enter("a", address=free_addresses(1)[0], nodes=town.nodes if listed else None)
        assert town.members("c")["a"].address == moved.config.address
        await town.kill("b")
        await eventually(lambda: town.present("a") == town.present("c") == "ac")
        await town.all_can_lock()
        await town.enter("e", "c")
        await town.all_can_lock()


@in_a_loop
async def test_members_that_entered_by_seeds_restart_with_their_state(tmp_path: Path) -> None:
    async with city("a", folder=tmp_path) as town:
        for name in "bc":
            await town.enter(name)
        await town.all_can_lock()
        await town.kill("c")
        await town.enter("c", "b")
        await town.all_can_lock()
        await town.kill("a", "b", "c")
        starting = [asyncio.create_task(town.enter(name, "a")) for name in "bc"]  # no seed is there yet
        config = ClusterConfig({"a": town.place("a")}, timing=QUICK, state=str(tmp_path / "a"))
        founder = await Cluster("a", config).start()
        town.up["a"] = founder
        await founder.ready(10)
        await asyncio.gather(*starting)
        assert town.present("a") == "abc"
        await town.all_can_lock()


@in_a_loop
async def test_the_only_founder_must_not_found_another_cluster_after_a_crash() -> None:
    async with city("a") as town:
        await town.enter("b")
        await town.enter("c")
        await town.kill("a")
        config = ClusterConfig({"a": town.place("a")}, timing=QUICK)
        again = await Cluster("a", config).start()
        try:
            async with asyncio.timeout(10):
                assert "start it with its state directory, or with seeds" in await again.wait_ended()
        finally:
            await again.close()
        await town.enter("a", "b")
        await town.all_can_lock()


@pytest.mark.deep
@in_a_loop
async def test_a_cluster_scales_under_load_and_nobody_waits_long() -> None:
    calm = Timing(heartbeat=0.5, suspect_after=3.0, gather=10.0, reconnect=0.01, reconnect_most=0.1)
    async with city("a", "b", "c", timing=calm) as town:
        longest = [0.0]
        stop = asyncio.Event()

        async def work(name: str) -> None:
            at = 0
            while not stop.is_set():
                at += 1
                began = asyncio.get_running_loop().time()
                async with town.up[name].mutex(f"lock-{at % 7}", timeout=20):
                    longest[0] = max(longest[0], asyncio.get_running_loop().time() - began)
                await asyncio.sleep(0.001)

        load = [asyncio.create_task(work(name)) for name in "abc"]
        names = [f"m{at}" for at in range(12)]
        for name in names:
            await town.enter(name, "a")
        await eventually(lambda: len(town.members("b")) == 15)
        for name in names:
            await town.up.pop(name).close()
        await eventually(lambda: town.present("b") == town.voters("b") == "abc")
        stop.set()
        await asyncio.gather(*load)
        assert longest[0] < 2 * calm.suspect_after


# -- roles ---------------------------------------------------------------------------------------------------------


@in_a_loop
async def test_votes_are_given_and_taken() -> None:
    async with city("a", "b", "c") as town:
        for name in "def":
            await town.enter(name)
        a, f = town.up["a"], town.up["f"]
        await a.assign("f", "voter")
        assert town.voters("a") == "abcdf"
        await f.assign("a", "member")
        await eventually(lambda: town.voters("a") == "bcdef")
        assert town.present("a") == "abcdef"
        await town.all_can_lock()
        await town.kill("c")
        await eventually(lambda: town.present("a") == "abdef")
        await town.all_can_lock()


@in_a_loop
async def test_a_voter_that_crashed_is_not_expected_back() -> None:
    async with city("a", "b", "c") as town:
        await town.kill("c")
        await eventually(lambda: town.present("a") == "ab")
        assert town.members("a")["c"] == Member("c", town.place("c"), voter=True, present=False)
        await town.up["a"].assign("c", "gone")
        await eventually(lambda: "c" not in town.members("b"))
        await town.leave("b")
        await town.all_can_lock()


@in_a_loop
async def test_roles_that_cannot_be_given() -> None:
    async with city("a", "b", "c") as town:
        a = town.up["a"]
        for name, role, reason in [
            ("b", "king", "role"),
            ("d", "voter", "'d' is not a member"),
            ("b", "gone", "stop it first"),
            ("b", "member", "no other member could vote in its place"),
        ]:
            with pytest.raises(ConfigError, match=reason):
                await a.assign(name, role)


@in_a_loop
async def test_certificates_say_who_may_enter(tmp_path: Path) -> None:
    make_certificates("abz", tmp_path)
    tls = Tls(*[str(tmp_path / name) for name in ("ca.pem", "{name}.pem", "{name}.key")])
    other = Tls(*[str(tmp_path / name) for name in ("ca.pem", "z.pem", "z.key")])
    async with city("a", tls=tls) as town:
        await town.enter("b")
        await town.all_can_lock()
        assert "calls itself 'c', but its certificate is for z" in await refusal("c", [town.place("a")], tls=other)
        assert "a" in await refusal("c", [town.place("a")])  # without any certificate


# -- what goes wrong -----------------------------------------------------------------------------------------------

HASTY = {"heartbeat": 0.1, "suspect_after": 1.0, "gather": 0.6, "reconnect": 0.002, "reconnect_most": 0.02}


async def refusal(name: str, seeds: list[str], **settings: Any) -> str:
    with pytest.raises(ClusterDegraded) as caught:
        await join(name, seeds=seeds, timing=Timing(**HASTY), **settings).start()
    return str(caught.value)


@in_a_loop
async def test_who_cannot_enter_is_told_why() -> None:
    [free] = free_addresses(1)
    async with city("a", "b") as town:
        seeds = [town.place("a")]
        assert "Connect call failed" in await refusal("c", [free])
        assert "belongs to cluster 'other'; this is 'congenial'" in await refusal("c", seeds, cluster="other")
        assert "this is 'a' itself" in await refusal("a", seeds)


@in_a_loop
async def test_a_name_that_is_in_use_is_refused() -> None:
    async with city("a", "b", "c") as town:
        second = join("b", seeds=[town.place("a")], timing=QUICK)
        await second.start()
        try:
            with pytest.raises(ClusterDegraded, match="another process"):
                await second.ready(1.5)
        finally:
            await second.close()
        await town.all_can_lock()


@in_a_loop
async def test_a_cluster_of_fixed_members_lets_nobody_in() -> None:
    static = {"algorithm": "token-gme+epochs", "semaphores": "srimani-reddy+epochs"}
    with pytest.raises(ConfigError, match="the members are fixed"):
        join("c", seeds=["127.0.0.1:7101"], **static)  # type: ignore[arg-type]
    async with city("a", "b", **static) as town:
        assert "cannot enter" in await refusal("c", [town.place("a")])
        with pytest.raises(ConfigError, match="are fixed"):
            town.up["a"].members()


def test_seeds_are_checked() -> None:
    for seeds, reason in [(["nowhere"], "is not an address"), ([7], "addresses"), (["10.0.0.1:7101"], "certificates")]:
        with pytest.raises(ConfigError, match=reason):
            join("c", seeds=seeds)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="node name"):
        join("no name", seeds=["127.0.0.1:7101"])
