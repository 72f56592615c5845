"""``odf completeness``, and the same in Python: rows by period, and what is usual."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.reading.store import open_store
from tests.chain.conftest import Growing

ODF = Path(sys.executable).with_name("odf")
MONDAY = datetime(2024, 3, 4, 6, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


@pytest.fixture
def numbers(store):
    """Four Mondays of five rows, a fifth with none and a late one of the week before, and a sixth with two rows."""
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    growing = Growing(store.create(DatasetAlias.parse("numbers")), model.MergeStrategyAppend(), columns)
    for week, rows in ((0, 5), (1, 5), (2, 5), (3, 5), (5, 2)):
        time = MONDAY + timedelta(weeks=week)
        growing.add(
            *[("+A", n, "x") for n in range(rows)],
            event_times=[time] * rows,
            watermark=Instant.from_datetime(time + timedelta(days=1 if week < 5 else 0)),
        )
    late = MONDAY + timedelta(weeks=3)
    growing.add(("+A", 9, "late"), event_times=[late], watermark=growing.draft.state.watermark)
    return growing


def test_periods_in_a_table(numbers, store):
    done = subprocess.run(
        [ODF, "completeness", "numbers", "--store", store.location, "-n", "15", "--format", "csv"],
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "start,rows,usual,answer,late",
        "2024-03-25T00:00Z,6,5.0,complete,1",
        "2024-03-26T00:00Z,0,0.0,as usual,0",
    ]
    assert lines[8] == "2024-04-01T00:00Z,0,5.0,gap,0"
    assert lines[15] == "2024-04-08T00:00Z,2,5.0,few,0"
    assert len(lines) == 16


def test_periods_in_python(numbers, store):
    dataset = open_store(store.location)["numbers"]
    periods = dataset.completeness(by="month").to_pylist()
    march, april = datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC)
    assert periods == [
        {"start": march, "rows": 21, "usual": None, "answer": "unknown", "late": 1},
        {"start": april, "rows": 2, "usual": None, "answer": "open", "late": 0},
    ]
    [day] = dataset.completeness(of="publication", by="day").to_pylist()
    assert (day["rows"], day["late"]) == (23, 0)
    assert dataset.completeness(by="day", n=1).to_pydict()["start"] == [MONDAY.replace(hour=0) + timedelta(weeks=5)]
    for wrong, message in (({"by": "week"}, "by is hour, day, month, not 'week'"), ({"of": "x"}, "of is event")):
        with pytest.raises(InvalidInput, match=message):
            dataset.completeness(**wrong)


def test_nothing_yet(store):
    columns = (pa.field("id", pa.int64()), pa.field("value", pa.string()))
    Growing(store.create(DatasetAlias.parse("empty")), model.MergeStrategyAppend(), columns)
    assert open_store(store.location)["empty"].completeness().num_rows == 0
