"""Refuse queries of transforms whose value is not determined by the rows of their inputs, and find the columns used."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from airflow_provider_odf.datafusion import orders
from airflow_provider_odf.datafusion.query_problem import QueryProblem
from airflow_provider_odf.datafusion.tokens import Word, words

if TYPE_CHECKING:
    import pyarrow as pa
    from datafusion.plan import LogicalPlan

    from airflow_provider_odf.protocol import SqlQueryStep

_NAMES = ("random", "uuid", "now", "current_date", "current_time", "current_timestamp", "today", "version")
OF_THE_RUN = re.compile(rf"\b({'|'.join(_NAMES)})\(")
"""Functions in a plan whose value differs between runs of a query."""

_SCAN = re.compile(r"TableScan: (.*?) projection=\[(.*?)\]")


def check(steps: Sequence[SqlQueryStep], plan: LogicalPlan, keys: orders.Keys) -> None:
    """Check queries with their logical plan, which must not be optimized. ``keys`` are unique columns of tables.

    :raises QueryProblem: a query calls a function of the clock or of chance, or depends on the order of equal rows.
    """
    called = {match[1] for match in OF_THE_RUN.finditer(plan.display_indent())}
    for number, step in enumerate(steps, 1):
        for word, following in pairwise((*words(step.query), Word("sign", "", 0, 0))):
            is_call = following.text == "(" or word.text.lower().startswith("current_")
            if is_call and word.kind == "name" and word.text.lower() in called:
                message = f"{word.text} has another value in each run"
                advice = "use columns instead, such as the event time"
                raise QueryProblem.at(step.query, word.start, message, advice, number=number)
    for fault in orders.faults(plan, keys):
        raise _problem(steps, fault)


def _problem(steps: Sequence[SqlQueryStep], fault: orders.Fault) -> QueryProblem:
    """Return the problem of the first word that may have caused a fault."""
    names = [name.upper() for name in fault.words]
    for number, step in enumerate(steps, 1):
        for word in words(step.query):
            if word.is_word(*names):
                message = fault.message.format(word=word.text.upper())
                return QueryProblem.at(step.query, word.start, message, fault.advice, number=number)
    return QueryProblem(fault.message.format(word=fault.words[0]), fault.advice, number=len(steps))


def used_columns(plan: str, tables: Mapping[str, pa.Schema]) -> dict[str, frozenset[str]]:
    """Return the columns of each table that an optimized plan reads."""
    used: dict[str, set[str]] = {name: set() for name in tables}
    for match in _SCAN.finditer(plan):
        if match[1] in used:
            used[match[1]].update(match[2].split(", "))
    return {name: frozenset(used[name] & {*tables[name].names}) for name in tables}
