"""A ballot has one value: a promise that arrives after its owner has proposed must not change it."""

from __future__ import annotations

import pytest

from congenial.checker.fuzz import fuzz
from congenial.kernel.effects import Send
from congenial.kernel.out import Outbox
from congenial.parts.consensus import Consensus, Promise, Propose


@pytest.mark.parametrize("everyone", [False, True])
def test_a_late_promise_does_not_change_what_was_proposed(everyone: bool) -> None:
    owner = Consensus(2, 3, everyone)
    out = Outbox()
    owner.on_suspect(0, out)
    owner.on_suspect(1, out)
    owner.propose(0, "mine", out)
    owner.receive(1, Promise(0, 2, -1, None), out)
    owner.receive(0, Promise(0, 2, 0, "another"), out)
    owner.receive(0, Propose(0, 0, "another"), out)
    owner.on_trust(0, out)
    sent = [effect.msg for effect in out.effects if isinstance(effect, Send)]
    assert {msg.value for msg in sent if isinstance(msg, Propose)} == {"mine"}


def test_no_operation_is_executed_that_has_failed() -> None:
    result = fuzz("wme-consensus-lean", nodes=3, requests=3, operations=2, suspicions=4, seed=146, runs=1)
    assert result.ok, result.verdict()
