from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_odf.instant import Instant


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-05-02T08:00:00Z", "2024-05-02T08:00:00Z"),
        ("2024-05-02t08:00:00z", "2024-05-02T08:00:00Z"),
        ("2024-05-02 08:00:00Z", "2024-05-02T08:00:00Z"),
        ("2024-05-02T08:00:00.1Z", "2024-05-02T08:00:00.100Z"),
        ("2024-05-02T08:00:00.123456789Z", "2024-05-02T08:00:00.123456789Z"),
        ("2024-05-02T08:00:00.1234567891Z", "2024-05-02T08:00:00.123456789Z"),
        ("2024-05-02T08:00:00.000400Z", "2024-05-02T08:00:00.000400Z"),
        ("2024-01-01T00:30:00+02:00", "2023-12-31T22:30:00Z"),
        ("2024-01-01T00:30:00-03:30", "2024-01-01T04:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
        ("1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999999Z"),
    ],
)
def test_parse_and_write(text, written):
    assert str(Instant.parse(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-05-02",
        "2024-05-02T08:00:00",
        "2024-05-02T08:00Z",
        "2024-13-02T08:00:00Z",
        "2024-02-30T08:00:00Z",
        "2024-05-02T24:00:00Z",
        "2024-05-02T08:00:00.Z",
        "2024-05-02T08:00:00+24:00",
        "2024-05-02T08:00:00Z ",
        "0001-01-01T00:00:00+01:00",
        "９999-01-01T00:00:00Z",
    ],
)
def test_parse_refuses(text):
    with pytest.raises(ValueError, match="RFC 3339"):
        Instant.parse(text)


def test_conversions():
    instant = Instant.parse("2024-05-02T08:00:00.123456789Z")
    assert instant.to_datetime() == datetime(2024, 5, 2, 8, 0, 0, 123456, UTC)
    assert str(instant.floor_ms()) == "2024-05-02T08:00:00.123Z"
    assert instant.nanosecond == 123456789
    east = datetime(2024, 5, 2, 10, tzinfo=timezone(timedelta(hours=2)))
    assert str(Instant.from_datetime(east)) == "2024-05-02T08:00:00Z"
    with pytest.raises(ValueError, match="no time zone"):
        Instant.from_datetime(datetime(2024, 5, 2))


def test_floor_before_1970_goes_down():
    assert str(Instant(-1).floor_ms()) == "1969-12-31T23:59:59.999Z"


def test_years_out_of_range_are_refused():
    with pytest.raises(ValueError, match="1 to 9999"):
        Instant(253_402_300_800_000_000_000)


@given(st.integers(-62_135_596_800_000_000_000, 253_402_300_799_999_999_999))
def test_text_keeps_every_nanosecond(epoch_ns):
    assert Instant.parse(str(Instant(epoch_ns))) == Instant(epoch_ns)


@given(st.integers(0, 10**19), st.integers(0, 10**19))
def test_order_is_that_of_time(a, b):
    assert (Instant(a) < Instant(b)) == (a < b)
