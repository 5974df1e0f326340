"""Surrogate with concurrent entry as published: requests are forwarded when they arrive, or not at all.

Atreya, Mittal & Peri 2007, section VIII-A. A member that knows of a request for another group forwards nothing to the
leader it is locked for. If that request is over, and only its CANCEL is late, then the leader, which knows that it is
over, goes on, and a process that asked in between waits at the member. The leader has left, keeps its quorum for
late-comers, and learns of none.

    congenial fuzz docs/counterexamples/surrogate_never_for_an_old_request.py:NeverForAnOldRequest --nodes 7 \
        --requests 1 --groups 2 --runs 100
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from congenial import Out, Spec
from congenial.algorithms.group.surrogate_concurrent import SPEC, SurrogateConcurrent


class NeverForAnOldRequest(SurrogateConcurrent):
    """ "a FORWARD or a STEPDOWN message is generated only when a new request arrives [...] and never for an old request
    already present in the queue" """

    spec: ClassVar[Spec] = replace(SPEC, name="surrogate-never-for-an-old-request")

    def _on_cancel(self, src: int, number: int, out: Out) -> None:
        self.held_back = []  # here they should be forwarded, if the last rival is gone
        super()._on_cancel(src, number, out)
