"""From a frame to the lock that it is for: what every message of a lock that follows views runs through, and compiled.

`congenial.net.viewed` has the rest, and keeps what is here up to date: messages for other views than the present one,
for locks that may not have moved to it, and for those that have a seat, go there.

What cannot be read is a `ProtocolError`, and the peer is refused. But a message that a lock refuses fails that lock
alone (`Door.accept`): the frame has arrived, and the other locks go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from congenial.kernel.message import Message
from congenial.net.forms import Forms
from congenial.net.kept import KeptLocks
from congenial.net.link import Link, LockReceiver
from congenial.net.names import LONGEST_KEY, is_guarded, shown
from congenial.net.view_door import ViewDoor
from congenial.net.wire import LockData
from congenial.transform.lock_in_views import Inherited, InView

NO_VIEW: Final = -1

Other = Callable[[Link, str, Message], None]


class Dispatch(LockReceiver):
    def __init__(self, forms: Forms, kept: KeptLocks, other: Other) -> None:
        self.forms = forms
        self.kept = kept
        self.other = other
        self.number = NO_VIEW  # of the present view, while this process is a member
        self.moving = False  # perhaps some locks have not moved to it

    def on_lock_data(self, link: Link, data: LockData[Any]) -> None:
        body = self.forms.message(data.body)
        view: int = data.view
        fence: int = data.fence
        message: InView | Inherited = Inherited(view, fence, body) if fence else InView(view, body)
        if view == self.number >= 0 and not self.moving:
            key: str = data.lock
            door = self.kept.doors.get(key)
            if door is None and len(key) <= LONGEST_KEY and not is_guarded(key):
                door = self.kept.make(key, shown(key))
            if isinstance(door, ViewDoor):
                door.accept(link.peer, message)
                return
        self.other(link, data.lock, message)
