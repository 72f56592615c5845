"""Bounds on the depth of queries.

DataFusion walks its trees by recursion. From about 2,000 levels of an expression, or 1,000 of relations, that ends the
process without an error, and with it the runs of other datasets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.datafusion.query_problem import QueryProblem
from airflow_provider_odf.datafusion.tokens import Word, words

if TYPE_CHECKING:
    from airflow_provider_odf.protocol import SqlQueryStep

MAX_OPERATORS = 1000
"""Maximum number of operators in an expression, including those of the queries that it reads."""

MAX_RELATIONS = 500
"""Maximum number of joins, subqueries and common table expressions of all queries. Unions are flat and do not count."""

_OPERATORS = ("AND", "OR", "IS", "LIKE", "ILIKE")
_SET_OPERATORS = ("UNION", "INTERSECT", "EXCEPT")
_CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", *_SET_OPERATORS)
_PUNCTUATION = ("(", ")", ",", ".", ";")


@dataclass
class _Level:
    """An open parenthesis, or the query itself: its clause, and the operators of the present expression."""

    clause: str = ""
    operators: int = 0


def check(steps: Sequence[SqlQueryStep]) -> None:
    """Check that queries are not too deep for DataFusion, which inserts each query into those that read it.

    :raises QueryProblem: an expression has too many operators, or the queries have too many relations.
    """
    operators_before = relations = 0
    for number, step in enumerate(steps, 1):
        deepest = operators_before
        for word, operators, is_relation in _measure(step.query):
            relations += is_relation
            deepest = max(deepest, operators_before + operators)
            if deepest > MAX_OPERATORS:
                message = f"an expression has more than {MAX_OPERATORS:,} operators"
                advice = "use IN (…) instead of many OR"
                raise QueryProblem.at(step.query, word.start, message, advice, number=number)
            if relations > MAX_RELATIONS:
                message = f"the query has more than {MAX_RELATIONS} joins and subqueries"
                advice = "use fewer joins and subqueries"
                raise QueryProblem.at(step.query, word.start, message, advice, number=number)
        operators_before = deepest


def _measure(query: str) -> Iterator[tuple[Word, int, int]]:
    """Yield each word with the number of operators that its expression has so far, and 1 if it adds a relation, -1 if a
    set operator makes the next SELECT none."""
    levels = [_Level()]
    is_after_distinct = False
    for word in words(query):
        level, is_relation = levels[-1], 0
        if word.is_word("("):
            levels.append(_Level())
        elif word.is_word(")"):
            levels = levels[:-1] or [_Level()]
        elif is_after_distinct and word.is_word("FROM"):  # IS DISTINCT FROM
            level.operators += 1
        elif word.is_word(*_CLAUSES):
            level.clause, level.operators = word.text.upper(), 0
            is_relation = (level.clause == "SELECT") - (level.clause in _SET_OPERATORS)
        elif word.is_word(","):
            level.operators, is_relation = 0, int(level.clause == "FROM")
        elif word.is_word("JOIN"):
            level.operators, is_relation = 0, 1
        elif word.is_word(*_OPERATORS) or (word.kind == "sign" and word.text not in _PUNCTUATION):
            level.operators += 1
        yield word, sum(level.operators for level in levels), is_relation
        is_after_distinct = word.is_word("DISTINCT")
