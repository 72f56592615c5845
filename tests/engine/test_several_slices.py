"""Inputs with more records than a slice may have: the records, offsets and states of one slice, in slices that end at
the same records whether Arrow, one task or several tasks of Spark write them."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from airflow_provider_odf.engine import merge_target, partitioned_merge, sorted_shuffle
from airflow_provider_odf.engine import state as states
from airflow_provider_odf.engine.columnar import inputs
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Changes
from airflow_provider_odf.records import files
from tests.engine.conftest import Polled

pytestmark = pytest.mark.spark

Make = Callable[..., Polled]
KINDS = ("Append", "Ledger", "Snapshot", "UpsertStream", "ChangelogStream")
COLUMNS = "event_time TIMESTAMP; id INT; k STRING; x DOUBLE; v STRING"
KEYS = ("id", "k", "x")
TIMES = (None, dt.datetime(2024, 3, 1, tzinfo=dt.UTC), dt.datetime(2024, 3, 2, tzinfo=dt.UTC))
TYPES = {"event_time": pa.timestamp("us", "UTC"), "id": pa.int32(), "k": pa.string(), "x": pa.float64()}
FORMS = ("Arrow", "one task", "several tasks")


def rows(rng: random.Random, kind: str, path: Path) -> Path:
    """Rows of few keys and event times, so that they meet; some of them twice."""
    made: list[dict[str, Any]] = []
    for number in rng.sample(range(80), rng.randint(30, 80)):
        key = {
            "id": number // 8 - 5,
            "k": ("", "é", "\U0001f600", "a'b")[number % 4],
            "x": (1.5, float("nan"))[number // 4 % 2],
        }
        row = {"event_time": rng.choice(TIMES), **key, "v": rng.choice((None, "a", "b"))}
        if kind == "ChangelogStream":
            made += rng.choice(([{"op": 0, **row}], [{"op": 1, **row}], [{"op": 2, **row}, {"op": 3, **row, "v": "c"}]))
        else:
            made.append(row | ({"op": rng.choice((0, 0, 0, 1))} if kind == "UpsertStream" else {}))
    if kind != "ChangelogStream":
        made += made[:2]
        rng.shuffle(made)
    types = TYPES | {"v": pa.string()} | ({"op": pa.int32()} if "op" in made[0] else {})
    pq.write_table(pa.Table.from_pylist(made, pa.schema([*types.items()])), path, row_group_size=16)
    return path


def dataset(polled: Make, kind: str, work: Path) -> Polled:
    columns = f"op INT; {COLUMNS}" if kind in ("UpsertStream", "ChangelogStream") else COLUMNS
    return polled(columns, kind, *(() if kind == "Append" else KEYS), work=work)


def force(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Let inputs be merged in one form."""
    if form == "Arrow":
        monkeypatch.setattr(partitioned_merge, "write", _refuse)
    else:
        monkeypatch.setattr(inputs, "open_input", lambda *_: None)
        monkeypatch.setattr(merge_target.MergeTarget, "merges_in_tasks", True)
        if form == "several tasks":
            monkeypatch.setattr(files, "SMALL", -1)


def _refuse(*_: object, **__: object) -> None:
    raise AssertionError("Spark merges")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slice_records", [16, *(pytest.param(number, marks=pytest.mark.long) for number in (1, 40))])
def test_slices_together_are_the_one_slice(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, slice_records: int
) -> None:
    monkeypatch.setattr(states, "CACHED_SLICES", 3)
    monkeypatch.setattr(sorted_shuffle, "_RANGE", 9)
    rng = random.Random(f"{kind} {slice_records}")
    paths = [rows(rng, kind, tmp_path / f"{number}.parquet") for number in range(3)]
    whole = dataset(polled, kind, tmp_path / "whole")
    made = {form: dataset(polled, kind, tmp_path / form) for form in FORMS}
    for form in FORMS:
        made[form].slice_records = slice_records
    for path in paths:
        (expected,) = whole.poll(path, kind="Parquet").slices
        hashes = {}
        for form in FORMS:
            with monkeypatch.context() as only:
                force(only, form)
                (new,) = made[form].poll(path, kind="Parquet").slices
            hashes[form] = [(one.physical_hash, one.logical_hash, one.offset_interval) for one in new]
            assert sum((one.changes for one in new), Changes()) == sum((one.changes for one in expected), Changes())
            assert {one.rows_before for one in new} == {one.rows_before for one in expected}
        assert hashes["Arrow"] == hashes["one task"] == hashes["several tasks"]
        assert all(one.offset_interval.count <= slice_records + 1 for one in new)
        assert len(new) >= sum(one.offset_interval.count for one in expected) // (slice_records + 1)
    for form in FORMS:
        assert str(made[form].table().to_pylist()) == str(whole.table().to_pylist())  # NaN is not equal to itself
        for before, after in pairwise(made[form].history):
            assert after.offset_interval.start == before.offset_interval.end + 1
            last, first = (pq.read_table(one.path)["op"].to_pylist() for one in (before, after))
            assert (last[-1], first[0]) != (2, 3)


@pytest.mark.parametrize("form", FORMS)
def test_the_first_slices_are_the_state(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(states, "CACHED_SLICES", 1)
    data = dataset(polled, "Snapshot", tmp_path / "data")
    data.slice_records = 10
    with monkeypatch.context() as only:
        force(only, form)
        path = rows(random.Random(1), "Snapshot", tmp_path / "rows.parquet")
        data.poll(path, kind="Parquet")
        assert data.state is not None
        names = [Path(one.path).name for one in data.history]
        assert list(json.loads(Path(data.state.path, "state.json").read_text())["files"]) == names
        assert all(Path(data.state.path, Path(one.path).name).samefile(one.path) for one in data.history)
        assert data.poll(path, kind="Parquet").slices == ((),)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "column", "value", "message"),
    [
        ("Snapshot", "k", None, "the primary key column k is null in 1 row"),
        ("Ledger", "v", "differs", "rows with the same primary key differ"),
        ("ChangelogStream", "op", 2, "a correction needs both -C and"),
    ],
)
def test_errors_are_those_of_one_slice(
    polled: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    kind: str,
    column: str,
    value: Any,
    message: str,
) -> None:
    made = [{"id": n, "k": "a", "x": 1.0, "v": "b", "event_time": None, "op": 0} for n in range(20)]
    made.append({**made[13], column: value})
    types = TYPES | {"v": pa.string()} | ({"op": pa.int32()} if kind == "ChangelogStream" else {})
    table = pa.Table.from_pylist([{name: row[name] for name in types} for row in made], pa.schema([*types.items()]))
    pq.write_table(table, tmp_path / "rows.parquet")
    data = dataset(polled, kind, tmp_path / "data")
    data.slice_records = 6
    force(monkeypatch, form)
    with pytest.raises(InvalidQuery, match=message):
        data.poll(tmp_path / "rows.parquet", kind="Parquet")


def test_dropped_rows_and_progress_count_the_input(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = dataset(polled, "Ledger", tmp_path / "data")
    data.slice_records = 3
    force(monkeypatch, "several tasks")
    row = {"event_time": None, "k": "a", "x": 1.0, "v": "b"}
    made = [{"id": n, **row} for n in (3, 1, 1, 2, 5, 4, 4, 7, 6, 8)]
    pq.write_table(pa.Table.from_pylist(made, pa.schema([*TYPES.items(), ("v", pa.string())])), tmp_path / "r.parquet")
    success = data.poll(tmp_path / "r.parquet", kind="Parquet")
    assert success.notices == ("r.parquet: dropped 2 duplicate rows",)
    assert data.progress[-1] == "wrote 8 records in 3 slices, offsets 0 to 7"
    assert [[(o.start, o.end) for o in (s.offset_interval for s in new)] for new in success.slices] == [
        [(0, 2), (3, 5), (6, 7)]
    ]
    assert data.records("id") == [("+A", n) for n in (3, 1, 2, 5, 4, 7, 6, 8)]


def test_an_input_that_spark_read_before_is_a_folder(
    polled: Make, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SMALL", -1)
    folder = tmp_path / "0.parquet"
    spark.createDataFrame([(2, "b"), (1, "a")], "id INT, v STRING").repartition(2).write.parquet(str(folder))
    (new,) = polled("id INT; v STRING", "Snapshot", "id").poll(folder, kind="Parquet").new_slices
    assert pq.read_table(new.path, columns=["id", "v"]).to_pylist() == [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["Snapshot", "Append"])
def test_many_records_are_sorted_range_by_range(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """More records than a run, a range and a slice have, of keys that are in no order."""
    count = 400_000
    ids = pa.array([n * 7919 % count for n in range(count)], pa.int32())
    times = pa.array([n * 31 % 90 * 86_400_000_000 for n in range(count)], pa.timestamp("us", "UTC"))
    columns = {"event_time": times, "id": ids, "k": pa.repeat("k", count), "x": pa.repeat(1.5, count)}
    pq.write_table(pa.table({**columns, "v": ids.cast(pa.string())}), tmp_path / "rows.parquet", row_group_size=50_000)
    hashes = []
    for form in ("Arrow", "several tasks"):
        data = dataset(polled, kind, tmp_path / form)
        data.slice_records = 150_000
        with monkeypatch.context() as only:
            force(only, form)
            (new,) = data.poll(tmp_path / "rows.parquet", kind="Parquet").slices
        hashes.append([(one.logical_hash, one.offset_interval.start, one.offset_interval.end) for one in new])
    assert hashes[0] == hashes[1]
    assert [ends for _, *ends in hashes[1]] == [[0, 149_999], [150_000, 299_999], [300_000, 399_999]]
