from __future__ import annotations

import pytest

from airflow_provider_odf.dialect.time_format import Reading, to_read, to_write


@pytest.mark.parametrize(
    ("chrono", "java", "texts"),
    [
        (
            "%Y/%m/%d %H:%M:%S%#z",
            "yyyy/M/d H:m:s[xxx][xx][x]",
            "[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}\\ [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}[+-][0-9]{2}(:?[0-9]{2})?",
        ),
        (
            "%FT%T%.f",
            "yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS]",
            "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?",
        ),
        (
            "%d %b %Y at %R",
            "d MMM yyyy 'at' HH:mm",
            "[0-9]{1,2}\\ [A-Za-z]{3,9}\\ [0-9]{4}\\ at\\ [0-9]{2}:[0-9]{2}",
        ),
        ("%Y%m%d%%", "yyyyMMdd%", "[0-9]{4}[0-9]{2}[0-9]{2}%"),
        (
            "%F o'clock %H [%M]",
            "yyyy-MM-dd 'o''clock' H '['m']'",
            "[0-9]{4}-[0-9]{2}-[0-9]{2}\\ o'clock\\ [0-9]{1,2}\\ \\[[0-9]{1,2}\\]",
        ),
    ],
)
def test_to_read(chrono: str, java: str, texts: str) -> None:
    assert to_read(chrono) == Reading(java, rf"\A{texts}\z")


@pytest.mark.parametrize("directive", ["%y", "%e", "%s", "%Z", "%f", "%j", "%Q", "%"])
def test_what_java_reads_differently_is_refused(directive: str) -> None:
    with pytest.raises(ValueError):
        to_read(f"%F {directive}")


@pytest.mark.parametrize(
    ("chrono", "message"),
    [
        ("%Y-%m", "needs year, month and day"),
        ("%H:%M", "needs year, month and day"),
        ("%F %H", "needs hour (%H, or %I with %p) and minute before anything finer, or no time"),
        ("%F %I:%M", "needs hour (%H, or %I with %p) and minute"),
        ("%F %R %p", "needs hour (%H, or %I with %p) and minute"),
        ("%F %R%.3f", "needs hour (%H, or %I with %p) and minute"),
        ("%F%z", "needs hour (%H, or %I with %p) and minute"),
        ("%F %d", "has a part twice"),
    ],
)
def test_a_date_is_whole_and_a_time_has_minutes(chrono: str, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        to_read(chrono)
    assert message in str(refused.value)


def test_to_write() -> None:
    assert to_write("%A %j %y %H:%M:%S%.3f") == "EEEE DDD yy HH:mm:ss.SSS"
    with pytest.raises(ValueError, match="%z in the time format has no exact form on Spark"):
        to_write("%z")
