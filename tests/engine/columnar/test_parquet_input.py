"""Columns of Parquet files that Arrow reads as Spark does, and those that are left to Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.engine.column_layout import fit
from airflow_provider_odf.engine.columnar import parquet_input
from airflow_provider_odf.engine.read import read
from airflow_provider_odf.protocol import DatasetVocabulary, MergeInput, MergeRequest, MergeStrategy, ReadStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UTC = dt.UTC
MOMENTS = [
    None,
    dt.datetime(1900, 1, 1, tzinfo=UTC),
    dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    dt.datetime(2024, 2, 29, 12, 0, 0, 123456, UTC),
    dt.datetime(9999, 12, 30, 23, 59, 59, 999999, UTC),
]
COLUMNS: dict[str, pa.Array] = {
    "byte": pa.array([None, -128, 127, 0, 1], pa.int8()),
    "ubyte": pa.array([None, 255, 0, 1, 2], pa.uint8()),
    "ushort": pa.array([None, 65535, 0, 1, 2], pa.uint16()),
    "uint": pa.array([None, 4294967295, 0, 1, 2], pa.uint32()),
    "long": pa.array([None, -(2**63), 2**63 - 1, 0, 1], pa.int64()),
    "float": pa.array([None, float("nan"), -0.0, float("inf"), 1.5], pa.float32()),
    "text": pa.array([None, "", "a\0b", "\U0001f600", "é"]),
    "large": pa.array([None, "", "a", "b", "c"], pa.large_string()),
    "bytes": pa.array([None, b"", b"\0", b"\xff", b"a"]),
    "bool": pa.array([None, True, False, True, False]),
    "small": pa.array([None, Decimal("-0.01"), Decimal("9.99"), Decimal(0), Decimal(1)], pa.decimal128(3, 2)),
    "wide": pa.array([None, Decimal(10) ** 37, -(Decimal(10) ** 37), Decimal(0), Decimal(1)], pa.decimal128(38, 0)),
    "day": pa.array([None, dt.date(1900, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31), dt.date(2024, 2, 29)]),
    "utc": pa.array(MOMENTS, pa.timestamp("us", "UTC")),
    "zone": pa.array(MOMENTS, pa.timestamp("us", "Europe/Zurich")),
    "naive": pa.array([m and m.replace(tzinfo=None) for m in MOMENTS], pa.timestamp("us")),
    "millis": pa.array([m and m.replace(microsecond=0) for m in MOMENTS], pa.timestamp("ms", "UTC")),
}
OTHERS: dict[str, pa.Array] = {
    "ancient": pa.array([dt.date(1899, 12, 31)]),
    "late": pa.array([dt.datetime(9999, 12, 31, 1)], pa.timestamp("us")),
    "nanos": pa.array([1], pa.timestamp("ns", "UTC")),
    "ulong": pa.array([1], pa.uint64()),
    "list": pa.array([[1]]),
    "struct": pa.array([{"a": 1}]),
    "time": pa.array([dt.time(1)], pa.time64("us")),
    "fixed": pa.array([b"ab"], pa.binary(2)),
    "dictionary": pa.array(["a"]).dictionary_encode(),
}


@pytest.mark.spark
def test_arrow_reads_what_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(COLUMNS), path, row_group_size=2)
    by_spark, columns = _fit(spark, path)
    by_arrow = parquet_input.read_rows(str(path), columns, 1 << 20)
    assert by_arrow is not None
    assert {c.num_chunks for c in by_arrow.columns} == {1}
    for name in columns:
        kind = by_arrow.schema.field(name).type
        assert repr(by_arrow[name].to_pylist()) == repr(by_spark[name].cast(kind).to_pylist()), name


@pytest.mark.spark
@pytest.mark.parametrize("name", OTHERS)
def test_spark_reads_what_arrow_may_read_differently(spark: SparkSession, tmp_path: Path, name: str) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"value": OTHERS[name]}), path)
    columns = _fit(spark, path)[1] if name != "late" else {"value": ("value", pa.timestamp("ms", "UTC"))}
    assert parquet_input.read_rows(str(path), columns, 1 << 20) is None


@pytest.mark.spark
def test_int96_is_read_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"value": COLUMNS["utc"]}), path, use_deprecated_int96_timestamps=True)
    assert parquet_input.read_rows(str(path), _fit(spark, path)[1], 1 << 20) is None


def test_rows_beyond_the_limit_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"value": ["the same text"] * 10_000}), path)
    columns = {"value": ("value", pa.string())}
    assert path.stat().st_size < 10_000
    assert parquet_input.read_rows(str(path), columns, 100_000) is None
    assert parquet_input.read_rows(str(path), columns, 200_000) is not None


def _fit(spark: SparkSession, path: Path) -> tuple[pa.Table, dict[str, tuple[str, pa.DataType]]]:
    """The rows as Spark reads them for a dataset, and the columns to read."""
    request = MergeRequest(
        dataset_id="did:odf:fed01" + "0" * 64,
        dataset_alias="rows",
        system_time="2024-05-01T00:00:00Z",
        vocab=DatasetVocabulary(),
        read=ReadStep("Parquet"),
        merge=MergeStrategy("Append"),
        inputs=(MergeInput((str(path),), "2024-05-01T00:00:00Z", "rows"),),
        next_offset=0,
        new_data_path=str(path.parent),
    )
    rows = fit(read(spark.newSession(), request.read, [str(path)], "rows").frame, request, None)
    names = [name for name in rows.layout.columns if name != "event_time"]
    kinds = {name: rows.layout.schema.field(name).type for name in names}
    return rows.frame.toArrow(), {name: (name, kinds[name]) for name in names}
