"""The locks that clusters use unless told otherwise, as classes that can be compiled."""

from __future__ import annotations

from typing import ClassVar

from mypy_extensions import mypyc_attr

from congenial.algorithms.group.home_gme import HomeGME
from congenial.algorithms.kmutex.home_k import HomeK
from congenial.kernel.node import Node
from congenial.parts.homed import Homed
from congenial.transform.lock_in_views import LockInViews, SeatedLock
from congenial.transform.views import LockClasses


@mypyc_attr(allow_interpreted_subclasses=True)  # or a node could not be made without calling __init__, as copies are
class HomeGMELock(LockInViews):
    algorithm: ClassVar[type[Homed]] = HomeGME


@mypyc_attr(allow_interpreted_subclasses=True)
class HomeKSeat(SeatedLock):
    algorithm: ClassVar[type[Homed]] = HomeK


LOCK_CLASSES: dict[type[Node], LockClasses] = {HomeGME: (HomeGMELock, None), HomeK: (None, HomeKSeat)}
