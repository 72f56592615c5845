from __future__ import annotations

import pytest

from airflow_provider_odf.dialect.time_format import to_read, to_write


@pytest.mark.parametrize(
    ("chrono", "java"),
    [
        ("%Y/%m/%d %H:%M:%S%#z", "yyyy/MM/dd HH:mm:ss[xxx][xx][x]"),
        ("%FT%T%.f", "yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS][.SSSSSS][.SSS]"),
        ("%d %b %Y at %R", "dd MMM yyyy 'at' HH:mm"),
        ("%Y%%", "yyyy%"),
        ("o'clock %H [%M]", "'o''clock' HH '['mm']'"),
    ],
)
def test_to_read(chrono: str, java: str) -> None:
    assert to_read(chrono) == java


@pytest.mark.parametrize("chrono", ["%y", "%e", "%s", "%Z", "%f", "%j", "%Q", "%Y %"])
def test_what_java_reads_differently_is_refused(chrono: str) -> None:
    with pytest.raises(ValueError):
        to_read(chrono)


def test_to_write() -> None:
    assert to_write("%A %j %y %H:%M:%S%.3f") == "EEEE DDD yy HH:mm:ss.SSS"
    with pytest.raises(ValueError, match="%z in the time format has no exact form on Spark"):
        to_write("%z")
