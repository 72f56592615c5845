"""Merge requests from raw files to slices, on real Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import SparkRuntimeException

from airflow_provider_odf.engine import size_settings
from airflow_provider_odf.errors import InvalidQuery, StorageError
from airflow_provider_odf.protocol import Check, Contract, DatasetVocabulary
from airflow_provider_odf.records import files, schema
from airflow_provider_odf.records.logical_hash import logical_hash

from .cities import CITIES, KYIV, SEATTLE, VANCOUVER, city_row, sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Make = Callable[..., Any]


def test_snapshot_as_the_specification_shows_it(polled: Make, form: str) -> None:
    data = polled(CITIES, "Snapshot", "country", "city")
    first = data.poll([VANCOUVER, SEATTLE])
    assert data.records("event_time", "country", "city", "population") == [
        ("+A", "2024-04-01T00:00:00+00:00", "CA", "Vancouver", 2581000),
        ("+A", "2024-04-01T00:00:00+00:00", "US", "Seattle", 3433000),
    ]
    second = data.poll([city_row("CA", "Vancouver", 2606000), KYIV])
    assert data.records("offset", "system_time", "event_time", "city", "population", last=4) == [
        ("-C", 2, "2024-05-02T10:00:00.123000+00:00", "2024-04-01T00:00:00+00:00", "Vancouver", 2581000),
        ("+C", 3, "2024-05-02T10:00:00.123000+00:00", "2024-04-02T00:00:00+00:00", "Vancouver", 2606000),
        ("+A", 4, "2024-05-02T10:00:00.123000+00:00", "2024-04-02T00:00:00+00:00", "Kyiv", 1),
        ("-R", 5, "2024-05-02T10:00:00.123000+00:00", "2024-04-01T00:00:00+00:00", "Seattle", 3433000),
    ]
    assert [s.offset_interval.start for s in (*first.new_slices, *second.new_slices)] == [0, 2]
    assert second.new_slices[0].newest_event_time == "2024-04-02T00:00:00Z"
    assert data.poll([KYIV, city_row("CA", "Vancouver", 2606000)]).slices == ((),)


def test_ledger_takes_what_it_has_not_seen(polled: Make, form: str) -> None:
    data = polled("year DATE; " + CITIES, "Ledger", "year", "city", vocab=DatasetVocabulary(event_time_column="year"))
    old = [{"year": "2019-01-01", **VANCOUVER}, {"year": "2019-01-01", **SEATTLE}]
    data.poll(old)
    data.poll([{"year": "2021-01-01", **KYIV}, *old, {"year": "2020-01-01", **VANCOUVER, "population": 2606000}])
    assert data.records("year", "city", "population") == [
        ("+A", "2019-01-01", "Vancouver", 2581000),
        ("+A", "2019-01-01", "Seattle", 3433000),
        ("+A", "2020-01-01", "Vancouver", 2606000),
        ("+A", "2021-01-01", "Kyiv", 1),
    ]
    assert data.table().schema.field("year").type == pa.date32()
    assert data.poll(old).slices == ((),)


def test_append_takes_all(polled: Make, form: str) -> None:
    data = polled(CITIES, "Append")
    data.poll([SEATTLE, VANCOUVER])
    data.poll([SEATTLE, SEATTLE])
    assert data.records("city") == [("+A", "Seattle"), ("+A", "Vancouver"), ("+A", "Seattle"), ("+A", "Seattle")]


def test_both_forms_write_the_same_bytes(polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [city_row("é漢zZ"[i % 4], f"city {i % 7}", i) for i in range(50)]
    hashes = []
    for limit in (files.SMALL, -1):
        monkeypatch.setattr(files, "SMALL", limit)
        data = polled(CITIES, "Snapshot", "country", "city", "population", work=tmp_path / f"limit{limit}")
        hashes.append([data.poll(rows).new_slices[0], data.poll(rows[10:]).new_slices[0]])
    assert [(s.physical_hash, s.logical_hash, s.size) for s in hashes[0]] == [
        (s.physical_hash, s.logical_hash, s.size) for s in hashes[1]
    ]


def test_a_slice_is_what_the_answer_says(polled: Make, form: str) -> None:
    data = polled(CITIES, "Append")
    (new,) = data.poll([SEATTLE, VANCOUVER]).new_slices
    raw = Path(new.path).read_bytes()
    assert Path(new.path).name == new.physical_hash == "f1620" + hashlib.sha3_256(raw).hexdigest()
    assert (new.size, new.logical_hash) == (len(raw), logical_hash(new.path))
    assert [p.name for p in (data.work / "data").iterdir()] == [new.physical_hash]
    parquet = pq.ParquetFile(new.path)
    assert parquet.schema_arrow.equals(schema.decode(data.schema))
    assert [(f.name, str(f.type), f.nullable) for f in parquet.schema_arrow] == [
        ("offset", "int64", False),
        ("op", "int32", False),
        ("system_time", "timestamp[ms, tz=UTC]", False),
        ("event_time", "timestamp[ms, tz=UTC]", False),
        ("country", "string", True),
        ("city", "string", True),
        ("population", "int64", True),
    ]
    group = parquet.metadata.row_group(0)
    dictionary = [group.column(i).path_in_schema for i in range(7) if group.column(i).has_dictionary_page]
    assert dictionary == ["op", "system_time"]
    assert {group.column(i).compression for i in range(7)} == {"SNAPPY"}


def test_append_sorts_by_event_time_then_input_order(polled: Make, form: str) -> None:
    data = polled("event_time DATE; k BIGINT", "Append")
    times = ["2024-04-02", "2024-03-31", None, "2024-03-31", "2024-04-01"]
    new = data.poll([{"event_time": t, "k": k} for k, t in enumerate(times)]).new_slices[0]
    assert data.records("event_time", "k") == [
        ("+A", "2024-03-31", 1),
        ("+A", "2024-03-31", 3),
        ("+A", "2024-04-01", 2),
        ("+A", "2024-04-01", 4),
        ("+A", "2024-04-02", 0),
    ]
    assert new.newest_event_time == "2024-04-02T00:00:00Z"


def test_a_folder_of_parquet_is_one_input(polled: Make, form: str, tmp_path: Path) -> None:
    folder = tmp_path / "typed"
    folder.mkdir()
    for part, rows in enumerate(([(1, 1), (2, 2)], [(2, 2), (3, 3)])):
        table = pa.table({"k": [k for k, _ in rows], "v": [v for _, v in rows]})
        pq.write_table(table, folder / f"part-{part}.parquet")
    data = polled("", "Snapshot", "k")
    data.poll(folder, kind="Parquet")
    assert data.records("k", "v") == [("+A", 1, 1), ("+A", 2, 2), ("+A", 3, 3)]


def test_upsert_stream(polled: Make, form: str) -> None:
    data = polled("op STRING; k BIGINT; v BIGINT", "UpsertStream", "k")
    data.poll([{"op": "+A", "k": 2, "v": 1}, {"op": "+A", "k": 1, "v": 1}, {"op": "+C", "k": 1, "v": 2}])
    data.poll([{"op": "-R", "k": 2, "v": 9}, {"k": 1, "v": 2}, {"op": "-R", "k": 7}, {"k": 3, "v": 3}])
    assert data.records("k", "v") == [("+A", 1, 2), ("+A", 2, 1), ("-R", 2, 1), ("+A", 3, 3)]
    with pytest.raises(SparkRuntimeException, match=r"column op: an operation is not one of 0 \(\+A\), .*: R SQLSTATE"):
        data.poll([{"op": "R", "k": 1, "v": 3}])


def test_changelog_stream(polled: Make, form: str) -> None:
    data = polled("op INT; event_time TIMESTAMP; k BIGINT; v BIGINT", "ChangelogStream", "k")
    time = "2024-04-30T00:00:00Z"
    rows = [(3, 1, 11), (0, 2, 20), (2, 1, 10), (1, 3, 30)]
    data.poll([{"op": op, "event_time": time, "k": k, "v": v} for op, k, v in rows])
    assert data.records("k", "v") == [("-C", 1, 10), ("+C", 1, 11), ("+A", 2, 20), ("-R", 3, 30)]
    for bad, message in (
        ([(2, 1, 10)], "needs both -C and \\+C"),
        ([(3, 1, 10), (0, 0, 1)], "needs both -C and \\+C"),
        ([(4, 1, 10)], "an operation is not one of"),
        ([(None, 1, 10)], "an operation is not one of"),
    ):
        with pytest.raises((InvalidQuery, SparkRuntimeException), match=message):
            data.poll([{"op": op, "event_time": time, "k": k, "v": v} for op, k, v in bad])
    fractional = polled("op DOUBLE; k BIGINT", "ChangelogStream", "k")
    with pytest.raises(InvalidQuery, match="column op has operation codes of type DOUBLE"):
        fractional.poll([{"op": 0.5, "k": 1}])
    without = polled("k BIGINT", "ChangelogStream", "k")
    with pytest.raises(
        InvalidQuery, match="a ChangelogStream needs the column op, which is not in the data: add it, or name one of k"
    ):
        without.poll([{"k": 1}])


@pytest.mark.parametrize("kind", ["Append", "Ledger", "Snapshot"])
def test_several_inputs_are_several_slices(polled: Make, form: str, kind: str) -> None:
    data = polled("k BIGINT; v STRING", kind, "k")
    data.poll([{"k": 1, "v": "a"}])
    rows = [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}], [{"k": 2, "v": "b"}, {"k": 3, "v": "c"}], [{"k": 3, "v": "c"}]
    success = data.poll(*rows)
    expected = {
        "Append": [(1, 2, "ab"), (3, 4, "bc"), (5, 5, "c")],
        "Ledger": [(1, 1, "b"), (2, 2, "c"), None],
        "Snapshot": [(1, 1, "b"), (2, 3, "ac"), (4, 4, "b")],
    }[kind]
    got = [[(s.offset_interval.start, s.offset_interval.end) for s in new] for new in success.slices]
    assert got == [[e[:2]] if e else [] for e in expected]
    values = "".join(v for _, v in data.records("v")[1:])
    assert values == "".join(e[2] for e in expected if e)


def test_preprocess(polled: Make) -> None:
    transform = sql("SELECT upper(city) AS city, sum(population) AS people FROM input GROUP BY city")
    data = polled(CITIES, "Snapshot", "CITY", preprocess=transform)
    data.poll([SEATTLE, VANCOUVER, SEATTLE])
    assert data.records("city", "people") == [("+A", "SEATTLE", 6866000), ("+A", "VANCOUVER", 2581000)]


def test_a_dataset_of_another_writer_is_continued(polled: Make, form: str) -> None:
    """Stored views, unsigned numbers and required columns; what is written has the stored types, but plain strings."""
    data = polled("k BIGINT; n INT; t STRING", "Snapshot", "k")
    data.poll([{"k": 1, "n": 7, "t": "a"}])
    stored = data.table().schema
    for name, kind in (("k", pa.uint32()), ("n", pa.uint16()), ("t", pa.string_view())):
        stored = stored.set(stored.get_field_index(name), pa.field(name, kind, nullable=name != "n"))
    first = data.work / "first.parquet"
    pq.write_table(data.table().cast(stored).cast(schema.plain(stored)), first)
    data.history = (type(data.history[0])(str(first), data.history[0].offset_interval),)
    data.schema = schema.encode(stored)
    success = data.poll([{"k": 1, "n": 8, "t": "a"}])
    assert success.schema == schema.encode(stored)
    assert data.records("n", "t") == [("+A", 7, "a"), ("-C", 7, "a"), ("+C", 8, "a")]
    assert [str(t) for t in pq.read_schema(success.new_slices[0].path).types[4:]] == ["uint32", "uint16", "string"]
    with pytest.raises(InvalidQuery, match="column n, which is NOT NULL"):
        data.poll([{"k": 1}])


def test_inputs_without_records(polled: Make, tmp_path: Path) -> None:
    declared, inferred = polled("k BIGINT; v DATE", "Snapshot", "k"), polled("", "Append", work=tmp_path / "other")
    empty = declared.poll([])
    assert empty.slices == ((),)
    assert schema.decode(empty.schema).names == ["offset", "op", "system_time", "event_time", "k", "v"]
    assert inferred.poll([]).slices == ((),)
    assert inferred.schema is None
    declared.poll([{"k": 1}])
    assert declared.records("k") == [("+A", 1)]
    declared.poll([])
    assert declared.records("k") == [("+A", 1), ("-R", 1)]


def test_a_contract_is_tested_on_the_candidate(polled: Make) -> None:
    unique = Check("k/unique", "unique", "k is unique", field="k", columns=("k",), model="m")
    contract = Contract("c", "m", "0" * 64, (unique,))
    data = polled("k BIGINT", "Append", contract=contract)
    report = data.poll([{"k": 1}]).report
    assert (report.result, report.digest) == ("passed", "0" * 64)
    assert data.poll([{"k": 1}]).report.result == "failed"
    assert data.poll([]).report is None


def test_a_directory_that_cannot_be_written_is_an_error_that_may_pass(polled: Make, form: str) -> None:
    data = polled("k BIGINT", "Append")
    data.work.mkdir()
    (data.work / "data").write_text("in the way")
    with pytest.raises(StorageError, match=r"/data: File exists \(a file exists where a folder is expected"):
        data.poll([{"k": 1}])


def test_requests_run_at_once_in_one_session(polled: Make, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    transform = sql("SELECT k + 1 AS k FROM input")
    all_data = [polled("k BIGINT", "Ledger", "k", work=tmp_path / str(i), preprocess=transform) for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: all_data[i].poll([{"k": i}, {"k": i + 10}]), range(4)))
    assert [d.records("k") for d in all_data] == [[("+A", i + 1), ("+A", i + 11)] for i in range(4)]


def test_settings_stay_in_the_session_of_the_request(spark: SparkSession, polled: Make) -> None:
    before = {key: spark.conf.get(key) for key in size_settings.SMALL_SETTINGS}
    polled("k BIGINT", "Append").poll([{"k": 1}])
    assert {key: spark.conf.get(key) for key in size_settings.SMALL_SETTINGS} == before
