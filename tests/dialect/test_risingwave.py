"""RisingWave: what PostgreSQL documents to be as in Spark is translated, the rest refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_odf.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "spark"),
    [
        ('"s"', "`s`"),
        ("d * 1.5", "(`d` * CAST(1.5 AS DOUBLE))"),
        ("nullif(s, '')", "nullif(`s`, '')"),
        ("w::int", "CAST(`w` AS INT)"),
        ("i::numeric", "CAST(`i` AS DECIMAL(20, 0))"),
        ("ts::timestamp", "`ts`"),
        ("case when null then 1 end", "CASE WHEN CAST(NULL AS BOOLEAN) THEN 1 END"),
        ("sum(j) over (partition by g order by r)", "sum(`j`) OVER (PARTITION BY `g` ORDER BY `r` ASC NULLS LAST)"),
        (
            "sum(j) over (order by r rows between 1 preceding and current row)",
            "sum(`j`) OVER (ORDER BY `r` ASC NULLS LAST rows BETWEEN 1 preceding AND CURRENT ROW)",
        ),
        ("count(distinct s)", "count(DISTINCT `s`)"),
    ],
)
def test_translated(expression: Callable[..., str], text: str, spark: str) -> None:
    assert expression(text, "risingwave") == spark


@pytest.mark.parametrize(
    "text",
    ["i / 2", "i % 2", "f * 2", "m * m", "cast(s as timestamp)", "cast(d as varchar)", "s = 1", "power(10.0, i)",
     "foo(i)", "1e3 * d", "nullif(j, i)", "cast(ts as timestamp(0))", "cast(i as varchar(2))",
     "cast(i as char)", "sum(i)", "avg(i)", "max(d)", "tumble(ts)"],
)  # fmt: skip
def test_what_may_differ_is_refused(expression: Callable[..., str], text: str) -> None:
    with pytest.raises(InvalidInput):
        expression(text, "risingwave")


def test_a_batch_is_grouped_joined_and_ordered(translate: Callable[..., str]) -> None:
    query = "select a.g, count(*) as n from input a join input b on a.r = b.r group by a.g order by n desc limit 2"
    assert translate(query, "risingwave") == (
        "SELECT `a`.`g`, count(*) AS `n` FROM `input` AS `a` JOIN `input` AS `b` ON `a`.`r` = `b`.`r` "
        "GROUP BY `a`.`g` ORDER BY `n` DESC NULLS FIRST LIMIT 2"
    )


def test_names_are_in_lower_case_and_steps_may_be_views(translate: Callable[..., str]) -> None:
    query = 'create materialized view x as select I, s as Foo, k as "Bar" from input'
    assert translate(query, "risingwave") == "SELECT `i`, `s` AS `foo`, `k` AS `Bar` FROM `input`"
    with pytest.raises(InvalidInput, match="CREATE is supported only as CREATE MATERIALIZED VIEW"):
        translate("create table x as select 1 as a", "risingwave")


def test_the_first_rows_of_a_view(translate: Callable[..., str]) -> None:
    query = """
        create materialized view leaderboard as
        select * from (select row_number() over (partition by 1 order by i desc) as place, s from input)
        where place <= 2
    """
    assert translate(query, "risingwave") == (
        "SELECT * FROM (SELECT CAST(row_number() OVER (PARTITION BY 1 ORDER BY `i` DESC NULLS FIRST) AS BIGINT) "
        "AS `place`, `s` FROM `input`) WHERE `place` <= 2"
    )
