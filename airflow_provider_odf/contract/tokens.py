"""Tokens of SQL, to change a query in few places and keep the rest as its author wrote it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TOKEN = re.compile(
    r"""(?xs)
    --[^\n]* | /\*.*?\*/ | \s+           # comments and space
    | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `(?:[^`]|``)*`
    | \w+ | .
    """
)


def tokens(sql: str) -> list[str]:
    """Return the tokens of a query, whose texts in sequence are the query.

    >>> tokens("f(a, 'x y') -- end")
    ['f', '(', 'a', ',', ' ', "'x y'", ')', ' ', '-- end']
    """
    return _TOKEN.findall(sql)


def is_space(token: str) -> bool:
    """Whether a token is space or a comment."""
    return token.isspace() or token.startswith(("--", "/*"))


def closing(sql: Sequence[str], start: int) -> int | None:
    """Return the index of the parenthesis that closes the one at ``start``, None if there is none."""
    depth = 0
    for index in range(start, len(sql)):
        depth += {"(": 1, ")": -1}.get(sql[index], 0)
        if depth == 0:
            return index
    return None


def following(sql: Sequence[str], index: int) -> int:
    """Return the index of the first token after ``index`` that is no space, the length if there is none."""
    index += 1
    while index < len(sql) and is_space(sql[index]):
        index += 1
    return index


def at(sql: Sequence[str], index: int) -> str:
    """Return a token in lower case, an empty text behind the end."""
    return sql[index].lower() if index < len(sql) else ""
