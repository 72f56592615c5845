"""Thresholds, durations and queries of quality rules and service levels."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from airflow_provider_odf.contract import durations, expectations, queries, soda, thresholds
from airflow_provider_odf.contract.thresholds import RuleError


@pytest.mark.parametrize(
    ("text", "months", "seconds"),
    [
        ("25h", 0, 90000),
        ("1 year", 12, 0),
        ("5s", 0, 5),
        ("24 hours", 0, 86400),
        ("30d", 0, 2592000),
        ("1 week", 0, 604800),
        ("2 months", 2, 0),
        ("1.5 years", 18, 0),
        ("1 day and 12 hours", 0, 129600),
        ("P1Y", 12, 0),
        ("P1M", 1, 0),
        ("PT1M", 0, 60),
        ("P1DT12H", 0, 129600),
        ("PT0.5S", 0, 0.5),
        ("P2W", 0, 1209600),
    ],
)
def test_durations(text: str, months: int, seconds: float):
    assert durations.parse(text) == durations.Duration(months, Decimal(str(seconds)))


@pytest.mark.parametrize("text", ["", "soon", "5", "P", "PT", "5 parsecs", "1.1 months", "-1h", "1h tomorrow"])
def test_no_durations(text: str):
    with pytest.raises(RuleError):
        durations.parse(text)


def test_thresholds():
    rule = {
        "mustBeGreaterOrEqualTo": 1,
        "mustBeGreaterThanOrEqualTo": 2,
        "must_be_not_between": [1, 2.5],
        "unit": "rows",
    }
    assert thresholds.require(rule) == {
        "must_be_greater_or_equal_to": 1,
        "must_be_greater_than_or_equal_to": 2,
        "must_be_not_between": [1, 2.5],
    }
    for wrong in (
        {"mustBe": "1"},
        {"mustBe": True},
        {"mustBeBetween": 1},
        {"mustBeBetween": [1]},
        {"mustBeNice": 1},
        {},
    ):
        with pytest.raises(RuleError):
            thresholds.require(wrong)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*) FROM {model} WHERE ${field} = '{2}'", "SELECT count(*) FROM `my-t` WHERE a.`b c` = '{2}'"),
        ("SELECT {column} FROM {table}, {object}", "SELECT a.`b c` FROM `my-t`, `my-t`"),
        ("SELECT quantile_cont(f(a, b), 0.5) FROM t", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f(a, b)) FROM t"),  # noqa: E501
        ("SELECT 'quantile_cont(a, 1)' -- EXTRACT(EPOCH FROM x)", "SELECT 'quantile_cont(a, 1)' -- EXTRACT(EPOCH FROM x)"),  # noqa: E501
        (
            "SELECT max(lag(x) OVER (ORDER BY y)) m FROM t AS o WHERE o.x > 3 GROUP BY z;",
            "SELECT max(__window_0) m FROM (SELECT *, lag(x) OVER (ORDER BY y) AS __window_0 FROM t AS o WHERE o.x > 3) "  # noqa: E501
            "AS o GROUP BY z;",
        ),
        ("SELECT sum(count(*)) OVER () FROM t", "SELECT sum(count(*)) OVER () FROM t"),
        (
            "SELECT max(lag(x) OVER (ORDER BY y)) FROM t JOIN u USING (x)",
            "SELECT max(lag(x) OVER (ORDER BY y)) FROM t JOIN u USING (x)",
        ),
    ],
)  # fmt: skip
def test_queries(query: str, expected: str):
    assert queries.of_rule(query, "my-t", "a.b c") == expected


def test_placeholders_without_meaning():
    for field in (None, "lines[].sku"):
        with pytest.raises(RuleError):
            queries.of_rule("SELECT {field}", "t", field)


def test_the_page_lists_every_check_and_expectation():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "contract-tests.md").read_text(encoding="utf-8")
    assert [name for name in (*soda.TYPES, *expectations.COMPILERS) if f"`{name}`" not in page] == []
