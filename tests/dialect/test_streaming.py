"""Flink and RisingWave: queries without state are translated, others refused with the reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_odf.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ("`s`", "`s`"),
        ("upper(s)", "upper(`s`)"),
        ("case when `s` = 'x' then d when s = 'y' then -d else 0 end", None),
        ("d * d", "(`d` * `d`)"),
        ("d / 2", "(`d` / CAST(2 AS DOUBLE))"),
        ("d * 10.0", "(`d` * CAST(10.0 AS DOUBLE))"),
        ("i + 1", "(`i` + 1)"),
        ("coalesce(i, 0)", "coalesce(`i`, 0)"),
        ("cast(w as int)", "CAST(`w` AS INT)"),
        ("cast(ts as timestamp(3))", "`ts`"),
        ("trim(s)", "TRIM(BOTH ' ' FROM `s`)"),
        ("substring(s from 2 for 3)", "substring(`s`, 2, 3)"),
        ("'a\\d'", r"'a\\d'"),
    ],
)
def test_flink(expression: Callable[..., str], text: str, spark: str | None) -> None:
    translated = expression(text, "flink")
    assert spark is None or translated == spark


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ('"s"', "`s`"),
        ("d * 1.5", "(`d` * CAST(1.5 AS DOUBLE))"),
        ("nullif(s, '')", "nullif(`s`, '')"),
        ("w::int", "CAST(`w` AS INT)"),
    ],
)
def test_risingwave(expression: Callable[..., str], text: str, spark: str) -> None:
    assert expression(text, "risingwave") == spark


@pytest.mark.parametrize("engine", ["flink", "risingwave"])
@pytest.mark.parametrize(
    "text",
    [
        "i / 2",
        "i % 2",
        "f * 2",
        "m * m",
        "cast(s as timestamp)",
        "cast(d as varchar)",
        "s = 1",
        "power(10.0, i)",
        "foo(i)",
    ],
)
def test_what_may_differ_is_refused(expression: Callable[..., str], engine: str, text: str) -> None:
    with pytest.raises(InvalidInput):
        expression(text, engine)


@pytest.mark.parametrize("engine", ["flink", "risingwave"])
@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("select count(*) as n from input", "1:8: count keeps"),
        ("select s, 1 as n from input group by s", "1:38: GROUP BY keeps"),
        ("select distinct s from input", "1:17: DISTINCT keeps"),
        ("select i from input order by i", "1:30: ORDER BY keeps"),
        ("select i from input limit 3", "1:27: LIMIT keeps"),
        ("select sum(i) over (partition by s order by ts) as t from input", "1:8: OVER keeps"),
        ("select a.i from input as a join input as b on a.i = b.i", "1:33: a join keeps"),
        ("select i from input union select k from input", "1:34: a set operation other than UNION ALL keeps"),
        ("select tumble_start(ts) as t from input", "1:8: tumble_start: time windows keep"),
    ],
)
def test_state_is_refused(translate: Callable[..., str], engine: str, query: str, what: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        translate(query, engine)
    reason = "streaming engines are translated only for queries that look at one record at a time"
    message = str(refused.value)
    assert message.split(", ", 1)[1] == f"{what} state between runs; {reason} (use engine: datafusion or spark)"


def test_temporal_join_is_refused(translate: Callable[..., str]) -> None:
    query = "select a.i from input as a join `input` for system_time as of a.ts as b on a.s = b.s"
    with pytest.raises(InvalidInput, match=r"1:33: a temporal join \(FOR SYSTEM_TIME AS OF\) keeps state between runs"):
        translate(query, "flink")


def test_window_table_is_refused(translate: Callable[..., str]) -> None:
    with pytest.raises(InvalidInput, match="a time window keeps state between runs"):
        translate("select window_start as at from tumble(input, ts, interval '1' day)", "risingwave")


def test_union_all_is_stateless(translate: Callable[..., str]) -> None:
    query = "select i from input where b union all select k from input"
    assert translate(query, "flink") == "SELECT `i` FROM `input` WHERE `b` UNION ALL SELECT `k` FROM `input`"


def test_risingwave_folds_names_and_writes_steps_as_views(translate: Callable[..., str]) -> None:
    query = 'create materialized view x as select I, s as Foo, k as "Bar" from input'
    assert translate(query, "risingwave") == "SELECT `i`, `s` AS `foo`, `k` AS `Bar` FROM `input`"
    with pytest.raises(InvalidInput, match="only CREATE MATERIALIZED VIEW"):
        translate("create table x as select 1 as a", "risingwave")
