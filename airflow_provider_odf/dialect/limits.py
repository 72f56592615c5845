"""Limits of queries, checked on their tokens before the parser recurses into them.

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

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from airflow_provider_odf.dialect.place import Refusal

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
            raise Refusal(_at(token), f"the query is nested deeper than {MAX_DEPTH} levels", _ADVICE)


def check_intervals(tokens: Iterable[Token]) -> None:
    """Check that interval literals are whole numbers: sqlglot drops text that it cannot parse.

    :raises Refusal: an interval has other text."""
    for before, token in pairwise(tokens):
        is_text = before.token_type == TokenType.INTERVAL and token.token_type == TokenType.STRING
        if is_text and not _INTERVAL.fullmatch(token.text):
            text = token.text if len(token.text) <= 40 else f"{token.text[:37]}..."
            advice = "write integers with units, such as '1 day 2 hours'"
            raise Refusal(_at(token), f"INTERVAL '{text}' is not supported", advice)


def check_result(node: exp.Expr, result: exp.Expr) -> None:
    """:raises Refusal: the translated expression is too large for Spark."""
    size = _size(result, _LARGEST_RESULT)
    if size > _LARGEST_RESULT:
        message = f"its translation for Spark has more than {_LARGEST_RESULT} parts"
        raise Refusal(node, message, _ADVICE)
    if size > _SMALL_RESULT and size > _LARGEST_GROWTH * _size(node, size):
        message = f"its translation for Spark repeats nested expressions and has more than {_SMALL_RESULT} parts"
        raise Refusal(node, message, _ADVICE)


def _size(node: exp.Expr, most: int) -> int:
    """Return the number of nodes of an expression, at most ``most`` + 1."""
    return sum(1 for _ in islice(node.walk(), most + 1))


def _at(token: Token) -> exp.Expr:
    """Return a node with the place of a token."""
    return exp.Var(this=token.text).update_positions(token)
