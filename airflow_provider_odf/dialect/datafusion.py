"""``engine: datafusion``: check queries with DataFusion before data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.dialect.place import QueryRefusal
from airflow_provider_odf.dialect.types import EVERY_COLUMN, UNKNOWN, Columns, Type, column_type

if TYPE_CHECKING:
    import pyarrow as pa


def output(
    steps: Sequence[protocol.SqlQueryStep],
    tables: Mapping[str, tuple[protocol.Column, ...] | None],
    *,
    is_transform: bool = False,
) -> Columns:
    """Return the columns of the last query, planned by DataFusion over empty tables. If a table has no declared
    columns, only the syntax is checked, and the columns are unknown.

    :raises QueryRefusal: DataFusion refuses a query, or Spark cannot hold its result.
    """
    # Both take a third of a second to import.
    from airflow_provider_odf.datafusion import plan, types
    from airflow_provider_odf.datafusion.query_problem import QueryProblem

    schemas = {name: schema for name, columns in tables.items() if (schema := _schema(columns)) is not None}
    try:
        if len(schemas) < len(tables):
            plan.syntax(steps, tables)
            return Columns(others=UNKNOWN)
        planned = plan.plan_transform(steps, schemas) if is_transform else plan.plan(steps, schemas)
    except QueryProblem as e:
        raise QueryRefusal(e.message, e.advice, number=e.number, line=e.line, column=e.column) from None
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

    types = {
        "BOOLEAN": pa.bool_(), "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
        "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "STRING": pa.string(), "BINARY": pa.binary(),
        "DATE": pa.date32(), "TIMESTAMP": pa.timestamp("ms", "UTC"),
    }  # fmt: skip
    if type_.is_decimal:
        return pa.decimal128(type_.precision, type_.scale)
    if type_.element is not None:
        return pa.list_(_arrow(type_.element))
    return pa.struct([(name, _arrow(field)) for name, field in type_.fields]) if type_.fields else types[type_.name]
