"""WME-2: WME-1 with fewer messages and one step more per operation: the owner collects the acknowledgements.

A process that receives an operation tells its issuer alone. With a majority, the issuer tells everyone to execute it
(`DoInvoke`). The rest is as in WME-1.

Romano & Rodrigues 2009, section 5 and figure 4. Changed (docs/errata.md): a `DoInvoke` that arrives before its
operation, or after the next one, is not dropped. Cleared operations are executed in order, as soon as they are there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.weak import wme1
from congenial.algorithms.weak.wme1 import WME1, Ack, EpochMessage
from congenial.kernel.message import Messages
from congenial.kernel.out import Out
from congenial.kernel.spec import Spec
from congenial.problems.weak import Resource

SPEC = replace(wme1.SPEC, name="wme-2", title="WME-2", reference="Romano & Rodrigues 2009, figure 4")


@dataclass(frozen=True)
class DoInvoke(EpochMessage):
    place: int


@mypyc_attr(allow_interpreted_subclasses=True)
class WME2(WME1):
    spec: ClassVar[Spec] = SPEC
    messages: ClassVar[Messages] = (*WME1.messages, DoInvoke)
    everyone: ClassVar[bool] = False

    def __init__(self, me: int, n: int, resource: Resource) -> None:
        super().__init__(me, n, resource)
        self.cleared = 0  # the last place up to which all may be executed

    def _handle(self, src: int, msg: EpochMessage, out: Out) -> None:
        if isinstance(msg, DoInvoke):
            if not self.blocked:
                self._clear(msg.place, out)
        else:
            super()._handle(src, msg, out)

    def _acknowledge(self, issuer: int, out: Out) -> None:
        out.send(issuer, Ack(self.epoch, self.place))

    def _on_ack(self, src: int, place: int, out: Out) -> None:
        self.acked[src] = max(self.acked[src], place)
        self._execute_agreed(out)

    def _execute_agreed(self, out: Out) -> None:
        if self.history and self.history[-1][1] == self.me:
            place = self.history[-1][0]
            if place > self.cleared and self._has_majority(place):
                out.broadcast(DoInvoke(self.epoch, place))
                self.cleared = place
        super()._execute_agreed(out)

    def _clear(self, place: int, out: Out) -> None:
        self.cleared = max(self.cleared, place)
        super()._execute_agreed(out)

    def _is_agreed(self, place: int) -> bool:
        return place <= self.cleared

    def _has_majority(self, place: int) -> bool:
        return super()._is_agreed(place)
