"""Tells systemd how a node is (sd_notify(3)): it has started, it waits for members, it is alive, it stops."""

from __future__ import annotations

import logging
import os
import socket
import time

from congenial.net.logs import log


def notify(*lines: str) -> bool:
    """Send lines such as `READY=1` to the service manager, if there is one that listens."""
    place = os.environ.get("NOTIFY_SOCKET", "")
    if not place:
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
            made.connect("\0" + place[1:] if place.startswith("@") else place)
            made.send("\n".join(lines).encode())
    except OSError as error:
        log(logging.WARNING, "notify.failed", socket=place, reason=error.strerror or error)
        return False
    return True


def reloading() -> str:
    """The line that a service manager wants before a reload, with the time at which it begins."""
    return f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}"


def watchdog_period() -> float | None:
    """Seconds between two `WATCHDOG=1`: half of the time after which we would be killed. None: it is not wanted."""
    wanted, process = os.environ.get("WATCHDOG_USEC", ""), os.environ.get("WATCHDOG_PID", "")
    if not wanted.isdecimal() or int(wanted) == 0 or process not in ("", str(os.getpid())):
        return None
    return int(wanted) / 2e6
