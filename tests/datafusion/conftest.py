"""Queries over one small table, planned and run without Spark."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest

from airflow_provider_odf.datafusion import types
from airflow_provider_odf.datafusion.plan import INPUT, installed_version, plan
from airflow_provider_odf.datafusion.run import Job
from airflow_provider_odf.protocol import SqlQueryStep

UTC = dt.UTC
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, None], pa.int64()),
        "n": pa.array([7, -7, 2, None], pa.int32()),
        "f": pa.array([0.1, -0.0, 1.5, None], pa.float32()),
        "d": pa.array([0.1, -0.0, 1.5, None], pa.float64()),
        "m": pa.array([Decimal("1.50"), Decimal("-2.55"), Decimal("0.01"), None], pa.decimal128(12, 2)),
        "s": pa.array(["İstanbul", "straße", "a,b", None]),
        "Name": pa.array(["x", "y", "z", None]),
        "t": pa.array([0, -1, 1_600_000_000_123, None], pa.int64()).cast(pa.timestamp("ms", "UTC")),
        "day": pa.array([dt.date(2020, 2, 29), dt.date(1969, 12, 31), dt.date(2021, 1, 3), None]),
        "l": pa.array([[1, 2], [], [None, 3], None], pa.list_(pa.int64())),
        "j": pa.array(['{"a": {"b": [1, "x", 2.5]}, "c": true}', "[10, 20]", "{", None]),
    }
)
"""As the reference's readers type it."""


@pytest.fixture(scope="session")
def job() -> Callable[..., Job]:
    """Queries as they reach the workers of Spark."""

    def job(*queries: str, columns: pa.Schema = ROWS.schema) -> Job:
        steps = tuple(SqlQueryStep(q, f"step {n}" if n < len(queries) else None) for n, q in enumerate(queries, 1))
        planned = plan(steps, {INPUT: columns})
        output = pa.schema([pa.field(f.name, types.to_spark(f.type)) for f in planned.output])
        return Job(steps, {"input": columns}, output, installed_version(), 64 * 1024 * 1024, "")

    return job


@pytest.fixture(scope="session")
def run(job: Callable[..., Job]) -> Callable[..., pa.Table]:
    """The rows of the last of some queries over ROWS, as Spark gets them."""
    return lambda *queries: job(*queries).on_tables({"input": ROWS})
