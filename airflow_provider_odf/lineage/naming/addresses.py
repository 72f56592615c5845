"""Parts of addresses as people write them: servers with credentials and ports, and qualified and quoted tables."""

from __future__ import annotations

import re

_HOST = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::(?P<port>\d{1,5})?)?")
_PART = re.compile(r"""("(?:[^"]|"")+"|`(?:[^`]|``)+`|\[(?:[^\]]|\]\])+\]|[^."`\[\]]+)(\.|$)""")


def hosts(text: str, port: str = "") -> str:
    """Return servers as ``host:port``, separated by commas: in lower case, without credentials.

    >>> hosts("me:pa55@DB1,[::1]:5433", "5432")
    'db1:5432,[::1]:5433'

    :param port: the default port; empty if none is added.
    :raises ValueError: a host is missing, or host and port are invalid.
    """
    return ",".join(host(one, port) for one in text.split(","))


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


def check_level(name: str) -> None:
    """Check that a database, catalog or schema has no settings behind its name, which may be secret.

    :raises ValueError: it has.
    """
    if re.search(r"[?;]", name):
        raise ValueError("the name of the database or schema contains ? or ;")


def table_parts(table: str) -> list[str]:
    """Return the parts of a table's name, without quotes.

    >>> table_parts('shop."My ""Table"".1"')
    ['shop', 'My "Table".1']

    :raises ValueError: it is not the name of a table.
    """
    return [_unquoted(part) for part in split_table(table)]


def snowflake_parts(table: str) -> list[str]:
    """Return the parts of a table's name as Snowflake stores them: in upper case unless quoted, with quotes only where
    they are needed.

    >>> snowflake_parts('db.schema."My Table"')
    ['DB', 'SCHEMA', '"My Table"']
    """
    names = (_unquoted(part) if part[0] == '"' else part.upper() for part in split_table(table))
    return [n if re.fullmatch(r"[A-Z_][A-Z0-9_$]*", n) else '"' + n.replace('"', '""') + '"' for n in names]


def split_table(table: str) -> list[str]:
    """Return the parts of a table's name, as written.

    :raises ValueError: it is not the name of a table.
    """
    table = table.strip()
    if not table:
        raise ValueError("the table is missing")
    if re.match(r"\(|(select|with)\s", table, re.IGNORECASE):
        raise ValueError("the table is a query")
    matches = list(_PART.finditer(table))
    parts = [match[1].strip() for match in matches]
    if "".join(match[0] for match in matches) != table or not all(parts) or table.endswith("."):
        raise ValueError("the table is not the name of a table")
    return parts


def _unquoted(part: str) -> str:
    closing = {'"': '"', "`": "`", "[": "]"}.get(part[0])
    return part[1:-1].replace(closing * 2, closing) if closing else part
