"""Keys of many rows: the hashes tell which rows may fail, and the result is that of comparing every row."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_odf.engine.contract.conditions import Count, Key, Sample, Shown
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
    "structs": ("SELECT id, named_struct('n', id % 2999) AS a, array(id) AS b FROM range(3000)", 2),
}


@pytest.mark.parametrize("case", CASES)
def test_keys_by_hash(spark: SparkSession, case: str) -> None:
    query, suspects = CASES[case]
    frame = spark.sql(query)
    by_row, by_hash = (SparkScan(frame, frame, "true", "id", is_small) for is_small in (True, False))
    counts = by_row.counts([ONE, TWO])
    assert by_hash.counts([ONE, TWO]) == counts
    shown = Shown("CAST(a AS STRING)", "to_json(struct(id))")
    if failing := [(key, shown) for key, count in zip((ONE, TWO), counts, strict=True) if failed(count)]:
        samples, expected = by_hash.samples(failing), by_row.samples(failing)
        assert [found.rows for found in samples] == [found.rows for found in expected]
    rows = KeyHashes(frame, ("a",)).suspects
    assert (None if rows is None else rows.count()) == suspects


def failed(count: Any) -> bool:
    assert isinstance(count, Count)
    return count.failed > 0


def test_what_is_found(spark: SparkSession) -> None:
    frame = spark.sql("SELECT id, nullif(id, 5) % 999 AS a FROM range(1000)")
    scan = SparkScan(frame, frame, "true", "id", is_small=False)
    complete = Key(("a",), is_complete=True)
    assert scan.counts([Key(("a",), is_complete=False), complete]) == [
        Count(1000, 2, failed_keys=1, keys=998, complete=999),
        Count(1000, 3, failed_keys=2, keys=998, complete=999),
    ]
    (samples,) = scan.samples([(complete, Shown("CAST(a AS STRING)", "to_json(struct(id))"))])
    assert samples.rows == (Sample(0, "0", '{"id":0}'), Sample(5, None, '{"id":5}'), Sample(999, "0", '{"id":999}'))
    assert samples.offsets == (0, 5, 999)
