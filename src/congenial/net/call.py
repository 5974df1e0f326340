"""An event that only one kind of node knows: any call of one of its methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from congenial.kernel.node import Node
from congenial.kernel.out import Out
from congenial.kernel.shell import ProcessEvent


class Call(ProcessEvent):
    def __init__(self, action: Callable[[Any, Out], object]) -> None:
        self.action = action

    def reach(self, node: Node, out: Out) -> None:
        self.action(node, out)
