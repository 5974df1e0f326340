"""Surrogate over information structures: which processes to ask, and which to lock, is a parameter.

Sanders' generalised algorithm (`sanders`) distinguishes the request set of a process, whose permission it needs to
enter, and its inform set, a part of it, which stays locked until the process has left. The others in the request set
give their permission and forget it. With leaders and followers on top that is a generalised algorithm for groups:
permissions bring compatible requests and the news of what is over, a leader invites, and a process that leaves sends
its weight to the leader's inform set. With quorums for both sets it is Surrogate itself. A new leader has been told of
all that were inside before: any two processes lock a common member, or each asks the other, which knows of its own
followers.

Atreya, Mittal & Peri 2007, section VIII-C; the structures are those of `parts.quorums.information`. GRANT is called
LOCKED here, even if it is given by a process that is not locked by it.

Cost, for every other process in the request set: REQUEST and LOCKED; FAILED, or else INQUIRE, RELINQUISH and a second
LOCKED; for a follower CANCEL. For every process in the leader's inform set RELEASED; and one INVITE.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group import surrogate
from congenial.algorithms.group.surrogate import Surrogate
from congenial.algorithms.permission import sanders
from congenial.kernel.out import Out
from congenial.kernel.spec import Law, Spec
from congenial.parts.queues import Asked
from congenial.parts.quorums.information import Information

SPEC = replace(
    surrogate.SPEC,
    name="surrogate-information",
    title="Surrogate, information structures",
    reference="Atreya, Mittal & Peri 2007, section VIII-C",
    messages=Law("i_min + 2*r_min", "i + 6*r + 2"),
    waiting=Law("0", "2"),
    sync_delay=Law("1", "2"),
    options=sanders.SPEC.options,
)


@mypyc_attr(allow_interpreted_subclasses=True)
class SurrogateInformation(Surrogate):
    spec: ClassVar[Spec] = SPEC

    def __init__(self, me: int, n: int, structure: Information) -> None:
        super().__init__(me, n, structure)

    def _lock(self, request: Asked, out: Out) -> None:
        if self.me in self.quorums[request[1]]:
            super()._lock(request, out)
        else:
            self._tell(request[1], self._locked(request), out)

    def _free(self, out: Out) -> None:
        """Give permissions that lock nothing one after the other, up to the first that locks me."""
        super()._free(out)
        while self.locked_for is None and self.queue:
            self._lock(self.queue.pop(0), out)
