"""Numbers of a contract beside those of columns."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract import numbers
from airflow_provider_odf.engine.contract.sources import test_frames as judge
from airflow_provider_odf.protocol import Check, Contract

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False).filter(lambda number: abs(number.adjusted()) < 1000)
DOUBLES = st.floats(allow_nan=False)


@given(NUMBERS, NUMBERS)
def test_keys_have_the_order_of_the_numbers(one: Decimal, other: Decimal):
    keys = numbers.key_of(one), numbers.key_of(other)
    exact = Fraction(one), Fraction(other)
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (exact[0] < exact[1], exact[0] == exact[1])


@given(NUMBERS, DOUBLES)
def test_a_double_is_compared_as_its_shortest_decimal(limit: Decimal, value: float):
    bound = numbers._last_beyond(limit, T.DoubleType(), "<")
    assert (value <= bound) == (Decimal(repr(value)) < limit)
    bound = numbers._last_beyond(limit, T.DoubleType(), ">=")
    assert (value >= bound) == (Decimal(repr(value)) >= limit or math.isinf(bound))


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.sampled_from(["<", "<=", ">", ">="]))
def test_a_float_equals_the_decimal_it_stands_for(value: float, opposite: str):
    limit = Decimal(numbers.shortest(value, T.FloatType()))
    bound = numbers._last_beyond(limit, T.FloatType(), opposite)
    is_opposite = value <= bound if opposite[0] == "<" else value >= bound
    assert is_opposite == opposite.endswith("=")


@pytest.mark.parametrize(
    ("number", "kind", "literal"),
    [
        ("1.005", T.DecimalType(10, 2), None),
        ("1.01", T.DecimalType(10, 2), "CAST('1.01' AS DECIMAL(10,2))"),
        ("1e2", T.LongType(), "CAST('100' AS BIGINT)"),
        ("9223372036854775808", T.LongType(), None),
        ("0.7", T.FloatType(), "CAST('0.699999988079071' AS FLOAT)"),
        ("9007199254740993", T.DoubleType(), None),
        ("9007199254740992", T.DoubleType(), "CAST('9007199254740992.0' AS DOUBLE)"),
    ],
)
def test_literals_equal_the_number_or_there_is_none(number: str, kind: T.DataType, literal: str | None):
    assert numbers.literal(Decimal(number), kind) == literal


@pytest.mark.parametrize(
    ("opposite", "limit", "kind", "sql"),
    [
        ("<", "1.005", T.DecimalType(10, 2), "x < CAST('1.01' AS DECIMAL(10,2))"),
        ("<=", "1.005", T.DecimalType(10, 2), "x <= CAST('1.00' AS DECIMAL(10,2))"),
        (">", "2.5", T.IntegerType(), "x > CAST('2' AS INT)"),
        (">=", "2.5", T.IntegerType(), "x >= CAST('3' AS INT)"),
        (">", "1e30", T.LongType(), "false"),
        ("<", "1e30", T.LongType(), "true"),
        ("<", "-1e30", T.LongType(), "false"),
        (">", "-1e30", T.LongType(), "true"),
        (">", "9223372036854775807", T.LongType(), "x > CAST('9223372036854775807' AS BIGINT)"),
        (">=", "9223372036854775808", T.LongType(), "false"),
        ("<=", "-9223372036854775809", T.LongType(), "false"),
        (">", "1e99999999", T.LongType(), "false"),  # as an integer, it would take hours
        (">", "-1e99999999", T.DecimalType(10, 2), "true"),
        (">", "1e-99999999", T.LongType(), "x > CAST('0' AS BIGINT)"),
    ],
)
def test_a_limit_is_rounded_away_from_what_it_forbids(opposite: str, limit: str, kind: T.DataType, sql: str):
    assert numbers.compared("x", kind, opposite, Decimal(limit)) == sql


@pytest.mark.spark
def test_nan_and_infinity_are_no_null_in_a_reference(spark):
    rows = spark.sql("SELECT double('NaN') nan, float('Infinity') infinity, double('NaN') other, double('-0.0') zero")
    targets = spark.sql("SELECT 0 number, float('NaN') nan, 'Infinity' text")
    references = {"nan": "u.nan", "infinity": "u.text", "other": "u.number", "zero": "u.number"}
    checks = tuple(
        Check(f"/{name}", "references", name, name, arguments={"targets": [target]}, model="t")
        for name, target in references.items()
    )
    report = judge(Contract("urn:c", "", "digest", checks), {"t": rows, "u": targets})
    assert [(r.field, r.outcome) for r in report.results] == [
        ("nan", "pass"),
        ("infinity", "pass"),
        ("other", "fail"),
        ("zero", "pass"),
    ]
