"""The names of nodes, and where they listen."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated

from msgspec import Meta

from congenial.kernel.errors import ConfigError
from congenial.net.checked import checked_mapping, shown, wrong

LONGEST_NODE_NAME = 63
NAME_RULE = f"1 to {LONGEST_NODE_NAME} letters, digits, '-' or '.', with a letter or digit first"

LISTEN_RULE = 'a host or host:port, such as "0.0.0.0", or empty'

Listen = Annotated[str, Meta(description=LISTEN_RULE)]
Place = Annotated[str, Meta(description='an address host:port, such as "0.0.0.0:9100", or empty')]
Seeds = Annotated[tuple[str, ...], Meta(description='addresses host:port, such as ["127.0.0.1:7101"]')]
Address = Annotated[str, Meta(description='an address host:port, such as "127.0.0.1:7101"')]


def check_nodes(key: str, nodes: object) -> None:
    """Refuse anything but a mapping from the names of nodes to their addresses."""
    if not isinstance(nodes, Mapping):
        raise wrong(key, nodes, 'a table of names and addresses, such as a = "127.0.0.1:7101"')
    if not nodes:
        raise ConfigError(f"{key} is empty: a cluster needs at least one node: name them with their addresses")
    at: dict[tuple[str, int], str] = {}
    for name, text in checked_mapping(key, nodes, Mapping[str, Address]).items():
        check_name(name)
        try:
            where = address(text)
        except ConfigError as error:
            raise ConfigError(f"{key}.{name}: {error}") from None
        if is_everywhere(where[0]):
            raise wrong(f"{key}.{name}", text, 'an address that others can call; listen = "..." says where to listen')
        same = at.setdefault((_canonical(where[0]), where[1]), name)
        if same != name:
            raise wrong(f"{key}.{name}", text, f"an address of its own: node {same!r} is at that one")


def check_seeds(seeds: tuple[str, ...]) -> None:
    for text in seeds:
        try:
            address(text)
        except ConfigError as error:
            raise ConfigError(f"seeds: {error}") from None


def check_name(name: object) -> None:
    """Refuse what cannot be a node's name. It becomes part of file names, so it must not begin with '.' or '-'."""
    fits = isinstance(name, str) and len(name) <= LONGEST_NODE_NAME and name[:1].isalnum()
    if not fits or not all([c.isalnum() or c in "-." for c in str(name)]):
        raise ConfigError(f"node name {shown(name)}: use {NAME_RULE}")


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    fits = _is_host(bare) and (":" in bare) == (bare != host)
    if not fits or not (port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536):
        raise ConfigError(
            f"{shown(text)} is not an address: write host:port with a port from 1 to 65535, such as 127.0.0.1:7101 "
            "or [::1]:7101"
        )
    return bare, int(port)


def listening_address(listen: str, own: str) -> str:
    """Where a member listens whose address is `own`: there, or at another host, or at another host and port."""
    if not listen:
        return own
    try:
        address(listen)
        return listen
    except ConfigError:
        bare = listen[1:-1] if listen.startswith("[") and listen.endswith("]") else listen
        if not _is_host(bare) or bare.isdigit() or (":" in bare and not _is_ip(bare)):
            raise wrong("listen", listen, LISTEN_RULE) from None
    port = address(own)[1]
    return f"[{bare}]:{port}" if ":" in bare else f"{bare}:{port}"


def checked_place(key: str, place: str) -> str:
    """An address at which a server is to listen, or empty."""
    if place:
        try:
            address(place)
        except ConfigError as error:
            raise ConfigError(f"{key}: {error}") from None
    return place


def _is_host(text: str) -> bool:
    try:
        text.encode("idna")  # as it will be looked up: parts of 1 to 63 letters between the dots
    except UnicodeError:
        return False
    return bool(text) and all([c.isalnum() or c in "-._:%" for c in text])


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def is_everywhere(host: str) -> bool:
    """All addresses of this machine: one can listen there, but nobody can be called there."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


def _canonical(host: str) -> str:
    """One name for the hosts that are certainly the same."""
    try:
        return str(ip_address(host))
    except ValueError:
        return "127.0.0.1" if host.lower() == "localhost" else host.lower()
