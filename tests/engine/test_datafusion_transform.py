"""DataFusion's queries of transforms over several frames: in the driver, by part and in one task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import SqlQueryStep, Transform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

_UNION = 'select id, \'a\' as side from "com.acme.a" union all select id, "Name" as side from b where id < 40'
_JOIN = 'select a.id, at, "Name" from "com.acme.a" a join b on a.id = b.id where b.id % 20 = 0'
_GROUPS = "select count(*) as n, sum(id) as total from b"


@pytest.fixture
def frames(spark: SparkSession) -> dict[str, DataFrame]:
    return {
        "com.acme.a": spark.range(0, 50, 1, 2).selectExpr("id", "timestamp_millis(id + 7) AS at"),
        "b": spark.range(30, 80, 1, 3).selectExpr("id", "concat('x', id) AS Name", "CAST(NULL AS STRING) AS empty"),
    }


def _transform(*queries: str) -> Transform:
    steps = [SqlQueryStep(q, f"q{n}" if n < len(queries) else None) for n, q in enumerate(queries, 1)]
    return Transform("datafusion", tuple(steps))


@pytest.mark.parametrize("small", [True, False])
def test_all_frames_are_read(spark: SparkSession, frames: dict[str, DataFrame], small: bool) -> None:
    from airflow_provider_odf.engine import datafusion

    union = datafusion.transform(spark, frames, _transform(_UNION), small=small)
    assert [tuple(row) for row in union.collect()] == [
        *((n, "a") for n in range(50)),
        *((n, f"x{n}") for n in range(30, 40)),
    ]
    steps = _transform(_JOIN, 'select id, "Name", cast(at as bigint) as ms from q1')
    join = datafusion.transform(spark, frames, steps, small=small)
    assert [tuple(row) for row in join.collect()] == [(40, "x40", 47)]
    groups = datafusion.transform(spark, {"b": frames["b"]}, _transform(_GROUPS), small=small)
    assert [tuple(row) for row in groups.collect()] == [(50, 2725)]


def test_errors_name_the_transform_and_the_query(spark: SparkSession, frames: dict[str, DataFrame]) -> None:
    from airflow_provider_odf.engine import datafusion

    with pytest.raises(InvalidQuery, match=r"^transform, query 2, 1:8: No field named nope"):
        datafusion.analyze(frames, _transform("select id from b", "select nope from q1"))
    with pytest.raises(InvalidQuery, match=r"^transform, query 1, 1:8: random has another value in each run"):
        datafusion.transform(spark, frames, _transform("select random() as r from b"), small=True)
    with pytest.raises(InvalidQuery, match=r"^transform: .*[Dd]ivide by zero"):
        datafusion.transform(spark, frames, _transform("select id / (id - 40) as r from b"), small=True)
