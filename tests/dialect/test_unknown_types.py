"""Columns of unknown type: Spark checks them where one type is expected; where the type decides, they are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from airflow_provider_odf.dialect.translate import ENGINES
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_column_is_selected_grouped_and_tested_for_null(translate: Callable[..., str]) -> None:
    query = "select a, count(b) as n, a is null as x from input where b is not null group by a order by a"
    assert translate(query, columns=None) == (
        "SELECT `a`, count(`b`) AS `n`, `a` IS NULL AS `x` FROM `input` WHERE NOT `b` IS NULL GROUP BY `a` "
        "ORDER BY `a` ASC"
    )


def test_spark_checks_the_type_of_an_argument(expression: Callable[..., str]) -> None:
    assert expression("lower(a)", columns=None) == (
        "lower(CASE WHEN typeof(`a`) IN ('string') THEN CAST(`a` AS STRING) ELSE CAST(raise_error("
        "'argument 1 of lower must be STRING, but the data has another type: declare read.schema, "
        "or use engine: spark') AS STRING) END)"
    )


def test_spark_checks_that_a_column_beside_a_number_is_one(expression: Callable[..., str]) -> None:
    assert expression("a > 1", columns=None) == (
        "CASE WHEN typeof(`a`) IN ('int', 'bigint', 'double') THEN `a` ELSE raise_error('a column must be a number, "
        "but the data has another type: declare read.schema, or use engine: spark') END > 1"
    )


_EXPECTED = {
    "n > 1": [False, True, None],
    "d >= 2": [False, True, None],
    "n in (1, 7)": [True, False, None],
    "d between 1 and 2e0": [True, True, None],
    "nullif(n, 2)": [1, None, None],
    "s = 'x'": [True, False, None],
    "s like '%Y'": [False, True, None],
    "upper(s) || '!'": ["X!", "Y!", None],
    "coalesce(s, '-')": ["x", "Y", "-"],
    "case s when 'x' then 1 else 0 end": [1, 0, 0],
    "case when b then s end": ["x", None, None],
    "not b": [False, True, None],
    "t < timestamp '2020-01-02 00:00:00'": [True, False, None],
}


@pytest.mark.spark
def test_values(spark: SparkSession, translate: Callable[..., str]) -> None:
    spark.sql(
        "select * from values (1L, 1.5D, 'x', true, timestamp '2020-01-01 00:00:00'), "
        "(2L, 2D, 'Y', false, timestamp '2020-01-03 00:00:00'), (null, null, null, null, null) as v(n, d, s, b, t)"
    ).createOrReplaceTempView("input")
    columns = ", ".join(f"{text} as c{number}" for number, text in enumerate(_EXPECTED))
    rows = spark.sql(translate(f"select {columns} from input", columns=None)).collect()
    assert {text: [row[number] for row in rows] for number, text in enumerate(_EXPECTED)} == _EXPECTED


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("upper(n)", "argument 1 of upper must be STRING, but the data has another type"),
        ("s > 1", "a column must be a number, but the data has another type"),
        ("n = 'x'", "a column must be STRING, but the data has another type"),
        ("not s", "a condition must be BOOLEAN, but the data has another type"),
    ],
)
def test_other_types_fail_the_query(
    spark: SparkSession, translate: Callable[..., str], text: str, message: str
) -> None:
    from pyspark.errors import PySparkException

    spark.sql("select 1L as n, 'x' as s").createOrReplaceTempView("input")
    with pytest.raises(PySparkException, match=message):
        spark.sql(translate(f"select {text} as z from input", columns=None)).collect()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "text",
    [
        "a + 1", "- a", "abs(a)", "a = b", "a < b", "case a when b then 2 end", "coalesce(a, b)", "coalesce(a, 1)",
        "case when true then a else 1 end", "nullif(a, b)", "nullif(1, a)", "sum(a)", "cast(a as int)",
        "a + interval '1' day", "a in (select b from input)",
    ],
)  # fmt: skip
def test_where_the_type_decides_it_must_be_known(expression: Callable[..., str], engine: str, text: str) -> None:
    with pytest.raises(InvalidInput, match=r"1:\d+: .* \(declare read.schema, or use engine: spark\)"):
        expression(text, engine, columns=None)


@pytest.mark.parametrize(
    "text", ["a || 'x'", "a[1]", "extract(year from a)", "floor(a to day)", "floor(a)", "round(a)", "avg(a)"]
)
def test_where_the_type_decides_it_must_be_known_in_flink(expression: Callable[..., str], text: str) -> None:
    with pytest.raises(InvalidInput, match=r"1:\d+: .* \(declare read.schema, or use engine: spark\)"):
        expression(text, "flink", columns=None)


@pytest.mark.parametrize("text", ["a in (1, null)", "a in (null, 1)", "a in (1, 'x')", "a in (1.5, 10.5)"])
def test_a_column_is_compared_with_values_of_one_type(expression: Callable[..., str], text: str) -> None:
    with pytest.raises(InvalidInput, match="all values of BETWEEN and IN must have the same type"):
        expression(text, columns=None)
