"""Plan queries with DataFusion: check them, return their columns, and find out whether they are row-wise."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_provider_odf.datafusion import determinism, json_operators, nesting, orders, session, types
from airflow_provider_odf.datafusion.json_functions import PREFIX
from airflow_provider_odf.datafusion.query_problem import ONLY_QUERIES, QueryProblem, problem
from airflow_provider_odf.datafusion.tokens import find, words

if TYPE_CHECKING:
    from datafusion import DataFrame, SessionContext

    from airflow_provider_odf.protocol import SqlQueryStep

INPUT = "input"

_ROW_WISE = frozenset(("Projection", "Filter", "SubqueryAlias", "Union", "Unnest"))
"""Nodes of logical plans that compute each row from a single row."""

_STATEMENTS = ("Explain", "Analyze", "DescribeTable")


@dataclass(frozen=True)
class Plan:
    """Plan of queries.

    ``output`` has the columns of the last query with DataFusion's types. ``is_row_wise`` says whether the queries can
    run on parts of the rows separately.
    """

    output: pa.Schema
    is_row_wise: bool


@dataclass(frozen=True)
class TransformPlan(Plan):
    """Plan of the queries of a transform. ``used`` has the columns of each table that the result depends on."""

    used: Mapping[str, frozenset[str]]


def plan(steps: Sequence[SqlQueryStep], tables: Mapping[str, pa.Schema]) -> Plan:
    """Plan queries against empty tables with these columns. Each query can read earlier queries by alias.

    :raises QueryProblem: DataFusion rejects a query, it is not a query, or Spark cannot hold its result.
    :raises InvalidInput: the package ``datafusion`` is not installed.
    """
    frame = _over_empty_tables(steps, tables)
    return Plan(_output(frame, steps), _is_row_wise(frame, frozenset(tables)))


def plan_transform(
    steps: Sequence[SqlQueryStep], tables: Mapping[str, pa.Schema], keys: orders.Keys | None = None
) -> TransformPlan:
    """Plan the queries of a transform like `plan`. ``keys`` are sets of unique columns by table.

    :raises QueryProblem: in addition, the value of a query is not determined by the rows of the tables.
    """
    frame = _over_empty_tables(steps, tables)
    output = _output(frame, steps)
    determinism.check(steps, frame.logical_plan(), keys or {})
    used = determinism.used_columns(frame.optimized_logical_plan().display_indent(), tables)
    return TransformPlan(output, _is_row_wise(frame, frozenset(tables)), used)


def _over_empty_tables(steps: Sequence[SqlQueryStep], tables: Mapping[str, pa.Schema]) -> DataFrame:
    nesting.check(steps)
    context = session.create()
    for name, schema in tables.items():
        context.register_record_batches(types.quoted(name), [[types.empty(schema)]])
    return last(context, steps)


def _output(frame: DataFrame, steps: Sequence[SqlQueryStep]) -> pa.Schema:
    number, query = len(steps), steps[-1].query
    try:
        # The query is planned only once: planning takes time quadratic in the terms of an expression. No batch of the
        # stream is read.
        output = pa.RecordBatchReader.from_stream(frame).schema
    except Exception as e:
        raise problem(e, query, number) from e
    _check(output, query, number)
    return output.remove_metadata()


def last(context: SessionContext, steps: Sequence[SqlQueryStep]) -> DataFrame:
    """Return the last query in a session that has the input. The other queries become views in the session.

    :raises QueryProblem: DataFusion rejects a query, or it is not a query.
    """
    frame: DataFrame | None = None
    for number, step in enumerate(steps, 1):
        frame = _frame(context, step.query, number)
        if step.alias:
            context.register_view(types.quoted(step.alias), frame)
    if frame is None:
        raise QueryProblem("there is no query")
    return frame


def syntax(steps: Sequence[SqlQueryStep], tables: Iterable[str] = (INPUT,)) -> None:
    """Check queries as far as possible without the columns of their tables.

    :raises QueryProblem: a query cannot be parsed, or is not a query.
    """
    nesting.check(steps)
    for number, step in enumerate(steps, 1):
        context = session.create()
        for name in (*tables, *(step.alias for step in steps[: number - 1] if step.alias)):
            context.register_record_batches(types.quoted(name), [[types.empty(pa.schema([]))]])
        try:
            _frame(context, step.query, number)
        except QueryProblem as e:
            if e.is_certain:
                raise


def _frame(context: SessionContext, query: str, number: int) -> DataFrame:
    if parameter := next((word for word in words(query) if word.text == "$"), None):
        message = "parameters ($…) are not supported"
        raise QueryProblem.at(query, parameter.start, message, "write the value", number=number)
    try:
        frame = context.sql_with_options(json_operators.as_functions(query, number), session.options())
    except QueryProblem:
        raise
    except Exception as e:
        raise problem(e, query, number) from e
    if type(frame.logical_plan().to_variant()).__name__ in _STATEMENTS:
        raise QueryProblem(ONLY_QUERIES, number=number, line=1, column=1, is_certain=True)
    return frame


def _is_row_wise(frame: DataFrame, inputs: frozenset[str]) -> bool:
    """Whether every node of the plan makes each row of one row.

    The plan is not optimized and has subqueries as nodes.
    """
    plan = frame.logical_plan().display_indent()
    if determinism.OF_THE_RUN.search(plan):
        return False
    return all(_is_row_wise_node(line.strip(), inputs) for line in plan.split("\n"))


def _is_row_wise_node(line: str, inputs: frozenset[str]) -> bool:
    kind, _, rest = line.partition(":")
    if kind == "TableScan":
        return re.split(r" projection=|,", rest.strip())[0] in inputs
    return kind in _ROW_WISE


def _check(output: pa.Schema, query: str, number: int) -> None:
    """Check the columns of a result.

    :raises QueryProblem: Spark cannot hold a column, or two columns have the same name.
    """

    def refused(name: str, message: str, advice: str) -> QueryProblem:
        return QueryProblem.at(query, find(query, name) or 0, message, advice, number=number, is_certain=False)

    lower_names: set[str] = set()
    for field in output:
        if f"{PREFIX}json_" in field.name:
            raise refused(field.name, "the result of a JSON function has no name", "name it with AS")
        if field.name.lower() in lower_names:
            message = f"two columns of the result are named {field.name}, ignoring case"
            raise refused(field.name, message, "rename one with AS")
        lower_names.add(field.name.lower())
        if reason := types.reason_against(field.type):
            message = f"column {field.name} is {reason.what}, which Spark does not support"
            raise refused(field.name, message, reason.instead(field.name))
