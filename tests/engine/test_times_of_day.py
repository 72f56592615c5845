"""A text with a time of day alone is not a time, since Spark would add the date of the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import DateTimeException

from airflow_provider_odf.protocol import MergeStrategy
from tests.engine.conftest import Polled
from tests.engine.transform.derived import Derived

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TEXTS = ("T10:30", "10:30:00", " \u0001T1", "1:2", "10:30Z", "2024-05-01", "2024-05-01 10:30", "x", None)


def polled(spark: SparkSession, folder: Path) -> Polled:
    notes = Polled(spark, folder, "event_time TIMESTAMP; n BIGINT; s STRING", MergeStrategy("Append"))
    notes.poll([{"event_time": "2024-05-01T00:00:00Z", "n": n, "s": s} for n, s in enumerate(TEXTS)])
    return notes


def test_times_of_day_are_null_where_the_query_allows_it(spark: SparkSession, tmp_path: Path) -> None:
    query = (
        "SELECT event_time, n, CAST(try_cast(s AS TIMESTAMP) AS STRING) AS a, "
        "CAST(try_to_timestamp(s) AS STRING) AS b, "
        "CAST((SELECT max(try_cast(s AS TIMESTAMP)) FROM notes) AS STRING) AS c FROM notes"
    )
    derived = Derived.of(spark, tmp_path / "d", query, notes=polled(spark, tmp_path / "notes"))
    derived.step()
    last = "2024-05-01 10:30:00"
    times = [None, None, None, None, None, "2024-05-01 00:00:00", last, None, None]
    assert sorted(row[1:] for row in derived.rows) == [(n, time, time, last) for n, time in enumerate(times)]


@pytest.mark.parametrize(
    "condition", ["CAST(s AS TIMESTAMP) > event_time", "to_timestamp(s) > event_time", "s > event_time"]
)
def test_times_of_day_are_errors_elsewhere(spark: SparkSession, tmp_path: Path, condition: str) -> None:
    query = f"SELECT event_time, n FROM notes WHERE n IN (1, 5) AND {condition}"
    derived = Derived.of(spark, tmp_path / "d", query, notes=polled(spark, tmp_path / "notes"))
    with pytest.raises(DateTimeException, match="The value 'time of day without a date: 10:30:00'"):
        derived.step()
