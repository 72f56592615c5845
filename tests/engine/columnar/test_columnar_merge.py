"""Snapshots of Parquet files merged by Arrow in ranges of keys: the bytes that Spark writes."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import SparkRuntimeException

from airflow_provider_odf.engine import merge, partitioned_merge
from airflow_provider_odf.engine import state as states
from airflow_provider_odf.engine.columnar import csv_input, inputs
from airflow_provider_odf.engine.read import source
from airflow_provider_odf.engine.strategies import append, difference, new_rows
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.records import files, sorted_runs

pytestmark = pytest.mark.spark

Make = Callable[..., Any]

SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("day", pa.date32()),
        ("number", pa.int32()),
        ("price", pa.decimal128(9, 2)),
        ("ratio", pa.float64()),
        ("seen", pa.timestamp("us", "UTC")),
        ("blob", pa.binary()),
        ("is_on", pa.bool_()),
    ]
)
TIMES = [dt.datetime(1950, 1, 1, 0, 0, 0, 999, dt.UTC), dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]
VALUES: dict[str, list[Any]] = {
    "number": [None, 0, -1, 7],
    "price": [None, Decimal("0.00"), Decimal("-1.50")],
    "ratio": [None, 0.0, -0.0, float("nan"), float("inf"), 1.5],
    "seen": [None, *TIMES],
    "blob": [None, b"", b"\0\xff"],
    "is_on": [None, True, False],
}


def table(rng: random.Random, has_time: bool) -> pa.Table:
    """Rows of few keys, in any order, which often are as before."""
    names = ["", "a", "Z", "é", "漢", "\U0001f600", "a\0b"]
    keys = rng.sample([(name, day) for name in names for day in (0, 1, 20000)], rng.randint(0, 21))
    rows = [
        {"name": name, "day": dt.date(1970, 1, 1) + dt.timedelta(day), **{c: rng.choice(VALUES[c]) for c in VALUES}}
        if rng.random() < 0.3
        else {"name": name, "day": dt.date(1970, 1, 1) + dt.timedelta(day), **{c: VALUES[c][1] for c in VALUES}}
        for name, day in keys
    ]
    made = pa.Table.from_pylist(rows, SCHEMA)
    times = pa.array([rng.choice([None, TIMES[1]]) for _ in keys], pa.timestamp("us", "UTC"))
    return made.append_column("event_time", times) if has_time else made


@pytest.mark.parametrize("seed", range(2))
def test_arrow_and_spark_write_the_same_bytes(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(files, "SMALL", -1)
    monkeypatch.setattr(states, "CACHED_SLICES", 3)
    monkeypatch.setattr(new_rows, "PIECE", 5)
    monkeypatch.setattr(difference, "PIECE", 5)
    rng = random.Random(seed)
    files_ = [tmp_path / f"{n}.parquet" for n in range(4)]
    for path in files_:
        pq.write_table(table(rng, seed % 2 == 0), path, row_group_size=4)
    by_arrow = polled("", "Snapshot", "name", "day", work=tmp_path / "arrow")
    by_spark = polled("", "Snapshot", "name", "day", work=tmp_path / "spark")
    hashes: list[list[Any]] = [[], []]
    for path in files_:
        with monkeypatch.context() as only_arrow:
            only_arrow.setattr(partitioned_merge, "write", _refuse)
            hashes[0].append(_facts(by_arrow.poll(path, kind="Parquet")))
        with monkeypatch.context() as only_spark:
            only_spark.setattr(inputs, "open_input", lambda *_: None)
            hashes[1].append(_facts(by_spark.poll(path, kind="Parquet")))
        by_arrow.state = by_arrow.state if seed else None
    assert hashes[0] == hashes[1]
    assert not any("again" in line for line in by_arrow.progress)
    assert any(removed for _, _, _, removed, _ in filter(None, hashes[0]))


CSV = "id BIGINT; n INT; price DECIMAL(9,2); ratio DOUBLE; name STRING; day DATE; is_on BOOLEAN; event_time TIMESTAMP"


def _csv(rng: random.Random, path: Path, first: int) -> Path:
    lines = ["id,n,price,ratio,name,day,is_on,event_time"]
    for number in rng.sample(range(first, first + 30), 20):
        when = rng.choice(["", "2024-01-01T00:00:00Z", "2023-05-05T23:59:59.999999Z", "2024-01-02T00:00:00.1Z"])
        name = rng.choice(["", "é", '"a,b"', '"said ""x"""', " b "])
        values = (rng.choice(["", "-7"]), rng.choice(["1.50", "-0.1"]), rng.choice(["", "1e3", ".5"]), name)
        lines.append(",".join([str(number), *values, rng.choice(["", "2024-02-29"]), rng.choice(["", "true"]), when]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["Append", "Append from disk", "Ledger", "Snapshot", "UpsertStream"])
def test_csv_has_the_same_bytes(polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    if kind == "Append from disk":
        kind = "Append"
        monkeypatch.setattr(csv_input, "_TEXT", 0)
        monkeypatch.setattr(source, "CHUNK_BYTES", 400)
        monkeypatch.setattr(sorted_runs, "RUN_BYTES", 600)
        monkeypatch.setattr(sorted_runs, "BATCH", 2)
        monkeypatch.setattr(append, "PIECE", 11)
    monkeypatch.setattr(states, "CACHED_SLICES", 2)
    monkeypatch.setattr(new_rows, "PIECE", 7)
    monkeypatch.setattr(difference, "PIECE", 7)
    rng, keys = random.Random(3), () if kind == "Append" else ("id",)
    files_ = [_csv(rng, tmp_path / f"{first}.csv", first) for first in (0, 10, 10, 100)]
    options: dict[str, Any] = {"read": {"header": True}}
    by_arrow = polled(CSV, kind, *keys, work=tmp_path / "arrow", **options)
    by_spark = polled(CSV, kind, *keys, work=tmp_path / "spark", **options)
    facts: list[list[Any]] = [[], []]
    for path in files_:
        with monkeypatch.context() as only_arrow:
            only_arrow.setattr(merge, "read", _refuse)
            facts[0].append(_facts(by_arrow.poll(path, kind="Csv")))
        with monkeypatch.context() as only_spark:
            only_spark.setattr(inputs, "open_input", lambda *_: None)
            facts[1].append(_facts(by_spark.poll(path, kind="Csv")))
    assert facts[0] == facts[1]
    assert not list((tmp_path / "arrow" / "data").glob(".*"))
    assert by_arrow.state is None if kind == "Append" else by_arrow.state is not None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-7", "7.5", r"line \d+, column n: '7.5' is not an INT"),
        ("1.50", "1.555", r"line \d+, column price: '1.555' is not a DECIMAL\(9,2\)"),
        ("true", "1", r"line \d+, column is_on: '1' is not a BOOLEAN"),
        ("2024-02-29", "2023-02-29", r"line \d+, column day: '2023-02-29' is not a DATE"),
        ("2024-02-29", "2024-02-29,", r"line \d+: 9 fields instead of 8"),
    ],
)
def test_the_strict_reader_has_the_messages(polled: Make, tmp_path: Path, old: str, new: str, message: str) -> None:
    path = _csv(random.Random(3), tmp_path / "rows.csv", 0)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(SparkRuntimeException, match=message):
        polled(CSV, "Append", read={"header": True}).poll(path, kind="Csv")


def test_several_small_files_start_no_spark(polled: Make, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.csv" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_text(f"id,a\n{number},x\n0,x\n")
    data, said = polled("id BIGINT; a STRING", "Ledger", "id", read={"header": True}), list[str]()
    data.days = 1
    success = merge.execute(None, data.request(*paths, kind="Csv"), said.append)
    assert [s.offset_interval.count for s in success.new_slices] == [1, 1, 1]
    assert said[1] == "0.csv: read and merged by Arrow, without Spark"


def test_a_required_column_is_left_to_the_strict_reader(polled: Make, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,a\n1,\n")
    with pytest.raises(SparkRuntimeException, match="line 2, column a: null, but the schema declares NOT NULL"):
        polled("id BIGINT; a INT NOT NULL", "Append", read={"header": True}).poll(path, kind="Csv")


def _refuse(*_: object) -> None:
    raise AssertionError("Spark merges")


def _facts(success: Any) -> tuple[Any, ...] | None:
    if not success.new_slices:
        return None
    (new,) = success.new_slices
    return new.physical_hash, new.logical_hash, new.changes, new.changes.removed, (new.rows_before, new.is_input_empty)


def test_columns_that_are_new(polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SMALL", -1)
    monkeypatch.setattr(partitioned_merge, "write", _refuse)
    data = polled("", "Snapshot", "id")
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    pq.write_table(pa.table({"id": [3, 1, 2], "a": ["x", "y", None]}), first)
    pq.write_table(pa.table({"ID": [2, 4, 1], "b": [None, True, True], "a": [None, "z", "y"]}), second)
    data.poll(first, kind="Parquet")
    new = data.poll(second, kind="Parquet").new_slices[0]
    assert list(zip(*pq.read_table(new.path, columns=["op", "id", "a", "b"]).to_pydict().values(), strict=True)) == [
        (2, 1, "y", None),
        (3, 1, "y", True),
        (1, 3, "x", None),
        (0, 4, "z", True),
    ]


def test_a_cache_without_order_is_put_in_order(polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SMALL", -1)
    monkeypatch.setattr(states, "CACHED_BYTES", -1)
    data = polled("", "Snapshot", "id")
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3]}), path)
    data.poll(path, kind="Parquet")
    about = Path(data.state.path, "state.json")
    (cached,) = Path(data.state.path).glob("f1620*")
    rows = pq.read_table(cached, columns=["event_time", "id"])
    cached.unlink()
    pq.write_table(rows.take([2, 0, 1]), cached)
    parts = {cached.name: [cached.stat().st_size, 3, ""]}
    about.write_text(json.dumps(json.loads(about.read_text()) | {"files": parts}))
    monkeypatch.setattr(partitioned_merge, "write", _refuse)
    assert data.poll(path, kind="Parquet").slices == ((),)
    assert not [line for line in data.progress if "damaged" in line or "again" in line]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"id": [1, None], "a": [1, 2]}, "the primary key column id is null in 1 row"),
        ({"id": [1, 1], "a": [1, 2]}, r"rows with the same primary key differ: \(id=1\)"),
        ({"id": [1, 2], "a": [dt.date(1, 1, 1), dt.date(9999, 12, 31)]}, ""),
    ],
)
def test_spark_merges_what_arrow_cannot_judge(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr(files, "SMALL", -1)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(rows), path)
    data = polled("", "Snapshot", "id")
    if message:
        with pytest.raises(InvalidQuery, match=message):
            data.poll(path, kind="Parquet")
    else:
        assert data.poll(path, kind="Parquet").new_slices[0].changes.added == 2


@pytest.mark.parametrize("form", ["columns and rows", "Spark"])
def test_equal_rows_of_a_changed_key_are_one(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    if form == "Spark":
        monkeypatch.setattr(files, "SMALL", -1)
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    pq.write_table(pa.table({"id": [1, 2], "a": ["x", "y"]}), first)
    pq.write_table(pa.table({"id": [1, 2, 1], "a": ["z", "y", "z"]}), second)
    data = polled("", "Snapshot", "id")
    data.poll(first, kind="Parquet")
    assert data.poll(second, kind="Parquet").notices == ("2.parquet: dropped 1 duplicate row",)
    assert data.records("op", "id", "a", last=2) == [("-C", 1, "x"), ("+C", 1, "z")]


@pytest.mark.parametrize(
    "options",
    [
        *({"compression": codec} for codec in ("NONE", "SNAPPY", "GZIP", "ZSTD", "LZ4", "BROTLI")),
        {"data_page_version": "2.0"},
        {"column_encoding": {"i": "BYTE_STREAM_SPLIT", "f": "BYTE_STREAM_SPLIT"}, "use_dictionary": False},
        {"column_encoding": {"i": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY"}, "use_dictionary": False},
        {"column_encoding": {"s": "DELTA_LENGTH_BYTE_ARRAY"}, "use_dictionary": False},
    ],
)
def test_codecs_and_encodings_are_read_or_refused_alike(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"i": [1, None, -3], "f": [1.5, None, -0.0], "s": ["a", None, ""]}), path, **options)
    for form in ("columns", "Spark"):
        if form == "Spark":
            monkeypatch.setattr(inputs, "open_input", lambda *_: None)
        data = polled("", "Append", work=tmp_path / form)
        if options.get("compression") == "BROTLI":
            with pytest.raises(InvalidQuery, match="column i is compressed with Brotli: write the file with Zstandard"):
                data.poll(path, kind="Parquet")
        else:
            data.poll(path, kind="Parquet")
            assert data.records("op", "i", "f", "s") == [
                ("+A", 1, 1.5, "a"),
                ("+A", None, None, None),
                ("+A", -3, -0.0, ""),
            ]


def test_equal_rows_are_dropped(polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SMALL", -1)
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": [2, 1, 2], "a": ["x", "y", "x"]}), path)
    success = polled("", "Snapshot", "id").poll(path, kind="Parquet")
    assert success.new_slices[0].changes.added == 2
    assert success.notices == ("rows.parquet: dropped 1 duplicate row",)
