"""Translate the queries of a Transform::Sql for Spark or DataFusion.

Queries of ``engine: spark`` and ``engine: datafusion`` are not changed. SQL of other engines is translated to Spark's.
An expression that may have another result on Spark is refused with its place in the query.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import Dialect, exp
from sqlglot.errors import ErrorLevel, SqlglotError

from airflow_provider_odf import protocol
from airflow_provider_odf.datafusion import NAME as DATAFUSION
from airflow_provider_odf.dialect import datafusion, flink, limits, risingwave
from airflow_provider_odf.dialect.place import QueryRefusal, Refusal, with_place
from airflow_provider_odf.dialect.query import Queries
from airflow_provider_odf.dialect.spark import Output
from airflow_provider_odf.dialect.types import EVERY_COLUMN, UNKNOWN, Columns
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.read_steps import Types

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.engine import Engine
    from airflow_provider_odf.manifest.model import TransformSql

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (flink.ENGINE, risingwave.ENGINE)}

Steps = tuple[protocol.SqlQueryStep, ...]
Tables = Mapping[str, "tuple[protocol.Column, ...] | None"]


class Translation(NamedTuple):
    """The queries for the engine, and the columns of the last one."""

    steps: Steps
    columns: Columns


def to_spark(transform: TransformSql, tables: Tables) -> protocol.Transform:
    """Return the transform with queries for the engine. The last one has no alias and is the output.

    ``tables`` are the inputs by name with their declared columns, or None if none are declared. A column named ``*``
    means all that are not listed.

    :raises InvalidInput: a query has no exact translation; the message has its number, line and column."""
    try:
        # DataFusion's queries are planned by the engine, which knows all columns.
        is_datafusion = transform.engine == DATAFUSION
        steps = _preprocess_steps(transform, tables) if is_datafusion else translate(transform, tables).steps
    except QueryRefusal as refusal:
        raise InvalidInput(f"preprocess{refusal}") from None
    return protocol.Transform(transform.engine, steps, version=transform.version)


def translate(transform: TransformSql, tables: Tables) -> Translation:
    """Return the queries for the engine, with the columns of the output.

    :raises QueryRefusal: a query is not valid or has no exact translation."""
    steps = _preprocess_steps(transform, tables)
    if transform.engine == DATAFUSION:
        return Translation(steps, datafusion.output(steps, tables))
    if transform.engine == "spark":
        return Translation(steps, spark_columns(steps[-1].query))
    engine = of_name(ENGINES, transform.engine)
    return translate_steps(steps, Queries.over(engine, {n: Columns.declared(c) for n, c in tables.items()}))


def of_name(engines: Mapping[str, Engine], name: str) -> Engine:
    """:raises QueryRefusal: there is no such engine."""
    if name not in engines:
        names = ", ".join(("spark", DATAFUSION, *engines))
        raise QueryRefusal(f"unknown engine {name} (use one of {names})")
    return engines[name]


def input_columns(step: protocol.ReadStep) -> tuple[protocol.Column, ...] | None:
    """Return the columns known before reading: the declared ones, or strings for a CSV without types."""
    if step.columns is None and step.format.types is Types.TEXT and not step.infer_schema:
        return (protocol.Column(EVERY_COLUMN, "STRING"),)
    return step.columns


def spark_columns(query: str) -> Columns:
    """Return the column names of a Spark query if all are explicit. Their types are unknown.

    A query that sqlglot cannot parse may be valid in Spark; its columns are unknown."""
    try:
        with limits.room():
            tree = parse(query, Dialect.get_or_raise("spark"))
    except (SqlglotError, Refusal, RecursionError):
        return Columns(others=UNKNOWN)
    items = tree.selects if isinstance(tree, exp.Query) else []
    is_named = all(isinstance(item, exp.Alias | exp.Column) and not item.is_star for item in items)
    if not items or not is_named:
        return Columns(others=UNKNOWN)
    return Columns(tuple((item.alias_or_name, UNKNOWN) for item in items))


def _preprocess_steps(transform: TransformSql, tables: Tables) -> Steps:
    if transform.temporal_tables:
        message = "temporalTables are not supported: they need state from earlier runs"
        raise QueryRefusal(message, "remove them")
    return query_steps(transform, tables)


def query_steps(transform: TransformSql, tables: Collection[str]) -> Steps:
    """Return the steps of a transform over tables with these names; ``query`` is a single step.

    :raises QueryRefusal: an alias is missing, superfluous or in use."""
    if bool(transform.query) == bool(transform.queries):
        raise QueryRefusal("give either query or queries")
    if transform.query:
        return (protocol.SqlQueryStep(transform.query),)
    steps = tuple(protocol.SqlQueryStep(step.query, step.alias) for step in transform.queries or ())
    names = {name.lower() for name in tables}
    for number, step in enumerate(steps, 1):
        is_last = number == len(steps)
        if (step.alias is None) != is_last:
            last = "the last query is the output and cannot have an alias"
            message = last if is_last else "every query except the last needs an alias"
            raise QueryRefusal(message, number=number)
        if step.alias is not None and step.alias.lower() in names:
            advice = "choose another: aliases are case-insensitive"
            raise QueryRefusal(f"alias {step.alias} is already in use", advice, number=number)
        names.add((step.alias or "").lower())
    return steps


def translate_steps(steps: Steps, queries: Queries) -> Translation:
    """Return the steps in Spark SQL. Each step can read earlier ones by alias.

    :raises QueryRefusal: a query has no exact translation."""
    columns, translated = Columns(), []
    for number, step in enumerate(steps, 1):
        try:
            with limits.room():
                statement = parse(step.query, Dialect.get_or_raise(queries.engine.dialect))
                tree, columns = queries.query(queries.engine.query(statement))
                query = tree.sql(
                    Output, identify=True, normalize_functions=False, unsupported_level=ErrorLevel.RAISE,
                    comments=False,
                )  # fmt: skip
        except Exception as error:
            raise with_place(error, step.query, number) from error
        translated.append(protocol.SqlQueryStep(query, step.alias))
        queries = queries.with_table(step.alias or "", columns)
    return Translation(tuple(translated), columns)


def parse(query: str, dialect: Dialect) -> exp.Expr:
    """Return the only statement of a query. Its tokens are checked before the parser recurses into them."""
    tokens = dialect.tokenize(query)
    limits.check_nesting(tokens)
    limits.check_intervals(tokens)
    statements = dialect.parser().parse(tokens, query)
    if len(statements) != 1 or statements[0] is None:
        advice = "split it into several queries with aliases"
        raise Refusal(None, f"one query is expected, not {len(statements)}", advice)
    return statements[0]
