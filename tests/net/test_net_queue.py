"""The queue of tasks before a lock, compared with a list."""

from __future__ import annotations

import asyncio
import random

import pytest

from congenial.net.entrance import Waiter, Waiters, Want
from congenial.net.errors import LockTimeout


@pytest.mark.parametrize("seed", range(20))
def test_a_queue_keeps_its_order_whoever_leaves(seed: int) -> None:
    rng = random.Random(seed)
    loop = asyncio.new_event_loop()
    queue, model = Waiters(), list[Waiter]()
    gone: list[Waiter] = []
    for step in range(400):
        what = rng.randrange(6)
        if what < 2:
            waiter = Waiter(Want(0, False, None), loop.create_future(), float(step))
            queue.add(waiter)
            model.append(waiter)
        elif what == 2 and model:
            waiter = rng.choice(model)
            queue.discard(waiter)
            model.remove(waiter)
            gone.append(waiter)
        elif what == 3 and gone:
            queue.discard(rng.choice(gone))  # it is not there any more
        elif what == 4 and model:
            rng.choice(model).future.cancel()
        else:
            while model and model[0].future.done():
                gone.append(model.pop(0))
            assert queue.first() is (model[0] if model else None)
        assert list(queue) == queue.all() == model
        assert len(queue) == len(model)
        assert bool(queue) is bool(model)
    cancelled = [waiter.future.cancelled() for waiter in model]
    queue.fail(LockTimeout("too late"))
    assert not queue
    for waiter, before in zip(model, cancelled, strict=True):
        assert waiter.future.cancelled() if before else str(waiter.future.exception()) == "too late"
    loop.close()
