"""What Flink and Spark do in different ways is refused with its place and a way out."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_odf.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ("`s`", "`s`"),
        ("i / 2", "(`i` DIV 2)"),
        ("j / 2", "CAST((`j` DIV 2) AS INT)"),
        ("k % 3", "CAST((`k` % 3) AS INT)"),
        ("f * 2", "CAST((CAST(`f` AS DOUBLE) * CAST(CAST(2 AS FLOAT) AS DOUBLE)) AS FLOAT)"),
        ("m * k", "(CAST(`m` AS DECIMAL(12, 2)) * CAST(`k` AS DECIMAL(19, 0)))"),
        ("cast(ts as string)", "DATE_FORMAT(`ts`, 'yyyy-MM-dd HH:mm:ss.SSS')"),
        ("concat(s, u)", "concat(`s`, `u`)"),
        (
            "sum(k) over (partition by s order by ts rows unbounded preceding)",
            "CAST(sum(`k`) OVER (PARTITION BY `s` ORDER BY `ts` ASC rows BETWEEN UNBOUNDED preceding AND CURRENT ROW) "
            "AS BIGINT)",
        ),
        ("if(b, 'x', s)", "CASE WHEN `b` THEN 'x' ELSE `s` END"),
        ("power(10.0, 18)", "1e+18D"),
        ("least(i, j)", "CASE WHEN `i` IS NULL OR `j` IS NULL THEN NULL ELSE least(`i`, `j`) END"),
        ("cast(cast(m as decimal(19,3)) as double)", "CAST(CAST(`m` AS DECIMAL(19, 3)) AS DOUBLE)"),
        ("cast(m as decimal(15,2)) + d", "(CAST(CAST(`m` AS DECIMAL(15, 2)) AS DOUBLE) + `d`)"),
        ("-cast(m as decimal(34,2))", "-CAST(`m` AS DECIMAL(34, 2))"),
        ("'a\\d'", r"'a\\d'"),
    ],
)
def test_translated(expression: Callable[..., str], text: str, spark: str) -> None:
    assert expression(text, "flink").lower() == spark.lower()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("foo(i)", "1:8: function foo is not supported by the flink translation"),
        ("sqrt(d)", "1:8: function sqrt is not supported by the flink translation"),
        ("tumble_start(ts)", "1:8: function tumble_start is not supported by the flink translation"),
        ("listagg(s)", "1:8: function listagg is not supported by the flink translation"),
        ("uuid()", "1:8: uuid has another value in each run (use columns instead"),
        ("power(2.5, k)", "1:8: power: the last bit may differ unless both arguments are literals"),
        ("greatest(d, 1)", "1:8: greatest: does not support DOUBLE (write it as CASE WHEN a > b THEN a ELSE b END)"),
        ("least(m, 1)", "1:8: least: does not support DECIMAL(12,2) (write it as CASE"),
        ("case when b then f else d end", "1:18: FLOAT and DOUBLE have no common type (cast them to one type)"),
        ("coalesce(m, k)", "1:8: DECIMAL(12,2) and BIGINT have no common type (cast them to one type)"),
        ("f = d", "1:8: engines compare FLOAT with DOUBLE differently (cast one of them)"),
        ("-cast(m as decimal(35,2))", "a DECIMAL(35,2) could lose digits (cast it to a number of at most"),
        ("abs(cast(m as decimal(38,2)))", "abs: argument 1 must be a number of at most 34 digits, not DECIMAL(38,2)"),
        (
            "cast(cast(m as decimal(18,3)) as double)",
            "Flink rounds DECIMAL(18,3) twice when it converts to DOUBLE (cast to DECIMAL(19,3) first)",
        ),
        ("cast(m as decimal(16,1)) * d", "engines convert DECIMAL(16,1) to DOUBLE differently"),
        ("cast(m as decimal(18,3)) = d", "engines compare DECIMAL(18,3) with DOUBLE differently"),
        ("coalesce(cast(m as decimal(18,3)), d)", "1:8: DECIMAL(18,3) and DOUBLE have no common type"),
        ("d % 2", "1:8: Flink supports % only for integers and DECIMAL (cast them)"),
        ("s || i", "1:8: || takes strings (cast both sides to STRING)"),
        ("cast(s as char(5))", "1:13: Flink pads CHAR with spaces, but Spark does not (use STRING or VARCHAR)"),
        ("cast(ts as timestamp(9))", "1:13: TIMESTAMP(9) is not supported (use a precision of 0, 3 or 6)"),
        ("cast(ts as bigint)", "1:13: CAST of TIMESTAMP to BIGINT is not supported"),
        ("substring(s, -2)", "1:18: substring: argument 2 must be an integer literal of at least 0, not -2"),
        ("substring(s, j)", "1:18: substring: argument 2 must be an integer literal of at least 0, not INT"),
        ("replace(s, '', 'x')", "1:8: replace: argument 2 must be a literal string that is not empty, not ''"),
        ("regexp_replace(s, u, '-')", "argument 2 must be a literal string that is not empty, not STRING"),
        ("regexp_extract(s, '(a)|b', 1)", "1:8: regexp_extract: optional groups are not supported"),
        ("extract(millisecond from ts)", "EXTRACT of millisecond is not supported (use one of epoch, year"),
        ("floor(ts to week)", "FLOOR of TIMESTAMP to week is not supported (use one of second"),
        ("to_timestamp(s, 'yy-MM-dd')", "1:8: to_timestamp: argument 2 must be a literal format with yyyy"),
        ("date_format(dt, 'yyyy')", "1:8: date_format: argument 1 must be a TIMESTAMP, not DATE (cast it)"),
        ("lag(i, 1, cast(0 as bigint)) over (order by r)", "1:8: lag: takes 1 to 2 arguments here, not 3"),
        ("max(i) over w", "named windows are not supported"),
        ("max(i) over (order by r range 1 preceding)", "a frame supports only ROWS with whole numbers, UNBOUNDED"),
        ("max(i) over (order by r rows k preceding)", "a frame supports only ROWS with whole numbers, UNBOUNDED"),
        ("max(i) over (order by r groups unbounded preceding)", "GROUPS frames are not supported"),
        ("max(i) over (order by r rows unbounded preceding exclude ties)", "EXCLUDE is not supported here"),
        ("w = 1", "1:8: engines compare STRING with INT differently (cast one of them)"),
        ("avg(m)", "1:8: avg: supports only INTEGER, DOUBLE, not DECIMAL(12,2) (cast it)"),
        ("sum(f)", "1:8: sum: supports only INTEGER, DECIMAL, DOUBLE, not FLOAT (cast it)"),
    ],
)  # fmt: skip
def test_what_may_differ_is_refused(expression: Callable[..., str], text: str, reason: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        expression(text, "flink")
    assert reason in str(refused.value)


@pytest.mark.parametrize("engine", ["flink", "risingwave"])
def test_temporal_join_needs_a_history(translate: Callable[..., str], engine: str) -> None:
    query = "select a.i from input as a join input for system_time as of a.ts as b on a.s = b.s"
    message = "FOR SYSTEM_TIME AS OF cannot be used in preprocess, which reads only new data (remove temporal joins"
    with pytest.raises(InvalidInput) as refused:
        translate(query, engine)
    assert message in str(refused.value)


def test_window_tables_come_with_transforms(translate: Callable[..., str]) -> None:
    with pytest.raises(InvalidInput, match="remove temporal joins and time windows"):
        translate("select window_start as at from tumble(input, ts, interval '1' day)", "risingwave")
    with pytest.raises(InvalidInput):
        translate("select 1 as x from table(tumble(table input, descriptor(ts), interval '1' day))", "flink")
