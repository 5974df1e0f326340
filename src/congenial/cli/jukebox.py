"""A node of the demo: a jukebox plays one disc at a time, to all listeners of that disc.

Each process of the cluster (`python -m congenial.cli.jukebox`) has a few listeners, and reports to the witness what
they do.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time

from congenial.kernel.errors import CongenialError
from congenial.net.config import ClusterConfig
from congenial.net.locks import Cluster
from congenial.testing.witness import Reporter

JUKEBOX = "jukebox"
DISCS = ("disc-1", "disc-2", "disc-3", "disc-4")
POPULARITY = (4, 3, 2, 1)


async def listen(cluster: Cluster, reporter: Reporter, name: str, until: float, rng: random.Random) -> None:
    """One listener: choose a disc, wait for it, hear it, and again."""
    while time.monotonic() < until:
        await asyncio.sleep(rng.uniform(0.0, 0.3))
        disc = rng.choices(DISCS, POPULARITY)[0]
        await reporter.tell("wait", lock=JUKEBOX, who=name, group=disc)
        asked = time.perf_counter()
        async with cluster.group(JUKEBOX, disc) as held:
            waited = time.perf_counter() - asked
            await reporter.tell("enter", lock=JUKEBOX, who=name, group=disc, fence=held.fence, waited=waited)
            await asyncio.sleep(rng.uniform(0.05, 0.25))
            await reporter.tell("leave", lock=JUKEBOX, who=name)


async def node(name: str, nodes: dict[str, str], algorithm: str, witness: str, listeners: int, seconds: float) -> None:
    """Join the cluster, let the listeners listen, and report the number of messages and entries."""
    rng = random.Random(name)
    async with Reporter(witness) as reporter, Cluster(name, ClusterConfig(nodes, algorithm=algorithm)) as cluster:
        await cluster.ready()
        until = time.monotonic() + seconds
        names = [f"{name}{number}" for number in range(1, listeners + 1)]
        await asyncio.gather(*[listen(cluster, reporter, listener, until, rng) for listener in names])
        status = cluster.status()
        await reporter.tell("done", node=name, messages=sum(status["messages"].values()), entries=status["entries"])
        await reporter.reader.read()  # until the witness has seen all nodes finish, and closes


if __name__ == "__main__":
    try:
        asyncio.run(node(**json.loads(sys.argv[1])))
    except KeyboardInterrupt:
        sys.exit(1)
    except CongenialError as error:
        sys.exit(str(error))
