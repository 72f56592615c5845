from __future__ import annotations

import pytest

from airflow_provider_odf.manifest.time_format import java_pattern


@pytest.mark.parametrize(
    ("pattern", "java"),
    [
        ("rfc3339", "rfc3339"),
        ("RFC3339", "rfc3339"),
        ("%+", "rfc3339"),
        ("yyyy-MM-dd", "yyyy-MM-dd"),
        ("%Y-%m-%d", "yyyy-M-d"),
        ("%F %T", "yyyy-M-d H:m:s"),
        ("%Y/%m/%d %H:%M:%S%#z", "yyyy/M/d H:m:ss[xxx][xx][x]"),
        ("%d %b %y, %I:%M %p", "d MMM %y, h:m a"),
        ("%Y-%m-%dT%H:%M:%S%.3f%:z", "yyyy-M-d'T'H:m:ss.SSSxxx"),
        ("%H o'clock [%M]", "H 'o''clock' '['m']'"),
        ("100%%", "100%"),
        ("100%%y %D", "100%'y' M/d/%y"),
        ("%Y%m%d %H%M", "yyyyMMdd HHmm"),
    ],
)
def test_patterns(pattern: str, java: str) -> None:
    assert java_pattern(pattern) == java


def test_a_directive_without_counterpart() -> None:
    with pytest.raises(ValueError, match=r"^%s has no counterpart in Java's patterns$"):
        java_pattern("%s")


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("YYYY-MM-DD", "Y is the year of a week, which Spark does not read; the year is y"),
        ("yyyy-MM-DD", "D is the day of the year; the day of the month is d"),
        ("bogus{", "Spark does not read b"),
        ("yyyy{", "{ must be in quotes: '{'"),
        ("yyyy-MM-dd'T", "a quote is never closed"),
        ("yyyy-MM-dd]", "`]` without `[`"),
        ("EEE d", "Spark does not read E"),
        ("%a %d", "Spark does not read E"),
        ("yyyy-MMMMM", "MMMMM has too many letters or too few"),
        ("yyyyyyy", "yyyyyyy has too many letters or too few"),
        ("HH:mm V", "V has too many letters or too few"),
    ],
)
def test_what_spark_does_not_read(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError) as e:
        java_pattern(pattern)
    assert str(e.value) == f"{pattern!r} is not a time format: {reason}"
