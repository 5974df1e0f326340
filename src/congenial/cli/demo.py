"""`congenial demo`: a jukebox, shared by five processes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from congenial.net.config import ClusterConfig
    from congenial.testing.witness import Witness

EXAMPLES = """
congenial demo
congenial demo --seconds 5 --algorithm ra2
"""

NODES = ("a", "b", "c", "d", "e")
NEXT = "Next: docs/tutorial.md, a lock of your own in 15 minutes; docs/README.md, all pages; `congenial --help`."
LONGEST = 86_400  # seconds
LISTENERS = (3, 3, 2, 2, 2)  # of each node


def command(
    seconds: Annotated[float, typer.Option(help="How long the demo runs, 1 to 86400.")] = 15.0,
    algorithm: Annotated[str, typer.Option(help="An algorithm with groups.")] = "token-gme",
) -> None:
    """Five node processes on this machine share a jukebox with four discs, for a dozen listeners.

    Listeners of the same disc hear it together; two discs never play at once. The listeners report to a witness
    outside the cluster, which checks that this is so.
    """
    import asyncio

    from congenial.kernel.errors import SafetyViolation

    demo = Demo()
    asyncio.run(demo.run(seconds, algorithm))
    demo.summarise()
    if demo.witness.violations:
        raise SafetyViolation(demo.witness.violations[0])
    print(NEXT)


class Demo:
    """One run of the demo: its node processes, and what the listeners report."""

    def __init__(self) -> None:
        from congenial.testing.witness import Witness

        self.witness: Witness = Witness(self.on_report)
        self.doing: dict[str, tuple[str, str]] = {}  # what each listener does, and with which disc
        self.heard: dict[str, int] = {}  # discs, by listener
        self.waits: list[float] = []
        self.messages = 0
        self.finished = 0

    def on_report(self, report: dict[str, Any]) -> None:
        what = report["do"]
        if what == "done":
            self.messages += report["messages"]
            self.finished += 1
            return
        listener = report["who"]
        self.doing[listener] = (what, report.get("group") or "")
        if what == "enter":
            self.heard[listener] = self.heard.get(listener, 0) + 1
            self.waits.append(report["waited"])

    async def run(self, seconds: float, algorithm: str) -> None:
        import asyncio
        import sys
        import tempfile
        from pathlib import Path

        from rich.live import Live

        from congenial.kernel.errors import CongenialError
        from congenial.net.local import check_length

        config = described(seconds, algorithm)
        with tempfile.TemporaryDirectory(prefix="congenial-demo-") as folder:
            path = Path(folder) / "witness.sock"
            check_length(path)
            await self.witness.start(path)
            nodes = [
                await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    "congenial.cli.jukebox",
                    arguments(name, config.nodes, algorithm, str(path), listeners, seconds),
                    stderr=asyncio.subprocess.PIPE,
                )
                for name, listeners in zip(NODES, LISTENERS, strict=True)
            ]
            said = [asyncio.create_task(node.stderr.read()) for node in nodes if node.stderr is not None]
            try:
                start = time.monotonic()
                with Live(self.table(0), refresh_per_second=8, transient=True) as live:
                    while self.finished < len(NODES) and time.monotonic() - start < seconds + 30:
                        await asyncio.sleep(0.1)
                        live.update(self.table(time.monotonic() - start))
                        if any(node.returncode not in (None, 0) for node in nodes):
                            break
                for name, node, told in zip(NODES, nodes, said, strict=True):
                    if node.returncode:
                        last = (await told).decode(errors="replace").strip().rpartition("\n")[2]
                        raise CongenialError(f"node {name!r} of the demo has failed: {last or 'it was ended'}")
                if self.finished < len(NODES):
                    raise CongenialError(f"the demo does not come to its end: {self.finished} of its nodes are done")
            finally:
                await self.witness.close()
                for node in nodes:
                    if self.finished < len(NODES) and node.returncode is None:
                        node.terminate()
                for node in nodes:
                    try:
                        await asyncio.wait_for(node.wait(), 5)
                    except TimeoutError:
                        node.kill()
                        await node.wait()
                await asyncio.gather(*said)

    def table(self, elapsed: float) -> Table:
        from congenial.cli.jukebox import DISCS
        from congenial.cli.output import table

        playing = next((disc for what, disc in self.doing.values() if what == "enter"), "nothing")
        made = table("listener", *DISCS, ">heard", title=f"the jukebox plays {playing}, {elapsed:.0f} s")
        for listener, (what, disc) in sorted(self.doing.items()):
            sign = {"enter": "[bold green]hears[/]", "wait": "[yellow]waits[/]"}.get(what, "")
            cells = [sign if disc == column else "" for column in DISCS]
            made.add_row(listener, *cells, str(self.heard.get(listener, 0)))
        return made

    def summarise(self) -> None:
        from congenial.cli.jukebox import JUKEBOX
        from congenial.cli.output import show, table
        from congenial.sim.statistics import percentile

        scene = self.witness.scenes[JUKEBOX]
        waits = sorted(self.waits)
        made = table("measure", ">value")
        made.add_row("entries", str(scene.entries))
        made.add_row("sessions", str(scene.sessions))
        made.add_row("waiting, p50", f"{1000 * percentile(waits, 0.5):.1f} ms")
        made.add_row("waiting, p99", f"{1000 * percentile(waits, 0.99):.1f} ms")
        made.add_row("messages per entry", f"{self.messages / max(1, scene.entries):.2f}")
        made.add_row("most listeners at once", str(scene.most))
        made.add_row("violations, as seen by the witness", str(len(self.witness.violations)))
        show(made)


def described(seconds: float, algorithm: str) -> ClusterConfig:
    """The cluster of the demo, if it can be shown as asked."""
    from congenial.kernel.errors import ConfigError
    from congenial.net.checked import wrong
    from congenial.net.config import ClusterConfig, free_addresses
    from congenial.net.secret import secret_of
    from congenial.problems.epochs import within_epoch

    if not 1 <= seconds <= LONGEST:
        raise wrong("seconds", seconds, f"a number from 1 to {LONGEST}")
    config = ClusterConfig(dict(zip(NODES, free_addresses(len(NODES)), strict=True)), algorithm=algorithm)
    if not within_epoch(config.system().problem).groups:
        raise ConfigError(
            f"{algorithm} admits one process at a time, and the demo needs an algorithm with groups, such as token-gme "
            "or ra2 (`congenial list` names them)"
        )
    secret_of(config)  # once, before all nodes make it
    return config


def arguments(name: str, nodes: Mapping[str, str], algorithm: str, witness: str, listeners: int, seconds: float) -> str:
    """The arguments of `jukebox.node`, as JSON."""
    import json

    node = {"name": name, "nodes": dict(nodes), "algorithm": algorithm, "witness": witness}
    return json.dumps({**node, "listeners": listeners, "seconds": seconds})
