"""Sums of floating-point numbers are the same to the last bit, whatever the cores, partitions and evaluation."""

from __future__ import annotations

import functools
import struct
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf.engine.transform import plan_changes
from airflow_provider_odf.protocol import MergeStrategy
from airflow_provider_odf.records import files
from tests.engine.conftest import Polled, Row
from tests.engine.transform.derived import Derived

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ONE_CORE = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}
MANY_CORES = {
    "spark.sql.shuffle.partitions": "7",
    "spark.sql.files.maxPartitionBytes": "4096",
    "spark.sql.files.openCostInBytes": "0",
    "spark.sql.leafNodeDefaultParallelism": "16",
}

FUNCTIONS = (
    "sum({x})", "avg({x})", "sum({x} * {y})", "stddev({x})", "var_pop({x})", "corr({x}, {y})", "covar_samp({x}, {y})",
    "regr_slope({x}, {y})", "regr_r2({x}, {y})", "skewness({x})", "kurtosis({x})", "avg(i)", "sum(DISTINCT {x})",
    "avg(DISTINCT {x})", "count(DISTINCT {x})", "count(DISTINCT t)", "try_sum(i)", "try_avg(i)", "min({x})", "max({x})",
    "percentile({x}, 0.3)", "sum({x}) FILTER (WHERE t > 3)", "sort_array(collect_set({x}))[0]",
    "aggregate(sort_array(collect_list({x})), 0D, (a, x) -> a + x)", "sum({x}) / count(*)",
)  # fmt: skip
GROUPS = ("k", "f", "k, f", "upper(s)", "ROLLUP (k, s)", "")
FRAMES = (
    "PARTITION BY k", "PARTITION BY f", "", "PARTITION BY k ORDER BY t", "PARTITION BY f ORDER BY t DESC",
    "PARTITION BY k ORDER BY t RANGE BETWEEN 3 PRECEDING AND CURRENT ROW",
)  # fmt: skip


def random_floats(r: Random, rows: int) -> list[float | None]:
    """Numbers of many magnitudes, zeros of both signs, and nulls."""
    special = [None, 0.0, -0.0]
    return [r.choice(special) if r.random() < 0.1 else r.gauss(0, 1) * 10.0 ** r.randint(-12, 12) for _ in range(rows)]


def write(folder: Path, r: Random, rows: int) -> None:
    """Three files of rows, one with infinity and NaN."""
    folder.mkdir()
    for number, share in enumerate((1, 2, 4)):
        n = rows * share // 7
        v = random_floats(r, n)
        if number == 0:
            v[:2] = [float("inf"), float("nan")]
        table = {
            "k": [r.randrange(5) for _ in range(n)],
            "s": [r.choice("aAbB") for _ in range(n)],
            "f": [r.choice([0.0, -0.0, 1.5, float("nan"), None]) for _ in range(n)],
            "t": [r.randrange(9) for _ in range(n)],
            "i": [r.randrange(-(2**62), 2**62) for _ in range(n)],
            "v": v,
            "w": random_floats(r, n),
            "e": pa.array(random_floats(r, n), pa.float32()),
        }
        pq.write_table(pa.table(table), folder / f"{number}.parquet", row_group_size=max(1, n // 5))


def random_query(r: Random) -> str:
    def function() -> str:
        x, y = r.sample(["v", "w", "e"], 2)
        return r.choice(FUNCTIONS).format(x=x, y=y)

    if r.random() < 0.3:
        over = ", ".join(f"{r.choice(FUNCTIONS[:11]).format(x='v', y='w')} OVER ({r.choice(FRAMES)})" for _ in range(2))
        return f"SELECT k, s, f, t, i, {over} FROM t"
    groups = r.choice(GROUPS)
    shown = groups.removeprefix("ROLLUP (").removesuffix(")")
    columns = ", ".join(function() for _ in range(r.randint(1, 4)))
    query = f"SELECT {shown + ', ' if shown else ''}{columns} FROM t" + (f" GROUP BY {groups}" if groups else "")
    if r.random() < 0.2:
        query = f"SELECT k, t, (SELECT {function()} FROM t u WHERE u.k = q.k), (SELECT avg(w) FROM t) FROM t q"
    return query


def bits(value: Any) -> Any:
    return struct.pack(">d", value).hex() if isinstance(value, float) else value


def rows(spark: SparkSession, folder: Path, query: str, settings: dict[str, str]) -> list[tuple[Any, ...]]:
    session = spark.newSession()
    for key, value in (settings | plan_changes.SETTINGS).items():
        session.conf.set(key, value)
    session.read.parquet(str(folder)).createOrReplaceTempView("t")
    frame = plan_changes.in_order(session, session.sql(query), hides_overflow="try_" in query)
    return sorted((tuple(map(bits, row)) for row in frame.collect()), key=repr)


def check_queries(spark: SparkSession, folder: Path, seed: int, queries: int, size: int) -> None:
    r = Random(seed)
    write(folder, r, size)
    for _ in range(queries):
        query = random_query(r)
        assert rows(spark, folder, query, ONE_CORE) == rows(spark, folder, query, MANY_CORES), query


def test_random_sums_are_the_same_for_all_partitions(spark: SparkSession, tmp_path: Path) -> None:
    check_queries(spark, tmp_path / "t", 1, 4, 700)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(2, 22))
def test_many_random_sums_are_the_same_for_all_partitions(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    check_queries(spark, tmp_path / "t", seed, 15, 20_000)


def test_sums_are_in_the_order_of_the_numbers(spark: SparkSession, tmp_path: Path) -> None:
    r = Random(3)
    folder = tmp_path / "t"
    folder.mkdir()
    v = [x for x in random_floats(r, 500) if x is not None]
    pq.write_table(pa.table({"k": [n % 3 for n in range(len(v))], "v": v}), folder / "0.parquet")
    expected = [functools.reduce(float.__add__, sorted(v[k::3]), 0.0) for k in range(3)]
    query = "SELECT k, sum(v) FROM t GROUP BY k"
    assert rows(spark, folder, query, MANY_CORES) == [(k, bits(total)) for k, total in enumerate(expected)]


def test_other_columns_stay_what_they_are(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "t", Random(4), 700)
    counts = (
        "k, count(*), count(DISTINCT v), count(DISTINCT t) FILTER (WHERE t > 3), sum(DISTINCT t), "
        "count(w) FILTER (WHERE t > 3), max(s), collect_set(t)[0] IS NULL"
    )
    spark.read.parquet(str(tmp_path / "t")).createOrReplaceTempView("plain")
    expected = sorted(map(tuple, spark.sql(f"SELECT {counts} FROM plain GROUP BY k").collect()))
    query = f"SELECT {counts}, avg(w), sum(DISTINCT w) FROM t GROUP BY k"
    assert [row[:8] for row in rows(spark, tmp_path / "t", query, MANY_CORES)] == expected


QUERY = (
    "SELECT max(event_time) AS event_time, k, avg(v) AS a, stddev(v) AS d, min(v) AS least, count(DISTINCT n) AS n, "
    "sum(DISTINCT v) AS e FROM readings GROUP BY k"
)
LEDGER = MergeStrategy("Ledger", primary_key=("n",))


def derive(spark: SparkSession, folder: Path, polls: list[list[Row]]) -> tuple[list[Any], Derived]:
    """The records of a derivative that is computed after each poll."""
    folder.mkdir()
    readings = Polled(spark, folder, "event_time TIMESTAMP; n BIGINT; k BIGINT; v DOUBLE", LEDGER)
    derived = Derived.of(spark, folder / "derived", QUERY, readings=readings)
    for poll in polls:
        readings.poll(poll)
        derived.step()
    return [(op, tuple(map(bits, row))) for op, row in derived.records], derived


@pytest.mark.long
def test_small_large_keyed_and_whole_evaluations_agree(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    r = Random(5)
    numbers = [x for x in random_floats(r, 330) if x is not None]
    polled = [{"event_time": "2024-05-01T00:00:00Z", "n": n, "k": n % 3, "v": x} for n, x in enumerate(numbers)]
    polls = [polled[:100], polled[100:290]]
    small, derived = derive(spark, tmp_path / "small", polls)
    assert derived.evaluation == "keyed"
    monkeypatch.setattr(files, "SMALL", -1)
    large, _ = derive(spark, tmp_path / "large", polls)
    assert large == small
    whole, _ = derive(spark, tmp_path / "whole", [polled[:290]])
    assert [row for _, row in whole] == [row for op, row in small if op in ("+A", "+C")][-3:]


def test_a_derivative_has_one_zero_and_one_nan(spark: SparkSession, tmp_path: Path) -> None:
    columns, zero = "event_time TIMESTAMP; op STRING; id BIGINT; v DOUBLE", -0.0
    changes = Polled(spark, tmp_path / "changes", columns, MergeStrategy("ChangelogStream", primary_key=("id",)))
    query = (
        "SELECT event_time, id, v, array(v) AS a, struct(v AS x) AS s, double('inf') * v AS n, "
        "count(*) OVER (PARTITION BY id % 2) AS c FROM changes"
    )
    counted = Derived.of(spark, tmp_path / "counted", query, changes=changes)
    text = "SELECT event_time, id, CAST(v AS STRING) AS v FROM changes"
    texts = {
        "changes": Derived.of(spark, tmp_path / "texts", text, changes=changes),
        "counted": Derived.of(spark, tmp_path / "counted-texts", text.replace("changes", "counted"), counted=counted),
    }
    for poll in (
        [{"op": "+A", "id": 1, "v": zero}],
        [{"op": "-C", "id": 1, "v": zero}, {"op": "+C", "id": 1, "v": 0.0}],
        [{"op": "+A", "id": 3, "v": 1.0}],
        [{"op": "-R", "id": 1, "v": 0.0}],
    ):
        changes.poll([{**row, "event_time": "2024-05-01T00:00:00Z"} for row in poll])
        counted.step()
        for of in texts.values():
            of.step()
    plus, nan, infinity = bits(0.0), "7ff8000000000000", bits(float("inf"))
    shown = [
        (op, id_, bits(v), bits(a[0]), bits(s[0][1]), bits(n), c) for op, (_, id_, v, a, s, n, c) in counted.records
    ]
    one = bits(1.0)
    assert shown == [
        ("+A", 1, plus, plus, plus, nan, 1),
        ("-C", 1, plus, plus, plus, nan, 1),
        ("+C", 1, plus, plus, plus, nan, 2),
        ("+A", 3, one, one, one, infinity, 2),
        ("-R", 1, plus, plus, plus, nan, 2),
        ("-C", 3, one, one, one, infinity, 2),
        ("+C", 3, one, one, one, infinity, 1),
    ]
    assert {name: [(op, row[1:]) for op, row in of.records] for name, of in texts.items()} == {
        "changes": [
            ("+A", (1, "-0.0")),
            ("-C", (1, "-0.0")),
            ("+C", (1, "0.0")),
            ("+A", (3, "1.0")),
            ("-R", (1, "0.0")),
        ],
        "counted": [("+A", (1, "0.0")), ("+A", (3, "1.0")), ("-R", (1, "0.0"))],
    }


def test_sums_of_datafusion_do_not_depend_on_polls(spark: SparkSession, tmp_path: Path) -> None:
    rows = [
        {"event_time": "2024-05-01T00:00:00Z", "op": "+A", "n": n, "v": v} for n, v in enumerate((1e16, -1e16, 1.0))
    ]
    sums = []
    for number, polls in enumerate(([rows], [[{**rows[0], "v": 5.0}, *rows[1:]], rows[:1]])):
        columns = "event_time TIMESTAMP; op STRING; n BIGINT; v DOUBLE"
        folder = tmp_path / f"{number}"
        readings = Polled(spark, folder, columns, MergeStrategy("UpsertStream", primary_key=("n",)))
        for poll in polls:
            readings.poll(poll)
        query = "SELECT max(event_time) AS event_time, sum(v) AS v FROM (SELECT event_time, v FROM readings) AS r"
        derived = Derived.of(spark, folder / "derived", query, readings=readings)
        derived.engine = "datafusion"
        derived.step()
        sums += [row[1] for row in derived.rows]
    assert sums == [0.0, 0.0]
