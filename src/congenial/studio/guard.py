"""What keeps others out of the studio: an address that cannot be guessed, and rules for browsers.

The studio listens on this machine only, but any page in the reader's browser could call it there. So every request must
name the secret that is part of the address, be addressed to this host by one of its own names (a page elsewhere cannot
rename it), and not come from another site. What it answers may load nothing from elsewhere, and no other site may read
it.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from ipaddress import ip_address
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),  # it would carry the secret
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
EVERYWHERE = ("0.0.0.0", "::")  # all addresses of this machine
LOST = "There is nothing here. Open the address that `congenial studio` has printed.\n"
FOREIGN = "The studio answers only to its own pages.\n"


def new_secret() -> str:
    return secrets.token_urlsafe(24)


class Guard:
    """An ASGI application around another, which it shows at /SECRET/ only. `host` is where it listens."""

    def __init__(self, app: App, secret: str, host: str) -> None:
        self.app = app
        self.secret = secret
        self.names = {*LOOPBACK, host}
        self.everywhere = host in EVERYWHERE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no WebSockets here
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        prefix, path = f"/{self.secret}", str(scope["path"])
        if not self._is_own(headers):
            await _refuse(send, 403, FOREIGN)
        elif not secrets.compare_digest(path[: len(prefix) + 1].encode(), f"{prefix}/".encode()):
            await _refuse(send, 404, LOST)
        else:
            inner = {**scope, "path": path[len(prefix) :], "raw_path": path[len(prefix) :].encode(), "root_path": ""}
            await self.app(inner, receive, _with_headers(send))

    def _is_own(self, headers: dict[str, str]) -> bool:
        host = headers.get("host", "")
        name = _hostname(host)
        if name not in self.names and not (self.everywhere and _is_address(name)):
            return False
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return False
        return headers.get("sec-fetch-site", "none") in ("none", "same-origin")


def _hostname(host: str) -> str:
    """The name in a Host header, without the port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _is_address(name: str) -> bool:
    """True if this is an address, not a name, which anybody could let point here."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _with_headers(send: Send) -> Send:
    async def send_all(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
        await send(message)

    return send_all


async def _refuse(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
