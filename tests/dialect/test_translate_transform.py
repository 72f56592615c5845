"""Transforms of derivatives: inputs by alias, steps, and places of refusals."""

from __future__ import annotations

import pytest

from airflow_provider_odf.dialect.translate import Input, transform_to_spark
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import SqlQueryStep, TemporalTable, TransformSql
from airflow_provider_odf.protocol import Column, DatasetVocabulary
from airflow_provider_odf.protocol import SqlQueryStep as SparkStep

_SYSTEM = (Column("offset", "BIGINT"), Column("op", "INT"), Column("system_time", "TIMESTAMP"))
_INPUTS = {
    "com.acme.orders": Input((*_SYSTEM, Column("event_time", "TIMESTAMP"), Column("id", "BIGINT"))),
    "cities": Input((*_SYSTEM, Column("at", "DATE"), Column("id", "INT")), DatasetVocabulary(event_time_column="at")),
}


def _transform(engine: str, *queries: str, **options: object) -> TransformSql:
    steps = [SqlQueryStep(query=q, alias=f"q{n}" if n < len(queries) else None) for n, q in enumerate(queries, 1)]
    return TransformSql(engine=engine, queries=tuple(steps), **options)


def _refusal(transform: TransformSql) -> str:
    with pytest.raises(InvalidInput) as refused:
        transform_to_spark(transform, _INPUTS)
    return str(refused.value)


def test_queries_read_inputs_by_their_names_and_earlier_queries() -> None:
    transform = transform_to_spark(
        _transform(
            "flink",
            "select o.event_time, o.id / 2 as half from `com.acme.orders` as o join Cities as c on o.id = c.id",
            "select event_time, half / 2 as quarter from q1",
        ),
        _INPUTS,
    )
    assert transform.queries == (
        SparkStep(
            "SELECT `o`.`event_time`, (`o`.`id` DIV 2) AS `half` "
            "FROM `com.acme.orders` AS `o` JOIN `cities` AS `c` ON `o`.`id` = `c`.`id`",
            "q1",
        ),
        SparkStep("SELECT `event_time`, (`half` DIV 2) AS `quarter` FROM `q1`"),
    )


def test_risingwave_quotes_names_with_double_quotes_and_may_create_a_view() -> None:
    query = 'create materialized view x as select offset, id + 1 as n from "com.acme.orders"'
    assert transform_to_spark(_transform("risingwave", query), _INPUTS).queries[0].query == (
        "SELECT `offset`, (`id` + CAST(1 AS BIGINT)) AS `n` FROM `com.acme.orders`"
    )


@pytest.mark.parametrize("engine", ["spark", "datafusion"])
def test_queries_of_spark_and_datafusion_are_passed_on_as_they_are(engine: str) -> None:
    transform = transform_to_spark(_transform(engine, "select 1 as a from cities -- x"), _INPUTS)
    assert transform.engine == engine
    assert transform.queries == (SparkStep("select 1 as a from cities -- x"),)


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (_transform("flink", "select\n  nope from cities"), "transform query 1, 2:3: column nope does not exist"),
        (
            _transform("flink", "select 1 as a", "select a from orders"),
            "transform query 2, 1:15: table orders does not exist (tables: com.acme.orders, cities, q1)",
        ),
        (_transform("mysql", "select 1"), "transform: unknown engine mysql (use one of spark, datafusion, flink"),
        (
            _transform("spark", "select 1", temporal_tables=(TemporalTable(name="cities", primary_key=("id",)),)),
            "transform: temporalTables are not supported with engine: spark (remove them, or use engine: flink)",
        ),
    ],
)
def test_refusals_name_place_reason_and_way_out(transform: TransformSql, message: str) -> None:
    assert _refusal(transform).startswith(message)
