"""Algorithms with one thing broken, for comparing explorers on; `tests/mutants` has many more."""

from __future__ import annotations

from congenial.algorithms.group.drs_gme import DrsGme
from congenial.algorithms.group.token_gme import TokenGME
from congenial.algorithms.kmutex.raymond_k import RaymondK
from congenial.algorithms.permission.maekawa import Maekawa
from congenial.algorithms.permission.ricart_agrawala import Reply, RicartAgrawala
from congenial.algorithms.token.raymond_tree import RaymondTree
from congenial.algorithms.token.suzuki_kasami import SuzukiKasami
from congenial.kernel.message import Message
from congenial.kernel.node import INSIDE, WAITING, Node
from congenial.kernel.out import Out
from congenial.kernel.problem import Groups


class Impatient(RicartAgrawala):
    """Enters as soon as anybody has replied, and immediately."""

    def request(self, groups: Groups, out: Out) -> None:
        super().request(groups, out)
        if self.phase == WAITING:
            self.enter(out)


class Rude(RicartAgrawala):
    """Replies to nobody while it is inside, nor later."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if self.phase != INSIDE or isinstance(msg, Reply):
            super().receive(src, msg, out)


class TwoTokens(SuzukiKasami):
    """Processes 0 and 1 both begin with the token."""

    def __init__(self, me: int, n: int) -> None:
        super().__init__(me, n)
        self.holding = me < 2


class Deaf(RaymondTree):
    """Hears nothing while it is inside."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if self.phase != INSIDE:
            super().receive(src, msg, out)


class Dead(Maekawa):
    """Process 1 answers nobody."""

    def receive(self, src: int, msg: Message, out: Out) -> None:
        if self.me != 1:
            super().receive(src, msg, out)


class Forgetful(TokenGME):
    """Forgets to say that it has left."""

    def release(self, out: Out) -> None:
        self.leave()


class Alone(RaymondK):
    """Waits for everybody, as if k were 1."""

    def __init__(self, me: int, n: int, k: int) -> None:
        super().__init__(me, n, 1)


class Shy(DrsGme):
    """Lets others join only in the first session."""

    def _admits(self, groups: Groups) -> bool:
        return self.session == 0 and super()._admits(groups)


class Unfenced(SuzukiKasami):
    """Forgets the fence of every other entry."""

    def enter(self, out: Out, fence: int = 0, group: int = 0) -> None:
        super().enter(out, fence if fence % 2 else 0, group)


BROKEN: list[type[Node]] = [Impatient, Rude, TwoTokens, Deaf, Dead, Forgetful, Alone, Shy, Unfenced]
