"""Transforms over small tables in Spark, for tests of derivatives."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf.dialect.translate import Input, transform_to_spark
from airflow_provider_odf.manifest.model import SqlQueryStep, TemporalTable, TransformSql
from airflow_provider_odf.protocol import Column, DatasetVocabulary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SYSTEM = (Column("offset", "BIGINT"), Column("op", "INT"), Column("system_time", "TIMESTAMP"))


@dataclass(frozen=True)
class Table:
    """An input: its columns as DDL, its event time, and its records as SQL literals, with an operation in front."""

    columns: str
    records: Sequence[str] = ()
    event_time: str = "event_time"

    @property
    def input(self) -> Input:
        pairs = [column.split() for column in self.columns.split(", ")]
        columns = tuple(Column(name, type_) for name, type_ in pairs)
        return Input((*_SYSTEM, *columns), DatasetVocabulary(event_time_column=self.event_time))

    def create(self, spark: SparkSession, name: str) -> None:
        """Create the views of all records, and of the rows that are added or corrected to."""
        names = ["op", *(column.name for column in self.input.columns[3:])]
        casts = [f"CAST(`{column.name}` AS {column.type}) AS `{column.name}`" for column in self.input.columns]
        rows = (
            ", ".join(f"({offset}, timestamp'2030-01-01', {record})" for offset, record in enumerate(self.records))
            or f"({', '.join(['NULL'] * (len(names) + 2))})"
        )
        columns = ", ".join(f"`{n}`" for n in ("offset", "system_time", *names))
        where = "" if self.records else " WHERE false"
        records = spark.sql(f"SELECT {', '.join(casts)} FROM VALUES {rows} AS t({columns}){where}")
        records.createOrReplaceTempView(f"`odf:records:{name}`")
        records.where("op IN (0, 3)").createOrReplaceTempView(f"`{name}`")


def transform(
    engine: str, *queries: str, temporal: dict[str, tuple[str, ...]] | None = None, aliases: Sequence[str] = ()
) -> TransformSql:
    """Return a transform of queries with the aliases q1, q2 and so on, or other ones."""
    names = [*(aliases or (f"q{number}" for number in range(1, len(queries)))), None]
    steps = tuple(SqlQueryStep(query=query, alias=alias) for query, alias in zip(queries, names, strict=True))
    tables = tuple(TemporalTable(name=name, primary_key=key) for name, key in (temporal or {}).items())
    return TransformSql(engine=engine, queries=steps, temporal_tables=tables or None)


def queries(sql: TransformSql, tables: dict[str, Table]) -> list[str]:
    """Return the queries in Spark SQL."""
    return [
        step.query for step in transform_to_spark(sql, {name: table.input for name, table in tables.items()}).queries
    ]


def rows(spark: SparkSession, sql: TransformSql, tables: dict[str, Table], *watermarks: str | None) -> list[list[str]]:
    """Return the rows of the result as sorted texts for each watermark."""
    from airflow_provider_odf.engine import query

    session = spark.newSession()
    for name, table in tables.items():
        table.create(session, name)
    results = []
    for watermark in watermarks:
        moment = watermark and dt.datetime.fromisoformat(watermark).replace(tzinfo=dt.UTC)
        readable = [*tables, *(f"odf:records:{name}" for name in tables)]
        for step in transform_to_spark(sql, {name: table.input for name, table in tables.items()}).queries:
            frame = query.run(session, step.query, "query", readable, {"odf_watermark": moment})
            readable.append(step.alias or "")
            if step.alias:
                frame.createOrReplaceTempView(f"`{step.alias}`")
        columns = ", ".join(f"coalesce(CAST(`{name}` AS STRING), '-')" for name in frame.columns)
        texts = frame.selectExpr(f"concat_ws(' ', {columns}) AS text").collect()
        results.append(sorted(row.text for row in texts))
    return results
