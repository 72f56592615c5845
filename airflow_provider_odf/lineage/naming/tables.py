"""Names of tables as people write them: qualified, and quoted as their database does it."""

from __future__ import annotations

import re

_PART = re.compile(r"""("(?:[^"]|"")+"|`(?:[^`]|``)+`|\[(?:[^\]]|\]\])+\]|[^."`\[\]]+)(\.|$)""")


def parts(table: str) -> list[str]:
    """Return the parts of a table's name, without quotes.

    >>> parts('shop."My ""Table"".1"')
    ['shop', 'My "Table".1']

    :raises ValueError: it is not the name of a table.
    """
    return [_unquoted(part) for part in split(table)]


def check_level(name: str | None) -> None:
    """Check that a database, catalog or schema has no settings behind its name, which may be secret.

    :raises ValueError: it has.
    """
    if re.search(r"[?;]", name or ""):
        raise ValueError("the name of the database or schema contains ? or ;")


def split(table: str) -> list[str]:
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


def snowflake(table: str) -> list[str]:
    """Return the parts of a table's name as Snowflake stores them: in upper case unless quoted, with quotes only where
    they are needed.

    >>> snowflake('db.schema."My Table"')
    ['DB', 'SCHEMA', '"My Table"']
    """
    return [_canonical(_unquoted(part) if part[0] == '"' else part.upper()) for part in split(table)]


def _unquoted(part: str) -> str:
    closing = {'"': '"', "`": "`", "[": "]"}.get(part[0])
    return part[1:-1].replace(closing * 2, closing) if closing else part


def _canonical(name: str) -> str:
    return name if re.fullmatch(r"[A-Z_][A-Z0-9_$]*", name) else '"' + name.replace('"', '""') + '"'
