"""The Cluster view without a browser: what the studio's server makes of what nodes tell."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_server import SECRET, ask

import congenial
from congenial.kernel.errors import ConfigError
from congenial.net.config import Timing, free_addresses
from congenial.net.link import FULL
from congenial.net.locks import Cluster
from congenial.net.membership import HAS_LEFT
from congenial.net.service import serve
from congenial.studio.cluster import ClusterWatch, Where, Wish, base_name, completed
from congenial.studio.guard import Guard
from congenial.studio.history import History, bound_of
from congenial.studio.server import Studio
from congenial.studio.story import Story
from congenial.studio.troubles import has_gone, lasting, listed, troubles

TIMING = Timing(heartbeat=0.1, suspect_after=2.0, gather=30.0, reconnect=0.002, reconnect_most=0.02)


def link(state: str = "up", **other: Any) -> dict[str, Any]:
    return {"state": state, "refusal": "", "silent_for": 0.1, "connections": 1, "unacknowledged": 0, **other}


def status(peers: str, **other: Any) -> dict[str, Any]:
    """What a node tells that is well."""
    return {
        "not_ready": "", "open": True, "links": {peer: link() for peer in peers}, "oldest": None, "abstains": 0,
        "locks": {}, "view": 3, "members": ["a", "b", "c"], "entries": 0, "messages": {"Request": 0}, "waits": 0,
        "waits_total": 0.0, "timeouts": 0, "losses": 0, "cost": 0.0, "wait_counts": [0] * 12, "waiting": 0, "inside": 0,
        **other,
    }  # fmt: skip


def cluster(**other: Any) -> dict[str, Any]:
    told = {"a": status("bc"), "b": status("ac"), "c": status("ab")}
    for name, changed in other.items():
        told[name] = changed if changed is None else {**told[name], **changed}
    return told


def wrong(told: dict[str, Any], slow: float = 10) -> list[str]:
    return [one["text"] for one in troubles(told, 1_000_000.0, slow, History())]


def test_nothing_is_wrong() -> None:
    assert wrong(cluster()) == []


AWAY = {"links": {"c": link("away", silent_for=5.0), "b": link()}}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (cluster(c=None, a=AWAY), ["c has been away since ", "as a sees it: has it crashed?"]),
        (cluster(c=None), ["c does not answer, though it is connected"]),
        (
            cluster(c=None, **{name: {"links": {"c": link("down", silent_for=3)}} for name in "ab"}),
            ["c does not answer: its connections broke, and nothing was heard of it for 3 s"],
        ),
        (
            cluster(c=None, **{name: {"links": {"c": link("down", connections=0, refusal="secret")}} for name in "ab"}),
            ["c has not been heard of (secret): start it"],
        ),
        (cluster(b={"not_ready": "'b' is not a member yet"}), ["b cannot acquire locks now: 'b' is not a member yet."]),
        (
            cluster(a={"oldest": {"lock": "x", "for": 75.0}}, b={"oldest": {"lock": "x", "for": 12.0}}),
            ["A request for “x” at a has waited for 1 min 15 s, longer than 10 s, and others have at b."],
        ),
        (
            cluster(a={"links": {"b": link(unacknowledged=FULL), "c": link()}}),
            ["The link from a to b is full (10,000 messages): a asks for no locks until it has drained."],
        ),
        (
            cluster(a={"links": {"b": link("away", silent_for=9)}}, b={"links": {"a": link("down", silent_for=9)}}),
            ["a and b do not hear each other for 9 s: is the network split?"],
        ),
        (cluster(b={"links": {"a": link("away", silent_for=9)}}), ["b does not hear a for 9 s"]),
        (
            cluster(c={"view": 2}, a={"view": 4, "members": ["a", "b"]}, b={"view": 4, "members": ["a", "b"]}),
            ["c is not in the present view (4)"],
        ),
        (cluster(a={"abstains": 2}), ["a has lost its memory, and does not vote about 2 locks"]),
        (cluster(a={"locks": {"sum (guarded)": {"trouble": "it fell"}}}), ["“sum (guarded)” at a is broken: it fell"]),
    ],
)  # fmt: skip
def test_each_thing_that_is_wrong_is_one_sentence(told: dict[str, Any], said: list[str]) -> None:
    [sentence] = wrong(told)
    assert all([part in sentence for part in said]), sentence
    assert sentence.endswith((".", "?"))


def test_a_member_that_has_left_is_missed_only_if_it_has_a_vote() -> None:
    left = {"links": {"c": link("away", refusal=HAS_LEFT)}}
    for voters in (["a", "b", "c"], ["a", "b"]):
        told = cluster(c=None, a={**left, "voters": voters}, b={**left, "voters": voters})
        there = {name: told[name] for name in ("a", "b")}
        assert has_gone("c", there) == ("c" not in voters)
        assert wrong(told) == ["c has left the cluster. It still has a vote, and is expected back."]
        assert not has_gone("a", there)
    assert not has_gone("c", {"a": status("bc", links={"c": link("away")}, voters=["a", "b"])})  # it has crashed


def test_without_a_majority_that_is_said_first() -> None:
    told = cluster(c=None, b=None, a={"not_ready": "too few members are there, without b, c"})
    first, *others = wrong(told)
    assert first == "No majority: without b and c, too few members are left, and no lock can be acquired."
    assert [text[:17] for text in others] == ["b does not answer", "c does not answer"]


def test_a_request_may_wait_as_long_as_the_command_line_says() -> None:
    told = cluster(a={"oldest": {"lock": "x", "for": 12.0}})
    assert len(wrong(told, slow=11)) == 1
    assert wrong(told, slow=13) == []


def test_rates_waits_and_losses_are_differences_between_looks() -> None:
    history = History()
    counts = [0] * 12
    history.add(100.0, cluster(a={"losses": 3}))
    assert history.columns()["at"] == []
    counts[4] = 99
    counts[11] = 1
    later = {"entries": 50, "messages": {"Request": 10, "Reply": 10}, "waits": 100, "waits_total": 2.0, "losses": 4}
    history.add(102.0, cluster(a={**later, "wait_counts": counts, "cost": 0.004, "waiting": 7}))
    columns = {name: column[-1] for name, column in history.columns().items()}
    assert columns["entries"] == 25
    assert columns["messages"] == 10
    assert columns["mean"] == pytest.approx(0.02)
    assert columns["most"] == 0.01
    assert columns["waiting"] == 7
    assert history.lost_lately(110.0) == {"a": 1}
    assert history.lost_lately(190.0) == {}
    assert history.cost_of_a_look == pytest.approx(0.004)
    history.add(104.0, cluster())  # a was restarted: its counters began at 0 again, and are not taken for a fall
    assert history.of_node("a") is None
    assert history.of_node("b") is not None
    history.add(500.0, cluster())  # nobody looked for a while
    assert history.columns()["entries"][-1] is None
    assert bound_of([0] * 12, 0.99) is None


def task(group: str, since: float, seconds: float) -> dict[str, Any]:
    return {"group": group, "since": since, "for": seconds}


def test_a_story_tells_who_held_the_lock_when_and_who_waited() -> None:
    def told(entries: int, inside: list[Any], waiting: list[Any]) -> dict[str, Any]:
        return {
            "entries": entries, "holders": len(inside), "queue": len(waiting),
            "inside": [{**task(*one), "fence": 2**60 + 1, "owner": "x"} for one in inside],
            "waiting": [task(*one) for one in waiting],
        }  # fmt: skip

    story = Story(100.0)
    story.hear(
        {"a": told(1, [("jazz", 7.0, 3.0)], []), "b": told(0, [], [("rock", 1.0, 2.0), ("rock", 1.0, 2.0)])}, 100.0
    )
    story.hear({"a": told(1, [], []), "b": told(1, [("rock", 9.0, 0.5)], [("rock", 1.0, 3.0)])}, 101.0)
    story.hear({"a": told(6, [], [])}, 102.0)  # b does not answer, and a has been inside five times meanwhile
    said = story.document(102.0)
    assert said["spans"] == [
        ["a", "inside", "jazz", str(2**60 + 1), 97.0, 100.5],  # until b entered
        ["b", "waiting", "rock", "", 98.0, 100.5],
        ["b", "waiting", "rock", "", 98.0, 101.0],  # until b was heard last
        ["b", "inside", "rock", str(2**60 + 1), 100.5, 101.0],
    ]
    assert said["unseen"] == 5
    assert (said["holders"], said["queue"], said["inside"]) == (0, 0, [])
    story.hear({}, 5000.0)
    assert story.document(5000.0)["spans"] == []
    assert not story.document(5000.0)["known"]


def test_words() -> None:
    assert [listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert [lasting(seconds) for seconds in (0.25, 59.9, 61, 7320)] == ["0.2 s", "59 s", "1 min 1 s", "2 h 2 min"]
    assert [base_name(label) for label in ("x", "x (semaphore)", "x (guarded)")] == ["x"] * 3


@pytest.mark.parametrize("wish", [None, [], {"find": 5}, {"find": "x" * 201}, {"by": "name"}, {"lock": None}])
def test_wrong_wishes_are_refused(wish: Any) -> None:
    with pytest.raises(ConfigError):
        Wish.of(wish)


def test_a_studio_without_a_cluster_says_so() -> None:
    app = Guard(Studio().app(), SECRET, "127.0.0.1")
    answer = ask(app, f"/{SECRET}/api/cluster", {})
    assert (answer.status, answer.json()["unset"]) == (200, True)
    assert not ask(app, f"/{SECRET}/api/catalogue").json()["cluster"]
    assert ask(app, "/api/cluster", {}).status == 404
    assert ask(app, f"/{SECRET}/api/cluster", {}, origin="http://elsewhere.example").status == 403
    assert ask(app, f"/{SECRET}/api/cluster", b"{}", content_type="text/plain").status == 415


def test_a_cluster_without_nodes_is_shown_as_lost(tmp_path: Path) -> None:
    watch = ClusterWatch(Where(socket=str(tmp_path / "none.sock")))
    app = Guard(Studio(watch=watch).app(), SECRET, "127.0.0.1")
    answer = ask(app, f"/{SECRET}/api/cluster", {})
    assert answer.status == 200
    assert "no node is listening" in answer.json()["lost"]
    assert ask(app, f"/{SECRET}/api/catalogue").json()["cluster"]
    refused = ask(app, f"/{SECRET}/api/cluster", {"by": "name"})
    assert (refused.status, "sorted by" in refused.json()["error"]) == (400, True)


def test_what_cannot_be_a_cluster_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text('cluster = "x"\n[nodes]\na = "127.0.0.1:7101"\n')
    with pytest.raises(ConfigError, match="cannot read"):
        ClusterWatch(Where(str(tmp_path / "none.toml")))
    with pytest.raises(ConfigError, match="'z' is not a node"):
        ClusterWatch(Where(str(tmp_path / "cluster.toml"), "z"))


async def seen(watch: ClusterWatch, wish: dict[str, Any], condition: Callable[[Any], object]) -> Any:
    """Look until something is seen."""
    for _ in range(600):
        document = await watch.look(wish)
        json.dumps(document)
        if "lost" not in document and condition(document):
            return document
        await asyncio.sleep(0.1)
    raise AssertionError(f"it was not seen within a minute: {document}")


def test_a_real_cluster_is_looked_at_and_one_node_after_another_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    names = ("a", "b", "c")
    addresses = dict(zip(names, free_addresses(3), strict=True))
    config = tmp_path / "cluster.toml"
    nodes = "".join([f'{name} = "{place}"\n' for name, place in addresses.items()])
    config.write_text(f'cluster = "x"\n[nodes]\n{nodes}')

    async def play() -> None:
        members = [await congenial.join(name, addresses, cluster="x", timing=TIMING).start() for name in names]
        for member in members:
            await member.ready(60)
        for member in members[1:]:
            await serve(member, tmp_path / f"congenial-x-{member.name}.sock")
        for number in range(200):
            members[0].mutex(f"idle {number}")
        watch = ClusterWatch(Where(str(config), "c"), slow=600)
        held = await members[0].group("wanted", "blue", timeout=60).acquire()
        waiting = asyncio.create_task(members[1].mutex("wanted", timeout=60).acquire())
        wish = {"find": "WANT", "lock": "wanted"}
        told = await seen(watch, wish, lambda told: told["lock"]["queue"])
        assert told["asked"] == "c"
        assert (told["cluster"], told["wrong"], told["members"], told["voters"]) == ("x", [], [*names], [*names])
        assert [lock["name"] for lock in told["locks"]] == ["wanted"]
        assert told["locks"][0]["at"] == [["a", 1, 0, "blue", str(held.fence)], ["b", 0, 1, None, ""]]
        assert [(one["node"], one["group"], one["fence"]) for one in told["lock"]["inside"]] == [
            ("a", "blue", str(held.fence))
        ]
        assert [one["node"] for one in told["lock"]["waiting"]] == ["b"]
        plain = await seen(watch, {"by": "holders"}, lambda told: told["locks"][0]["name"] == "wanted")
        assert (len(plain["locks"]), plain["found"]) == (60, plain["known"])
        await kill(members[2])
        told = await seen(watch, wish, lambda told: told["asked"] == "b" and told["wrong"])
        assert "c " in told["wrong"][0]["text"]
        assert [node["state"] for node in told["nodes"]] in (["up", "up", "away"], ["up", "up", "silent"])
        held.release()
        (await waiting).release()
        told = await seen(watch, wish, lambda told: not told["lock"]["holders"])
        assert {span[0] for span in told["lock"]["spans"] if span[1] == "inside"} >= {"a"}
        told = await seen(watch, {}, lambda told: told["rates"]["at"])
        assert 0 <= told["nodes"][0]["rates"]["cost"] < 1
        await watch.close()
        for member in members[:2]:
            await member.close()
        assert "lost" in await ClusterWatch(Where(str(config))).look({})

    async def kill(member: Cluster) -> None:
        for prepare in member._before_leaving:
            await prepare()
        member._host.turn.silent = True
        member._host.membership.fall_silent()
        await asyncio.gather(*member._host.membership.tasks, return_exceptions=True)

    asyncio.run(asyncio.wait_for(play(), 180))


def test_a_node_of_an_earlier_release_is_shown_as_far_as_it_tells(tmp_path: Path) -> None:
    async def play() -> None:
        async with congenial.join("a", {"a": free_addresses(1)[0]}) as member:
            node = await serve(member, tmp_path / "a.sock")
            async with member.mutex("wanted"):
                plain = member.status()
                watch = ClusterWatch(Where(socket=str(tmp_path / "a.sock")))
                told = watch._document(Wish(), {"a": completed(plain), "b": None}, 1.0)
            assert [lock["name"] for lock in told["locks"]] == ["wanted"]
            assert (told["known"], told["nodes"][0]["state"], told["nodes"][1]["state"]) == (1, "up", "silent")
            node.close()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_a_page_that_costs_too_much_looks_less_often() -> None:
    watch = ClusterWatch(Where(socket="none.sock"))
    for cost, period in ((0.0001, 1.0), (0.02, 5.0), (10.0, 15.0)):
        watch.history.costs.extend([cost] * 5 + [0.1] * 4)  # now and then a node looks at all its locks
        watch._keep_cheap()
        assert watch.period == pytest.approx(period)


def test_a_cluster_whose_locks_agree_one_by_one_is_looked_at(tmp_path: Path) -> None:
    """There is no view then: every lock has its own agreements."""

    async def play() -> None:
        addresses = dict(zip("abc", free_addresses(3), strict=True))
        chosen = {"algorithm": "token-gme+epochs", "semaphores": "srimani-reddy+epochs", "timing": TIMING}
        members = [await congenial.join(name, addresses, **chosen).start() for name in addresses]  # type: ignore[arg-type]
        for member in members:
            await member.ready(60)
        await serve(members[0], tmp_path / "a.sock")
        watch = ClusterWatch(Where(socket=str(tmp_path / "a.sock")), slow=600)
        async with members[1].mutex("wanted", timeout=60), members[2].semaphore("seats", 2, timeout=60):
            told = await seen(watch, {"lock": "seats (semaphore)"}, lambda told: told["lock"]["holders"])
            assert (told["view"], told["voters"], told["members"]) == (None, [], ["a", "b", "c"])
            assert told["agreements"] >= 0
            assert {lock["name"]: lock["k"] for lock in told["locks"]} == {"wanted": None, "seats (semaphore)": 2}
            assert [one["node"] for one in told["lock"]["inside"]] == ["c"]
        await watch.close()
        for member in members:
            await member.close()

    asyncio.run(asyncio.wait_for(play(), 120))
