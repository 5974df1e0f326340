"""Scenarios of HomeK and HomeGME: what homes grant, keep and recall, and how they begin while processes are inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from congenial.kernel.node import IDLE, INSIDE, WAITING, Node
from congenial.kernel.out import Outbox
from congenial.systems.system import System

N = 9


class Hand:
    """Nodes whose messages are delivered immediately, in the order they were sent in; `told` lists their kinds."""

    def __init__(self, algorithm: type[Node], k: int = 0) -> None:
        self.nodes: list[Any] = System(algorithm, N, {"k": str(k)} if k else {}).nodes()
        self.told: list[str] = []

    def do(self, process: int, what: str, *arguments: Any) -> None:
        under_way = self._step(process, what, *arguments)
        while under_way:
            src, dst, message = under_way.pop(0)
            self.told.append(f"{type(message).__name__} {src}-{dst}")
            under_way.extend(self._step(dst, "receive", src, message))

    def _step(self, process: int, what: str, *arguments: Any) -> list[tuple[int, int, Any]]:
        out = Outbox()
        getattr(self.nodes[process], what)(*arguments, out)
        return [(process, dst, message) for dst, message in out.sent]

    def ask(self, *processes: int, group: int = 0) -> None:
        for process in processes:
            self.do(process, "request", (group,))

    def leave(self, *processes: int) -> None:
        for process in processes:
            self.do(process, "release")

    def phases(self, phase: int) -> list[int]:
        return [node.me for node in self.nodes if node.phase == phase]

    def heard(self) -> list[str]:
        told = self.told
        self.told = []
        return told


def keeps_and_recalls(algorithm: type[Node]) -> str:
    """The oldest kept permits are recalled, as few as needed, and those that wait are served in their order."""
    hand = Hand(algorithm, 4)
    hand.ask(1, 2, 3, 4)  # 4 may not keep the last one
    hand.leave(3)
    hand.heard()
    hand.ask(5)
    expected = ["Ask 5-0", "Recall 0-1", "Busy 1-0", "Recall 0-2", "Recall 0-3", "Busy 2-0", "Return 3-0", "Grant 0-5"]
    if hand.heard() != expected:
        return "more is recalled than needed, or less, or in another order"
    hand.ask(6, 7, 0, 3)
    hand.leave(4, 5, 1)
    if hand.phases(WAITING) != [3] or hand.phases(INSIDE) != [0, 2, 6, 7]:
        return "those that wait are not served in their order"
    hand.leave(2, 6, 7, 0, 3)
    hand.heard()
    hand.ask(0)
    hand.leave(0)
    if hand.heard() or hand.nodes[0].permits.holders:
        return "something is not given back"
    hand.ask(1, 2, 3, 4)
    hand.leave(1, 2, 3)
    hand.heard()
    hand.ask(5)
    expected = ["Ask 5-0", "Recall 0-1", "Return 1-0", "Grant 0-5"]
    return "" if hand.heard() == expected else "those that were found busy earlier still count"


def recalls_no_more(algorithm: type[Node]) -> str:
    """When nobody waits any more, those that were found busy are no reason to recall others."""
    hand = Hand(algorithm, 8)
    hand.ask(1, 2, 3, 4, 5, 6, 7, 8)
    hand.leave(3)
    hand.ask(0)
    recalled = [text for text in hand.heard() if text.startswith("Recall")]
    return "" if recalled == [f"Recall 0-{process}" for process in range(1, 6)] else f"recalled: {recalled}"


def recalled_late(algorithm: type[Node]) -> str:
    """The recall of an earlier permit says nothing about the one in use."""
    recall: Any = {kind.__name__: kind for kind in algorithm.messages}["Recall"]
    hand = Hand(algorithm, 4)
    hand.ask(1)
    hand.do(1, "receive", 0, recall(1))
    hand.leave(1)
    return "" if hand.heard() == ["Ask 1-0", "Grant 0-1"] else "a late recall is heeded"


def keeps_the_last_one(algorithm: type[Node]) -> str:
    """A process that was the last to have it may keep the only permit."""
    hand = Hand(algorithm, 1)
    for process in (3, 4, 4, 4):
        hand.ask(process)
        hand.leave(process)
    visit = ["Ask {0}-0", "Grant 0-{0}", "Return {0}-0"]
    return "" if hand.heard() == [text.format(p) for p in (3, 4, 4) for text in visit][:-1] else "wrongly kept"


def handed_over(algorithm: type[Node]) -> str:
    """A home begins with processes that are inside, is left at rest, and another one begins above its numbers."""
    hand = Hand(algorithm, 3)
    for process in (0, 8):
        hand.nodes[0].inherit(process, 0)
        hand.nodes[process].resume(0)
    hand.ask(1, 2)
    if hand.phases(INSIDE) != [0, 1, 8] or hand.phases(WAITING) != [2]:
        return "others do not get what those that are inside have left"
    if hand.nodes[2].is_at_rest():
        return "a process that waits is at rest"
    hand.do(8, "relax")
    hand.leave(8, 0)
    if hand.phases(INSIDE) != [1, 2] or any([hand.nodes[process].is_at_rest() for process in (0, 1, 2)]):
        return "a permit is lost, or somebody is at rest too soon"
    hand.leave(1, 2)
    hand.ask(5)
    hand.leave(5)
    if hand.nodes[5].is_at_rest() or hand.nodes[0].is_at_rest() or not hand.nodes[3].is_at_rest():
        return "a process that keeps a permit is not at rest"
    hand.heard()
    for process in range(N):
        hand.do(process, "relax")
    if hand.heard() != ["Return 5-0"] or not all([node.is_at_rest() for node in hand.nodes]):
        return "what is kept is not given back"
    floors = [node.floor() for node in hand.nodes]
    if floors != [(0, N + 3), *[(0, 0)] * (N - 1)]:
        return f"the numbers that were used are told as {floors}"
    hand.ask(1, 2, 3, 4)
    if hand.phases(INSIDE) != [1, 2, 3] or hand.phases(WAITING) != [4]:
        return "a permit that was given back is taken for a kept one"
    after = Hand(algorithm, 3)
    after.nodes[0].begin_above(floors[0])
    after.nodes[0].begin_above((N + 50, 0))
    after.ask(0, 1)
    if after.nodes[0].floor() != (0, N + 5):
        return "a new home uses old numbers"
    after.do(1, "relax")
    after.do(0, "relax")
    if after.phases(INSIDE) != [0, 1] or after.nodes[1].serial != N + 5:
        return "a process that is inside gives its permit back"
    after.leave(0)
    if after.nodes[0].phase != IDLE or after.nodes[0].is_at_rest():
        return "a home that has lent a permit is at rest"
    return ""


def session_handed_over(algorithm: type[Node]) -> str:
    """A home begins with a session that runs already; it is joined, closed and followed by another one. Then all are at
    rest, and another home begins above its numbers."""
    hand = Hand(algorithm)
    for node in hand.nodes:
        node.begin_above((0, 0))
    for process in (2, 4):
        hand.nodes[0].inherit(process, 5)
        hand.nodes[process].resume(5)
    hand.ask(1, group=5)
    if hand.phases(INSIDE) != [1, 2, 4] or hand.nodes[0].holders() != [2, 4, 1]:
        return "a session that runs cannot be joined, or its members are not known"
    if any([hand.nodes[process].is_closed() for process in (1, 2, 4)]):
        return "a session is closed, though nobody waits"
    hand.ask(3, 0, group=6)
    if hand.phases(WAITING) != [0, 3] or not all([hand.nodes[process].is_closed() for process in (1, 2, 4)]):
        return "others do not wait, or those that are inside do not know"
    hand.leave(2, 4)
    if hand.phases(WAITING) != [0, 3] or any([hand.nodes[process].is_at_rest() for process in (0, 1, 3)]):
        return "the next session begins too soon, or somebody is at rest too soon"
    hand.leave(1)
    if hand.phases(INSIDE) != [0, 3] or hand.nodes[3].is_at_rest() or hand.nodes[0].is_at_rest():
        return "the next session does not begin"
    hand.leave(3, 0)
    hand.ask(5, group=6)
    hand.heard()
    hand.do(5, "relax")
    if hand.heard() or hand.phases(INSIDE) != [5] or hand.nodes[0].is_at_rest():
        return "a process that is inside gives its token back, or its home is at rest"
    hand.ask(0, group=6)
    hand.leave(0, 5)
    if hand.nodes[5].is_at_rest() or hand.nodes[0].is_at_rest() or not hand.nodes[3].is_at_rest():
        return "a process that keeps a token is not at rest"
    for process in reversed(range(N)):  # the home last
        hand.do(process, "relax")
    if hand.heard() != ["Report 5-0"] or not all([node.is_at_rest() for node in hand.nodes]):
        return "what is kept is not given back"
    floors = [node.floor() for node in hand.nodes]
    if floors != [(2, N + 5), *[(0, 0)] * (N - 1)]:
        return f"the numbers that were used are told as {floors}"
    after = Hand(algorithm)
    after.nodes[0].begin_above(floors[0])
    after.ask(1, group=5)
    after.ask(0, 2, group=6)
    if after.phases(INSIDE) != [1] or (after.nodes[1].session, after.nodes[1].serial) != (3, N + 6):
        return "a new home uses old numbers, or takes sessions for over"
    after.ask(3, group=7)
    if after.nodes[0].is_at_rest() or after.nodes[3].is_at_rest():
        return "a process that waits is at rest"
    after.leave(1)
    return "" if after.phases(INSIDE) == [0, 2] else "a new home does not go on"


def session_begun_in_turn(algorithm: type[Node]) -> str:
    """A home that begins with a session that runs hears all that wait before it lets anybody in. Who could join the
    session waits if others do, of whom the lot is drawn; otherwise it joins."""
    hand = _beginning(algorithm, 2, 4)
    hand.ask(1, group=5)
    for process, group in ((3, 6), (0, 7), (6, 6)):
        hand.ask(process, group=group)
    hand.leave(4)
    if hand.phases(INSIDE) != [2] or hand.nodes[2].is_closed():
        return "somebody is let in, or the session is closed, before all have asked"
    hand.do(0, "serve", 4)
    if hand.phases(INSIDE) != [2] or not hand.nodes[2].is_closed():
        return "the session is not closed, though others wait"
    turns = []
    for processes in ((2,), (0,), (3, 6), (1,)):
        turns.append(hand.phases(INSIDE))
        hand.leave(*processes)
    if turns != [[2], [0], [3, 6], [1]]:
        return f"their turns are {turns}"
    return _joined_or_begun(algorithm)


def _beginning(algorithm: type[Node], *inside: int) -> Hand:
    """A home that hears all that have waited; these processes are inside for group 5."""
    hand = Hand(algorithm)
    for node in hand.nodes:
        node.begin_above((0, 0))
    for process in inside:
        hand.nodes[0].inherit(process, 5)
        hand.nodes[process].resume(5)
    hand.nodes[0].gather()
    return hand


def _joined_or_begun(algorithm: type[Node]) -> str:
    for leaves in (False, True):
        for group in (5, 6):
            hand = _beginning(algorithm, 2)
            hand.ask(0, 1, group=group)
            if leaves:
                hand.leave(2)
            if {0, 1} & {*hand.phases(INSIDE)}:
                return "somebody is let in before all have asked"
            hand.do(0, "serve", 7)
            inside = [0, 1] if leaves else [2] if group == 6 else [0, 1, 2]
            if hand.phases(INSIDE) != inside:
                return f"those that waited for group {group} have not begun in time"
            hand.ask(8, group=group)
            if hand.phases(INSIDE) != (inside if inside == [2] else [*inside, 8]):
                return f"newcomers for group {group} are not treated alike"
    hand = _beginning(algorithm)
    hand.ask(1, group=5)
    return "" if hand.phases(INSIDE) == [1] else "somebody waits, though nobody was inside before"


HOMES: dict[str, Callable[[type[Node]], str]] = {
    "kept and recalled": keeps_and_recalls,
    "recalled in vain": recalls_no_more,
    "recalled late": recalled_late,
    "the last permit": keeps_the_last_one,
    "handed over": handed_over,
    "session handed over": session_handed_over,
    "session begun in turn": session_begun_in_turn,
}
