"""The part of an address that names servers: hosts, ports and credentials."""

from __future__ import annotations

import re

_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5})?)?")


def hosts(text: str, port: str = "", *, separator: str = ",") -> str:
    """Return servers as ``host:port``, separated by commas: in lower case, without credentials.

    >>> hosts("me:pa55@DB1,[::1]:5433", "5432")
    'db1:5432,[::1]:5433'

    :param port: the default port; empty if none is added.
    :raises ValueError: a host is missing, or host and port are invalid.
    """
    return ",".join(host(one, port) for one in text.split(separator))


def host(text: str, port: str = "") -> str:
    """Return one server as ``host:port``. An IPv6 address gets brackets if it has none.

    :raises ValueError: the host is missing, or host and port are invalid.
    """
    name = text.rpartition("@")[2].strip()
    if not name:
        raise ValueError("the address has no host")
    if re.fullmatch(r"[0-9A-Fa-f]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", name):
        name = f"[{name}]"
    match = _HOST.fullmatch(name)
    if not match or not re.fullmatch(r"\d*", port):
        raise ValueError("the address has an invalid host or port")
    number = match["port"] or port
    return f"{match['host'].lower()}:{number}" if number else match["host"].lower()


def without_users(authority: str) -> str:
    """Return the servers as written, without credentials."""
    return ",".join(server.rpartition("@")[2] for server in authority.split(","))


def without_port(authority: str) -> str:
    """Return the host of one server."""
    return re.sub(r":\d+$", "", authority)
