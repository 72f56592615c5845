"""Parse queries: their limits, and errors with their places.

Parser, translation and generator recurse for each level of nesting. A query of MAX_DEPTH levels must not exceed the
recursion limit, from any caller. A query with more levels is refused at the token that opens the first one too many.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice, pairwise

from sqlglot import Dialect, exp
from sqlglot.errors import ParseError, SqlglotError, TokenError, UnsupportedError
from sqlglot.tokenizer_core import Token, TokenType

from airflow_provider_odf.datafusion.query_text import QueryProblem, line_and_column


class Refusal(Exception):
    """A node without an exact translation. It becomes `QueryProblem` with the text and number of its query."""

    def __init__(self, node: exp.Expr | None, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.node, self.message, self.advice = node, message, advice


def with_place(error: Exception, sql: str, number: int) -> QueryProblem:
    """Return the refusal for an error in the translation of a query, with its place."""
    place, message, advice = (1, 1), f"the query cannot be translated: {error!r}", "use engine: spark"
    if isinstance(error, Refusal):
        place, message, advice = _position(sql, error.node), error.message, error.advice
    elif isinstance(error, ParseError):
        place, message, advice = *_of_parser(error), ""
    elif isinstance(error, TokenError | UnsupportedError):
        place, message, advice = *_of_tokenizer(error), ""
    elif isinstance(error, RecursionError):
        message, advice = "an expression of the query is too long to be translated", "split it into several queries"
    return QueryProblem(message, advice, number=number, place=place)


def _position(sql: str, node: exp.Expr | None) -> tuple[int, int]:
    """Return line and column of ``node``, or of the nearest parent with a place."""
    while node is not None:
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        if starts:
            return line_and_column(sql, min(starts))
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


MAX_DEPTH = 100
_FRAMES_PER_LEVEL = 60
"""Python frames per level of nesting, with a margin: sqlglot's parser needs most, about 25."""
_LARGEST_RESULT = 100_000
"""Maximum number of nodes of an expression for Spark."""
_SMALL_RESULT, _LARGEST_GROWTH = 2_000, 50
"""Some translations repeat their argument, so nesting multiplies it with each level. A result above the first limit can
have at most the second limit of nodes per node of the query, since copies would take seconds."""

_ADVICE = "split it into several queries"

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_INTERVAL = re.compile(r"\s*[+-]?\d{1,10}\s*|\s*(?:[+-]?\d{1,10}\s*[A-Za-z]+\s*){1,10}")
_LOCK = threading.Lock()


@contextmanager
def room() -> Iterator[None]:
    """Raise the recursion limit for a query of MAX_DEPTH levels. It applies to the process: one thread at a time."""
    with _LOCK:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(before + MAX_DEPTH * _FRAMES_PER_LEVEL)
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


def check_nesting(tokens: Iterable[Token]) -> None:
    """:raises Refusal: the tokens nest deeper than MAX_DEPTH levels."""
    depth, prefixes = 0, 0
    for token in tokens:
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth + prefixes > MAX_DEPTH:
            raise Refusal(at(token), f"the query is nested deeper than {MAX_DEPTH} levels", _ADVICE)


def _check_intervals(tokens: Iterable[Token]) -> None:
    """Check that interval literals are whole numbers: sqlglot drops text that it cannot parse.

    :raises Refusal: an interval has other text."""
    for before, token in pairwise(tokens):
        is_text = before.token_type == TokenType.INTERVAL and token.token_type == TokenType.STRING
        if is_text and not _INTERVAL.fullmatch(token.text):
            text = token.text if len(token.text) <= 40 else f"{token.text[:37]}..."
            advice = "write integers with units, such as '1 day 2 hours'"
            raise Refusal(at(token), f"INTERVAL '{text}' is not supported", advice)


def check_result(node: exp.Expr, result: exp.Expr) -> None:
    """:raises Refusal: the translated expression is too large for Spark."""

    def size_of(node: exp.Expr, limit: int) -> int:
        """Return the number of nodes of an expression, at most ``limit`` + 1."""
        return sum(1 for _ in islice(node.walk(), limit + 1))

    size = size_of(result, _LARGEST_RESULT)
    if size > _LARGEST_RESULT:
        message = f"its translation for Spark has more than {_LARGEST_RESULT} parts"
        raise Refusal(node, message, _ADVICE)
    if size > _SMALL_RESULT and size > _LARGEST_GROWTH * size_of(node, size):
        message = f"its translation for Spark repeats nested expressions and has more than {_SMALL_RESULT} parts"
        raise Refusal(node, message, _ADVICE)


def at(token: Token) -> exp.Expr:
    """Return a node with the place of a token."""
    return exp.Var(this=token.text).update_positions(token)


def parse(query: str, dialect: Dialect) -> exp.Expr:
    """Return the only statement of a query. Its tokens are checked before the parser recurses into them."""
    tokens = dialect.tokenize(query)
    check_nesting(tokens)
    _check_intervals(tokens)
    statements = dialect.parser().parse(tokens, query)
    if len(statements) != 1 or statements[0] is None:
        advice = "split it into several queries with aliases"
        raise Refusal(None, f"one query is expected, not {len(statements)}", advice)
    return statements[0]
