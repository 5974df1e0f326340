"""What compiling must not change: which objects are instances of which classes."""

from __future__ import annotations

import pkgutil
from abc import ABCMeta
from importlib import import_module

import congenial
from congenial.net.entrance import Entrance
from congenial.net.view_door import FollowingDoor, LockDoor, ViewDoor
from congenial.net.view_guard import ViewGuard


def test_an_instance_of_one_class_is_not_taken_for_one_of_another() -> None:
    """Once it depended on what had been asked before, in a compiled package: a guarded object was taken for a lock that
    can be forgotten, or for no entrance at all."""
    guard = ViewGuard.__new__(ViewGuard)
    for _ in range(2):
        assert [isinstance(guard, kind) for kind in (LockDoor, FollowingDoor, ViewDoor, Entrance)] == [0, 1, 0, 1]
        assert [issubclass(ViewDoor, kind) for kind in (ViewGuard, LockDoor, FollowingDoor, Entrance)] == [0, 1, 1, 1]


def test_no_compiled_class_has_an_abstract_base() -> None:
    """Python remembers for each `ABC` what its instances are, but compiled classes below one share that memory."""
    looked_at = 0
    for module in pkgutil.walk_packages(congenial.__path__, "congenial."):
        if module.name.rpartition(".")[2] in ("__main__", "tooz_driver"):
            continue
        for kind in vars(import_module(module.name)).values():
            if isinstance(kind, type) and kind.__module__ == module.name:
                looked_at += 1
                shares = isinstance(kind, ABCMeta) and "_abc_impl" not in vars(kind)
                assert not shares or getattr(kind, "_is_protocol", False), kind
    assert looked_at > 500
