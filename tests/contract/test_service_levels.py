"""Freshness and frequency of a compiled contract, which a clock judges without Spark."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from airflow_provider_odf.contract import service_levels
from airflow_provider_odf.contract.compile import compile_model, compile_models
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.contract.service_levels import Frequency, Freshness

CONTRACT = """
dataContractSpecification: 1.2.1
id: urn:orders
info: {title: Orders, version: 1.0.0}
models:
  orders: {fields: {at: {type: timestamp}, 'meta': {type: struct, fields: {at: {type: timestamp}}}}}
  others: {fields: {at: {type: timestamp}}}
servicelevels:
  freshness: {threshold: 1 month 2 days, timestampField: orders.meta.at}
  frequency: {interval: daily}
  retention: {period: P1Y, timestampField: orders.at}
  availability: {percentage: 99.9%}
"""


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_the_promises_of_a_dataset():
    checks = compile_model(parse(CONTRACT, "c.yaml"), "orders").checks
    assert [promise for check in checks if (promise := service_levels.freshness_of(check))] == [
        Freshness("/servicelevels/freshness", "meta.at", "1 month 2 days", 1, Decimal(2 * 86400))
    ]
    assert [promise for check in checks if (promise := service_levels.frequency_of(check))] == [
        Frequency("/servicelevels/frequency", "daily")
    ]
    of_another = compile_model(parse(CONTRACT, "c.yaml"), "others").checks
    assert not any(map(service_levels.freshness_of, of_another))


def test_service_levels_are_warnings_for_datasets_only():
    file = parse(CONTRACT, "c.yaml")
    levels = ("freshness", "frequency", "retention", "availability")

    def severities(contract):
        by_path = {check.path: check.severity for check in contract.checks}
        return [by_path[f"/servicelevels/{level}"] for level in levels]

    assert severities(compile_model(file, "orders")) == ["warning"] * 4
    assert severities(compile_models(file, ["orders"])) == ["error", "error", "warning", "error"]


def test_freshness():
    fresh = Freshness("/freshness", "at", "1 month", 1, Decimal(0))
    assert fresh.limit(utc("2024-03-31T10:00")) == utc("2024-02-29T10:00")
    assert fresh.holds(utc("2024-02-29T10:00"), utc("2024-03-31T10:00"))
    assert not fresh.holds(utc("2024-02-29T09:59"), utc("2024-03-31T10:00"))
    assert Freshness("/freshness", "at", "1.5s", 0, Decimal("1.5")).limit(utc("2024-01-01")) == utc(
        "2023-12-31T23:59:58.500"
    )


def test_frequency():
    daily = Frequency("/frequency", "daily")
    assert daily.holds(utc("2024-05-01T00:00"), utc("2024-05-02T23:59"))
    assert not daily.holds(utc("2024-05-01T23:59"), utc("2024-05-03T00:00"))


@pytest.mark.spark
def test_freshness_is_measured_as_spark_does(spark: SparkSession):
    """One limit of ages for the clock and for the rows of a test: months of the calendar, fractions of seconds."""
    chance = random.Random(7)
    cases = [
        (utc("2024-01-01") + timedelta(seconds=chance.randrange(4 * 365 * 86400)), chance.randrange(40), Decimal(n) / 8)
        for n in (0, *(chance.randrange(10**7) for _ in range(300)))
    ]
    rows = ", ".join(f"(timestamp '{t:%Y-%m-%d %H:%M:%S}Z', {m}, CAST('{s}' AS DECIMAL(18, 6)))" for t, m, s in cases)
    limit = "date_format(t - make_interval(0, m, 0, 0, 0, 0, s), 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
    measured = spark.sql(f"SELECT {limit} FROM VALUES {rows} AS v(t, m, s)").collect()
    limits = [Freshness("", "at", "", m, s).limit(t) for t, m, s in cases]
    assert [row[0] for row in measured] == [f"{limit:%Y-%m-%d %H:%M:%S.%f}" for limit in limits]
