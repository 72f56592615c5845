"""Event times of pushed data whose types nobody declared, and media types of files, through the engine."""

import pytest

from airflow_provider_odf.chain.record_rows import tail_rows
from airflow_provider_odf.cycle.push import Push
from airflow_provider_odf.cycle.run import run_push
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from tests.manifests import pushed

from .conftest import cycle_of

pytestmark = pytest.mark.spark

DECLARED = """\
    - kind: SetDataSchema
      schema:
        fields:
          - {name: offset, type: Int64}
          - {name: op, type: Int32}
          - {name: system_time, type: Timestamp}
          - {name: event_time, type: Timestamp}
          - {name: city, type: {kind: Option, inner: String}}
          - {name: population, type: {kind: Option, inner: Int64}}
"""
TIME = Instant.parse("2026-05-09T00:00:00Z")


@pytest.fixture
def push(store, engine, write):
    """Pushes a text as a file, or records, into the dataset of a read step."""

    def push(name, read, given, more="", file="in.txt", **options):
        loaded = load([write(f"{name}.yaml", pushed(name, read) + more)])
        assert loaded.problems == ()
        apply(store, loaded.manifests[0], TIME)
        what = {"uris": (str(write(file, given)),)} if isinstance(given, str) else {"records": given}
        return str(run_push(cycle_of(store, name, engine, TIME), Push(**what, **options)))

    return push


@pytest.fixture
def rows(store):
    return lambda name, *columns: [tuple(r[c] for c in columns) for r in tail_rows(store.dataset(name), 100)]


def test_the_event_time_keeps_its_type_without_a_schema(push, rows):
    json = "{kind: NdJson}"
    push("a", json, [{"event_time": "2024-05-02T10:00:00+02:00", "v": 1}])
    push("a", json, [{"event_time": 1714637100123, "v": 2}, {"event_time": None, "v": 3}])
    push("a", json, [{"v": 4}])
    assert rows("a", "event_time", "v") == [
        ("2024-05-02T08:00:00Z", 1),
        ("2024-05-02T08:05:00.123Z", 2),
        ("2026-05-09T00:00:00Z", 3),
        ("2026-05-09T00:00:00Z", 4),
    ]
    refused = push("a", json, [{"event_time": "noon", "v": 5}])
    assert "line 1, column event_time: 'noon' is not a TIMESTAMP" in refused


def test_a_declared_data_schema_gives_the_type(push, rows):
    assert "published" in push("b", "{kind: NdJson}", [{"event_time": 1714637100123, "city": "A"}], DECLARED)
    assert rows("b", "event_time", "city", "population") == [("2024-05-02T08:05:00.123Z", "A", None)]


def test_an_undeclared_event_time_that_is_no_time_is_refused(push):
    text = push("c", "{kind: Csv, header: true}", "event_time,v\n2024-05-02,1\nnoon,2\n")
    assert "column event_time: 'noon' is not an RFC 3339 time such as 2024-05-02T08:00:00Z" in text
    number = push("c", "{kind: NdJson}", [{"event_time": 1714637100, "v": 1}])
    assert "event time column event_time must be DATE or TIMESTAMP, not BIGINT" in number
    assert "`timestamp_seconds(event_time)` for seconds, `timestamp_millis(event_time)` for milliseconds" in number
    assert "column op has the name of a system column" in push("c", "{kind: NdJson}", [{"op": 1}])


def test_times_out_of_range_are_refused(push):
    read = "{kind: NdJson, schema: [event_time TIMESTAMP, v BIGINT]}"
    assert (
        "line 1, column event_time: '1700000000000000' is not a TIMESTAMP: a number must be whole milliseconds"
        in push("d", read, [{"event_time": 1700000000000000, "v": 1}])
    )
    preprocess = (
        "\n      preprocess: {kind: Sql, engine: spark, query: select timestamp_millis(t) as event_time from input}"
    )
    read = "{kind: NdJson, schema: [t BIGINT]}" + preprocess
    message = push("e", read, [{"t": 1700000000000000}])
    assert "column event_time: +55840-11-08 22:13:20 is outside the years 1 to 9999" in message


def test_files_of_other_formats(push, rows):
    read = "{kind: NdJson, timestampFormat: '%d.%m.%y %H:%M', schema: [event_time TIMESTAMP, v BIGINT]}"
    csv = "v,event_time\n1,02.05.99 08:00\n"
    assert "set the media type to 'text/csv; header=present'" in push("f", read, csv, file="in.csv")
    assert "published 1 record" in push("f", read, csv, file="in.csv", media_type="text/csv; header=present")
    assert "published 1 record" in push(
        "f", read, '[{"v": 2, "event_time": "02.05.24 08:00"}]', media_type="application/json"
    )
    assert "published 1 record" in push("f", read, '{"v": 3, "event_time": "02.05.24 08:00"}\n', file="in.json")
    assert rows("f", "event_time", "v") == [
        ("1999-05-02T08:00:00Z", 1),
        ("2024-05-02T08:00:00Z", 2),
        ("2024-05-02T08:00:00Z", 3),
    ]
