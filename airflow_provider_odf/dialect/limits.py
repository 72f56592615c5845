"""Bounds of what is translated, checked on the words of a query before anything recurses into it.

Parser, translation and generator recurse once or more for each level of nesting. A query of DEEPEST levels must not end
them, whoever calls them and however deep; a query of more levels is refused at the word that opens one too many.
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

from airflow_provider_odf.dialect.place import Refused

DEEPEST = 100
_FRAMES_PER_LEVEL = 60
"""More than the Python frames that a level of nesting costs sqlglot's parser, which needs most: about 25."""
_LARGEST_RESULT = 100_000
"""Nodes of an expression for Spark."""
_SMALL_RESULT, _LARGEST_GROWTH = 2_000, 50
"""Some forms on Spark repeat their argument, so that nesting them multiplies it with each level. Above so many nodes of
the result, so many for each node of the query are refused, before they take seconds to copy."""

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_PREFIXES = {TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE}
_INTERVAL = re.compile(r"\s*[+-]?\d{1,10}\s*|\s*(?:[+-]?\d{1,10}\s*[A-Za-z]+\s*){1,10}")
_LOCK = threading.Lock()


@contextmanager
def room() -> Iterator[None]:
    """Let Python recurse as deep as a query of DEEPEST levels needs. The limit is the process's: one at a time."""
    with _LOCK:
        before = sys.getrecursionlimit()
        sys.setrecursionlimit(before + DEEPEST * _FRAMES_PER_LEVEL)
        try:
            yield
        finally:
            sys.setrecursionlimit(before)


def check_nesting(tokens: Iterable[Token]) -> None:
    """:raises Refused: if the words nest deeper than DEEPEST levels."""
    depth, prefixes = 0, 0
    for token in tokens:
        prefixes = prefixes + 1 if token.token_type in _PREFIXES else 0
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth + prefixes > DEEPEST:
            raise Refused(_at(token), f"the query is nested deeper than {DEEPEST} levels", "split it into queries")


def check_intervals(tokens: Iterable[Token]) -> None:
    """Interval literals must be whole numbers: sqlglot leaves out of their text what it cannot read.

    :raises Refused: if one has anything else in it."""
    for before, token in pairwise(tokens):
        is_text = before.token_type == TokenType.INTERVAL and token.token_type == TokenType.STRING
        if is_text and not _INTERVAL.fullmatch(token.text):
            text = token.text if len(token.text) <= 40 else f"{token.text[:37]}..."
            advice = "write whole numbers with units, as '1 day 2 hours'"
            raise Refused(_at(token), f"INTERVAL '{text}' is not translated", advice)


def check_result(node: exp.Expr, result: exp.Expr) -> None:
    """:raises Refused: if what an expression becomes is too large for Spark."""
    size = _size(result, _LARGEST_RESULT)
    if size > _LARGEST_RESULT:
        raise Refused(node, f"its form on Spark has more than {_LARGEST_RESULT} parts", "split it into queries")
    if size > _SMALL_RESULT and size > _LARGEST_GROWTH * _size(node, size):
        message = f"its form on Spark repeats what is nested in it and has more than {_SMALL_RESULT} parts"
        raise Refused(node, message, "split it into queries")


def _size(node: exp.Expr, most: int) -> int:
    """How many nodes an expression has; of more than ``most``, no more than one is counted."""
    return sum(1 for _ in islice(node.walk(), most + 1))


def _at(token: Token) -> exp.Expr:
    """A node with the place of a word."""
    return exp.Var(this=token.text).update_positions(token)
