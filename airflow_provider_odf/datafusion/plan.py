"""Plan queries with DataFusion: check them, return their columns, and find out whether they are row-wise.

Their depth has bounds, because DataFusion walks its trees by recursion. From about 2,000 levels of an expression, or
1,000 of relations, that ends the process without an error, and with it the runs of other datasets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_provider_odf.datafusion import determinism, ethereum_functions, json_functions, json_operators, types
from airflow_provider_odf.datafusion.json_functions import PREFIX
from airflow_provider_odf.datafusion.query_text import ONLY_QUERIES, QueryProblem, Word, position_of, problem, words
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from datafusion import DataFrame, SessionContext

    from airflow_provider_odf.protocol import SqlQueryStep

INPUT = "input"

_ROW_WISE = frozenset(("Projection", "Filter", "SubqueryAlias", "Union", "Unnest"))
"""Nodes of logical plans that compute each row from a single row."""

_STATEMENTS = ("Explain", "Analyze", "DescribeTable")

MAX_OPERATORS = 1000
"""Maximum number of operators in an expression, including those of the queries that it reads."""

MAX_RELATIONS = 500
"""Maximum number of joins, subqueries and common table expressions of all queries. Unions are flat and do not count."""

_OPERATORS = ("AND", "OR", "IS", "LIKE", "ILIKE")
_SET_OPERATORS = ("UNION", "INTERSECT", "EXCEPT")
_CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", *_SET_OPERATORS)
_PUNCTUATION = ("(", ")", ",", ".", ";")


def session(
    *,
    memory: int | None = None,
    scratch: str | None = None,
    settings: Mapping[str, str] | None = None,
    catalog: tuple[str, str] | None = None,
) -> SessionContext:
    """Return a session without tables. It has one thread, unless it is for a catalog.

    :param memory: bytes that sorts, joins and aggregates may hold before they spill to files in ``scratch``.
    :param settings: further settings of DataFusion.
    :param catalog: name of a catalog that the caller registers, and of the schema in it that is the default.
    :raises InvalidInput: the package ``datafusion`` is not installed.
    """
    try:
        from datafusion import RuntimeEnvBuilder, SessionConfig, SessionContext
    except ImportError as e:
        raise InvalidInput(missing_package()) from e
    # As in the reference implementation: `Price` and `price` are two columns, quoted or not.
    own = {"datafusion.sql_parser.enable_ident_normalization": "false", **(settings or {})}
    config = SessionConfig(own).with_information_schema(False)
    if catalog is None:
        config = config.with_target_partitions(1)
    else:
        config = config.with_create_default_catalog_and_schema(False).with_default_catalog_and_schema(*catalog)
    runtime = RuntimeEnvBuilder()
    if memory is not None:
        runtime = runtime.with_fair_spill_pool(memory)
    if scratch is not None:
        runtime = runtime.with_disk_manager_specified(scratch)
    context = SessionContext(config, runtime)
    json_functions.register(context)
    ethereum_functions.register(context)
    return context


def installed_version() -> str:
    """Return the version of the package ``datafusion``.

    :raises InvalidInput: it is not installed.
    """
    try:
        return version("datafusion")
    except PackageNotFoundError as e:
        raise InvalidInput(missing_package()) from e


def missing_package(exact: str = "") -> str:
    """Return the message for a Python without the package."""
    package = f"datafusion=={exact}" if exact else "datafusion"
    return (
        "engine: datafusion needs the Python package `datafusion` where Spark runs Python, also on the executors of a "
        f"cluster. It is not installed here: run `pip install {package}`"
    )


def _check_depth(steps: Sequence[SqlQueryStep]) -> None:
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
    # An open parenthesis, or the query itself: its clause, and the operators of the present expression.
    clauses, counts = [""], [0]
    is_after_distinct = False
    for word in words(query):
        is_relation = 0
        if word.is_word("("):
            clauses, counts = [*clauses, ""], [*counts, 0]
        elif word.is_word(")"):
            clauses, counts = clauses[:-1] or [""], counts[:-1] or [0]
        elif is_after_distinct and word.is_word("FROM"):  # IS DISTINCT FROM
            counts[-1] += 1
        elif word.is_word(*_CLAUSES):
            clauses[-1], counts[-1] = word.text.upper(), 0
            is_relation = (clauses[-1] == "SELECT") - (clauses[-1] in _SET_OPERATORS)
        elif word.is_word(",", "JOIN"):
            counts[-1], is_relation = 0, int(word.text != "," or clauses[-1] == "FROM")
        elif word.is_word(*_OPERATORS) or (word.kind == "sign" and word.text not in _PUNCTUATION):
            counts[-1] += 1
        yield word, sum(counts), is_relation
        is_after_distinct = word.is_word("DISTINCT")


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
    steps: Sequence[SqlQueryStep], tables: Mapping[str, pa.Schema], keys: determinism.Keys | None = None
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
    _check_depth(steps)
    context = session()
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
        raise QueryProblem("there is no query", number=1)
    return frame


def syntax(steps: Sequence[SqlQueryStep], tables: Iterable[str] = (INPUT,)) -> None:
    """Check queries as far as possible without the columns of their tables.

    :raises QueryProblem: a query cannot be parsed, or is not a query.
    """
    _check_depth(steps)
    for number, step in enumerate(steps, 1):
        context = session()
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
    from datafusion import SQLOptions

    only_queries = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
    try:
        frame = context.sql_with_options(json_operators.as_functions(query, number), only_queries)
    except QueryProblem:
        raise
    except Exception as e:
        raise problem(e, query, number) from e
    if type(frame.logical_plan().to_variant()).__name__ in _STATEMENTS:
        raise QueryProblem(ONLY_QUERIES, number=number, place=(1, 1), is_certain=True)
    return frame


def _is_row_wise(frame: DataFrame, inputs: frozenset[str]) -> bool:
    """Whether every node of the plan makes each row of one row.

    The plan is not optimized and has subqueries as nodes.
    """
    plan = frame.logical_plan().display_indent()
    if determinism.OF_THE_RUN.search(plan):
        return False
    for line in plan.split("\n"):
        kind, _, rest = line.strip().partition(":")
        is_input = kind == "TableScan" and re.split(r" projection=|,", rest.strip())[0] in inputs
        if not is_input and kind not in _ROW_WISE:
            return False
    return True


def _check(output: pa.Schema, query: str, number: int) -> None:
    """Check the columns of a result.

    :raises QueryProblem: Spark cannot hold a column, or two columns have the same name.
    """

    def refused(name: str, message: str, advice: str) -> QueryProblem:
        return QueryProblem.at(query, position_of(query, name) or 0, message, advice, number=number, is_certain=False)

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
