"""Giving locks back: how a process that asks the members of a quorum for their locks avoids a deadlock.

Members lock themselves for the oldest request, and requests arrive in different orders, so each of two processes may
have locks that the other waits for. A member that is locked for a younger request than the oldest it knows of asks for
its lock back. A process gives back what it is asked for as soon as it has lost somewhere: an older request comes first
there, so it cannot enter before that one in any case. While it has lost nowhere it keeps what it has, since it may be
about to enter.

Maekawa 1985, and all algorithms after his. They differ in the names of the messages, and in what a process writes down
about its locks: `_return` is for them to say.
"""

from __future__ import annotations

from typing import final

from mypy_extensions import mypyc_attr, trait

from congenial.kernel.out import Out


@trait
@mypyc_attr(allow_interpreted_subclasses=True)
class Yielding:
    """A second base class for nodes. Their own constructors set the attributes, both empty.

    Nodes call `_on_failed` and `_on_inquire` only. These are final since mypyc, where a node calls a method that it has
    from a trait, does not see that an interpreted subclass overrides it. Where a trait calls one, it does.
    """

    lost: list[int]  # members at which an older request comes first
    inquiries: list[int]  # members that want their lock back and have no answer yet

    @final
    def _on_failed(self, member: int, out: Out) -> None:
        self._lose(member)
        self._give_back(out)

    @final
    def _on_inquire(self, member: int, out: Out) -> None:
        """A member asks for a lock back that I have."""
        self.inquiries.append(member)
        if self._yields():
            self._give_back(out)

    def _lose(self, member: int) -> None:
        self.lost.append(member)

    def _yields(self) -> bool:
        return bool(self.lost)

    def _give_back(self, out: Out) -> None:
        """Return the locks that are asked for; then I have lost there as well."""
        wanted = self.inquiries
        self.inquiries = []
        for member in wanted:
            self._lose(member)
            self._return(member, out)

    def _return(self, member: int, out: Out) -> None:
        """Note that a member's lock is returned, and tell the member."""
        raise NotImplementedError
