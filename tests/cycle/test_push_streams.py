"""What is pushed into the stream strategies, through the engine."""

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

CSV = (
    "{kind: Csv, header: true, timestampFormat: dd.MM.yyyy, "
    "schema: [op STRING, event_time TIMESTAMP, id BIGINT, v STRING]}"
)
JSON = "{kind: Json, subPath: rows, schema: [op INT, id BIGINT, v STRING]}"
TIME = Instant.parse("2026-05-09T00:00:00Z")


@pytest.fixture
def push(store, engine, write):
    """Pushes a text as a file, or records, into a dataset of that read step and strategy."""

    def push(read, merge, given):
        loaded = load([write("accounts.yaml", pushed("accounts", read, f"{{kind: {merge}, primaryKey: [id]}}"))])
        assert loaded.problems == ()
        apply(store, loaded.manifests[0], TIME)
        what = Push((str(write("in.txt", given)),)) if isinstance(given, str) else Push(records=given)
        return run_push(cycle_of(store, "accounts", engine, TIME), what)

    return push


@pytest.fixture
def rows(store):
    return lambda *columns: [tuple(r[c] for c in columns) for r in tail_rows(store.dataset("accounts"), 100)]


def test_a_changelog_names_its_operations(push, rows):
    text = """\
        op,event_time,id,v
        +A,01.05.2026,1,a
        +A,01.05.2026,2,b
        -C,02.05.2026,1,a
        +C,02.05.2026,1,c
        """
    assert str(push(CSV, "ChangelogStream", text)) == "published 4 records (offsets 0..3): 2 added, 1 corrected"
    assert str(push(CSV, "ChangelogStream", [{"op": "-R", "event_time": "03.05.2026", "id": 2, "v": "b"}])) == (
        "published 1 record (offsets 4..4): 1 removed"
    )
    assert rows("op", "event_time", "id", "v") == [
        ("+A", "2026-05-01T00:00:00Z", 1, "a"),
        ("-C", "2026-05-02T00:00:00Z", 1, "a"),
        ("+C", "2026-05-02T00:00:00Z", 1, "c"),
        ("+A", "2026-05-01T00:00:00Z", 2, "b"),
        ("-R", "2026-05-03T00:00:00Z", 2, "b"),
    ]


@pytest.mark.parametrize(
    ("op", "message"),
    [("A", "in.txt: column op: an operation is not one of 0 (+A), 1 (-R), 2 (-C), 3 (+C): A"), ("", ": null")],
)
def test_what_is_no_operation_is_refused(push, store, op, message):
    outcome = push(CSV, "ChangelogStream", f"op,event_time,id,v\n{op},01.05.2026,1,a\n")
    assert str(outcome).endswith(message)
    assert list(store.dataset("accounts").storage.refs()) == ["head"]


def test_an_upsert_takes_the_last_of_equal_keys_and_drops_unknown_retractions(push, rows):
    push(JSON, "UpsertStream", '{"rows": [{"id": 1, "v": "a"}, {"id": 1, "v": "b"}, {"id": 2}]}')
    push(JSON, "UpsertStream", [{"op": 1, "id": 1}, {"op": 1, "id": 9}, {"op": 0, "id": 2, "v": None}, {"id": 3}])
    assert rows("op", "id", "v", "event_time") == [
        ("+A", 1, "b", "2026-05-09T00:00:00Z"),
        ("+A", 2, None, "2026-05-09T00:00:00Z"),
        ("-R", 1, "b", "2026-05-09T00:00:00Z"),
        ("+A", 3, None, "2026-05-09T00:00:00Z"),
    ]
    assert "is not one of" in str(push(JSON, "UpsertStream", [{"op": 7, "id": 1}]))
    assert "primary key column id is null" in str(push(JSON, "UpsertStream", [{"v": "x"}]))


def test_equal_upserts_add_nothing(push):
    one = [{"id": 1, "v": "a"}]
    assert str(push(JSON, "UpsertStream", one)).startswith("published 1")
    assert str(push(JSON, "UpsertStream", one)) == "up to date: the same content was already pushed (block 3)"
    assert str(push(JSON, "UpsertStream", [*one, *one])) == "up to date"
