"""The order of a derivative's records: that of a struct of all columns, whatever their types, nulls and duplicates."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812

from airflow_provider_odf.engine import slices, sorted_shuffle
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.transform import difference
from airflow_provider_odf.engine.transform.result import result
from airflow_provider_odf.engine.transform.transform import _Records, write_in_tasks
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.protocol import NewSlice
from airflow_provider_odf.records.schema import OP
from airflow_provider_odf.records.slice_file import SlicePlan
from tests.engine.transform.derived import Derived

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from airflow_provider_odf.engine.transform.result import Result

pytestmark = pytest.mark.spark

VALUES = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("-1", "127"),
    "INT": ("-7", "0", "7"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807", "0"),
    "FLOAT": ("'NaN'", "'-Infinity'", "'-0.0'", "'0.0'", "'1.5'"),
    "DOUBLE": ("'NaN'", "'Infinity'", "'-0.0'", "'0.0'", "'-1e300'"),
    "DECIMAL(9,2)": ("-1.5", "1.25", "0"),
    "DECIMAL(38,10)": ("-1.5", "12345678901234567890.5", "0"),
    "STRING": ("''", "'Z'", "'a'", "'é'", "'\uffff'", "'\U0001f600'", "'the same eight'", "'the same nine'"),
    "BINARY": ("X''", "X'00'", "X'7f'", "X'ff'"),
    "DATE": ("'0001-01-01'", "'1969-12-31'", "'9999-12-31'"),
    "TIMESTAMP": ("'1582-01-01 00:00:00'", "'1969-12-31 23:59:59.999'", "'2024-01-01 00:00:00.0019'"),
    "TIME": ("'00:00:00'", "'23:59:59.999999'"),
    "ARRAY<INT>": ("array()", "array(CAST(NULL AS INT))", "array(1)", "array(1, 2)", "array(1, NULL)"),
    "ARRAY<DOUBLE>": ("array(double('NaN'))", "array(double('-0.0'))", "array(0D, 1D)"),
    "STRUCT<a: INT, b: STRING>": ("named_struct('a', 1, 'b', NULL)", "named_struct('a', NULL, 'b', 'x')"),
    "STRUCT<a: ARRAY<STRING>, s: STRUCT<x: DOUBLE>>": (
        "named_struct('a', array('a', NULL), 's', named_struct('x', double('NaN')))",
        "named_struct('a', array('a'), 's', NULL)",
    ),
}


def rows(spark: SparkSession, rng: Random, count: int) -> DataFrame:
    """Rows of a few values of each type, and null, in columns of random order; some rows are there twice."""
    kinds = rng.sample([*VALUES], len(VALUES))
    columns = ["timestamp_micros(id * 700 % 3000) AS event_time"]
    for number, kind in enumerate(kinds):
        some = rng.sample(VALUES[kind], min(rng.randint(1, 3), len(VALUES[kind])))
        place = f"abs(hash(id, {rng.randint(0, 999)})) % {len(some) + 1}"
        cases = " ".join(f"WHEN {n} THEN CAST({value} AS {kind})" for n, value in enumerate(some))
        columns.append(f"CASE {place} {cases} END AS c{number}")
    return spark.range(0, count, 1, 3).selectExpr(f"id % {count * 3 // 4} AS id").selectExpr(*columns)


def write(
    frame: DataFrame, order: list[str], columns: Result, folder: Path, writer: Any = slices.write_in_task
) -> NewSlice | None:
    plan = SlicePlan(str(folder), columns.schema, Instant.parse("2024-06-01T00:00:00Z"), None, 5, (), "derived")
    new: NewSlice | None = writer(frame, order, plan)
    return new


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(2, 30))])
def test_columns_sort_as_a_struct_of_them(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    frame = rows(spark, rng, 400)
    columns = result(frame, Derived.of(spark, tmp_path / "request", "SELECT 1").request())
    records = _Records(difference.additions(columns.select(frame), columns))
    by_struct = records.frame.withColumn("odf:order", F.struct(*columns.columns))
    new = write(records.frame, records.order, columns, tmp_path)
    expected = write(by_struct, ["odf:order"], columns, tmp_path)
    assert new is not None
    assert new.offset_interval.count == 400
    assert new == expected
    assert pq.ParquetFile(new.path).schema_arrow.names == ["offset", "op", "system_time", *columns.columns]


def test_a_correction_has_the_place_of_its_new_row(spark: SparkSession, tmp_path: Path) -> None:
    day = "TIMESTAMP '2024-01-0{} 00:00:00' AS event_time".format
    old = spark.sql(f"SELECT {day(9)}, 1 AS id, 'b' AS v, 1L AS `odf:count` UNION ALL SELECT {day(1)}, 2, 'c', 1L")
    new = spark.sql(
        f"SELECT {day(2)}, 1 AS id, 'a' AS v UNION ALL SELECT {day(2)}, 3, 'd' UNION ALL SELECT {day(1)}, 4, 'e'"
    )
    columns = result(new, Derived.of(spark, tmp_path / "request", "SELECT 1").request())
    records = _Records(difference.difference(columns.select(old, "`odf:count`"), columns.select(new), columns, {"id"}))
    written = write(records.frame, records.order, columns, tmp_path)
    assert written is not None
    assert pq.read_table(written.path, columns=["op", "id", "v"]).to_pylist() == [
        {"op": 1, "id": 2, "v": "c"},
        {"op": 0, "id": 4, "v": "e"},
        {"op": 2, "id": 1, "v": "b"},
        {"op": 3, "id": 1, "v": "a"},
        {"op": 0, "id": 3, "v": "d"},
    ]
    assert {quoted(OP), "`odf:place 0`"} <= {*map(quoted, records.frame.columns)}


def test_no_rows_are_no_slice(spark: SparkSession, tmp_path: Path) -> None:
    frame = rows(spark, Random(1), 4).where("false")
    columns = result(frame, Derived.of(spark, tmp_path / "request", "SELECT 1").request())
    records = _Records(difference.additions(columns.select(frame), columns))
    assert write(records.frame, records.order, columns, tmp_path) is None


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(2, 10))])
def test_several_tasks_write_places_as_one(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(sorted_shuffle, "_RANGE", 50)
    frame = rows(spark, Random(seed), 400)
    columns = result(frame, Derived.of(spark, tmp_path / "request", "SELECT 1").request())
    place = f"pmod(hash(monotonically_increasing_id(), {seed}), 5) AS `odf:input`"
    records = columns.select(frame, "0 AS `odf:op`", place, "monotonically_increasing_id() AS `odf:pair`")
    order = ["odf:input", "odf:pair"]
    assert write(records, order, columns, tmp_path, write_in_tasks) == write(records, order, columns, tmp_path)
    assert write(records.where("false"), order, columns, tmp_path, write_in_tasks) is None
