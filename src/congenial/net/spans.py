"""OpenTelemetry spans of locks: how long a task waited for one, and how long it held it.

`congenial.acquire` begins when a task asks for a lock, and ends when it has it or gets an error. `congenial.hold`
begins then, and ends when the lock is released or lost. Both are children of the span in which the task asked. Without
the setting `spans` none of this is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from congenial.kernel.errors import ConfigError
from congenial.net.config import ClusterConfig
from congenial.net.entrance import Entrance, Want
from congenial.net.hall import Hall
from congenial.net.held import Held

if TYPE_CHECKING:
    from opentelemetry.trace import Span


class Spans:
    def __init__(self, name: str, config: ClusterConfig) -> None:
        try:
            from opentelemetry import trace
        except ImportError:
            raise ConfigError("spans need the package opentelemetry-api: pip install 'congenial[otel]'") from None
        from congenial import __version__

        self.tracer = trace.get_tracer("congenial", __version__)
        self.failed = trace.StatusCode.ERROR
        self.member = {"congenial.cluster": config.cluster, "congenial.node": name}
        self.holding: dict[Held, Span] = {}

    async def acquire(self, entrance: Entrance, want: Want, timeout: float | None) -> Held:
        about: dict[str, Any] = {**self.member, "congenial.lock": entrance.name, "congenial.mode": mode(entrance, want)}
        if want.label is not None:
            about["congenial.group"] = want.label
        span = self.tracer.start_span("congenial.acquire", attributes=about)
        try:
            held = await entrance.acquire_now(want, timeout)
        except BaseException as error:
            span.set_status(self.failed, str(error) or type(error).__name__)
            raise
        finally:
            span.end()
        if held._since:  # it may be lost already
            about["congenial.fence"] = held.fence
            self.holding[held] = self.tracer.start_span("congenial.hold", attributes=about)
        return held

    def end(self, held: Held, why: str) -> None:
        """It is released or, if there is a reason, lost."""
        span = self.holding.pop(held, None)
        if span is not None:
            if why:
                span.set_status(self.failed, why)
            span.end()


def mode(entrance: Entrance, want: Want) -> str:
    if isinstance(entrance, Hall):
        return "semaphore"
    if want.label is not None:
        return "group"
    return "shared" if want.shared else "exclusive"
