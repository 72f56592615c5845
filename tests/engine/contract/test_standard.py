"""Clauses that only the Open Data Contract Standard has."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from airflow_provider_odf.engine.contract.sources import test_frames as judge
from airflow_provider_odf.protocol import Check, Contract

pytestmark = pytest.mark.spark


@pytest.mark.long
def test_clauses_of_the_standard(spark):
    orders = spark.createDataFrame(
        [
            (1, 1.5, Decimal("10"), [1, 2], dt.date(2020, 1, 1), ("a", 1), "x"),
            (128, 1.7, Decimal("12"), [1, 1], dt.date(2019, 1, 1), (None, 1), "y"),
            (3, None, None, [], None, None, None),
        ],
        "id INT, ratio DOUBLE, amount DECIMAL(20,0), items ARRAY<INT>, day DATE, at STRUCT<a: STRING, b: INT>, "
        "land STRING",
    )
    lines = spark.createDataFrame([(1, "x"), (3, "z")], "order_id INT, country STRING")

    def on(field: str, kind: str, **arguments: object) -> Check:
        return Check(f"/{field}/{kind}", kind, kind, field, arguments=arguments, model="orders")

    def key(path: str, *targets: str) -> Check:
        columns = ("id", "land")
        return Check(path, "references", "key", None, columns, {"targets": list(targets)}, model="orders")

    checks = (
        on("id", "range", limit=[-128, 127]),
        on("amount", "range", limit=[-(1 << 127), (1 << 127) - 1]),
        on("ratio", "multiple_of", limit=0.5),
        on("amount", "multiple_of", limit=5),
        on("id", "multiple_of", limit=Decimal("1e99999999")),
        on("items", "min_items", limit=1),
        on("items", "max_items", limit=2),
        on("items", "items", limit=2),
        on("items", "unique_items"),
        on("day", "minimum", limit="2020-01-01", type="date"),
        on("day", "exclusive_maximum", limit="2020-01-01"),
        on("day", "maximum", limit="soon"),
        on("at", "required_fields", fields=["a", "b"]),
        Check("/c", "required_fields", "c", "at", arguments={"fields": ["a", "c"]}, model="orders"),
        key("/key", "lines.order_id", "lines.country"),
        key("/two", "lines.order_id", "orders.land"),
        key("/nothing", "lines.order_id", "lines.nothing"),
    )
    report = judge(Contract("urn:c", "", "digest", checks), {"orders": orders, "lines": lines})
    assert [(r.path, r.outcome, r.failed_rows, r.expected) for r in report.results] == [
        ("/id/range", "fail", 1, "a whole number from -128 to 127"),
        (
            "/amount/range",
            "pass",
            0,
            "a whole number from -170141183460469231731687303715884105728 to 170141183460469231731687303715884105727",
        ),
        ("/ratio/multiple_of", "fail", 1, "a multiple of 0.5"),
        ("/amount/multiple_of", "fail", 1, "a multiple of 5"),
        ("/id/multiple_of", "error", None, "a multiple of 1E+99999999"),
        ("/items/min_items", "fail", 1, "at least 1 item"),
        ("/items/max_items", "pass", 0, "at most 2 items"),
        ("/items/items", "fail", 1, "exactly 2 items"),
        ("/items/unique_items", "fail", 1, "no duplicate items"),
        ("/day/minimum", "fail", 1, ">= 2020-01-01"),
        ("/day/exclusive_maximum", "fail", 1, "< 2020-01-01"),
        ("/day/maximum", "error", None, "<= soon"),
        ("/at/required_fields", "fail", 1, "a, b are not null"),
        ("/c", "fail", None, "a, c are not null"),
        ("/key", "fail", 1, "exists in lines.order_id, lines.country"),
        ("/two", "error", None, "exists in lines.order_id, orders.land"),
        ("/nothing", "error", None, "exists in lines.order_id, lines.nothing"),
    ]


def test_limits_of_times(spark):
    """A date is its midnight, and no word or part of a time is one."""
    times = spark.sql(
        "SELECT DATE '2024-02-29' day, TIMESTAMP '2024-02-29 08:00:00Z' at, TIMESTAMP_NTZ '2024-02-29 08:00:00' local,"
        " TIME '08:00:00' hour"
    )
    limits = {
        ("day", "minimum", "2024-02-29"): "pass",
        ("day", "minimum", "2024-02-29T12:00:00Z"): "fail",
        ("day", "exclusive_maximum", "2024-02-29T12:00:00Z"): "pass",
        ("day", "maximum", "2024-02-28T23:00:00-02:00"): "pass",
        ("day", "minimum", "now"): "error",
        ("day", "minimum", "2024-02"): "error",
        ("day", "minimum", "2024"): "error",
        ("at", "minimum", "20240229"): "error",
        ("day", "minimum", "2023-02-29"): "error",
        ("at", "minimum", "2024-02-29t10:00:00+02:00"): "pass",
        ("at", "exclusive_maximum", "2024-02-29 08:00:00.000001"): "pass",
        ("at", "minimum", "08:30:00"): "error",
        ("at", "minimum", "2024-02-29T08:00:00 Europe/Berlin"): "error",
        ("local", "maximum", "2024-02-29T09:00:00+02:00"): "fail",
        ("local", "maximum", "2024-02-29T09:00:00"): "pass",
        ("hour", "minimum", "08:00"): "pass",
        ("hour", "exclusive_minimum", "08:00:00"): "fail",
        ("hour", "maximum", "9:00 PM"): "error",
        ("hour", "maximum", "25:00:00"): "error",
    }
    checks = tuple(
        Check(f"/{i}", kind, kind, field, arguments={"limit": limit}, model="t")
        for i, (field, kind, limit) in enumerate(limits)
    )
    report = judge(Contract("urn:c", "", "digest", checks), {"t": times})
    assert [result.outcome for result in report.results] == [*limits.values()]
