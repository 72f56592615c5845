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
        ("%Y-%m-%d", "yyyy-MM-dd"),
        ("%F %T", "yyyy-MM-dd HH:mm:ss"),
        ("%Y/%m/%d %H:%M:%S%#z", "yyyy/MM/dd HH:mm:ss[xxx][xx][x]"),
        ("%d %b %y, %I:%M %p", "dd MMM yy, hh:mm a"),
        ("%Y-%m-%dT%H:%M:%S%.3f%:z", "yyyy-MM-dd'T'HH:mm:ss.SSSxxx"),
        ("%H o'clock [%M]", "HH 'o''clock' '['mm']'"),
        ("100%%", "100%"),
    ],
)
def test_patterns(pattern: str, java: str) -> None:
    assert java_pattern(pattern) == java


def test_a_directive_without_counterpart() -> None:
    with pytest.raises(ValueError, match=r"^%s has no counterpart in Java's patterns$"):
        java_pattern("%s")
