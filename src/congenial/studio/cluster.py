"""A live cluster, as a page shows it: read from its nodes, and never changed.

Nodes are asked only while a page looks, and only for what it shows: the busiest locks, those with a certain text in
their name, and one lock in detail. Each node says how much of its processor such questions have taken, and the page
asks less often when that becomes too much. If the node that is asked is gone, the next one of this machine is.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.kernel.inputs import shown
from congenial.net.asks import Ask
from congenial.net.client import Client
from congenial.net.config import load_config
from congenial.net.endpoints import Endpoint, LocalEndpoint, endpoints_of
from congenial.net.histogram import BUCKETS
from congenial.net.local import check_length, sockets_here
from congenial.net.survey import HOLDERS, WAITING
from congenial.studio.history import History
from congenial.studio.story import Story, fence_text
from congenial.studio.troubles import Told, has_gone, troubles

TOP = 60  # locks on the page
LEAST_TOP = 15  # that each node tells of; the more nodes, the fewer
LONGEST_FIND = 200  # characters
PERIOD = 1.0  # seconds between two looks
LONGEST_PERIOD = 15.0
SHARE = 0.004  # of a core, that looking may cost a node
PATIENCE = 3.0  # seconds in which all nodes must answer
MOST_STORIES = 8  # locks whose timeline is kept
SUFFIXES = (" (semaphore)", " (guarded)")
UNSET = "no cluster was named"


class Where(NamedTuple):
    """Where the nodes are: a `cluster.toml` and perhaps the node to ask first, or a node's socket."""

    config: str = ""
    node: str = ""
    socket: str = ""

    def check(self) -> None:
        """`ConfigError` if that cannot be right."""
        if self.socket:
            check_length(Path(self.socket))
        elif self.config:
            described = load_config(self.config)
            if self.node and not described.seeds:
                described.check_member(self.node)  # unless it has entered by seeds

    def endpoints(self) -> list[Endpoint]:
        """The nodes of this machine that run now, the one to ask first before the others."""
        if self.socket:
            return endpoints_of(self.socket, None, None)
        described = load_config(self.config)
        first = sockets_here(described, (self.node,)) if self.node else []
        paths = list(dict.fromkeys([*first, *sockets_here(described, described.members)]))
        return [LocalEndpoint(path, True) for path in paths] or endpoints_of(None, None, described)


class Wish(NamedTuple):
    """What a page looks at."""

    find: str = ""
    by: str = WAITING
    lock: str = ""

    @staticmethod
    def of(wish: Any) -> Wish:
        if not isinstance(wish, dict):
            raise ConfigError("what a page looks at must be a JSON object")
        find, by, lock = [wish.get(name, default) for name, default in (("find", ""), ("by", WAITING), ("lock", ""))]
        for name, value in (("find", find), ("lock", lock)):
            if not isinstance(value, str) or len(value) > LONGEST_FIND:
                raise ConfigError(f"{name} must be a text of at most {LONGEST_FIND} characters, not {shown(value)}")
        if by not in (WAITING, HOLDERS):
            raise ConfigError(f"locks are sorted by {WAITING} or {HOLDERS}, not by {shown(by)}")
        return Wish(find.strip(), by, lock)


class ClusterWatch:
    """Looks at a cluster. `slow` is how long a request may wait before that counts as wrong."""

    def __init__(self, where: Where, slow: float = 10.0, clock: Callable[[], float] = time.time) -> None:
        where.check()
        self.where = where
        self.slow = slow
        self.clock = clock
        self.client: Client | None = None
        self.alone = asyncio.Lock()  # two pages ask one after the other
        self.recent: OrderedDict[Wish, dict[str, Any]] = OrderedDict()
        self.names: list[str] = []  # of the locks that were shown last
        self.nodes = 1
        self.history = History()
        self.stories: OrderedDict[str, Story] = OrderedDict()
        self.period = PERIOD

    async def look(self, asked: Any) -> dict[str, Any]:
        """What a page shows; `lost` says why there is nothing to show."""
        wish = Wish.of(asked)
        async with self.alone:
            known = self.recent.pop(wish, None)
            if known is None or self.clock() - known["at"] >= 0.9 * self.period:
                known = await self._look(wish)
            self.recent[wish] = known
            if len(self.recent) > MOST_STORIES:
                self.recent.popitem(last=False)
            return known

    async def _look(self, wish: Wish) -> dict[str, Any]:
        began = self.clock()
        try:
            told = await self._ask(wish)
        except CongenialError as error:
            await self.close()
            return {"lost": str(error), "at": began, "period": self.period}
        now = self.clock()
        document = self._document(wish, told, now)
        self._keep_cheap()
        return {**document, "period": self.period}

    async def _ask(self, wish: Wish) -> Told:
        if self.client is None:
            client = Client(self.where.endpoints(), reconnect=True)
            await client.__aenter__()
            self.client = client
        top = TOP if wish.find else min(TOP, max(LEAST_TOP, 5 * TOP // max(1, self.nodes)))
        ask = Ask(
            "status", 0, name=base_name(wish.lock), top=top, find=wish.find, by=wish.by, shown=self.names, watch=True,
            timeout=PATIENCE,
        )  # fmt: skip
        told = (await self.client.ask(ask)).status or {}
        return {name: status and completed(status) for name, status in told.items()}

    async def close(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            await client.__aexit__(None, None, None)

    def _keep_cheap(self) -> None:
        """Look less often if that costs any node too much."""
        wanted = self.history.cost_of_a_look / SHARE
        self.period = min(LONGEST_PERIOD, max(PERIOD, wanted))

    # -- what is told ----------------------------------------------------------------------------------

    def _document(self, wish: Wish, told: Told, now: float) -> dict[str, Any]:
        there = {name: status for name, status in told.items() if status is not None}
        told = {name: status for name, status in told.items() if not has_gone(name, there)}
        latest = max(there.values(), key=lambda status: int(status.get("view", 0)))
        self.history.add(now, there)
        self.nodes = len(told)
        locks = merged(there, wish.by)
        found = max([int(status["found"]) for status in there.values()])
        shown_locks = [lock for lock in locks if wish.find.lower() in lock["name"].lower()][:TOP]
        self.names = list(dict.fromkeys([base_name(lock["name"]) for lock in shown_locks]))
        return {
            "at": now,
            "cluster": latest["cluster"],
            "algorithm": latest["algorithm"],
            "asked": next((name for name, status in there.items() if status.get("asked")), ""),
            "view": latest.get("view"),
            "agreements": max([int(status["agreements"]) for status in there.values()]),
            "members": latest.get("members", list(told)),
            "voters": latest.get("voters", []),
            "nodes": [self._node(name, status, there) for name, status in told.items()],
            "wrong": troubles(told, now, self.slow, self.history),
            "known": max([int(status["known"]) for status in there.values()]),
            "found": max(found, len(shown_locks)),
            "locks": shown_locks,
            "lock": self._story(wish.lock, there, now) if wish.lock else None,
            "rates": self.history.columns(),
        }

    def _node(self, name: str, status: dict[str, Any] | None, there: dict[str, dict[str, Any]]) -> dict[str, Any]:
        away = [peer for peer, other in there.items() if other["links"].get(name, {}).get("state") == "away"]
        if status is None:
            return {"name": name, "state": "away" if away else "silent", "suspectedBy": away}
        return {
            "name": name,
            "state": "troubled" if status["not_ready"] or not status["open"] else "up",
            "suspectedBy": away,
            "view": status.get("view"),
            "known": status["known"],
            "inside": status["inside"],
            "waiting": status["waiting"],
            "rates": self.history.of_node(name),
            "links": {
                peer: {what: link[what] for what in ("state", "silent_for", "unacknowledged", "resent", "refusal")}
                for peer, link in status["links"].items()
            },
        }

    def _story(self, label: str, there: dict[str, dict[str, Any]], now: float) -> dict[str, Any]:
        story = self.stories.pop(label, None) or Story(now)
        self.stories[label] = story
        if len(self.stories) > MOST_STORIES:
            self.stories.popitem(last=False)
        story.hear({name: status["locks"].get(label) for name, status in there.items()}, now)
        return {"name": label, **story.document(now)}


def completed(status: dict[str, Any]) -> dict[str, Any]:
    """What a node tells, with what one of an earlier release leaves out."""
    known = status["more"] + len(status["locks"])
    missing: dict[str, Any] = {
        "not_ready": "", "timeouts": 0, "losses": 0, "wait_counts": [0] * (len(BUCKETS) + 1), "known": known,
        "found": known, "inside": 0, "waiting": 0, "oldest": None, "agreements": status.get("view", 0), "cost": 0.0,
    }  # fmt: skip
    return {**missing, **status}


def base_name(label: str) -> str:
    """The name of what a report calls by its name and its kind."""
    for suffix in SUFFIXES:
        label = label.removesuffix(suffix)
    return label


def merged(there: dict[str, dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """The locks that any node has told of, each once, the busiest first."""
    found: dict[str, dict[str, Any]] = {}
    for node, status in there.items():
        for name, seen in status["locks"].items():
            kind = "semaphore" if "k" in seen else "guarded" if "operations" in seen else "lock"
            lock = found.setdefault(
                name,
                {"name": name, "kind": kind, "k": seen.get("k"), "waiting": 0, "holders": 0, "entries": 0, "at": []},
            )
            lock["waiting"] += seen["queue"]
            lock["holders"] += seen["holders"]
            lock["entries"] += seen["entries"]
            if seen["holders"] or seen["queue"]:
                lock["at"].append([node, seen["holders"], seen["queue"], seen["group"], fence_text(seen["fence"])])
    first, second = (HOLDERS, WAITING) if by == HOLDERS else (WAITING, HOLDERS)
    return sorted(found.values(), key=lambda lock: (-lock[first], -lock[second], -lock["entries"], lock["name"]))
