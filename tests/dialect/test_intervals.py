from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from airflow_provider_odf.dialect.intervals import Interval, parse
from airflow_provider_odf.dialect.place import Refused


def _interval(text: str) -> exp.Expr:
    return parse_one(f"select {text}", dialect="postgres").expressions[0]


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("interval '1' day", Interval(days=1)),
        ("interval '2 weeks'", Interval(days=14)),
        ("interval '1 year 2 months -3 days'", Interval(months=14, days=-3)),
        ("interval '4 hours 5 minutes 6 seconds'", Interval(seconds=4 * 3600 + 306)),
    ],
)
def test_parse(text: str, interval: Interval) -> None:
    assert parse(_interval(text)) == interval


@pytest.mark.parametrize("text", ["interval '1.5 hours'", "interval '1 fortnight'", "interval '1-2'", "1"])
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(Refused):
        parse(_interval(text))


def test_only_months_have_no_fixed_length() -> None:
    assert Interval(days=1, seconds=30).fixed_seconds == 86_430
    assert Interval(months=1).fixed_seconds is None
