"""How long locks cannot be acquired when members crash, come back, join and leave. In virtual time, so that it is the
protocol that is measured, and not the machine."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from story import AT_ONCE, NOTICED, Story, play
from virtual import VirtualLoop
from virtual_cluster import PATIENCE

from congenial.net import viewed
from congenial.net.absence import AGAIN
from congenial.net.entrance import Era
from congenial.net.errors import ClusterDegraded, LockLost
from congenial.net.health import why_not_ready
from congenial.net.held import Held
from congenial.net.locks import Cluster
from congenial.net.view_door import ViewDoor


@pytest.mark.parametrize("founders", [3, 5])
@pytest.mark.parametrize("fault", ["crash", "pause", "cut"])
def test_the_lock_of_a_member_that_is_lost_is_had_again_when_its_loss_is_noticed(fault: str, founders: int) -> None:
    """Its lease is over by then."""

    async def tell(story: Story) -> None:
        def hit() -> object:
            if fault == "crash":
                return story.crash("a")
            if fault == "pause":
                return story.network.pause(story.machines["a"])
            return asyncio.ensure_future(story.cut_off("a", 60.0))

        assert await story.take_over("a", "b", hit) < NOTICED + AT_ONCE
        assert story.views() == 1, "it costs one change"

    play(tell, founders)


@pytest.mark.parametrize("patient", ["a", "c"])
def test_members_need_not_be_equally_patient(patient: str) -> None:
    """Once the first to notice a loss was excluded itself, if the leader had more patience; and that lasted longer."""

    async def tell(story: Story) -> None:
        for link in story.clusters[patient]._host.membership.links:
            link.patience.allowed = 3 * PATIENCE
            link.misjudged_at = story.clusters[patient]._host.membership.now()
        await asyncio.sleep(PATIENCE)
        assert await story.take_over("b", "c", lambda: story.crash("b")) < 3.5 * PATIENCE
        assert story.views() == 1

    play(tell)


def test_a_member_that_comes_back_delays_nobody() -> None:
    """Once all locks waited for leases that nobody had, for as long as the longest lease."""

    async def tell(story: Story) -> None:
        cut = asyncio.ensure_future(story.cut_off("a", 4 * PATIENCE))
        await asyncio.sleep(2 * PATIENCE)
        using = [asyncio.ensure_future(story.use(name)) for name in ("b", "c")]
        before = story.views()
        await cut
        await asyncio.sleep(6 * PATIENCE)
        assert story.views() == before + 1
        assert story.clusters["a"]._host.locks.agreement.since == before + 1
        assert story.longest < AT_ONCE
        assert story.entries > 100
        assert story.lost == []
        [task.cancel() for task in using]

    play(tell)


def test_a_member_that_is_stopped_and_started_again_delays_nobody() -> None:
    async def tell(story: Story) -> None:
        using = [asyncio.ensure_future(story.use(name)) for name in ("b", "c")]
        await story.at("a", lambda cluster: cluster.close())
        story.crash("a")
        await asyncio.sleep(2 * PATIENCE)
        story.start("a")
        await asyncio.sleep(2 * PATIENCE)
        assert story.clusters["a"]._host.locks.is_settled()
        assert story.views() == 2
        assert story.longest < AT_ONCE
        assert story.lost == []
        [task.cancel() for task in using]

    play(tell)


def test_a_rolling_restart_delays_nobody() -> None:
    """Once a member that was restarted expected leases of lives that were long over, and everybody waited for them."""

    async def tell(story: Story) -> None:
        using = {name: asyncio.ensure_future(story.use(name)) for name in "abc"}
        for name in "abcabc":
            using.pop(name).cancel()
            await asyncio.sleep(AT_ONCE)
            await story.at(name, lambda cluster: cluster.close())
            story.crash(name)
            await asyncio.sleep(2 * PATIENCE)
            story.start(name)
            await asyncio.sleep(2 * PATIENCE)
            assert story.clusters[name]._host.locks.is_settled()
            using[name] = asyncio.ensure_future(story.use(name))
        assert story.views() == 12
        assert story.longest < AT_ONCE
        assert story.lost == []
        [task.cancel() for task in using.values()]

    play(tell)


@pytest.mark.parametrize("most", [12, pytest.param(50, marks=pytest.mark.deep)])
def test_from_three_members_to_many_and_back(most: int) -> None:
    """Under load; nothing is lost, and nobody waits for longer than some round trips."""

    async def tell(story: Story) -> None:
        seeds = tuple(story.places.values())
        using = {name: asyncio.ensure_future(story.use(name)) for name in story.places}
        guests = [f"guest{number}" for number in range(most - 3)]
        for number, guest in enumerate(guests):
            story.places[guest] = f"127.0.1.{number + 1}:7101"
            await story.start(guest, seeds)
            await story.at(guest, lambda cluster: cluster.ready())
            if number % 5 == 0:
                using[guest] = asyncio.ensure_future(story.use(guest))
            await asyncio.sleep(0.05)
        assert story.clusters["a"]._host.locks.size() == most
        assert len(story.clusters["a"]._host.locks.agreement.view.voters) == 5
        for guest in guests:
            if guest in using:
                using[guest].cancel()
                await asyncio.sleep(AT_ONCE)
            await story.at(guest, lambda cluster: cluster.leave())
            story.crash(guest)
        assert story.clusters["a"]._host.locks.size() == 3
        assert story.lost == []
        assert story.entries > 20 * most
        assert story.longest < 4 * AT_ONCE
        [using[name].cancel() for name in "abc"]

    play(tell)


def test_every_founder_is_replaced_one_after_the_other() -> None:
    async def tell(story: Story) -> None:
        using = {name: asyncio.ensure_future(story.use(name)) for name in "abc"}
        for old, new, number in (("a", "d", 4), ("b", "e", 5), ("c", "f", 6)):
            seeds = tuple([story.places[name] for name in story.clusters])
            story.places[new] = f"127.0.0.{number}:7101"
            await story.start(new, seeds)
            await story.at(new, lambda cluster: cluster.ready())
            using[new] = asyncio.ensure_future(story.use(new))
            await asyncio.sleep(0.1)
            using.pop(old).cancel()
            await asyncio.sleep(AT_ONCE)
            await story.at(old, lambda cluster: cluster.leave())
            story.crash(old)
        view = story.clusters["d"]._host.locks.agreement.view
        assert [member[4].split()[0] for member in view.members] == ["d", "e", "f"]
        assert {process for process, _ in view.voters} == set(view.processes)
        assert story.lost == []
        assert story.longest < AT_ONCE
        [task.cancel() for task in using.values()]

    play(tell)


def test_a_founder_comes_back_although_others_have_moved_meanwhile() -> None:
    """It calls them where its configuration says, and nobody is there; they do not know it. Once it was never let in:
    where they are now, the view says."""

    async def tell(story: Story) -> None:
        old = story.places["a"]
        await story.at("b", lambda cluster: cluster.close())
        story.crash("b")
        await asyncio.sleep(2 * NOTICED)
        await story.at("a", lambda cluster: cluster.assign("b", "gone"))
        await story.at("a", lambda cluster: cluster.leave())
        story.crash("a")
        shutil.rmtree(story.folder / "a")
        story.places["a"] = "127.0.0.9:7101"
        await story.start("a", (story.places["c"],))
        await story.at("a", lambda cluster: cluster.ready())
        story.config = replace(story.config, nodes={**story.config.nodes, "a": old})
        story.start("b")
        await asyncio.sleep(8 * PATIENCE)
        assert story.clusters["b"]._host.locks.is_settled()

    play(tell)


@pytest.mark.parametrize(("seconds", "agreed"), [(1.5, True), (30.0, False)])
def test_a_voter_that_leaves_waits_until_the_others_can_agree_to_it(
    seconds: float, agreed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def tell(story: Story) -> None:
        for guest, number in (("d", 4), ("e", 5)):
            story.places[guest] = f"127.0.0.{number}:7101"
            await story.start(guest, (story.places["a"],))
            await story.at(guest, lambda cluster: cluster.ready())
        for name in ("a", "d"):
            story.network.pause(story.machines[name])
        leaving = asyncio.ensure_future(story.at("e", lambda cluster: cluster.leave()))
        await asyncio.sleep(seconds)
        for name in ("a", "d"):
            story.network.go_on(story.machines[name])
        await leaving
        voters = story.clusters["a"]._host.locks.agreement.voters()
        assert len(voters) == (1 if agreed else 3)

    play(tell, founders=1)
    assert ("leave.failed" in caplog.text) != agreed


def test_a_member_that_has_entered_remembers_what_it_has_granted() -> None:
    """Also if another one was gone for good before it could remind it of locks. Once it took itself for one without
    memory forever, and after a restart it did not know of leases that it had granted."""

    async def tell(story: Story) -> None:
        seeds = tuple(story.places.values())
        for guest, number in (("d", 4), ("e", 5)):
            story.places[guest] = f"127.0.0.{number}:7101"
        await story.start("d", seeds)
        await story.at("d", lambda cluster: cluster.ready())
        story.network.pause(story.machines["d"])
        await story.start("e", seeds)
        story.crash("d")
        await story.at("e", lambda cluster: cluster.ready())
        await story.at("e", lambda cluster: cluster.assign("e", "voter"))
        await asyncio.sleep(PATIENCE)
        story.crash("e")
        await story.start("e", seeds)
        await asyncio.sleep(AT_ONCE)
        grants = story.clusters["e"]._host.locks.agreement.grants
        assert max(grants.outside, *grants.assumed.values()) > grants.clock()

    play(tell)


@pytest.mark.parametrize(("by", "asker"), [("name", "b"), ("number", "b"), ("number", "a")])
def test_a_voter_whose_name_is_not_known_here_can_be_removed(by: str, asker: str) -> None:
    """A member that was restarted knows the number of a voter that is away, and not its name. Once it said that it had
    removed it, and had not. Another member, which knows the name, refused the number."""

    async def tell(story: Story) -> None:
        for guest, number in (("b", 2), ("c", 3)):
            story.places[guest] = f"127.0.0.{number}:7101"
            await story.start(guest, (story.places["a"],))
            await story.at(guest, lambda cluster: cluster.ready())
        story.crash("c")
        await asyncio.sleep(2 * NOTICED)
        story.crash("b")
        await story.start("b", (story.places["a"],))
        await story.at("b", lambda cluster: cluster.ready())
        (away,) = [member.name for member in story.clusters["b"].members() if not member.present]
        assert away.startswith("process ")
        await story.at(asker, lambda cluster: cluster.assign("c" if by == "name" else away, "gone"))
        assert [member.name for member in story.clusters["b"].members()] == ["a", "b"]

    play(tell, founders=1)


@pytest.mark.parametrize(("outgoing", "incoming"), [(True, True), (True, False), (False, True)])
def test_a_cut_between_two_of_three_costs_one_change_however_long_it_lasts(outgoing: bool, incoming: bool) -> None:
    """And another one when it is mended. Until then the other two are served."""

    async def tell(story: Story) -> None:
        using = asyncio.ensure_future(story.use("c", 0.2))
        cut = asyncio.ensure_future(story.cut_cables("a", ["b"], outgoing, incoming, 60.0))
        await asyncio.sleep(29.0)
        (out,) = [name for name in ("a", "b") if not story.clusters[name]._host.membership.is_member()]
        with pytest.raises(ClusterDegraded, match=f"now: '{out}' is not a member yet: .*(is away|does not hear it)"):
            await story.at(out, lambda cluster: cluster.mutex("x", timeout=20.0).acquire())
        await asyncio.sleep(10.0)
        assert story.views() == 1
        assert len(story.clusters["c"]._host.locks.agreement.view.members) == 2
        assert story.longest < NOTICED + PATIENCE
        await cut
        await asyncio.sleep(65.0)  # a process that is out asks less and less often
        assert story.views() == 2
        assert story.clusters["c"]._host.locks.size() == 3
        using.cancel()

    play(tell)


def test_the_log_says_now_and_then_why_tasks_wait_at_a_member_that_is_excluded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It hears a majority, and its tasks are served when it hears all members. Once it waited in silence."""

    def said() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.__dict__.get("event") == "locks.wait"]

    async def tell(story: Story) -> None:
        cut = asyncio.ensure_future(story.cut_cables("a", ["b"], True, True, 2 * AGAIN))
        await asyncio.sleep(2 * NOTICED)
        (out,) = [name for name in ("a", "b") if not story.clusters[name]._host.membership.is_member()]
        other = "ab".replace(out, "")
        await asyncio.sleep(2 * PATIENCE)
        assert said() == []  # nobody waits
        waiting = asyncio.ensure_future(story.at(out, lambda cluster: cluster.mutex("x").acquire()))
        await asyncio.sleep(2 * PATIENCE)
        why = f"'{out}' is not a member yet: '{other}' is away; all members must hear each other"
        assert said() == [f"locks.wait node={out} missing={other} reason={why}"]
        await asyncio.sleep(AGAIN - 4 * PATIENCE)
        assert len(said()) == 1
        await asyncio.sleep(4 * PATIENCE)
        assert len(said()) == 2
        assert not waiting.done()
        await cut
        assert (await asyncio.wait_for(waiting, 4 * PATIENCE)).held
        second = asyncio.ensure_future(story.cut_cables("a", ["b"], True, True, 20.0))
        await asyncio.sleep(2 * NOTICED)
        (out,) = [name for name in ("a", "b") if not story.clusters[name]._host.membership.is_member()]
        waiting = asyncio.ensure_future(story.at(out, lambda cluster: cluster.mutex("y").acquire()))
        await asyncio.sleep(2 * PATIENCE)
        assert len(said()) == 3  # it is another time
        await second
        await waiting

    play(tell)


@pytest.mark.parametrize("period", [0.8, 2.0])
def test_a_link_that_flaps_causes_few_changes(period: float) -> None:
    """For three minutes, each of which is 120 times the patience. Once there were 30 changes in each of them."""

    async def tell(story: Story) -> None:
        using = asyncio.ensure_future(story.use("c", 0.2))
        changes = []
        for _ in range(3):
            before = story.views()
            for _ in range(int(60 / (2 * period))):
                await story.cut_cables("a", ["b"], True, True, period)
                await asyncio.sleep(period)
            changes.append(story.views() - before)
        using.cancel()
        assert max(changes) <= 18, changes
        assert changes[-1] <= 12, changes
        assert story.longest < NOTICED + PATIENCE

    play(tell)


async def change_often(story: Story, pause: float) -> None:
    while True:
        await asyncio.sleep(pause)
        await story.at("a", renew)


async def renew(cluster: Cluster) -> None:
    cluster._host.locks.agreement.renew()


def test_who_wants_to_be_alone_need_not_wait_until_members_stop_changing() -> None:
    """All readers of a while ago have left. Once each view took everybody inside for those that came first, and let
    newcomers in until they had left: if the view changed within each reader's stay, the writer waited forever."""

    async def read(cluster: Cluster, pause: float) -> None:
        while True:
            async with cluster.shared("x"):
                await asyncio.sleep(1.0)
            await asyncio.sleep(pause)

    async def write(cluster: Cluster) -> None:
        async with cluster.exclusive("x", timeout=10):
            pass

    async def tell(story: Story) -> None:
        tasks = []
        for name in "abc":
            for k in range(4):
                tasks.append(asyncio.ensure_future(story.at(name, partial(read, pause=0.05 * (k + 1)))))
                await asyncio.sleep(0.08)
        await asyncio.sleep(3.0)
        tasks.append(asyncio.ensure_future(change_often(story, 0.9)))
        for name in "bca":
            since = story.loop.now
            await story.at(name, write)
            assert story.loop.now - since < 5.0
        for task in tasks:
            task.cancel()

    play(tell)


def test_members_have_their_turns_however_often_the_view_changes() -> None:
    """Each of them asks again in every view. Once the home was always first, and the next one to hear of the view was
    second: their turns were 100, 77 and 23."""

    async def tell(story: Story) -> None:
        turns = dict.fromkeys("abc", 0)

        async def take_turns(cluster: Cluster) -> None:
            while True:
                async with cluster.mutex("x"):
                    turns[cluster.name] += 1
                    await asyncio.sleep(0.3)

        tasks = [asyncio.ensure_future(story.at(name, take_turns)) for name in "abcabc"]
        tasks.append(asyncio.ensure_future(change_often(story, 0.25)))
        await asyncio.sleep(60.0)
        for task in tasks:
            task.cancel()
        assert sum(turns.values()) > 190
        assert min(turns.values()) > 50, turns

    play(tell)


@pytest.mark.parametrize("members", [5, pytest.param(25, marks=pytest.mark.deep)])
def test_a_semaphore_for_a_thousand(members: int) -> None:
    """All its slots can be taken, and never more; while one is held and another member is restarted, all others can."""
    k = 1000
    inside = 0

    async def enter(cluster: Cluster, count: int) -> list[Held]:
        nonlocal inside
        held = await asyncio.gather(*[cluster.semaphore("x", k, timeout=4 * NOTICED).acquire() for _ in range(count)])
        inside += count
        assert inside <= k
        return held

    async def leave(held: list[Held]) -> None:
        nonlocal inside
        inside -= len(held)
        for one in held:
            one.release()

    async def tell(story: Story) -> None:
        names = list(story.places)
        for number in range(members - 3):
            names.append(f"guest{number}")
            story.places[names[-1]] = f"127.0.1.{number + 1}:7101"
            await story.start(names[-1], (story.places["a"],))
            await story.at(names[-1], lambda cluster: cluster.ready())
        holder, restarted, others = names[-2], names[-1], names[:-2]
        share = (k - 1) // len(others) - 1
        (one,) = await story.at(holder, lambda cluster: enter(cluster, 1))
        story.crash(restarted)
        for back in (False, True):
            if back:
                await asyncio.sleep(NOTICED)  # otherwise all wait for its lease
                await story.start(restarted, (story.places["a"],))
            since = story.loop.now
            taken = await asyncio.gather(*[story.at(name, lambda cluster: enter(cluster, share)) for name in others])
            rest = await story.at("b", lambda cluster: enter(cluster, k - inside))
            assert story.loop.now - since < (AT_ONCE if back else NOTICED + AT_ONCE)
            assert one.held
            waiting = asyncio.ensure_future(story.at("c", lambda cluster: enter(cluster, 1)))
            await asyncio.sleep(PATIENCE)
            assert not waiting.done()
            await story.at("b", lambda _, rest=rest: leave(rest))
            last = await asyncio.wait_for(waiting, AT_ONCE)
            await story.at("c", lambda _, last=last: leave(last))
            for name, held in zip(others, taken, strict=True):
                await story.at(name, lambda _, held=held: leave(held))
        await story.at(others[0], lambda cluster: enter(cluster, k - 1))  # all at one member
        story.crash("c")
        await asyncio.sleep(2 * NOTICED)
        assert story.clusters[holder]._host.locks.size() == members - 1
        waiting = asyncio.ensure_future(story.at("b", lambda cluster: enter(cluster, 1)))
        await asyncio.sleep(PATIENCE)
        assert not waiting.done()
        await story.at(holder, lambda _: leave([one]))
        await asyncio.wait_for(waiting, AT_ONCE)

    play(tell)


def test_where_a_majority_has_forgotten_everybody_is_told_so() -> None:
    """Members that remember may have agreed on something with those that do not, so nobody can go on alone."""
    said: list[str] = []

    async def ask(story: Story, name: str, timeout: float | None) -> None:
        with pytest.raises(ClusterDegraded) as error:
            await story.at(name, lambda cluster: cluster.mutex("x", timeout=timeout).acquire())
        said.append(str(error.value))

    async def tell(story: Story) -> None:
        for name in ("a", "c"):
            story.crash(name)
            shutil.rmtree(story.folder / name)
        await asyncio.sleep(4 * PATIENCE)  # until the lease of b is over
        waiting = asyncio.ensure_future(ask(story, "b", None))
        await asyncio.sleep(10)
        assert not waiting.done()  # they may be back with their memory
        for name in ("a", "c"):
            await story.start(name)
        await asyncio.sleep(10)
        assert waiting.done()
        for name in ("b", "c"):
            await ask(story, name, 1.0)
        assert "have forgotten" in why_not_ready(story.clusters["b"]._host)

    play(tell)
    assert len(said) == 3
    for text in said:
        assert "'a' and 'c' have forgotten what was agreed on" in text
        assert text.endswith("stop all members, remove all state directories, and start all members")


def test_members_that_forget_one_after_the_other_are_told_nothing_of_it() -> None:
    async def tell(story: Story) -> None:
        for name in (*story.places, *story.places):
            story.crash(name)
            shutil.rmtree(story.folder / name)
            await story.start(name)
            await story.at(name, lambda cluster: cluster.ready())
            for member in story.clusters.values():
                assert "forgotten" not in why_not_ready(member._host)
            await story.at(name, lambda cluster: story._enter(cluster, "x"))

    play(tell)


def test_fences_do_not_go_back_when_a_cluster_of_many_changes_is_founded_again() -> None:
    """A second after the other one has ended, and nobody remembers it. Once a process that came and went all the time
    caused a hundred views a second, more than the clock counts."""

    async def tell(story: Story) -> None:
        async def fence() -> int:
            async def acquire(cluster: Cluster) -> int:
                async with cluster.mutex("x", timeout=10.0) as held:
                    return held.fence

            return max([await story.at(name, acquire) for name in "abc"])

        seeds = tuple(story.places.values())
        story.places["guest"] = "127.0.0.4:7101"
        begin = story.loop.now
        while story.loop.now < begin + 5.0:
            await story.start("guest", seeds)
            await story.at("guest", lambda cluster: cluster.ready())
            await story.at("guest", lambda cluster: cluster.leave())
            story.crash("guest")
            shutil.rmtree(story.folder / "guest")
        assert story.views() > 100
        last = await fence()
        for name in "abc":
            story.crash(name)
            shutil.rmtree(story.folder / name)
        await asyncio.sleep(1.0)
        await asyncio.gather(*[story.start(name) for name in "abc"])
        assert await fence() > last

    play(tell)


@pytest.mark.parametrize("kind", ["mutex", "semaphore"])
def test_what_was_lost_is_not_held_again_before_it_moves(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member was stopped, and excluded, and is let in again before all its locks have moved: it has a new lease, and
    once it held again for a moment what another member had acquired meanwhile."""
    move_some, slow = viewed.ViewedLocks._move_some, [False]

    def move_later(self: viewed.ViewedLocks, era: Era, rest: float) -> None:
        if slow[0] and self.to_move:  # there are very many
            self.membership.loop.call_later(PATIENCE, move_some, self, era, rest)
        else:
            move_some(self, era, rest)

    monkeypatch.setattr(viewed.ViewedLocks, "_move_some", move_later)

    async def tell(story: Story) -> None:
        def lock(cluster: Cluster) -> Any:
            return cluster.mutex("x") if kind == "mutex" else cluster.semaphore("x", 1)

        async def hold(cluster: Cluster, asks: bool) -> None:
            async with lock(cluster) as held:
                entered.set()
                while not slow[0] or cluster._host.locks.agreement.lease.left() == 0.0:
                    await asyncio.sleep(0.001)
                assert not cluster._host.locks.is_settled()
                assert cluster._host.locks.lease.left() == 0.0, "nor does it last for programs that use this node"
                if asks:
                    assert held.valid_for() == 0.0
                    assert not held.held

        async def release(held: Held) -> None:
            held.release()

        for asks in (True, False):  # or it only ends its block
            entered = asyncio.Event()
            holding = asyncio.ensure_future(story.at("a", lambda cluster, asks=asks: hold(cluster, asks)))
            await entered.wait()
            story.network.pause(story.machines["a"])
            other = await story.at("b", lambda cluster: lock(cluster).acquire())
            slow[0] = True
            story.network.go_on(story.machines["a"])
            with pytest.raises(LockLost):
                await holding
            slow[0] = False
            await asyncio.sleep(4 * PATIENCE)
            await story.at("b", lambda _, other=other: release(other))
        assert story.views() == 4

    play(tell)


def test_holders_are_told_some_at_a_time_that_the_lease_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """And tasks that wait go on some at a time, once it goes on. Many thousands blocked the event loop otherwise."""
    turns: dict[str, Counter[int]] = {"lapse": Counter(), "pump": Counter()}

    def spy(what: str, loop: VirtualLoop) -> None:
        act = getattr(ViewDoor, what)

        def counted(self: ViewDoor) -> None:
            turns[what][loop.steps] += self.membership.name == "a"
            act(self)

        monkeypatch.setattr(ViewDoor, what, counted)

    async def tell(story: Story) -> None:
        async def hold(cluster: Cluster) -> list[Held]:
            return [await cluster.mutex(f"lock {at}").acquire() for at in range(450)]

        async def enter_all(cluster: Cluster) -> None:
            await asyncio.gather(*[story._enter(cluster, f"lock {at}") for at in range(450)])

        held = await story.at("a", hold)
        spy("lapse", story.loop)
        cut = asyncio.ensure_future(story.cut_off("a", 4 * PATIENCE))
        await asyncio.sleep(NOTICED)
        assert all([one.lost for one in held])
        assert sum(turns["lapse"].values()) == 450
        assert max(turns["lapse"].values()) <= viewed.TOLD_AT_A_TIME
        entering = asyncio.ensure_future(story.at("a", enter_all))
        await asyncio.sleep(PATIENCE)
        spy("pump", story.loop)
        await cut
        await entering
        assert max(turns["pump"].values()) <= viewed.TOLD_AT_A_TIME
        assert story.entries == 450

    play(tell)
