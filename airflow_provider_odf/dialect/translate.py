"""Translate the queries of a Transform::Sql, in preprocess or of a derivative, for Spark or DataFusion.

Queries of ``engine: spark`` and ``engine: datafusion`` are not changed. SQL of other engines is translated to Spark's.
An expression that may have another result on Spark is refused with its place in the query.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sqlglot import Dialect, exp
from sqlglot.errors import ErrorLevel

from airflow_provider_odf import protocol
from airflow_provider_odf.datafusion import NAME as DATAFUSION
from airflow_provider_odf.datafusion.query_text import QueryProblem
from airflow_provider_odf.dialect import flink, ordering, parsing, risingwave, spark_check
from airflow_provider_odf.dialect.engine import TemporalTable
from airflow_provider_odf.dialect.parsing import with_place
from airflow_provider_odf.dialect.query import Queries
from airflow_provider_odf.dialect.spark import Output
from airflow_provider_odf.dialect.types import EVERY_COLUMN, UNKNOWN, Columns, Type, column_type
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.read_steps import Types

if TYPE_CHECKING:
    import pyarrow as pa

    from airflow_provider_odf.dialect.engine import Engine
    from airflow_provider_odf.manifest.model import TransformSql

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (flink.ENGINE, risingwave.ENGINE)}
TRANSFORM_ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (flink.TRANSFORM, risingwave.TRANSFORM)}

Steps: TypeAlias = tuple[protocol.SqlQueryStep, ...]
Tables: TypeAlias = Mapping[str, "tuple[protocol.Column, ...] | None"]
"""Tables by name with their declared columns, or None if none are declared. A column named ``*`` means all that are not
listed."""

_DEFAULT = protocol.DatasetVocabulary()


@dataclass(frozen=True)
class Input:
    """An input of a transform: all of its columns, with the system columns, and the names of these."""

    columns: tuple[protocol.Column, ...]
    vocab: protocol.DatasetVocabulary = _DEFAULT
    is_derivative: bool = False

    def typed(self, *, has_event_times: bool) -> Columns:
        """Return the columns with their types, and with the event time marked if the engine waits for it."""
        system = {name.lower() for name in self.vocab.columns[:3]}
        event_time = self.vocab.event_time_column.lower() if has_event_times else None
        columns = Columns.declared(self.columns)
        items = [
            (name, replace(type_, is_system=name.lower() in system, delay=0 if name.lower() == event_time else None))
            for name, type_ in columns.items
        ]
        return replace(columns, items=tuple(items))


Inputs: TypeAlias = Mapping[str, Input]


class Translation(NamedTuple):
    """The queries for the engine, and the columns of the last one."""

    steps: Steps
    columns: Columns


def preprocess_to_spark(transform: TransformSql, tables: Tables) -> protocol.Transform:
    """Return the preprocess step with queries for the engine. The last one has no alias and is the output.

    :raises InvalidInput: a query has no exact translation; the message has its number, line and column."""
    return _for_engine("preprocess", transform, tables, None)


def transform_to_spark(transform: TransformSql, inputs: Inputs) -> protocol.Transform:
    """Return the transform of a derivative with queries for the engine. The last one has no alias and is the output.

    ``inputs`` are the inputs by their names in queries. Queries of ``engine: flink`` and ``engine: risingwave`` become
    Spark SQL. It has the earliest watermark of the inputs as the parameter ``:odf_watermark``, and reads the records of
    a temporal table from the view ``odf:records:NAME``.

    :raises InvalidInput: a query has no exact translation; the message has its number, line and column."""
    return _for_engine("transform", transform, {}, inputs)


def _for_engine(purpose: str, transform: TransformSql, tables: Tables, inputs: Inputs | None) -> protocol.Transform:
    try:
        # DataFusion's queries are planned by the engine, which knows all columns.
        is_datafusion = transform.engine == DATAFUSION
        names = inputs or tables
        steps = _steps(transform, names, inputs) if is_datafusion else translate(transform, tables, inputs).steps
    except QueryProblem as e:
        raise InvalidInput(f"{purpose} {e}" if e.number else f"{purpose}: {e}") from None
    return protocol.Transform(transform.engine, steps, version=transform.version)


def translate(transform: TransformSql, tables: Tables, inputs: Inputs | None = None) -> Translation:
    """Return the queries for the engine, with the columns of the output.

    :param tables: those of preprocess.
    :param inputs: those of the transform of a derivative, in place of tables.
    :raises QueryProblem: a query is not valid or has no exact translation."""
    if inputs is not None:
        tables = {name: i.columns for name, i in inputs.items()}
    steps = _steps(transform, tables, inputs)
    if transform.engine == DATAFUSION:
        return Translation(steps, planned_columns(steps, tables, is_transform=inputs is not None))
    if transform.engine == "spark":
        return Translation(steps, spark_columns(steps[-1].query))
    if inputs is None:
        engine = of_name(ENGINES, transform.engine)
        queries = Queries.over(engine, {name: Columns.declared(columns) for name, columns in tables.items()})
    else:
        engine = of_name(TRANSFORM_ENGINES, transform.engine)
        typed = {name: i.typed(has_event_times=engine.has_event_times) for name, i in inputs.items()}
        queries = replace(Queries.over(engine, typed), temporal_tables=_temporal_tables(transform, inputs))
    return _translate_steps(steps, queries)


def of_name(engines: Mapping[str, Engine], name: str) -> Engine:
    """:raises QueryProblem: there is no such engine."""
    if name not in engines:
        names = ", ".join(("spark", DATAFUSION, *engines))
        raise QueryProblem(f"unknown engine {name} (use one of {names})")
    return engines[name]


def input_columns(step: protocol.ReadStep) -> tuple[protocol.Column, ...] | None:
    """Return the columns known before reading: the declared ones, or strings for a CSV without types."""
    if step.columns is None and step.format.types is Types.TEXT and not step.infer_schema:
        return (protocol.Column(EVERY_COLUMN, "STRING"),)
    return step.columns


def spark_columns(query: str) -> Columns:
    """Return the column names of a Spark query if all are explicit. Their types are unknown.

    A query that sqlglot cannot parse may be valid in Spark; its columns are unknown."""
    tree = spark_check.parsed(query)
    items = tree.selects if isinstance(tree, exp.Query) else []
    is_named = all(isinstance(item, exp.Alias | exp.Column) and not item.is_star for item in items)
    if not items or not is_named:
        return Columns(others=UNKNOWN)
    return Columns(tuple((item.alias_or_name, UNKNOWN) for item in items))


def planned_columns(steps: Sequence[protocol.SqlQueryStep], tables: Tables, *, is_transform: bool = False) -> Columns:
    """Return the columns of the last query, planned by DataFusion over empty tables. If a table has no declared
    columns, only the syntax is checked, and the columns are unknown.

    :raises QueryProblem: DataFusion refuses a query, or Spark cannot hold its result."""
    # It takes a third of a second to import.
    from airflow_provider_odf.datafusion import plan, types

    schemas = {name: schema for name, columns in tables.items() if (schema := _schema(columns)) is not None}
    if len(schemas) < len(tables):
        plan.syntax(steps, tables)
        return Columns(others=UNKNOWN)
    planned = plan.plan_transform(steps, schemas) if is_transform else plan.plan(steps, schemas)
    return Columns(tuple((f.name, column_type(types.ddl(types.to_spark(f.type)))) for f in planned.output))


def _schema(columns: tuple[protocol.Column, ...] | None) -> pa.Schema | None:
    """Return declared columns with the types of the reference's readers, or None if not all are known."""
    import pyarrow as pa

    if columns is None or any(column.name == EVERY_COLUMN for column in columns):
        return None
    try:
        return pa.schema([(column.name, _arrow(column_type(column.type))) for column in columns])
    except KeyError:
        return None


def _arrow(type_: Type) -> pa.DataType:
    """:raises KeyError: the type is unknown."""
    import pyarrow as pa

    from airflow_provider_odf.datafusion import types

    if type_.is_decimal:
        return pa.decimal128(type_.precision, type_.scale)
    if type_.element is not None:
        return pa.list_(_arrow(type_.element))
    if type_.fields:
        return pa.struct([(name, _arrow(field)) for name, field in type_.fields])
    return types.to_datafusion(types.BY_NAME[type_.name])


def _steps(transform: TransformSql, tables: Collection[str], inputs: Inputs | None) -> Steps:
    if transform.temporal_tables and inputs is None:
        message = "temporalTables are not supported: they need state from earlier runs"
        raise QueryProblem(message, "remove them")
    if transform.temporal_tables and transform.engine != "flink":
        message = f"temporalTables are not supported with engine: {transform.engine}"
        raise QueryProblem(message, "remove them, or use engine: flink")
    return query_steps(transform, tables)


def query_steps(transform: TransformSql, tables: Collection[str]) -> Steps:
    """Return the steps of a transform over tables with these names; ``query`` is a single step.

    :raises QueryProblem: an alias is missing, superfluous or in use."""
    if bool(transform.query) == bool(transform.queries):
        raise QueryProblem("give either query or queries")
    if transform.query:
        return (protocol.SqlQueryStep(transform.query),)
    steps = tuple(protocol.SqlQueryStep(step.query, step.alias) for step in transform.queries or ())
    names = {name.lower() for name in tables}
    for number, step in enumerate(steps, 1):
        is_last = number == len(steps)
        if (step.alias is None) != is_last:
            last = "the last query is the output and cannot have an alias"
            message = last if is_last else "every query except the last needs an alias"
            raise QueryProblem(message, number=number)
        if step.alias is not None and step.alias.lower() in names:
            advice = "choose another: aliases are case-insensitive"
            raise QueryProblem(f"alias {step.alias} is already in use", advice, number=number)
        names.add((step.alias or "").lower())
    return steps


def _temporal_tables(transform: TransformSql, inputs: Inputs) -> dict[str, TemporalTable]:
    """:raises QueryProblem: a temporal table is not an input, or has no such column."""
    names = {name.lower(): name for name in inputs}
    tables = {}
    for table in transform.temporal_tables or ():
        if table.name.lower() not in names:
            message = f"temporal table {table.name} is not an input of the transform"
            raise QueryProblem(message, f"inputs: {', '.join(inputs)}")
        name = names[table.name.lower()]
        of_input = inputs[name]
        columns = {column.name.lower(): column.name for column in of_input.columns}
        if missing := next((key for key in table.primary_key if key.lower() not in columns), None):
            message = f"temporal table {name} has no column {missing}"
            raise QueryProblem(message, f"columns: {', '.join(columns.values())}")
        keys = tuple(columns[key.lower()] for key in table.primary_key)
        order = ordering.names(of_input.typed(has_event_times=False)) if of_input.is_derivative else ()
        tables[name.lower()] = TemporalTable(name, keys, of_input.vocab, order)
    return tables


def _translate_steps(steps: Steps, queries: Queries) -> Translation:
    """Return the steps in Spark SQL. Each step can read earlier ones by alias."""
    columns, translated = Columns(), []
    for number, step in enumerate(steps, 1):
        try:
            with parsing.room():
                statement = parsing.parse(step.query, Dialect.get_or_raise(queries.engine.dialect))
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
