"""Only a query that names the operation reads all records; others read current rows, whatever their clauses are."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_odf.protocol import MergeStrategy
from tests.engine.conftest import Polled
from tests.engine.transform.derived import Derived

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TIME = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
QUERIES = {
    "SELECT event_time, k, name, v FROM items UNPIVOT (v FOR name IN (i, j))": {
        ("a", "i", 2), ("a", "j", 1), ("b", "i", 2),
    },
    "SELECT max(event_time) AS event_time, k, count(*) AS n FROM items GROUP BY ROLLUP (k)": {
        ("a", 1), ("b", 1), (None, 2),
    },
    "SELECT event_time, k FROM (SELECT DISTINCT * FROM items)": {("a",), ("b",)},
    "SELECT event_time, k, i FROM (SELECT * FROM items EXCEPT SELECT * FROM items WHERE i = 1)": {("a", 2), ("b", 2)},
    "SELECT items.event_time, k, s.twice FROM items, LATERAL (SELECT items.i * 2 AS twice) AS s": {("a", 4), ("b", 4)},
    "SELECT n.event_time, n.k, s.i FROM (SELECT event_time, k FROM items) AS n, "
    "LATERAL (SELECT * FROM items WHERE items.k = n.k) AS s": {("a", 2), ("b", 2)},
    "SELECT /*+ REPARTITION(3) */ event_time, k, i FROM items": {("a", 2), ("b", 2)},
    "WITH RECURSIVE r AS (SELECT event_time, k, 1 AS n FROM (SELECT * FROM items) UNION ALL "
    "SELECT event_time, k, n + 1 FROM r WHERE n < 2) SELECT event_time, k, n FROM r": {
        ("a", 1), ("a", 2), ("b", 1), ("b", 2),
    },
    "FROM items |> AGGREGATE max(event_time) AS event_time GROUP BY i |> SELECT event_time, i": {(2,)},
    "FROM items |> ORDER BY k |> LIMIT 1 |> SELECT event_time, k": {("a",)},
}  # fmt: skip


DATAFUSION = {
    "select event_time, k from (select distinct * from items)": {("a",), ("b",)},
    "select event_time, k, i from (select * from items except select * from items where i = 1)": {("a", 2), ("b", 2)},
    "select event_time, k, i from (select * from items union select * from items where i = 1)": {("a", 2), ("b", 2)},
}


@pytest.mark.parametrize(("engine", "queries"), [("spark", QUERIES), ("datafusion", DATAFUSION)])
def test_queries_that_do_not_name_the_operation_have_current_rows(
    spark: SparkSession, tmp_path: Path, engine: str, queries: dict[str, set[tuple[object, ...]]]
) -> None:
    columns = "event_time TIMESTAMP; op STRING; k STRING; i INT; j INT"
    items = Polled(spark, tmp_path / "items", columns, MergeStrategy("UpsertStream", ("k",)))
    added = {"event_time": "2024-05-01T00:00:00Z", "op": "+A"}
    items.poll([{**added, "k": "a", "i": 1, "j": 1}, {**added, "k": "b", "i": 2}, {**added, "k": "c", "i": 1}])
    items.poll([{**added, "k": "a", "i": 2, "j": 1}, {**added, "op": "-R", "k": "c"}])
    for number, (query, rows) in enumerate(queries.items()):
        derived = Derived.of(spark, tmp_path / f"{number}", query, items=items)
        derived.engine = engine
        derived.step()
        assert derived.rows == Counter((TIME, *row) for row in rows), query
