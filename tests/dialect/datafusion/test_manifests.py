"""Preprocess queries of the forms found in real manifests, on DataFusion and on Spark, over what readers give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from airflow_provider_odf.dialect.translate import input_columns, to_spark
from airflow_provider_odf.manifest.model import SqlQueryStep, TransformSql
from airflow_provider_odf.protocol import Column, ReadStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = pa.table(
    {
        "Case_ID": ["12", "-3", "7", "0"],
        "Reported": ["2020-01-02", "2020-02-29T01:02:03Z", None, "2020-01-02"],
        "Tested": [None, "", "2021-12-31 23:59:59", "2020-03-04"],
        "Year": ["2020", "1999", "2024", "2000"],
        "Sex": ["Male", "FEMALE", "", None],
        "Age": ["20-29", "Under 1 year", None, "80+"],
        "Seen": ["2020/01/02 03:04:05+00", "1969/12/31 23:59:59+00", None, "2021/06/01 00:00:00+05"],
    }
)
CASES_QUERY = """
    select
      cast("Case_ID" as bigint) as id,
      cast(row_number() over (order by "Reported") as bigint) as number,
      to_timestamp(coalesce("Reported", "Tested")) as reported,
      case when "Tested" != '' then to_timestamp("Tested") else null end as tested,
      to_timestamp("Seen", '%Y/%m/%d %H:%M:%S%#z') as seen,
      cast(concat("Year", '-01-01') as date) as year,
      case when lower("Sex") = 'male' then 'M' when lower("Sex") = 'female' then 'F' else 'U' end as sex,
      case when "Age" = 'Under 1 year' then '<20' when "Age" = '20-29' then '20s' else 'UNKNOWN' end as age
    from input
"""

EVENTS = pa.table(
    {
        "timeStamp": ["1577934245", "-5", None, "0"],
        "eventTime": pa.array([1577934245, -5, None, 0], pa.int64()),
        "amount": ["1000000000000000000", "123456789012345678901", None, "1e3"],
        "ethAmount": pa.array([1.5, -2.25, None, 1e20]),
        "from": ["a", None, "", "d"],
    }
)
EVENTS_QUERY = """
    SELECT
      to_timestamp_seconds(cast("timeStamp" as bigint)) as block_time,
      to_timestamp_seconds("eventTime") as event_time,
      'eth' as symbol,
      cast("amount" as double) / pow(10.0, 18) as amount,
      cast("ethAmount" as double) / pow(10.0, 18) as eth_amount,
      "from"
    FROM input
"""


def _on_datafusion(query: str, tables: dict[str, pa.Table]) -> pa.Table:
    import datafusion

    settings = datafusion.SessionConfig().set("datafusion.sql_parser.enable_ident_normalization", "false")
    context = datafusion.SessionContext(settings)
    for name, table in tables.items():
        context.register_record_batches(f'"{name}"', [table.to_batches()])
    return context.sql(query).to_arrow_table()


def _plain(table: pa.Table) -> list[dict[str, object]]:
    times = [f.name for f in table.schema if pa.types.is_timestamp(f.type)]
    for name in times:
        column = table.column(name).cast(pa.timestamp("us"), safe=False)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table.to_pylist()


def _run(spark: SparkSession, transform: TransformSql, table: pa.Table, columns: tuple[Column, ...] | None) -> pa.Table:
    spark.createDataFrame(table).coalesce(1).createOrReplaceTempView("input")
    for step in to_spark(transform, {"input": columns}).queries:
        frame = spark.sql(step.query)
        if step.alias:
            frame.createOrReplaceTempView(f"`{step.alias}`")
    return frame.toArrow()


@pytest.mark.spark
def test_csv_without_schema(spark: SparkSession) -> None:
    transform = TransformSql(engine="datafusion", query=CASES_QUERY)
    ours = _run(spark, transform, CASES, input_columns(ReadStep("Csv", header=True)))
    assert _plain(ours) == _plain(_on_datafusion(CASES_QUERY, {"input": CASES}))
    assert ours.schema.field("id").type == pa.int64()
    assert ours.schema.field("year").type == pa.date32()


@pytest.mark.spark
def test_json_whose_types_only_the_reader_finds(spark: SparkSession) -> None:
    transform = TransformSql(engine="datafusion", query=EVENTS_QUERY)
    ours = _run(spark, transform, EVENTS, None)
    assert _plain(ours) == _plain(_on_datafusion(EVENTS_QUERY, {"input": EVENTS}))


@pytest.mark.spark
def test_a_type_that_turns_out_otherwise_stops_the_query(spark: SparkSession) -> None:
    from pyspark.errors import PySparkException

    transform = TransformSql(engine="datafusion", query='select lower("eventTime") as t from input')
    with pytest.raises(PySparkException, match=r"declare read\.schema, or use engine: spark"):
        _run(spark, transform, EVENTS, None)


@pytest.mark.spark
@pytest.mark.parametrize("text", ["2020", "2020-1-2", "T03:04", "2020-01-02 03:04", "1577934245", ""])
def test_text_that_only_spark_reads_as_a_time_stops_the_query(spark: SparkSession, text: str) -> None:
    from pyspark.errors import PySparkException

    transform = TransformSql(engine="datafusion", query="select to_timestamp(v) as t from input")
    with pytest.raises(PySparkException, match="cannot read as TIMESTAMP"):
        _run(spark, transform, pa.table({"v": [text]}), (Column("v", "STRING"),))


@pytest.mark.spark
def test_steps_with_names_that_have_dots(spark: SparkSession) -> None:
    steps = (
        SqlQueryStep(alias="my.cases", query='select "Sex" as sex, cast("Case_ID" as int) as id from input'),
        SqlQueryStep(
            query="""select 'AB' as province, sex, id / 2 as half from "my.cases" where id > 0
                              union all select 'BC' as province, sex, id from "my.cases" where id <= 0"""
        ),
    )
    transform = TransformSql(engine="datafusion", queries=steps)
    step = _on_datafusion(steps[0].query, {"input": CASES})
    theirs = _on_datafusion(steps[1].query, {"my.cases": step})
    ours = _run(spark, transform, CASES, input_columns(ReadStep("Csv")))
    assert ours.schema.field("half").type == pa.int64()
    assert sorted(map(str, _plain(ours))) == sorted(map(str, _plain(theirs)))
