"""Rows of Parquet files: tasks that read objects give what Spark's own reader gives of the same files in a folder."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import io
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as hs
from pyspark.sql import types as st

from airflow_provider_odf import multiformats
from airflow_provider_odf.engine import parquet_frame, spark_errors, spark_internals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.s3 import Bucket

pytestmark = pytest.mark.spark

UTC = dt.UTC
NUMBERS = st.StructType().add("n", st.LongType())


def parquet(table: pa.Table, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


def name_of(content: bytes) -> str:
    return multiformats.multihash(multiformats.SHA3_256, hashlib.sha3_256(content).digest())


def put(lake: Bucket, key: str, content: bytes) -> str:
    lake.put(key, content)
    return f"{lake.uri}/{key}"


def test_rows_of_several_files(spark: SparkSession, lake: Bucket) -> None:
    types = st.StructType().add("N", "long").add("new", st.ArrayType(st.StringType())).add("day", "date")
    first = pa.table({"n": pa.array([1, None], pa.int32()), "other": [1.5, 2.5], "day": [dt.date(1200, 1, 1), None]})
    second = pa.table({"n": pa.array([3], pa.uint16()), "new": [["x", None]]})
    paths = [put(lake, "a", parquet(first)), put(lake, "b", parquet(second)), put(lake, "c", parquet(first[:0]))]
    assert parquet_frame.read(spark, paths, types).coalesce(1).toArrow().to_pylist() == [
        {"N": 1, "new": None, "day": dt.date(1200, 1, 1)},
        {"N": None, "new": None, "day": None},
        {"N": 3, "new": ["x", None], "day": None},
    ]


def test_a_file_without_the_columns(spark: SparkSession, lake: Bucket) -> None:
    path = put(lake, "a", parquet(pa.table({"x": [1, 2]})))
    assert parquet_frame.read(spark, [path], NUMBERS).toArrow().to_pylist() == [{"n": None}, {"n": None}]


def test_a_large_file_is_read_by_row_groups(spark: SparkSession, lake: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_frame, "TASK", 1000)
    content = parquet(pa.table({"n": range(1000)}), row_group_size=100)
    small = parquet(pa.table({"n": [-1]}))
    frame = parquet_frame.read(spark, [put(lake, "large", content)], NUMBERS, row="place")
    assert frame.rdd.getNumPartitions() > 5
    assert [tuple(row) for row in frame.collect()] == [(n, n + 1) for n in range(1000)]
    # For Spark the frame has the size of its files: a large one may not be sent to all executors of a join.
    assert abs(spark_internals.size_in_bytes(frame) - len(content)) < 200
    together = parquet_frame.read(spark, [put(lake, f"small-{n}", small) for n in range(20)], NUMBERS)
    assert (together.rdd.getNumPartitions(), together.count()) == (-(-20 // (1000 // len(small))), 20)


def test_a_slice_is_copied_once_and_compared(spark: SparkSession, lake: Bucket, cache_of_tasks: Path) -> None:
    content = parquet(pa.table({"n": [1, 2]}))
    uri = put(lake, f"data/{name_of(content)}", content)
    assert parquet_frame.read(spark, [uri], NUMBERS).count() == 2
    assert (cache_of_tasks / "data" / name_of(content)).read_bytes() == content
    lake.delete(f"data/{name_of(content)}")
    assert parquet_frame.read(spark, [uri], NUMBERS).count() == 2


@pytest.mark.parametrize("is_slice", [True, False])
def test_damage_is_refused(spark: SparkSession, lake: Bucket, is_slice: bool) -> None:
    content = parquet(pa.table({"n": range(100)}), compression="none", use_dictionary=False)
    name = name_of(content + b"x") if is_slice else "input"
    uri = put(lake, name, content[:20] + bytes(400) + content[420:])
    with pytest.raises(Exception, match="Python worker") as error:
        parquet_frame.read(spark, [uri], NUMBERS).count()
    message = f"{uri}: " + (
        "checksum mismatch: the content has the hash f1620" if is_slice else "the Parquet file is damaged: "
    )
    found = spark_errors.corrupted(error.value) if is_slice else str(spark_errors.refusal(error.value))
    assert found.startswith(message)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.json.gz"])
def test_damage_of_other_formats_is_none_of_parquet(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"a,b\n" * 10_000)[:-20])
    with pytest.raises(Exception, match="FAILED_READ_FILE") as error:
        spark.read.text(str(tmp_path / name)).count()
    assert spark_errors.refusal(error.value) is None


def test_values_that_do_not_fit(spark: SparkSession, lake: Bucket) -> None:
    uri = put(lake, "a", parquet(pa.table({"n": ["1"]})))
    with pytest.raises(Exception, match="Python worker") as error:
        parquet_frame.read(spark, [uri], NUMBERS).count()
    assert str(spark_errors.refusal(error.value)) == (
        f"{uri}: column n is string in the file, which cannot be read as int64"
    )


def test_columns_of_all_files(spark: SparkSession, lake: Bucket) -> None:
    paths = [put(lake, "a", parquet(pa.table({"a": [1]}))), put(lake, "b", parquet(pa.table({"A": [2], "b": ["x"]})))]
    rows = parquet_frame.read(spark, paths).coalesce(1).collect()
    assert [tuple(row) for row in rows] == [(1, None), (2, "x")]
    with pytest.raises(Exception, match=r"/c: column a has different types in the files: BIGINT and STRING"):
        parquet_frame.read(spark, [*paths, put(lake, "c", parquet(pa.table({"a": ["x"]})))])


# --- generated files --------------------------------------------------------------------------------------------------

_TIMES = hs.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59))
_SCALARS: list[tuple[pa.DataType, hs.SearchStrategy[Any]]] = [
    (pa.bool_(), hs.booleans()),
    (pa.int8(), hs.integers(-128, 127)),
    (pa.uint8(), hs.integers(0, 255)),
    (pa.int16(), hs.integers(-(2**15), 2**15 - 1)),
    (pa.int32(), hs.integers(-(2**31), 2**31 - 1)),
    (pa.uint32(), hs.integers(0, 2**32 - 1)),
    (pa.int64(), hs.integers(-(2**63), 2**63 - 1)),
    (pa.uint64(), hs.integers(0, 2**64 - 1)),
    (pa.float32(), hs.floats(width=32)),
    (pa.float64(), hs.floats()),
    (pa.string(), hs.text(max_size=5)),
    (pa.large_string(), hs.text(max_size=5)),
    (pa.dictionary(pa.int32(), pa.string()), hs.sampled_from(["a", "b"])),
    (pa.binary(), hs.binary(max_size=5)),
    (pa.binary(3), hs.binary(min_size=3, max_size=3)),
    (pa.date32(), hs.dates()),
    (pa.timestamp("ms", "UTC"), _TIMES.map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000, tzinfo=UTC))),
    (pa.timestamp("us", "UTC"), _TIMES.map(lambda t: t.replace(tzinfo=UTC))),
    (pa.timestamp("us"), _TIMES),
    (pa.time64("us"), hs.times()),
    (pa.decimal128(5, 2), hs.decimals(-999, 999, places=2)),
    (pa.decimal128(18, 0), hs.decimals(-(10**17), 10**17, places=0)),
    (pa.decimal128(38, 10), hs.decimals(Decimal(-(10**20)), Decimal(10**20), places=10)),
]  # fmt: skip


def _nested(inner: tuple[pa.DataType, hs.SearchStrategy[Any]]) -> hs.SearchStrategy[tuple[pa.DataType, Any]]:
    kind, values = inner
    values = hs.none() | values
    return hs.sampled_from(
        [
            (pa.list_(kind), hs.lists(values, max_size=3)),
            (pa.struct([("a", kind), ("B c", pa.int32())]), hs.fixed_dictionaries({"a": values, "B c": hs.none()})),
            (pa.map_(pa.string(), kind), hs.lists(hs.tuples(hs.sampled_from(["k"]), values), max_size=1)),
        ]
    )


# Arrow cannot write some dictionaries inside of other types.
_INNER = hs.sampled_from([one for one in _SCALARS if not pa.types.is_dictionary(one[0])]).flatmap(_nested)
_KINDS = hs.sampled_from(_SCALARS) | _INNER | _INNER.flatmap(_nested)


@hs.composite
def _files(draw: hs.DrawFn) -> tuple[list[pa.Table], dict[str, Any]]:
    """Files with some of the same columns, and options to write them."""
    names = ["a", "B", "c.d", "ein`e", "f"][: draw(hs.integers(1, 5))]
    kinds = {name: draw(_KINDS) for name in names}
    tables = []
    for _ in range(draw(hs.integers(1, 3))):
        present = draw(hs.lists(hs.sampled_from(names), unique=True, min_size=1))
        count = draw(hs.integers(0, 7))
        columns = {}
        for name in present:
            kind, values = kinds[name]
            columns[name] = pa.array(draw(hs.lists(hs.none() | values, min_size=count, max_size=count)), kind)
        tables.append(pa.table(columns))
    options = {
        "row_group_size": draw(hs.sampled_from([1, 3, 100])),
        "version": draw(hs.sampled_from(["1.0", "2.6"])),
        "compression": draw(hs.sampled_from(["none", "snappy", "zstd", "gzip"])),
        "use_dictionary": draw(hs.booleans()),
        "data_page_version": draw(hs.sampled_from(["1.0", "2.0"])),
        "store_schema": draw(hs.booleans()),
    }
    return tables, options


@pytest.mark.long
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(_files(), hs.booleans(), hs.sampled_from([1, 10_000]))
def test_generated_files(
    spark: SparkSession,
    lake: Bucket,
    tmp_path_factory: pytest.TempPathFactory,
    some: tuple[list[pa.Table], dict[str, Any]],
    is_declared: bool,
    task: int,
) -> None:
    (tables, options), folder = some, tmp_path_factory.mktemp("files")
    paths = []
    for number, table in enumerate(tables):
        (folder / str(number)).write_bytes(content := parquet(table, **options))
        paths.append(put(lake, f"{folder.name}/{number}", content))  # no object gets new content
    local = [str(folder / str(number)) for number, _ in enumerate(tables)]
    types = spark.read.option("mergeSchema", True).parquet(*local).schema if is_declared else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_frame, "TASK", task)
        objects = parquet_frame.read(spark, paths, types)
        plain = parquet_frame.read(spark, local, types)
        assert [f.jsonValue() for f in sorted(objects.schema, key=str)] == [
            f.jsonValue() for f in sorted(plain.schema, key=str)
        ]
        names = [f"`{name.replace('`', '``')}`" for name in plain.columns]
        assert _rows(objects.select(names)) == _rows(plain.select(names))
        one, same = (parquet_frame.read(spark, some[:1], types, row="place") for some in (paths, local))
        columns = ["place", *(name for name in names if name.strip("`").replace("``", "`") in same.columns)]
        assert _in_order(one.select(columns)) == _in_order(same.select(columns))


def _rows(frame: DataFrame) -> list[str]:
    return sorted(_in_order(frame))


def _in_order(frame: DataFrame) -> list[str]:
    return [*map(repr, frame.toArrow().to_pylist())]
