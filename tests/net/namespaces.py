"""Network namespaces, joined by a bridge: as near to several machines as one machine comes. Needs root, and Linux."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=20)


class Namespaces:
    """A namespace for each name, with a cable to a bridge in one more."""

    def __init__(self, folder: Path, names: str) -> None:
        self.folder = folder
        self.names = names
        self.tag = f"cg{os.getpid()}"

    def space(self, name: str) -> str:
        return f"{self.tag}-{name}"

    def address(self, name: str) -> str:
        return f"10.77.0.{1 + self.names.index(name)}"

    def addresses(self) -> dict[str, str]:
        return {name: f"{self.address(name)}:7101" for name in self.names}

    def build(self) -> None:
        hub = self.space("hub")
        for name in ("hub", *self.names):
            ip("netns", "add", self.space(name))
            ip("-n", self.space(name), "link", "set", "lo", "up")
        ip("-n", hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", hub, "link", "set", "bridge", "up")
        for name in self.names:
            ends = ["type", "veth", "peer", "name", "eth0", "netns", self.space(name)]
            ip("-n", hub, "link", "add", f"to-{name}", *ends)
            ip("-n", hub, "link", "set", f"to-{name}", "master", "bridge", "up")
            ip("-n", self.space(name), "address", "add", f"{self.address(name)}/24", "dev", "eth0")
            ip("-n", self.space(name), "link", "set", "eth0", "up")

    def inside(self, name: str, command: list[str]) -> list[str]:
        """The command, to be run there."""
        return ["ip", "netns", "exec", self.space(name), *command]

    def cable(self, name: str, state: str) -> None:
        """`up` or `down`."""
        ip("-n", self.space("hub"), "link", "set", f"to-{name}", state)

    def part(self, name: str, other: str, apart: bool) -> None:
        """Let nothing get from one to the other, or let it again."""
        ip("-n", self.space(name), "route", "add" if apart else "del", "blackhole", f"{self.address(other)}/32")

    def slow_down(self, name: str, *how: str) -> None:
        self._shape(name, "add", *how)

    def speed_up(self, name: str) -> None:
        self._shape(name, "del")

    def _shape(self, name: str, what: str, *how: str) -> None:
        words = ["tc", "-n", self.space("hub"), "qdisc", what, "dev", f"to-{name}", "root", *how]
        subprocess.run(words, check=True, capture_output=True, text=True)

    def tear_down(self) -> None:
        for name in ("hub", *self.names):
            subprocess.run(["ip", "netns", "delete", self.space(name)], capture_output=True)
