from __future__ import annotations

import pytest

from airflow_provider_odf.manifest import time_format


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("2024-05-02", "yyyy-MM-dd", "2024-05-02T00:00:00Z"),
        ("20240502T0807", "yyyyMMdd'T'HHmm", "2024-05-02T08:07:00Z"),
        ("5/2/24 8:07 PM", "M/d/yy h:mm a", "2024-05-02T20:07:00Z"),
        ("12:30 am", "hh:mm a", "1970-01-01T00:30:00Z"),
        ("2 May 2024", "d MMM yyyy", "2024-05-02T00:00:00Z"),
        ("Thursday, September 5, 2024", "EEEE, MMMM d, yyyy", "2024-09-05T00:00:00Z"),
        ("2024-05-02 08:07:06.123456789", "yyyy-MM-dd HH:mm:ss.SSSSSSSSS", "2024-05-02T08:07:06.123456789Z"),
        ("2024-05-02 08:07:06.5", "yyyy-MM-dd HH:mm:ss.S", "2024-05-02T08:07:06.500Z"),
        ("2024-05-02T08:07:06+0330", "yyyy-MM-dd'T'HH:mm:ssXX", "2024-05-02T04:37:06Z"),
        ("2024-05-02T08:07:06-03:30", "uuuu-MM-dd'T'HH:mm:ssXXX", "2024-05-02T11:37:06Z"),
        ("2024 o'clock 08", "yyyy 'o''clock' HH", "2024-01-01T08:00:00Z"),
        ("2024060", "yyyyDDD", "2024-02-29T00:00:00Z"),
        ("2024-05", "yyyy-MM", "2024-05-01T00:00:00Z"),
        ("2024_05_02", "%Y_%m_%d", "2024-05-02T00:00:00Z"),
        ("2024-05-02 01:00 +0100", "%Y-%m-%d %H:%M %z", "2024-05-02T00:00:00Z"),
        ("2024-05-02T08:00:00.5+02:00", "rfc3339", "2024-05-02T06:00:00.500Z"),
        ("2024-05-02T08:00:00.5+02:00", "%+", "2024-05-02T06:00:00.500Z"),
        ("2024-05-02 08:07", "%F %R", "2024-05-02T08:07:00Z"),
        ("5 June 2024", "d MMMM yyyy", "2024-06-05T00:00:00Z"),
        ("366/2024", "DDD/yyyy", "2024-12-31T00:00:00Z"),
    ],
)
def test_parse(text, pattern, expected):
    assert str(time_format.parse(text, pattern)) == expected


@pytest.mark.parametrize(
    ("text", "pattern", "message"),
    [
        ("2024-5-2", "yyyy-MM-dd", "'2024-5-2' does not have the form yyyy-MM-dd"),
        ("2024-13-02", "yyyy-MM-dd", "month must be in 1..12"),
        ("2024-02-30", "yyyy-MM-dd", "day is out of range for month"),
        ("0001-01-01 +0200", "yyyy-MM-dd XX", "'0001-01-01 +0200' is not within the years 1 to 9999"),
        ("0001-01-01 +0200", "%Y-%m-%d %z", ""),
        ("9999-366", "yyyy-DDD", "366 is not a day of the year 9999"),
        ("2024-000", "yyyy-DDD", "0 is not a day of the year 2024"),
        ("13:00 pm", "HH:mm a", "13 is not an hour of pm"),
        ("2 Mayor 2024", "d MMMM yyyy", "'Mayor' is not a month"),
        ("2 Mai 2024", "d MMM yyyy", "'Mai' is not a month"),
        (
            "2024",
            "YYYY",
            "'YYYY' is not a time format: 'YYYY' is not supported (the year is y; Y is the year of a week)",
        ),
        ("2024", "qq", "'qq' is not a time format: 'qq' is not supported"),
    ],
)
def test_parse_refuses(text, pattern, message):
    with pytest.raises(ValueError) as e:
        time_format.parse(text, pattern)
    assert str(e.value).startswith(message)


def test_regex():
    assert time_format.regex("yyyy/MM/dd'T'HH:mm:ss.SSS") == r"(\d{4})/(\d{2})/(\d{2})T(\d{2}):(\d{2}):(\d{2})\.(\d{3})"
