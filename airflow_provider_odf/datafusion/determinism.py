"""Refuse queries of transforms whose value is not determined by the rows of their inputs, and find the columns used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from airflow_provider_odf.datafusion.query_problem import QueryProblem
from airflow_provider_odf.datafusion.tokens import Word, words

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_provider_odf.protocol import SqlQueryStep

_NAMES = ("random", "uuid", "now", "current_date", "current_time", "current_timestamp", "today")
OF_THE_RUN = re.compile(rf"\b({'|'.join(_NAMES)})\(")
"""Functions in a plan whose value differs between runs of a query."""

_SCAN = re.compile(r"TableScan: (.*?) projection=\[(.*?)\]")
_OF_ROWS = ("Limit", "Projection", "SubqueryAlias")


def check(steps: Sequence[SqlQueryStep], plan: str) -> None:
    """Check queries with their logical plan, as DataFusion prints it.

    :raises QueryProblem: a query calls a function of the clock or of chance, or takes any rows by LIMIT.
    """
    called = {match[1] for match in OF_THE_RUN.finditer(plan)}
    for number, step in enumerate(steps, 1):
        for word, following in pairwise((*words(step.query), Word("sign", "", 0, 0))):
            is_call = following.text == "(" or word.text.lower().startswith("current_")
            if is_call and word.kind == "name" and word.text.lower() in called:
                message = f"{word.text} has another value in each run"
                advice = "use columns instead, such as the event time"
                raise QueryProblem.at(step.query, word.start, message, advice, number=number)
    if _takes_any_rows(plan):
        _refuse_limit(steps)


def _takes_any_rows(plan: str) -> bool:
    """Return whether a Limit is not above a Sort."""
    is_limited = False
    for line, below in pairwise(line.strip().partition(":")[0] for line in plan.split("\n")):
        is_limited = line == "Limit" or (is_limited and line in _OF_ROWS)
        if is_limited and below not in (*_OF_ROWS, "Sort"):
            return True
    return False


def _refuse_limit(steps: Sequence[SqlQueryStep]) -> None:
    for number, step in enumerate(steps, 1):
        for word in words(step.query):
            if word.is_word("LIMIT", "OFFSET", "FETCH"):
                message = f"{word.text.upper()} without ORDER BY takes any rows"
                advice = "add ORDER BY with a unique order"
                raise QueryProblem.at(step.query, word.start, message, advice, number=number)


def used_columns(plan: str, tables: Mapping[str, pa.Schema]) -> dict[str, frozenset[str]]:
    """Return the columns of each table that an optimized plan reads."""
    used: dict[str, set[str]] = {name: set() for name in tables}
    for match in _SCAN.finditer(plan):
        if match[1] in used:
            used[match[1]].update(match[2].split(", "))
    return {name: frozenset(used[name] & {*tables[name].names}) for name in tables}
