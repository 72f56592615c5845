"""The settings of sessions."""

from __future__ import annotations

import datetime as dt
import os

import pytest

UTC = dt.UTC


@pytest.mark.spark
def test_times_are_utc_whatever_the_zone_of_the_machine(spark) -> None:
    assert os.environ["TZ"] == "America/St_Johns"
    table = spark.sql("SELECT TIMESTAMP '2024-01-01 00:00:00' AS t, current_timezone() AS zone").toArrow()
    assert table.to_pylist() == [{"t": dt.datetime(2024, 1, 1, tzinfo=UTC), "zone": "UTC"}]


@pytest.mark.spark
def test_settings_hold_in_the_session_of_each_request(spark) -> None:
    conf = spark.newSession().conf
    assert conf.get("spark.sql.ansi.enabled") == "true"
    assert conf.get("spark.sql.session.timeZone") == "UTC"
    assert conf.get("spark.sql.parquet.outputTimestampType") == "TIMESTAMP_MILLIS"
    assert conf.get("spark.sql.catalogImplementation") == "in-memory"


@pytest.mark.spark
def test_errors_are_not_printed(spark, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Exception, match="cannot be found"):
        spark.sql("SELECT * FROM nowhere")
    with pytest.raises(Exception, match="Division by zero"):
        spark.sql("SELECT 1 / id FROM range(1)").collect()
    assert capfd.readouterr() == ("", "")
