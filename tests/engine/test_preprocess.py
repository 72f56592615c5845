"""Preprocess queries over the view ``input``."""

from __future__ import annotations

import pytest

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import ReadStep, SqlQueryStep, TemporalTable, Transform

pytestmark = pytest.mark.spark


def run(spark, *steps: SqlQueryStep, **options) -> list[tuple]:
    from airflow_provider_odf.engine.preprocess import preprocess

    session = spark.newSession()
    frame = session.sql("SELECT id, id % 2 = 0 AS even FROM range(1, 5)")
    transform = Transform("spark", steps, **options)
    return [tuple(row) for row in preprocess(session, frame, transform, ReadStep("NdJson"), ()).collect()]


def test_last_query_is_the_output(spark) -> None:
    steps = (
        SqlQueryStep("SELECT id FROM input WHERE even", "even.ones"),
        SqlQueryStep("SELECT id * 10 AS ten FROM `even.ones` ORDER BY id"),
    )
    assert run(spark, *steps) == [(20,), (40,)]


def test_sessions_do_not_see_each_others_views(spark) -> None:
    run(spark, SqlQueryStep("SELECT 1 AS x", "mine"), SqlQueryStep("SELECT * FROM mine"))
    with pytest.raises(InvalidQuery, match="unknown table mine: a query can only read input"):
        run(spark, SqlQueryStep("SELECT * FROM mine"))


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (["SELECT 1", "SELEC 2"], r"^preprocess, query 2, line 1: \[PARSE_SYNTAX_ERROR\] Syntax error at or near"),
        (["SELECT id,\n  nope\nFROM input"], r"^preprocess, query 1, line 2: .*with name `nope` cannot be resolved"),
        (["SELECT *\nFROM input JOIN\n  nowhere"], "^preprocess, query 1, line 3: unknown table nowhere"),
        (
            ["SELECT sum(id) FROM input GROUP BY nope(id)"],
            "^preprocess, query 1, line 1: nope is not a built-in function of Spark",
        ),
        ([], "^preprocess has no query"),
    ],
)
def test_refused(spark, queries: list[str], message: str) -> None:
    with pytest.raises(InvalidQuery, match=message) as e:
        run(spark, *(SqlQueryStep(q) for q in queries))
    assert "\n" not in str(e.value)
    assert "SQLSTATE" not in str(e.value)


def test_alias_is_named(spark) -> None:
    with pytest.raises(InvalidQuery, match=r"^preprocess, query 1 \(first\), line 1: "):
        run(spark, SqlQueryStep("SELECT nope", "first"), SqlQueryStep("SELECT 1"))


def test_temporal_tables_are_refused(spark) -> None:
    with pytest.raises(InvalidQuery, match="preprocess reads only the new records of a source: remove temporalTables"):
        run(spark, SqlQueryStep("SELECT 1"), temporal_tables=(TemporalTable("t", ("id",)),))
