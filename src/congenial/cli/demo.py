"""`congenial demo`: a jukebox, shared by five processes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from congenial.net.config import ClusterConfig
    from congenial.studio.recording import Recording
    from congenial.testing.witness import Witness

EXAMPLES = """
congenial demo
congenial demo --seconds 5 --algorithm ra2 --html songs.html
"""

NODES = ("a", "b", "c", "d", "e")
NEXT = "Next: docs/tutorial.md, a lock of your own in 15 minutes; docs/README.md, all pages; `congenial --help`."
LONGEST = 86_400  # seconds
MOST_SEEN = 100_000  # events that the page shows
LISTENERS = (3, 3, 2, 2, 2)  # of each node
PAGE = "jukebox.html"
MODEL = "token-gme"  # any algorithm with groups: it says what a group lock is


def command(
    seconds: Annotated[float, typer.Option(help="How long the demo runs, 1 to 86400.")] = 15.0,
    algorithm: Annotated[str, typer.Option(help="An algorithm with groups.")] = "token-gme",
    html: Annotated[str, typer.Option(metavar="FILE", help="Where the recording goes; '' for none.")] = PAGE,
) -> None:
    """Five node processes on this machine share a jukebox with four discs, for a dozen listeners.

    Listeners of the same disc hear it together; two discs never play at the same time. The listeners report to a
    witness outside the cluster, which checks that this is so. A recording of what it saw is written as a page for a
    browser.
    """
    import asyncio

    from congenial.kernel.errors import SafetyViolation
    from congenial.trace_files import check_writable

    if html:
        check_writable(html, "page")
    demo = Demo()
    asyncio.run(demo.run(seconds, algorithm))
    demo.summarise()
    if html:
        from congenial.studio.pages import write_page

        write_page(html, demo.recording(algorithm))
        print(f"the recording: {html} (open it in a browser)")
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
        self.seen: list[tuple[float, str, str, str]] = []  # when, what, who, and which disc
        self.cut_short = False

    def on_report(self, report: dict[str, Any]) -> None:
        what = report["do"]
        if what == "done":
            self.messages += report["messages"]
            self.finished += 1
            return
        listener = report["who"]
        disc = report.get("group") or self.doing.get(listener, ("", ""))[1]
        if len(self.seen) < MOST_SEEN:
            self.seen.append((time.monotonic(), what, listener, disc))
        else:
            self.cut_short = True
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
                    raise CongenialError(f"the demo does not finish: {self.finished} of its nodes are done")
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

    def recording(self, algorithm: str) -> Recording:
        """What the witness has seen, as a run in milliseconds whose processes are the listeners."""
        from congenial.cli.jukebox import DISCS
        from congenial.kernel.trace import ENTER, EXIT, REQUEST, Event
        from congenial.studio.recording import Recording, Seen
        from congenial.systems.catalogue import find_algorithm
        from congenial.systems.system import System

        kinds = {"wait": REQUEST, "enter": ENTER, "leave": EXIT}
        names = tuple([f"{node}{k + 1}" for node, many in zip(NODES, LISTENERS, strict=True) for k in range(many)])
        start = self.seen[0][0] if self.seen else 0.0
        events = []
        for at, what, who, disc in self.seen:
            group = DISCS.index(disc)
            events.append(Event(1000 * (at - start), kinds[what], names.index(who), groups=(group,), group=group))
        wrong = self.witness.violations
        scene = "; ".join(wrong[:1]) or f"{sum(self.heard.values())} entries, no violation, as seen by the witness"
        return Recording(
            System(find_algorithm(MODEL), len(names)), events,
            (("nodes", ", ".join(NODES)), ("algorithm", algorithm), ("times in", "ms")), scene, not wrong,
            cut_short=self.cut_short, seen=Seen("The jukebox", names, DISCS, 1000.0),
        )  # fmt: skip

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
        made.add_row("most listeners together", str(scene.most))
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
