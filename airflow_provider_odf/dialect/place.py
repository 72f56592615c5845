"""Errors of queries with their places."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError, UnsupportedError


class Refusal(Exception):
    """A node without an exact translation. It becomes `QueryRefusal` with the text and number of its query."""

    def __init__(self, node: exp.Expr | None, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.node, self.message, self.advice = node, message, advice


class QueryRefusal(Exception):
    """A refused query with its number, from 1, and line and column in it. Number 0 means all queries."""

    def __init__(self, message: str, advice: str = "", *, number: int = 0, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.advice = message, advice
        self.number, self.line, self.column = number, line, column

    def __str__(self) -> str:
        query = f" query {self.number}" if self.number else ""
        place = f", {self.line}:{self.column}" if self.line else ""
        return f"{query}{place}: {self.message}" + (f" ({self.advice})" if self.advice else "")


def with_place(error: Exception, sql: str, number: int) -> QueryRefusal:
    """Return the refusal for an error in the translation of a query, with its place."""
    (line, column), message, advice = (1, 1), f"the query cannot be translated: {error!r}", "use engine: spark"
    if isinstance(error, Refusal):
        (line, column), message, advice = _position(sql, error.node), error.message, error.advice
    elif isinstance(error, ParseError):
        (line, column), message, advice = *_of_parser(error), ""
    elif isinstance(error, TokenError | UnsupportedError):
        (line, column), message, advice = *_of_tokenizer(error), ""
    elif isinstance(error, RecursionError):
        message, advice = "an expression of the query is too long to be translated", "split it into several queries"
    return QueryRefusal(message, advice, number=number, line=line, column=column)


def _position(sql: str, node: exp.Expr | None) -> tuple[int, int]:
    """Return line and column of ``node``, or of the nearest parent with a place."""
    while node is not None:
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        if starts:
            before = sql[: min(starts)]
            return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        node = node.parent
    return 1, 1


def _of_parser(error: ParseError) -> tuple[tuple[int, int], str]:
    """Return place and message of a syntax error. sqlglot's place is the last character of the token."""
    details = error.errors[0] if error.errors else {}
    word = str(details.get("highlight") or "")
    column = int(details.get("col") or 1) - max(len(word) - 1, 0)
    message = str(details.get("description") or error)
    if message.startswith("Required keyword"):
        message = "a keyword or expression is missing"
    return (int(details.get("line") or 1), max(column, 1)), message + (f" at '{word}'" if word else "")


def _of_tokenizer(error: SqlglotError) -> tuple[tuple[int, int], str]:
    """Return place and message of a tokenizer error. Its message contains the place: ``Missing ' from 3:7``."""
    message = str(error.__cause__ or error)
    match = re.fullmatch(r"(.*) from (\d+):(\d+)", message)
    return ((int(match[2]), int(match[3])), match[1]) if match else ((0, 0), message)
