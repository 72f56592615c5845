"""Time formats as Java patterns."""

from __future__ import annotations

import pytest

from airflow_provider_odf.engine.read.time_format import java_pattern
from airflow_provider_odf.errors import InvalidQuery


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("rfc3339", None),
        ("RFC3339", None),
        ("", None),
        ("yyyy/MM/dd", "yyyy/MM/dd"),
        ("%Y-%m-%dT%H:%M:%S.%f%z", "yyyy-MM-dd'T'HH:mm:ss.[SSSSSS][SSS][XXX][XX]"),
        ("%-d/%-m/%y", "d/M/yy"),
        ("%d de %B", "dd' de 'MMMM"),
        ("at %I o'clock %p", "'at 'hh' o''clock 'a"),
    ],
)
def test_pattern(text: str, pattern: str | None) -> None:
    assert java_pattern(text) == pattern


def test_unknown_directive() -> None:
    with pytest.raises(InvalidQuery, match="%Q is not known"):
        java_pattern("%Y%Q")
