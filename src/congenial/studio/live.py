"""A run under way, whose events can be looked at while it goes on.

It runs in a thread. A page is given the events that there are, and asks for more. Each part is at least half as long as
all before it, since a page works everything out again when it has more events.
"""

from __future__ import annotations

from dataclasses import replace
from threading import Event as Flag
from threading import Lock, Thread

from congenial.kernel.errors import ConfigError, CongenialError
from congenial.sim.scenario import Scenario
from congenial.studio.document import Columns, run_document
from congenial.studio.recording import MOST_EVENTS, FirstEvents, Recording, beginning, simulated

PATIENCE = 0.7  # seconds that a page waits for the whole run, before it shows the part that there is
GROWTH = 1.5  # a part is worth sending when there are so many times as many events


class LiveRun:
    """A run, from its first event on. `recording` is the whole of it, when it has ended."""

    def __init__(self, scenario: Scenario, seed: int, most: int = MOST_EVENTS) -> None:
        self.so_far = beginning(scenario, seed)
        self.trace = FirstEvents(most)
        self.columns = Columns()
        self.recording: Recording | None = None
        self.error: CongenialError | None = None
        self.ended = Flag()
        self.lock = Lock()  # two questions of a page must not add the same events
        Thread(target=self._run, args=(scenario, seed), daemon=True).start()

    def _run(self, scenario: Scenario, seed: int) -> None:
        try:
            self.recording = simulated(scenario, seed, trace=self.trace)
        except CongenialError as error:
            self.error = error
        except MemoryError:
            self.error = ConfigError("there is not enough memory for this: ask for fewer processes or requests")
        finally:
            self.ended.set()

    def cancel(self) -> None:
        """Let it end at its next event."""
        self.trace.most = 0

    def whole(self) -> Recording:
        """The run that has ended."""
        if self.error is not None:
            raise self.error
        if self.recording is None:
            raise ConfigError("this run has not ended yet")
        return self.recording

    def first(self, patience: float = PATIENCE) -> dict[str, object]:
        """The run document of all that has happened; `more` says that it goes on."""
        self.ended.wait(patience)
        while not self.ended.wait(0.05) and not self.trace.events:
            pass
        with self.lock:
            more = not self.ended.is_set()
            recording = replace(self.so_far, events=self.trace.events) if more else self.whole()
            self.columns.add_all(recording.events)
            return {**run_document(recording, self.columns), "more": more}

    def part(self, events: int, messages: int, values: int) -> dict[str, object]:
        """What follows so many events, messages and values; nothing as long as that is little and the run goes on."""
        with self.lock:
            more = not self.ended.is_set()
            if more and len(self.trace.events) < GROWTH * events:
                return {"more": True}
            recording = self.so_far if more else self.whole()
            self.columns.add_all(self.trace.events)
            head: dict[str, object] = {"more": more, "verdict": recording.verdict, "ok": recording.ok}
            return {**head, "cutShort": recording.cut_short, **self.columns.after(events, messages, values)}
