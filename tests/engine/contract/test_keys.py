"""Keys of many rows: the hashes tell which rows may fail, and the result is that of comparing every row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from airflow_provider_odf.engine.contract.conditions import (
    Condition,
    ConditionTest,
    Count,
    Failure,
    Key,
    Sample,
    Samples,
    Shown,
    Values,
)
from airflow_provider_odf.engine.contract.scan import KeyHashes, SparkScan

pytestmark = pytest.mark.spark

ONE, TWO = Key(("a",), is_complete=False), Key(("a", "b"), is_complete=True)

CASES: dict[str, tuple[str, int | None]] = {
    "unique": ("SELECT id, id AS a, 'x' AS b FROM range(3000)", None),
    "some repeated": ("SELECT id, id % 2990 AS a, 'x' AS b FROM range(3000)", 20),
    "some without a key": (
        "SELECT id, if(id % 1000 = 7, null, id) AS a, if(id % 1000 = 8, null, 'x') AS b FROM range(3000)",
        3,
    ),
    "all repeated": ("SELECT id, id % 1500 AS a, 'x' AS b FROM range(3000)", 3000),
    "signs of zero": (
        "SELECT id, CASE WHEN id = 0 THEN 0.0D WHEN id = 1 THEN -0.0D WHEN id < 4 THEN 'NaN' ELSE id END AS a, "
        "'x' AS b FROM range(3000)",
        4,
    ),
    "collated": (
        "SELECT id, CAST(id % 2999 AS STRING) || if(id = 0, 'k', 'K') COLLATE UTF8_LCASE AS a, 'x' AS b "
        "FROM range(3000)",
        3000,
    ),
    "structs": ("SELECT id, named_struct('n', id % 2999) AS a, array(id) AS b FROM range(3000)", 2),
}


@pytest.mark.parametrize("case", CASES)
def test_keys_by_hash(spark: SparkSession, case: str) -> None:
    query, suspects = CASES[case]
    frame = spark.sql(query)
    by_row, by_hash = (SparkScan(frame, frame, "true", "id", is_small) for is_small in (True, False))
    conditions = [of(ONE), of(TWO)]
    found, expected = by_hash.test(conditions), by_row.test(conditions)
    assert [count for count, _ in found] == [count for count, _ in expected]
    assert [samples.rows for _, samples in found] == [samples.rows for _, samples in expected]
    assert all(bool(samples.rows) == (count.failed > 0) for count, samples in found if isinstance(count, Count))
    hashes = KeyHashes(frame, [ONE.columns, TWO.columns])
    _, rows = hashes.suspects(ONE.columns)
    assert (None if rows is None else rows.count()) == suspects
    hashes.release()


def of(condition: Condition) -> ConditionTest:
    return ConditionTest(condition, Shown("CAST(a AS STRING)", "to_json(struct(id))"), lambda count: count.failed > 0)


def test_what_is_found(spark: SparkSession) -> None:
    frame = spark.sql("SELECT id, nullif(id, 5) % 999 AS a FROM range(1000)")
    scan = SparkScan(frame, frame, "true", "id", is_small=False)
    complete = Key(("a",), is_complete=True)
    found = scan.test([of(Key(("a",), is_complete=False)), of(complete)])
    assert [count for count, _ in found] == [
        Count(1000, 2, failed_keys=1, keys=998, complete=999),
        Count(1000, 3, failed_keys=2, keys=998, complete=999),
    ]
    _, samples = found[1]
    assert samples.rows == (Sample(0, "0", '{"id":0}'), Sample(5, None, '{"id":5}'), Sample(999, "0", '{"id":999}'))
    assert samples.offsets == (0, 5, 999)


def test_a_condition_that_fails_leaves_the_others(spark: SparkSession) -> None:
    frame = spark.sql("SELECT id, id % 999 AS a, map(id, id) AS m FROM range(1000)")
    for is_small in (True, False):
        scan = SparkScan(frame, frame, "true", "id", is_small)
        conditions = [ONE, Key(("m",), is_complete=False), Values("id = 7"), Values("raise_error('x') IS NULL")]
        (one, _), (maps, none), (seven, samples), (raised, _) = scan.test([*map(of, conditions)])
        assert one == Count(1000, 2, failed_keys=1, keys=999, complete=1000)
        assert isinstance(maps, Failure)
        assert isinstance(raised, Failure)
        assert none == Samples()
        assert seven == Count(1000, 1)
        assert samples == Samples((Sample(7, "7", '{"id":7}'),), (7,))


def test_rows_are_read_once_for_all_keys(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT id, id % 2990 AS a, 'x' AS b FROM range(3000)").write.parquet(f"{tmp_path}/rows")
    frame = spark.read.parquet(f"{tmp_path}/rows")
    before = jobs(spark)
    scan = SparkScan(frame, frame, "true", "id", is_small=False)
    (one, _), (two, _) = scan.test([of(ONE), replace(of(TWO), fails=lambda _: False)])
    assert (one, two) == (Count(3000, 20, 10, 2990, 3000), Count(3000, 20, 10, 2990, 3000))
    # The hashes of both keys; for each, its suspects, kept, in groups; the failing keys of one, and their rows.
    assert jobs(spark) - before == 5
    assert not spark._jsparkSession.sharedState().cacheManager().numCachedEntries()


def jobs(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().statusStore().jobsList(None).size())
