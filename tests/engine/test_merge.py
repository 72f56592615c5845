"""Merge requests from raw files to slices, on real Spark."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import SparkRuntimeException

from airflow_provider_odf.engine import files, merge_target, schema
from airflow_provider_odf.errors import InternalError, InvalidQuery
from airflow_provider_odf.logical_hash import logical_hash
from airflow_provider_odf.protocol import Check, Contract, DatasetVocabulary, SqlQueryStep, Transform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Make = Callable[..., Any]
CITIES = "country STRING; city STRING; population BIGINT"


def _city(country: str, city: str, population: int | None) -> dict[str, Any]:
    return {"country": country, "city": city, "population": population}


def _sql(*queries: str) -> Transform:
    return Transform("spark", tuple(SqlQueryStep(q) for q in queries))


VANCOUVER, SEATTLE, KYIV = _city("CA", "Vancouver", 2581000), _city("US", "Seattle", 3433000), _city("UA", "Kyiv", 1)


@pytest.fixture(params=["small", "large"])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both forms of a merge, on the same few rows."""
    if request.param == "large":
        monkeypatch.setattr(files, "SMALL", -1)
    return request.param


def test_snapshot_as_the_specification_shows_it(polled: Make, form: str) -> None:
    data = polled(CITIES, "Snapshot", "country", "city")
    first = data.poll([VANCOUVER, SEATTLE])
    assert data.records("event_time", "country", "city", "population") == [
        ("+A", "2024-04-01T00:00:00+00:00", "CA", "Vancouver", 2581000),
        ("+A", "2024-04-01T00:00:00+00:00", "US", "Seattle", 3433000),
    ]
    second = data.poll([_city("CA", "Vancouver", 2606000), KYIV])
    assert data.records("offset", "system_time", "event_time", "city", "population", last=4) == [
        ("-C", 2, "2024-05-02T10:00:00.123000+00:00", "2024-04-01T00:00:00+00:00", "Vancouver", 2581000),
        ("+C", 3, "2024-05-02T10:00:00.123000+00:00", "2024-04-02T00:00:00+00:00", "Vancouver", 2606000),
        ("+A", 4, "2024-05-02T10:00:00.123000+00:00", "2024-04-02T00:00:00+00:00", "Kyiv", 1),
        ("-R", 5, "2024-05-02T10:00:00.123000+00:00", "2024-04-01T00:00:00+00:00", "Seattle", 3433000),
    ]
    assert [s.offset_interval.start for s in (*first.slices, *second.slices)] == [0, 2]
    assert second.slices[0].newest_event_time == "2024-04-02T00:00:00Z"
    assert data.poll([KYIV, _city("CA", "Vancouver", 2606000)]).slices == (None,)


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
    assert data.poll(old).slices == (None,)


def test_append_takes_all(polled: Make, form: str) -> None:
    data = polled(CITIES, "Append")
    data.poll([SEATTLE, VANCOUVER])
    data.poll([SEATTLE, SEATTLE])
    assert data.records("city") == [("+A", "Seattle"), ("+A", "Vancouver"), ("+A", "Seattle"), ("+A", "Seattle")]


def test_both_forms_write_the_same_bytes(polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [_city("é漢zZ"[i % 4], f"city {i % 7}", i) for i in range(50)]
    hashes = []
    for limit in (files.SMALL, -1):
        monkeypatch.setattr(files, "SMALL", limit)
        data = polled(CITIES, "Snapshot", "country", "city", "population", work=tmp_path / f"limit{limit}")
        hashes.append([data.poll(rows).slices[0], data.poll(rows[10:]).slices[0]])
    assert [(s.physical_hash, s.logical_hash, s.size) for s in hashes[0]] == [
        (s.physical_hash, s.logical_hash, s.size) for s in hashes[1]
    ]


def test_a_slice_is_what_the_answer_says(polled: Make, form: str) -> None:
    data = polled(CITIES, "Append")
    (new,) = data.poll([SEATTLE, VANCOUVER]).slices
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


def test_renamed_system_columns_and_times_cut_to_milliseconds(polled: Make) -> None:
    vocab = DatasetVocabulary("seq", "change", "recorded", "Measured")
    data = polled("measured TIMESTAMP; x BIGINT; seen TIMESTAMP", "Ledger", "measured", vocab=vocab)
    row = {"measured": "2024-01-01T00:00:00.1239Z", "x": 1, "seen": "1969-12-31T23:59:59.9999Z"}
    data.poll([row])
    assert data.table().schema.names == ["seq", "change", "recorded", "Measured", "x", "seen"]
    assert data.records("Measured", "seen") == [
        ("+A", "2024-01-01T00:00:00.123000+00:00", "1969-12-31T23:59:59.999000+00:00")
    ]
    assert data.poll([row]).slices == (None,)


def test_event_times_that_are_missing_are_the_sources(polled: Make, form: str) -> None:
    data = polled("event_time TIMESTAMP; k BIGINT", "Snapshot", "k")
    data.poll([{"k": 1, "event_time": "2024-04-03T00:00:00Z"}, {"k": 2}])
    data.poll([{"k": 1}, {"k": 2}])
    data.poll([{"k": 1, "event_time": "2024-04-04T00:00:00Z"}])
    assert [(op, k, time[:10]) for op, k, time in data.records("k", "event_time")] == [
        ("+A", 1, "2024-04-03"),
        ("+A", 2, "2024-04-01"),
        ("-C", 1, "2024-04-03"),
        ("+C", 1, "2024-04-04"),
        ("-R", 2, "2024-04-01"),
    ]


def test_append_sorts_by_event_time_then_input_order(polled: Make, form: str) -> None:
    data = polled("event_time DATE; k BIGINT", "Append")
    times = ["2024-04-02", "2024-03-31", None, "2024-03-31", "2024-04-01"]
    new = data.poll([{"event_time": t, "k": k} for k, t in enumerate(times)]).slices[0]
    assert data.records("event_time", "k") == [
        ("+A", "2024-03-31", 1),
        ("+A", "2024-03-31", 3),
        ("+A", "2024-04-01", 2),
        ("+A", "2024-04-01", 4),
        ("+A", "2024-04-02", 0),
    ]
    assert new.newest_event_time == "2024-04-02T00:00:00Z"


@pytest.mark.parametrize("kind", ["Snapshot", "Ledger"])
def test_equal_rows_count_once(polled: Make, form: str, kind: str) -> None:
    data = polled(CITIES, kind, "city")
    first = data.poll([SEATTLE, VANCOUVER, SEATTLE, SEATTLE])
    assert sorted(data.records("city")) == [("+A", "Seattle"), ("+A", "Vancouver")]
    assert first.notices == ("poll-1-0.json: dropped 2 duplicate rows",)
    assert data.poll([SEATTLE, SEATTLE, VANCOUVER]).slices == (None,)
    assert len(list((data.work / "data").iterdir())) == 1


@pytest.mark.parametrize("kind", ["Snapshot", "Ledger"])
def test_different_rows_of_one_key_are_refused(polled: Make, form: str, kind: str) -> None:
    data = polled(CITIES, kind, "country", "city")
    with pytest.raises(
        InvalidQuery, match=r"poll-1-0\.json: rows with the same primary key differ: \(country=US, city=Se"
    ):
        data.poll([SEATTLE, VANCOUVER, {**SEATTLE, "population": 1}])
    assert list((data.work / "data").glob("*")) == []


@pytest.mark.parametrize("kind", ["Ledger", "Snapshot"])
def test_zero_is_one_key_whatever_its_sign(polled: Make, form: str, kind: str) -> None:
    data = polled("k DOUBLE; v STRING", kind, "k")
    with pytest.raises(InvalidQuery, match=r"rows with the same primary key differ: \(k=-?0\.0"):
        data.poll([{"k": 0.0, "v": "a"}, {"k": -0.0, "v": "b"}])
    with pytest.raises(InvalidQuery, match=r"poll-2-1\.json: rows with the same primary key differ: .k=-?0.0"):
        data.poll([{"k": 1.0, "v": "a"}], [{"k": 0.0, "v": "a"}, {"k": -0.0, "v": "b"}])


def test_different_rows_of_a_known_key_are_refused_also_if_one_is_the_known_row(polled: Make, form: str) -> None:
    data = polled(CITIES, "Snapshot", "city")
    data.poll([SEATTLE])
    with pytest.raises(InvalidQuery, match=r"\(city=Seattle\)"):
        data.poll([SEATTLE, {**SEATTLE, "population": 1}])


def test_copies_among_many_rows_are_found_by_counting(
    polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "SMALL", -1)

    def parquet(*rows: tuple[int, int]) -> Path:
        file = tmp_path / "input.parquet"
        pq.write_table(pa.table({"k": [k for k, _ in rows], "v": [v for _, v in rows]}), file)
        return file

    data = polled("", "Snapshot", "k")
    assert data.poll(parquet((1, 1), (2, 2), (2, 2)), kind="Parquet").notices != ()
    assert data.poll(parquet((1, 1), (2, 2), (2, 2)), kind="Parquet").slices == (None,)
    data.poll(parquet((2, 3), (3, 3), (3, 3)), kind="Parquet")
    assert data.records("k", "v") == [
        *[("+A", 1, 1), ("+A", 2, 2)],
        *[("-R", 1, 1), ("-C", 2, 2), ("+C", 2, 3), ("+A", 3, 3)],
    ]
    for rows, key in (([(2, 3), (2, 4), (3, 3)], 2), ([(2, 3), (3, 3), (4, 1), (4, 2)], 4), ([(2, 3), (2, 4)], 2)):
        with pytest.raises(InvalidQuery, match=f"rows with the same primary key differ: .k={key}"):
            data.poll(parquet(*rows), kind="Parquet")


def test_a_folder_of_parquet_is_one_input(polled: Make, form: str, tmp_path: Path) -> None:
    folder = tmp_path / "typed"
    folder.mkdir()
    for part, rows in enumerate(([(1, 1), (2, 2)], [(2, 2), (3, 3)])):
        table = pa.table({"k": [k for k, _ in rows], "v": [v for _, v in rows]})
        pq.write_table(table, folder / f"part-{part}.parquet")
    data = polled("", "Snapshot", "k")
    data.poll(folder, kind="Parquet")
    assert data.records("k", "v") == [("+A", 1, 1), ("+A", 2, 2), ("+A", 3, 3)]


@pytest.mark.parametrize("kind", ["ChangelogStream", "UpsertStream"])
def test_the_operation_is_no_key(polled: Make, kind: str) -> None:
    data = polled("op INT; k BIGINT", kind, "op")
    with pytest.raises(InvalidQuery, match="column op is not in the data"):
        data.poll([{"op": 0, "k": 1}])


@pytest.mark.parametrize("kind", ["Snapshot", "Ledger", "UpsertStream"])
def test_null_keys_are_refused(polled: Make, form: str, kind: str) -> None:
    data = polled(CITIES, kind, "country", "city")
    message = (
        r"poll-1-0\.json: the primary key column city is null in (1 row|2 rows), such as \(.*country=US, city=None, pop"
    )
    with pytest.raises(InvalidQuery, match=message):
        data.poll([SEATTLE, {"country": "US", "population": 5}, {"country": "US", "population": 5}])
    assert list((data.work / "data").glob("*")) == []


def test_columns_declared_not_null_are_required(polled: Make, form: str) -> None:
    data = polled("k BIGINT NOT NULL; v STRING", "Append")
    data.poll([{"k": 1}])
    assert [f.nullable for f in data.table().schema] == [False] * 5 + [True]


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
        ([(2, 1, 10)], "needs both its -C and its \\+C"),
        ([(3, 1, 10), (0, 0, 1)], "needs both its -C and its \\+C"),
        ([(4, 1, 10)], "an operation is not one of"),
        ([(None, 1, 10)], "an operation is not one of"),
    ):
        with pytest.raises((InvalidQuery, SparkRuntimeException), match=message):
            data.poll([{"op": op, "event_time": time, "k": k, "v": v} for op, k, v in bad])
    fractional = polled("op DOUBLE; k BIGINT", "ChangelogStream", "k")
    with pytest.raises(InvalidQuery, match="column op has operations as DOUBLE"):
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
    got = [s and (s.offset_interval.start, s.offset_interval.end) for s in success.slices]
    assert got == [e and e[:2] for e in expected]
    values = "".join(v for _, v in data.records("v")[1:])
    assert values == "".join(e[2] for e in expected if e)


def test_preprocess(polled: Make) -> None:
    sql = _sql("SELECT upper(city) AS city, sum(population) AS people FROM input GROUP BY city")
    data = polled(CITIES, "Snapshot", "CITY", preprocess=sql)
    data.poll([SEATTLE, VANCOUVER, SEATTLE])
    assert data.records("city", "people") == [("+A", "SEATTLE", 6866000), ("+A", "VANCOUVER", 2581000)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1 AS offset, city FROM input", "column offset has the name of a system column"),
        (
            "SELECT city, 1 AS System_Time FROM input",
            "before the first data rename the system column by SetVocab.systemTimeColumn",
        ),
        ("SELECT city, 1 AS op FROM input", "`op AS op_1`"),
        ("SELECT city, 1 AS a, 2 AS A FROM input", "columns A, a have the same name, ignoring case"),
        (
            "SELECT city, 2019 AS event_time FROM input",
            "event time event_time must be DATE or TIMESTAMP, not INT",
        ),
        (
            "SELECT country FROM input",
            "Snapshot.primaryKey: column city is not in the data: known: country, event_time",
        ),
        ("SELECT array(1) AS city FROM input", "city is a list or a struct, which cannot be a key"),
        ("SELECT city, map('a', 1) AS tags FROM input", "column tags is of type map.*`element_at\\(tags, 'key'\\)"),
        ("SELECT city, array(struct(1 AS a)) AS l FROM input", "column l is a list of structs.*`to_json\\(l\\) AS l`"),
        ("SELECT city, NULL AS n FROM input", "column n is of type void.*`cast\\(n AS STRING\\) AS n`"),
        ("SELECT city, struct(map('a', 1) AS m) AS s FROM input", "column s.m is of type map"),
        ("SELECT city, INTERVAL '1' DAY AS i FROM input", "column i is of type interval day.*extract"),
    ],
)
def test_what_a_slice_cannot_hold(polled: Make, query: str, message: str) -> None:
    data = polled(CITIES, "Snapshot", "city", preprocess=_sql(query))
    with pytest.raises(InvalidQuery, match=message):
        data.poll([SEATTLE])
    assert not (data.work / "data").exists()


def test_every_type_that_a_slice_can_hold(polled: Make, form: str) -> None:
    query = """SELECT k, CAST(1 AS TINYINT) AS i8, CAST(2 AS SMALLINT) AS i16, 3 AS i32, CAST(1.5 AS FLOAT) AS f32,
        CAST(2.5 AS DOUBLE) AS f64, true AS flag, DATE'2024-01-02' AS day, CAST(1.25 AS DECIMAL(9, 2)) AS price,
        CAST(1 AS DECIMAL(38, 6)) AS big, X'00FF' AS blob, array('a', NULL) AS words, array(array(1L)) AS deep,
        TIMESTAMP_NTZ'2024-01-02 03:04:05.678901' AS naive, named_struct('x', 1, 'y', array(2)) AS pair,
        CAST(NULL AS STRUCT<x: INT>) AS nothing, TIME'01:02:03.000004' AS clock, array(DATE'2024-01-01') AS days
        FROM input"""
    data = polled("k BIGINT", "Snapshot", "k", preprocess=_sql(query))
    data.poll([{"k": 1}])
    expected = pa.schema(
        [
            ("k", pa.int64()), ("i8", pa.int8()), ("i16", pa.int16()), ("i32", pa.int32()), ("f32", pa.float32()),
            ("f64", pa.float64()), ("flag", pa.bool_()), ("day", pa.date32()), ("price", pa.decimal128(9, 2)),
            ("big", pa.decimal128(38, 6)), ("blob", pa.binary()), ("words", pa.list_(pa.string())),
            ("deep", pa.list_(pa.list_(pa.int64()))), ("naive", pa.timestamp("ms", "UTC")),
            ("pair", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.int32()))])),
            ("nothing", pa.struct([("x", pa.int32())])), ("clock", pa.time64("us")), ("days", pa.list_(pa.date32())),
        ]
    )  # fmt: skip
    table = data.table()
    assert table.select(expected.names).cast(expected).schema.equals(expected)
    assert [str(f.type) for f in table.schema][4:] == [str(f.type).replace("<item:", "<element:") for f in expected]
    assert table["naive"].to_pylist() == [dt.datetime(2024, 1, 2, 3, 4, 5, 678000, dt.timezone.utc)]
    assert table["words"].to_pylist() == [["a", None]]
    assert data.poll([{"k": 1}]).slices == (None,)
    assert [op for op, _ in (data.poll([{"k": 2}]), data.records("k"))[1]] == ["+A", "-R", "+A"]


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
    assert [str(t) for t in pq.read_schema(success.slices[0].path).types[4:]] == ["uint32", "uint16", "string"]
    with pytest.raises(InvalidQuery, match="column n, which is NOT NULL"):
        data.poll([{"k": 1}])


def test_inputs_without_records(polled: Make, tmp_path: Path) -> None:
    declared, inferred = polled("k BIGINT; v DATE", "Snapshot", "k"), polled("", "Append", work=tmp_path / "other")
    empty = declared.poll([])
    assert empty.slices == (None,)
    assert schema.decode(empty.schema).names == ["offset", "op", "system_time", "event_time", "k", "v"]
    assert inferred.poll([]).slices == (None,)
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
    with pytest.raises(InternalError, match=r"cannot write a slice into .*/data: .*File exists"):
        data.poll([{"k": 1}])


def test_requests_run_at_once_in_one_session(polled: Make, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    sql = _sql("SELECT k + 1 AS k FROM input")
    all_data = [polled("k BIGINT", "Ledger", "k", work=tmp_path / str(i), preprocess=sql) for i in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: all_data[i].poll([{"k": i}, {"k": i + 10}]), range(4)))
    assert [d.records("k") for d in all_data] == [[("+A", i + 1), ("+A", i + 11)] for i in range(4)]


def test_settings_stay_in_the_session_of_the_request(spark: SparkSession, polled: Make) -> None:
    before = {key: spark.conf.get(key) for key in merge_target.SMALL_SETTINGS}
    polled("k BIGINT", "Append").poll([{"k": 1}])
    assert {key: spark.conf.get(key) for key in merge_target.SMALL_SETTINGS} == before
