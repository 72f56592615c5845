from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlglot import exp, parse_one

from airflow_provider_odf.dialect.expressions import interval_parts
from airflow_provider_odf.dialect.parsing import Refusal
from airflow_provider_odf.errors import InvalidInput


def _interval(text: str) -> exp.Expr:
    return parse_one(f"select {text}", dialect="postgres").expressions[0]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("interval '1' day", [0, 0, 0, 1, 0, 0, 0]),
        ("interval '2 weeks'", [0, 0, 2, 0, 0, 0, 0]),
        ("interval '1 year 2 months -3 days'", [1, 2, 0, -3, 0, 0, 0]),
        ("interval '4 hours 5 minutes 6 seconds'", [0, 0, 0, 0, 4, 5, 6]),
    ],
)
def test_intervals(text: str, parts: list[int]) -> None:
    assert interval_parts(_interval(text)) == parts


@pytest.mark.parametrize("text", ["interval '1.5 hours'", "interval '1 fortnight'", "interval '1-2'", "1"])
def test_other_forms_of_intervals_are_refused(text: str) -> None:
    with pytest.raises(Refusal):
        interval_parts(_interval(text))


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ("1", "1"),
        ("2147483647", "2147483647"),
        ("2147483648", "2147483648L"),
        ("007", "7"),
        ("1.50", "1.50"),
        ("0.5", "CAST(0.5 AS DECIMAL(2, 1))"),
        ("1e3", "1e3D"),
        ("'it''s'", "'it\\'s'"),
        ("true", "TRUE"),
        ("date '2024-05-02'", "CAST('2024-05-02' AS DATE)"),
        ("timestamp '2024-05-02T08:00:00+02:00'", "CAST('2024-05-02T08:00:00+02:00' AS TIMESTAMP)"),
    ],
)
def test_literals(expression: Callable[..., str], text: str, spark: str) -> None:
    assert expression(text) == spark


@pytest.mark.parametrize("text", ["date '2024-5-2'", "date '2024'", "timestamp '2024-05-02 08:00'", "timestamp 'now'"])
def test_texts_that_are_no_times_are_refused(expression: Callable[..., str], text: str) -> None:
    with pytest.raises(InvalidInput, match=r"is not a (date|time) \(write it as YYYY-MM-DD"):
        expression(text)
