"""Orders of transforms without ties: the same result whatever the order of arrival."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airflow_provider_odf.errors import InvalidInput
from tests.dialect.derivatives import Table, queries, rows, transform

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROWS = ["'2020-01-01', 'a', 3", "'2020-01-01', 'a', 1", "'2020-01-01', 'a', 2", "'2020-01-02', 'a', 9"]
_TABLES = {"t": Table("event_time TIMESTAMP, k STRING, v BIGINT", [f"0, {row}" for row in _ROWS])}
_REVERSED = {"t": Table("event_time TIMESTAMP, k STRING, v BIGINT", [f"0, {row}" for row in _ROWS[::-1]])}


@pytest.mark.parametrize(
    ("query", "spark_sql"),
    [
        (
            "select v, sum(v) over (partition by k order by event_time rows unbounded preceding) as s from t",
            "SELECT `v`, CAST(sum(`v`) OVER (PARTITION BY `k` ORDER BY `event_time` ASC, `v` "
            "rows BETWEEN UNBOUNDED preceding AND CURRENT ROW) AS BIGINT) AS `s` FROM `t`",
        ),
        (
            "select v, sum(v) over (partition by k order by event_time) as s from t",
            "SELECT `v`, CAST(sum(`v`) OVER (PARTITION BY `k` ORDER BY `event_time` ASC) AS BIGINT) AS `s` FROM `t`",
        ),
        (
            "select v, rank() over (order by k) as r, lag(v) over (order by t.v desc) as l from t",
            "SELECT `v`, CAST(rank() OVER (ORDER BY `k` ASC) AS BIGINT) AS `r`, "
            "lag(`v`, 1) OVER (ORDER BY `t`.`v` DESC, `event_time`, `k`) AS `l` FROM `t`",
        ),
        (
            "select k, row_number() over (order by count(*)) as n from t group by k",
            "SELECT `k`, CAST(row_number() OVER (ORDER BY count(*) ASC, `k`) AS BIGINT) AS `n` FROM `t` GROUP BY `k`",
        ),
        (
            "select a.v, row_number() over (order by a.k) as n from t as a join t as b on a.v = b.v",
            "SELECT `a`.`v`, CAST(row_number() OVER (ORDER BY `a`.`k` ASC, `a`.`event_time`, `a`.`v`, "
            "`b`.`event_time`, `b`.`k`, `b`.`v`) AS BIGINT) AS `n` "
            "FROM `t` AS `a` JOIN `t` AS `b` ON `a`.`v` = `b`.`v`",
        ),
        ("select v, k from t order by k limit 2", "SELECT `v`, `k` FROM `t` ORDER BY `k` ASC, 1, 2 LIMIT 2"),
        (
            "select * from t order by 5 desc offset 1",
            "SELECT * FROM `t` ORDER BY 5 DESC NULLS LAST, 4, 6 OFFSET 1",
        ),
        ("select v from t order by k", "SELECT `v` FROM `t` ORDER BY `k` ASC"),
    ],
)
def test_all_other_columns_of_the_rows_break_ties(query: str, spark_sql: str) -> None:
    (translated,) = queries(transform("flink", query), _TABLES)
    assert translated.replace(" NULLS LAST", "") == spark_sql.replace(" NULLS LAST", "")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select v from t limit 2", "1:8: LIMIT and OFFSET need ORDER BY (the order of arrival does not count"),
        ("select row_number() over (partition by k) as n from t", "1:8: row_number needs ORDER BY here"),
        (
            "select first_value(v) over (order by event_time) as n from t",
            "1:8: first_value needs a frame of ROWS here (write ROWS BETWEEN … AND … in OVER)",
        ),
        ("select rand() as n from t", "1:8: rand has another value in each run (use columns instead"),
        ("select k, current_timestamp as n from t", "1:"),
        ("select proctime() as n from t", "1:8: proctime has another value in each run"),
    ],
)
def test_what_depends_on_arrival_or_on_the_run_is_refused(query: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        queries(transform("flink", query), _TABLES)
    assert str(refused.value).startswith(f"transform query 1, {message}")


@pytest.mark.spark
def test_the_result_does_not_depend_on_the_order_of_arrival(spark: SparkSession) -> None:
    query = (
        "select v, sum(v) over (partition by k order by event_time rows unbounded preceding) as s, "
        "row_number() over (order by k) as n, first_value(v) over (order by event_time "
        "rows between 1 preceding and current row) as f, sum(v) over (order by event_time) as p from t"
    )
    expected = [["1 1 1 1 6", "2 3 2 1 6", "3 6 3 2 6", "9 15 4 3 15"]]
    assert rows(spark, transform("flink", query), _TABLES, None) == expected
    assert rows(spark, transform("flink", query), _REVERSED, None) == expected
    top = transform("flink", "select k, v from t where v > 1", "select * from q1 order by k desc limit 2")
    assert rows(spark, top, _TABLES, None) == rows(spark, top, _REVERSED, None) == [["a 2", "a 3"]]
