"""Exported tables as DuckDB and Spark read them, which share no code with their writers."""

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.manifest import model
from airflow_provider_odf.reading import delta
from airflow_provider_odf.reading.store import PublishedStore

from .test_tables import KEPT

pytestmark = pytest.mark.tables

DAY = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def history(grow, store, monkeypatch):
    """The rows of a history in both formats, with every type that these have, and a column that came later."""
    columns = [pa.field("id", pa.int64()), *(pa.field(name, kind) for name, (kind, _) in KEPT.items())]
    growing = grow("kinds", model.MergeStrategySnapshot(primary_key=("id",)), columns)
    values = [value for _, value in KEPT.values()]
    growing.add(("+A", 1, *values), ("+A", 2, *[None] * len(values)), event_times=[DAY, DAY + timedelta(days=1)])
    dataset = PublishedStore(store)["kinds"]
    kept = growing.dataset.head()
    growing.add(("+A", 9, *values))  # a record that a rewritten history has no more
    monkeypatch.setattr(delta, "_CHECKPOINT", 2)
    for _ in range(2):
        for form in ("iceberg", "delta"):
            dataset.export_tables(form)
        growing.dataset.storage.compare_and_set_ref("head", growing.dataset.head(), kept)
    growing.draft = Draft(growing.dataset, replay(growing.dataset))
    growing.schema = growing.schema.append(pa.field("later", pa.string()))
    growing.append(schema.set_data_schema(growing.schema))
    times = [DAY + timedelta(days=2)] * 2
    growing.add(("-R", 1, *values, None), ("+A", 3, *values, "new"), event_times=times)
    for form in ("iceberg", "delta"):
        dataset.export_tables(form, current=True)
    grow("plain").add(("+A", 1, "one"), ("+A", 2, "two"))  # Iceberg reads nested columns by another reader
    PublishedStore(store)["plain"].export_tables("iceberg")
    PublishedStore(store)["plain"].export_tables("delta")
    return dataset


@pytest.mark.parametrize("reader", ["duckdb", "spark"])
def test_rows_of_other_readers(reader, history, store, tmp_path):
    where = {
        "all": "true",
        "offset": "{offset} > 1",
        "price": "price < 0",
        "time": "event_time >= TIMESTAMP '2026-05-02 00:00:00Z'",
        "same time": "event_time = TIMESTAMP '2026-05-03 00:00:00Z'",
        "exact": "exact < TIMESTAMP '1970-01-01 00:00:00Z'",
    }
    if reader == "duckdb":
        where = {name: condition.replace("TIMESTAMP '", "TIMESTAMPTZ '") for name, condition in where.items()}
    queries = {}
    for form in ("iceberg", "delta"):
        for name, condition in where.items():
            if (form, reader) == ("iceberg", "spark"):  # as the how-to says: apache/iceberg#18173
                condition = condition.replace("event_time", "unix_millis(event_time)")
                condition = condition.replace("TIMESTAMP '2026-05-02 00:00:00Z'", "1777680000000")
                condition = condition.replace("TIMESTAMP '2026-05-03 00:00:00Z'", "1777766400000")
            quoted = '"offset"' if reader == "duckdb" else "`offset`"
            condition = condition.format(offset=quoted)
            queries[f"{form} {name}"] = f"SELECT * FROM {form}_kinds WHERE {condition} ORDER BY {quoted}"
        queries[f"{form} plain"] = f"SELECT * FROM {form}_plain ORDER BY id"
        queries[f"{form} current"] = f"SELECT * FROM {form}_kinds_current ORDER BY id"
    if reader == "spark":
        table = f"delta.`{store.location}/.tables/delta/odf/kinds`"
        queries |= {sql: f"{sql} {table}" for sql in ("DELETE FROM", "OPTIMIZE", "VACUUM")}
        queries["LITE"] = f"VACUUM {table} LITE"
    environment = Path(os.environ["ODF_TABLE_READERS"])
    files = {str(tmp_path / name): query for name, query in queries.items()}
    program = [environment / "bin/python", Path(__file__).with_name("table_readers.py"), reader]
    done = subprocess.run(
        [*program, f"{store.location}/.tables", json.dumps(files)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]

    rows, current = history.history().to_table(), history.current().to_table()
    plain = PublishedStore(store)["plain"].history().to_table()

    def read(name, expected):
        with pa.ipc.open_file(tmp_path / name) as file:
            return file.read_all().select(expected.schema.names).cast(expected.schema).to_pylist()

    chosen = {"all": [0, 1, 2, 3], "offset": [2, 3], "price": [0, 2, 3], "time": [1, 2, 3], "same time": [2, 3]}
    for form in ("iceberg", "delta"):
        for name, offsets in {**chosen, "exact": [0, 2, 3]}.items():
            assert (form, name, read(f"{form} {name}", rows)) == (form, name, rows.take(offsets).to_pylist())
        assert (form, read(f"{form} plain", plain)) == (form, plain.to_pylist())
        assert (form, read(f"{form} current", current)) == (form, current.sort_by("id").to_pylist())
    for refused in queries.keys() & {"DELETE FROM", "OPTIMIZE", "VACUUM", "LITE"}:
        with pa.ipc.open_file(tmp_path / refused) as file:
            assert "requires writer table feature(s)" in file.read_all()["error"][0].as_py()
    assert rows["later"].to_pylist() == [None, None, None, "new"]
    assert sorted(current["id"].to_pylist()) == [2, 3]
