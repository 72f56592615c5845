"""Queries of DataFusion over frames of Spark, beside DataFusion alone on the same rows."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, ReadStep, SqlQueryStep, Transform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

UTC = dt.UTC
READ = ReadStep("Csv", (Column("id", "BIGINT"),))


def transform(*queries: str) -> Transform:
    steps = [SqlQueryStep(q, f"step {n}" if n < len(queries) else None) for n, q in enumerate(queries, 1)]
    return Transform("datafusion", tuple(steps))


def query(
    spark: SparkSession, frame: DataFrame, *queries: str, small: bool = False, read: ReadStep = READ
) -> DataFrame:
    from airflow_provider_odf.engine import datafusion

    return datafusion.query(spark, frame, transform(*queries), read, small=small)


OPERANDS = {
    "i": pa.array([1, -7, 0, None, 2**40], pa.int64()),
    "j": pa.array([2, -3, 5, None, 2147483647], pa.int32()),
    "f": pa.array([1.5, -2.25, 0.1, None, -0.0], pa.float32()),
    "d": pa.array([1.5, -2.5, 0.1, None, -0.0], pa.float64()),
    "m": pa.array([*map(Decimal, ("1.50", "-2.55", "0.01")), None, Decimal("9999999999.99")], pa.decimal128(12, 2)),
    "s": pa.array(["12", "", "İß", None, "2020-01-02T03:04:05Z"]),
    "b": pa.array([True, False, True, None, False]),
    "t": pa.array([0, -1, 1_600_000_000_123, None, -2_208_988_800_000], pa.int64()).cast(pa.timestamp("ms", "UTC")),
    "day": pa.array([0, -1, 18_262, None, -25_567], pa.int32()).cast(pa.date32()),
    "l": pa.array([[1, 2], [], [None, 3], None, [5]], pa.list_(pa.int64())),
}
LITERALS = ("3", "0.5", "1e3", "'x'", "null", "true", "date '2020-02-29'", "interval '3 hours 15'")
OPERATORS = ("+", "-", "*", "/", "%", "=", "<", "is distinct from", "||", "and")
CASTS = (
    "tinyint",
    "int",
    "bigint",
    "int unsigned",
    "float",
    "double",
    "decimal(20, 3)",
    "varchar",
    "date",
    "timestamp",
)
FUNCTIONS = ("abs", "upper", "length", "coalesce", "make_array", "to_timestamp", "isnan", "array_length")


def expressions() -> list[str]:
    """Every operator between every two operands, every cast and function of every one: valid or not."""
    terms = [*OPERANDS, *LITERALS]
    found = [f"{a} {o} {b}" for a, b, o in itertools.product(terms, terms, OPERATORS) if a in OPERANDS or b in OPERANDS]
    found += [f"cast({a} as {kind})" for a in OPERANDS for kind in CASTS]
    return found + [f"{name}({a})" for a in OPERANDS for name in FUNCTIONS]


def alone(rows: pa.Table, select: str) -> pa.Table | None:
    """What DataFusion by itself makes of the rows, None where it refuses."""
    import datafusion

    settings = datafusion.SessionConfig({"datafusion.sql_parser.enable_ident_normalization": "false"})
    context = datafusion.SessionContext(settings.with_target_partitions(1))
    context.register_record_batches("input", [rows.to_batches()])
    try:
        return context.sql(f"select {select} from input").to_arrow_table()
    except Exception:
        return None


def plain(value: Any) -> Any:
    """A value as it is compared: numbers with the sign of zero, and NaN as itself."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    return repr(value) if isinstance(value, float) else value


def numbers(column: pa.ChunkedArray) -> list[Any]:
    """The values, times as milliseconds and dates as days: Python's own end with the year 9999."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64()).to_pylist()
    return plain((column.cast(pa.int32()) if pa.types.is_date32(column.type) else column).to_pylist())


def test_operators_and_casts_are_those_of_datafusion(spark: SparkSession) -> None:
    from airflow_provider_odf.datafusion import types

    rows = pa.table(OPERANDS)
    wanted = {e: found["x"] for e in expressions() if (found := alone(rows, f"{e} as x")) is not None}
    wanted = {e: column for e, column in wanted.items() if types.reason_against(column.type) is None}
    assert len(wanted) > 600
    frame = spark.createDataFrame(rows).coalesce(1)
    select = ", ".join(f"{e} as c{n}" for n, e in enumerate(wanted))
    for small in (True, False):
        found = query(spark, frame, f"select {select} from input", small=small).toArrow()
        different = [
            (e, numbers(found[f"c{n}"]), numbers(column))
            for n, (e, column) in enumerate(wanted.items())
            if numbers(found[f"c{n}"]) != numbers(column)
        ]
        assert different == []


@pytest.fixture(scope="module")
def partitions(spark: SparkSession) -> DataFrame:
    """30,000 rows in three partitions, in order."""
    return spark.range(0, 30_000, 1, 3).selectExpr("id", "concat('n', id % 7) AS name", "timestamp_millis(id) AS at")


def test_row_wise_queries_run_where_the_rows_are(spark: SparkSession, partitions: DataFrame) -> None:
    found = query(spark, partitions, "select id, cast(at as bigint) as ms from input where id % 10 = 0")
    assert found.rdd.getNumPartitions() == 3
    assert found.toArrow()["ms"].to_pylist() == list(range(0, 30_000, 10))


def test_other_queries_run_in_one_task(spark: SparkSession, partitions: DataFrame) -> None:
    ranked = "select id, row_number() over (partition by name order by at desc) as r from input"
    found = query(spark, partitions, ranked)
    assert found.rdd.getNumPartitions() == 1
    assert found.where("r = 1").toArrow()["id"].sort().to_pylist() == list(range(29_993, 30_000))
    newest = "select name, max(id) as id from input group by name"
    assert query(spark, partitions, newest, 'select sum(id) as s from "step 1"').collect() == [(209_972,)]


def test_what_the_rows_break_is_the_users_error(spark: SparkSession, partitions: DataFrame) -> None:
    from airflow_provider_odf.engine.spark_errors import refusal

    for text in ("select cast(name as bigint) as x from input", "select cast(max(name) as bigint) as x from input"):
        with pytest.raises(Exception) as broken:
            query(spark, partitions, text).collect()
        assert str(refusal(broken.value)).startswith("preprocess: Cannot cast string 'n")


def test_queries_are_planned_with_the_columns_that_were_read(spark: SparkSession, partitions: DataFrame) -> None:
    with pytest.raises(InvalidQuery) as refused:
        query(spark, partitions, "select Id from input")
    assert str(refused.value).startswith('preprocess, query 1, 1:8: No field named "Id".')


def test_times_of_parquet_without_a_schema_keep_their_microseconds(spark: SparkSession) -> None:
    frame = spark.sql("SELECT TIMESTAMP '2020-01-01 00:00:00.123456' AS t")
    text = "select cast(t as varchar) as x, cast(t as bigint) as n from input"
    assert query(spark, frame, text, read=ReadStep("Parquet"), small=True).collect() == [
        ("2020-01-01T00:00:00.123456Z", 1_577_836_800_123_456)
    ]
    assert query(spark, frame, text, small=True).collect() == [("2020-01-01T00:00:00.123Z", 1_577_836_800_123)]


def test_merged_small(polled: Callable[..., Any]) -> None:
    sql = "select id, upper(name) as name, row_number() over (order by id desc) as r from input"
    dataset = polled("id BIGINT; name STRING", "Append", preprocess=transform(sql))
    dataset.poll([{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    assert dataset.records("id", "name", "r") == [("+A", 2, "B", 1), ("+A", 1, "A", 2)]
    assert str(dataset.table().schema.field("r").type) == "int64"


def test_each_of_many_small_inputs_is_queried_by_itself(polled: Callable[..., Any]) -> None:
    dataset = polled("id BIGINT", "Append", preprocess=transform("select max(id) as id, count(*) as n from input"))
    success = dataset.poll([{"id": 1}, {"id": 5}], [], [{"id": 3}])
    assert len(success.new_slices) == 3
    assert dataset.records("id", "n") == [("+A", 5, 2), ("+A", None, 0), ("+A", 3, 1)]


def test_a_large_input_is_queried_by_workers(polled: Callable[..., Any], monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr("airflow_provider_odf.records.files.SMALL", 0)
    rows = [{"id": n, "at": n} for n in range(100)]
    sql = "select id, cast(at as bigint) as ms from input where id >= 98"
    dataset = polled("id BIGINT; at TIMESTAMP", "Append", preprocess=transform(sql))
    dataset.poll(rows)
    assert dataset.records("id", "ms") == [("+A", 98, 98), ("+A", 99, 99)]
