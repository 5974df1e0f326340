"""One turn: everything that one event of the event loop causes.

A chunk of bytes arrives, a timer runs out, a task calls a method: whatever follows from that happens inside
`with turn:`. Turns may be nested. When the outermost one ends, all that was saved is put on disk in one go, and only
then what was sent to each peer leaves, in one write.

A turn that lets a local task in does not keep it waiting for the network: what was sent leaves right after the task has
run for the first time, or with what the task itself sends.

A turn that releases a lock lets out first what may let another process in. What goes to the last peer, if there are
several, leaves when the task has run on to its next pause, or with what it sends before: often it asks the same peer
for the next lock, and then one write is enough, and the peer wakes up once.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy_extensions import mypyc_attr

from congenial.net.storage import Storage


@mypyc_attr(allow_interpreted_subclasses=True)
class Writer:
    """Something that collects what it has to write until the turn ends."""

    def flush(self) -> None:
        raise NotImplementedError


class Turn:
    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.saves = storage.lasting
        self.depth = 0
        self.unwritten: list[Writer] = []
        self.soon: Callable[[Callable[[], None]], object] | None = None  # calls when tasks that were let in have run
        self.admits = False  # this turn has let in a task, which has not run yet
        self.silent = False  # what cannot be saved must not be promised: nothing leaves from now on
        self.on_failure: Callable[[OSError], None] | None = None  # called once, if the state cannot be saved

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *exception: object) -> None:
        self.leave()

    def leave(self) -> None:
        """What `with` does at the end. Hot paths call it themselves."""
        self.depth -= 1
        if not self.depth:
            self._end()

    def _end(self) -> None:
        if self.silent:
            self.unwritten.clear()
            return
        if self.saves:
            try:
                self.storage.sync()
            except OSError as error:
                self._fail(error)
        admits, self.admits = self.admits, False
        if self.unwritten:
            if admits and self.soon is not None:
                self.soon(self.write)
            else:
                self.write()

    def leave_after_release(self) -> None:
        """The same, for a turn in which nothing but a release has happened."""
        if self.depth == 1 and len(self.unwritten) > 1 and self.soon is not None and not self.silent:
            last = self.unwritten.pop()
            self.leave()
            if not self.silent:
                self.unwritten.append(last)
                self.soon(self.write)
        else:
            self.leave()

    def write(self) -> None:
        """Let out what was sent. All that was saved before it is on disk."""
        writers, self.unwritten = self.unwritten, []
        if not self.silent:
            for writer in writers:
                writer.flush()

    def check(self) -> None:
        """Look whether what is saved would be kept, even if there is nothing to save now."""
        if not self.silent:
            try:
                self.storage.check()
            except OSError as error:
                self._fail(error)

    def _fail(self, error: OSError) -> None:
        """Raises nothing: the caller that happened to cause this turn did nothing wrong. Tasks get an error from their
        locks."""
        self.silent = True
        self.unwritten.clear()
        if self.on_failure is not None:
            self.on_failure(error)
