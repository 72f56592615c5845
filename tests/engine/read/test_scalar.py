"""strftime's formats mean the same in ``dateFormat``, ``timestampFormat``, ``eventTime.timestampFormat`` and Python."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

import pytest

from airflow_provider_odf.manifest import time_format
from airflow_provider_odf.manifest.time_format import java_pattern

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_UTC = dt.UTC
_PLUS = dt.timezone(dt.timedelta(hours=5, minutes=30))
MOMENTS = (
    dt.datetime(1969, 7, 4, 5, 6, 7, 120000),
    dt.datetime(1999, 2, 1, 0, 30, 0),
    dt.datetime(2000, 2, 29, 12, 0, 59),
    dt.datetime(2068, 12, 31, 23, 59, 58, 123456),
)
FORMATS = (
    "%Y-%m-%d", "%d/%m/%y", "%m/%d/%Y", "%D", "%F", "%Y%m%d", "%y%m%d", "%d %b %Y", "%d-%B-%y", "%h %d, %Y", "%Y-%j",
    "%y%j", "%Y-%m-%d %H:%M:%S", "%F %T", "%F %R", "%d.%m.%Y %I:%M %p", "%y%m%d%H%M%S", "%F %T.%f", "%F %T%z",
    "%Y-%m-%dT%H:%M:%S", "%FT%TZ", "%d%%%m%%%Y", "%F%n%T", "%F%t%T", "week of %F", "%I%p on %d.%m.%y", "%H%M on %D",
)  # fmt: skip
_CHRONO_ONLY = {"3f", "6f", "9f", ".f", ".3f", ".6f", ".9f", ":z", "#z", "a", "A"}
"""Not of Python; and names of days, which Spark does not read."""


def _texts(pattern: str) -> dict[str, dt.datetime]:
    """Texts of a format as Python writes them, with and without zeros before a number, and what Python reads."""
    plain = time_format.plain(pattern)
    texts = {}
    for moment in MOMENTS:
        written = moment.replace(tzinfo=_PLUS).strftime(plain)
        is_packed = re.search(r"%[A-Za-z]%[A-Za-oq-z]|%[yj]", plain)
        for text in {written, written if is_packed else re.sub(r"(?<![\d.])0(?=\d(?!\d))", "", written)}:
            read = dt.datetime.strptime(text, plain)
            texts[text] = read.astimezone(_UTC) if read.tzinfo else read.replace(tzinfo=_UTC)
    return texts


CASES = [(pattern, text, moment) for pattern in FORMATS for text, moment in _texts(pattern).items()]


@pytest.mark.spark
def test_readers_read_what_python_reads(spark: SparkSession) -> None:
    from pyspark.sql import types as st

    from airflow_provider_odf.engine.read.scalar import Formats, scalar
    from airflow_provider_odf.engine.sql import text

    columns = []
    for pattern, written, _ in CASES:
        java = java_pattern(pattern)
        for kind in (st.TimestampType(), st.DateType()):
            value = scalar(text(written), kind, Formats(date=java, timestamp=java, has_millis=False), "c")
            columns.append(f"CAST({value} AS STRING) AS c{len(columns)}")
    row = spark.range(1).selectExpr(*columns).first()
    assert row is not None
    found = {(p, t): (row[2 * i], row[2 * i + 1]) for i, (p, t, _) in enumerate(CASES)}
    assert found == {(p, t): (_spark_text(m), m.strftime("%Y-%m-%d")) for p, t, m in CASES}


def _spark_text(moment: dt.datetime) -> str:
    seconds = moment.strftime("%Y-%m-%d %H:%M:%S")
    return f"{seconds}.{moment.microsecond:06}".rstrip("0") if moment.microsecond else seconds


def test_event_times_are_what_python_reads() -> None:
    for pattern, text, moment in CASES:
        assert time_format.parse(text, pattern).to_datetime() == moment, (pattern, text)


def test_every_directive_is_compared() -> None:
    used = set(re.findall(r"%([A-Za-z%])", " ".join(FORMATS)))
    known = {*time_format._JAVA, *(name[1:] for name in time_format.COMPOSITES)}
    assert known - used == _CHRONO_ONLY
