"""Five nodes as processes on five machines, as far as one machine can have five: each has a network namespace, and a
disk of its own. Cables can be cut, disks filled. Without root there are neither, and processes are only killed and
stopped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from namespaces import Namespaces

from congenial.net.config import DEFAULT_ALGORITHM, follows_views, free_addresses

NODES = "abcde"
PATIENCE = 0.5  # seconds of silence after which a node is suspected, at first; four times as long after many mistakes
TIMING = ["[timing]", "heartbeat = 0.1", f"suspect_after = {PATIENCE}", "reconnect_most = 0.1"]
DISK = 4 << 20  # bytes


class Machines:
    def __init__(self, folder: Path, algorithm: str = DEFAULT_ALGORITHM, program: Sequence[str] = ()) -> None:
        self.folder = folder
        self.program = list(program) or [sys.executable, "-m", "congenial"]  # a node, with the options of one
        self.elastic = follows_views(algorithm)  # guests may come
        self.namespaces: Namespaces | None = Namespaces(folder, NODES)
        self.disks: list[Path] = []
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.by_seeds: set[str] = set()  # nodes that were replaced, and have come back as anybody else would
        try:
            self.namespaces.build()
            for name in NODES:
                self._mount(self.state(name))
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            if os.environ.get("CI"):
                raise
            print(f"NO NETWORK NAMESPACES, so no cables are cut: {getattr(error, 'stderr', error)}", file=sys.stderr)
            self.namespaces.tear_down()
            self.namespaces = None
        self.places = (
            self.namespaces.addresses()
            if self.namespaces
            else dict(zip(NODES, free_addresses(len(NODES)), strict=True))
        )
        nodes = [f'{name} = "{address}"' for name, address in self.places.items()]
        settings = ["insecure = true", f'algorithm = "{algorithm}"', 'state = "state/{name}"']
        lines = [*settings, "[nodes]", *nodes, *TIMING]
        (folder / "cluster.toml").write_text("\n".join(lines))

    def state(self, name: str) -> Path:
        return self.folder / "state" / name

    def _mount(self, where: Path) -> None:
        where.mkdir(parents=True)
        words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "congenial", str(where)]
        subprocess.run(words, check=True, capture_output=True, text=True)
        self.disks.append(where)

    def fill_disk(self, name: str) -> None:
        with (self.state(name) / "ballast").open("wb", buffering=0) as ballast:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while True:
                        ballast.write(bytes(size))
                except OSError:
                    continue

    def empty_disk(self, name: str) -> None:
        (self.state(name) / "ballast").unlink()

    def slow_mark(self, name: str) -> Path:
        """While there is this file, the disk of a node is slow (`troubled_node.py`)."""
        return self.folder / f"{name}.slow"

    def socket(self, name: str) -> Path:
        return self.folder / f"{name}.sock"

    def start(self, name: str, seeds: Sequence[str] = ()) -> None:
        """Start a node, or a guest, whose name begins with that of the node beside which it runs. It enters by the
        nodes called seeds, if there are any."""
        words = [*self.program, "node", "--name", name, "--socket", str(self.socket(name))]
        if name in self.by_seeds:
            seeds = [other for other in NODES if other != name]
            words += ["--address", self.places[name]]
        if seeds:
            words += ["--seeds", ",".join([self.places[seed] for seed in seeds])]
        if self.namespaces:
            words = self.namespaces.inside(name[0], words)
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(words, cwd=self.folder, stdout=log, stderr=log)

    def move(self, name: str) -> None:
        """A node that was removed from the cluster will enter by seeds, without its memory, at another address."""
        self.forget(name)
        self.by_seeds.add(name)
        host, _, port = self.places[name].rpartition(":")
        self.places[name] = f"{host}:{int(port) + 1}" if self.namespaces else free_addresses(1)[0]

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def forget(self, name: str) -> None:
        for entry in self.state(name).iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def signal(self, name: str, number: int) -> None:
        self.processes[name].send_signal(number)

    def tear_down(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        if self.namespaces:
            self.namespaces.tear_down()
        for disk in self.disks:
            subprocess.run(["umount", str(disk)], capture_output=True)
