"""Values do not depend on the machine: its language, time zone and encoding."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.runner import LocalRunner, SparkSubmitRunner
from airflow_provider_odf.runner.runner import Runner

pytestmark = pytest.mark.spark

TURKISH = "-Duser.language=tr -Duser.country=TR -Duser.timezone=Europe/Istanbul -Dfile.encoding=ISO-8859-9"
QUERY = """\
SELECT upper('title é') AS upper, lower('TITLE É') AS lower, initcap('izmir é') AS initcap,
       date_format(TIMESTAMP '2024-02-03 04:05:06', 'EEEE d MMMM a') AS date,
       CAST(make_interval(0, 0, 0, 1, 2, 3, 4.5) AS STRING) AS interval, format_number(A * 1234.5D, 2) AS number,
       CAST(timestamp_seconds(0) AS STRING) AS epoch, hex(B) AS bytes
FROM INPUT LIMIT 1"""


@pytest.mark.parametrize(
    "runner",
    [LocalRunner, pytest.param(lambda: SparkSubmitRunner("local[1]"), marks=pytest.mark.torture)],
    ids=["local", "spark-submit"],
)
def test_a_turkish_machine(runner: type[Runner], raw_query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", TURKISH)
    request = raw_query(QUERY)
    with runner() as started:
        started.submit(request).result(120)
    assert pq.read_table(request.output_data_path).to_pylist() == [
        {
            "upper": "TITLE É",
            "lower": "title é",
            "initcap": "Izmir É",
            "date": "Saturday 3 February AM",
            "interval": "1 days 2 hours 3 minutes 4.5 seconds",
            "number": "1,234.50",
            "epoch": "1970-01-01 00:00:00",
            "bytes": "78",
        }
    ]
