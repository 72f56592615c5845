"""Few records of many, found by Arrow: the same ones as Spark finds."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as pt
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from airflow_provider_odf.engine import parquet_frame
from airflow_provider_odf.engine.transform import difference, inputs
from airflow_provider_odf.protocol import DatasetVocabulary, HistorySlice, OffsetInterval
from airflow_provider_odf.records import files
from airflow_provider_odf.records import schema as schemas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TIMES = pa.timestamp("ms", "UTC")
DAY = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    {
        "offset": pa.int64(),
        "op": pa.int32(),
        "system_time": TIMES,
        "event_time": TIMES,
        "nested": pa.struct({"number": pa.int64()}),
        "number": pa.int64(),
        "small": pa.uint16(),
        "text": pa.string(),
        "day": pa.date32(),
        "amount": pa.decimal128(9, 2),
        "flag": pa.bool_(),
        "tags": pa.list_(pa.string()),
    }
)
DAY_US = 86_400_000_000
KEYS = ("event_time", "number", "small", "text", "day", "amount", "flag")


def _value(random_: random.Random, name: str) -> Any:
    n = random_.randrange(-5, 40)
    values = {
        "event_time": DAY + dt.timedelta(milliseconds=n),
        "number": n,
        "small": abs(n),
        "text": random_.choice(["", "ä", "a ", "A", "\U0001f6f0"]) + str(n % 3),
        "day": (DAY + dt.timedelta(days=n)).date(),
        "amount": Decimal(n) / 100,
        "flag": n > 38,
        "tags": ["x"] * (n % 3),
        "nested": {"number": 1000 + n},
    }
    return None if name != "event_time" and random_.random() < 0.1 else values[name]


def _history(spark: SparkSession, folder: Path, random_: random.Random, *, has_all: bool) -> inputs.History:
    slices, start = [], 0
    for count in (1, 40, 25):
        columns = {n: [_value(random_, n) for _ in range(count)] for n in SCHEMA.names[3:]}
        offsets = range(start, start + count)
        table = pa.table({"offset": offsets, "op": [0] * count, "system_time": [DAY] * count, **columns}, SCHEMA)
        if not has_all and not start:
            table = table.drop_columns(["nested", "number", "tags"])  # a slice before the dataset had them
        pq.write_table(table.sort_by("event_time"), folder / f"{start}.parquet", row_group_size=7)
        slices.append(HistorySlice(str(folder / f"{start}.parquet"), OffsetInterval(start, start + count - 1)))
        start += count
    types = from_arrow_schema(schemas.readable(SCHEMA))
    return inputs.History(spark, types, DatasetVocabulary(), None, tuple(slices), is_small=False)


@pytest.mark.parametrize("seed", range(4))
def test_the_same_records(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    history = _history(spark, tmp_path, random_, has_all=seed % 2 == 0)
    records = [tuple(map(str, row)) for row in history.records().toLocalIterator()]
    for name in KEYS:
        place = SCHEMA.names.index(name)
        values = pa.array([_value(random_, name) for _ in range(random_.randrange(4))], SCHEMA.field(name).type)
        found = history.found(name, values)
        assert found is not None
        column = found.schema[name].dataType
        wanted = spark.createDataFrame([(v,) for v in values.to_pylist()], f"`{name}` {column.simpleString()}")
        texts = {str(row[0]) for row in wanted.collect()}
        assert Counter(tuple(map(str, row)) for row in found.collect()) == Counter(
            row for row in records if row[place] in texts
        ), (seed, name)


def test_spark_reads_where_there_are_too_many(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = _history(spark, tmp_path, random.Random(1), has_all=True)
    values = pa.array([0], pa.int32())
    assert history.found("op", values) is not None
    monkeypatch.setattr(parquet_frame, "MAX_VALUES", 65)
    assert history.found("op", values) is None


def test_spark_reads_long_texts(spark: SparkSession, tmp_path: Path) -> None:
    history = _history(spark, tmp_path, random.Random(1), has_all=True)
    table = pq.read_table(history.slices[1].path)
    place = SCHEMA.names.index("text")
    long = table.set_column(place, SCHEMA.field("text"), pa.array(["x" * (2 << 20)] * table.num_rows))
    pq.write_table(long, history.slices[1].path, row_group_size=7)
    assert history.found("op", pa.array([1], pa.int32())) is not None
    assert history.found("op", pa.array([0], pa.int32())) is None


def test_of_many_rows_that_are_taken_back_only_times_are_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[str]()
    read_parquet = files.read_parquet

    def counted(uri: str, columns: Sequence[str], filters: pc.Expression | None = None) -> pa.Table:
        read.extend(columns)
        return read_parquet(uri, columns, filters)

    history = _history(spark, tmp_path, random.Random(1), has_all=True)
    table = pq.read_table(history.slices[2].path)
    taken = table.set_column(1, SCHEMA.field("op"), pa.array([1] * table.num_rows, pa.int32()))
    pq.write_table(taken, history.slices[2].path)
    own = replace(history, slices=history.slices[:2])
    monkeypatch.setattr(files, "read_parquet", counted)
    assert difference.missing_row(own, history.slices[2]) is not None
    assert read == ["event_time", "number", "small", "text", "day", "amount", "flag"]
    read.clear()
    monkeypatch.setattr(parquet_frame, "MAX_VALUES", 24)
    assert difference.missing_row(own, history.slices[2]) is not None
    assert read == ["event_time"]


@pytest.mark.parametrize(
    ("kind", "is_exact"), [(pa.int32(), True), (pa.decimal128(5), True), (pa.float64(), False), (pa.binary(), False)]
)
def test_numbers_that_are_equal_and_differ_are_left_to_spark(kind: pa.DataType, is_exact: bool) -> None:
    assert parquet_frame.are_exact(kind) is is_exact


def test_a_struct_whose_field_has_the_path_of_a_column(tmp_path: Path) -> None:
    table = pa.table({"a": [{"b": 1}, {"b": 2}], "a.b": [100, 200]})
    pq.write_table(table, path := str(tmp_path / "a.parquet"))
    found = parquet_frame.rows_with(path, table.schema, "a.b", pa.array([200]))
    assert [row for batch in found for row in batch.to_pylist()] == [{"a": {"b": 2}, "a.b": 200}]


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")])
def test_statistics_beyond_the_years_of_python(tmp_path: Path, kind: pa.DataType) -> None:
    days = pa.array([1, 9_000_000])
    times = days.cast(pa.int32()).view(kind) if pt.is_date(kind) else pc.multiply(days, DAY_US).view(kind)
    pq.write_table(pa.table({"time": times}), path := str(tmp_path / "a.parquet"))
    columns = pa.schema({"time": kind})
    for n in range(2):
        found = list(parquet_frame.rows_with(path, columns, "time", times[n : n + 1]))
        assert pa.Table.from_batches(found, columns)["time"].combine_chunks() == times[n : n + 1]
