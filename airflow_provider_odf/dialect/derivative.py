"""Translate the queries of derivatives: several inputs with system columns, event time and temporal tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.datafusion import NAME as DATAFUSION
from airflow_provider_odf.dialect import datafusion, flink, risingwave, ties
from airflow_provider_odf.dialect.place import QueryRefusal
from airflow_provider_odf.dialect.query import Queries
from airflow_provider_odf.dialect.tables import TemporalTable
from airflow_provider_odf.dialect.translate import (
    Steps,
    Translation,
    of_name,
    query_steps,
    spark_columns,
    translate_steps,
)
from airflow_provider_odf.dialect.types import Columns
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.protocol import DatasetVocabulary

if TYPE_CHECKING:
    from airflow_provider_odf.dialect.engine import Engine
    from airflow_provider_odf.manifest.model import TransformSql

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (flink.TRANSFORM, risingwave.TRANSFORM)}

_DEFAULT = DatasetVocabulary()


@dataclass(frozen=True)
class Input:
    """An input of a transform: all of its columns, with the system columns, and the names of these."""

    columns: tuple[protocol.Column, ...]
    vocab: DatasetVocabulary = _DEFAULT
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


def to_spark(transform: TransformSql, inputs: Mapping[str, Input]) -> protocol.Transform:
    """Return the transform with queries for the engine. The last one has no alias and is the output.

    ``inputs`` are the inputs by their names in queries. Queries of ``engine: flink`` and ``engine: risingwave`` become
    Spark SQL. It has the earliest watermark of the inputs as the parameter ``:odf_watermark``, and reads the records of
    a temporal table from the view ``odf:records:NAME``.

    :raises InvalidInput: a query has no exact translation; the message has its number, line and column."""
    try:
        # DataFusion's queries are planned by the engine.
        is_datafusion = transform.engine == DATAFUSION
        steps = _steps(transform, inputs) if is_datafusion else translate(transform, inputs).steps
    except QueryRefusal as refusal:
        raise InvalidInput(f"transform{refusal}") from None
    return protocol.Transform(transform.engine, steps, version=transform.version)


def translate(transform: TransformSql, inputs: Mapping[str, Input]) -> Translation:
    """Return the queries for the engine, with the columns of the output. DataFusion plans its queries.

    :raises QueryRefusal: a query is not valid or has no exact translation."""
    steps = _steps(transform, inputs)
    if transform.engine == DATAFUSION:
        tables = {name: i.columns for name, i in inputs.items()}
        return Translation(steps, datafusion.output(steps, tables, is_transform=True))
    if transform.engine == "spark":
        return Translation(steps, spark_columns(steps[-1].query))
    engine = of_name(ENGINES, transform.engine)
    typed = {name: i.typed(has_event_times=engine.has_event_times) for name, i in inputs.items()}
    versions = _temporal_tables(transform, inputs)
    return translate_steps(steps, replace(Queries.over(engine, typed), temporal_tables=versions))


def _steps(transform: TransformSql, inputs: Mapping[str, Input]) -> Steps:
    if transform.temporal_tables and transform.engine != "flink":
        message = f"temporalTables are not supported with engine: {transform.engine}"
        raise QueryRefusal(message, "remove them, or use engine: flink")
    return query_steps(transform, inputs)


def _temporal_tables(transform: TransformSql, inputs: Mapping[str, Input]) -> dict[str, TemporalTable]:
    """:raises QueryRefusal: a temporal table is not an input, or has no such column."""
    names = {name.lower(): name for name in inputs}
    tables = {}
    for table in transform.temporal_tables or ():
        if table.name.lower() not in names:
            message = f"temporal table {table.name} is not an input of the transform"
            raise QueryRefusal(message, f"inputs: {', '.join(inputs)}")
        name = names[table.name.lower()]
        columns = {column.name.lower(): column.name for column in inputs[name].columns}
        if missing := next((key for key in table.primary_key if key.lower() not in columns), None):
            message = f"temporal table {name} has no column {missing}"
            raise QueryRefusal(message, f"columns: {', '.join(columns.values())}")
        keys = tuple(columns[key.lower()] for key in table.primary_key)
        tables[name.lower()] = TemporalTable(name, keys, inputs[name].vocab, _order(inputs[name]))
    return tables


def _order(table: Input) -> tuple[str, ...]:
    """Return the columns that order records of one event time."""
    return ties.names(table.typed(has_event_times=False)) if table.is_derivative else ()
