"""The share of the memory that rows may take outside of the JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_provider_odf.engine.columnar import budget

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_a_third_of_the_heap(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = spark.newSession()
    for heap, expected in (("512m", 178956970), ("6G", 2147483648), ("3gb", 1073741824), ("900", 300)):
        monkeypatch.setattr(budget, "_heap", lambda _, heap=heap: heap)
        assert budget.of_session(session) == expected
    monkeypatch.setattr(budget, "_heap", lambda _: "")
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(budget, "_CGROUP", limit)
    limit.write_text("1200\n")
    assert budget.of_session(session) == 100
    limit.write_text("max\n")
    assert budget.of_session(session) > 1 << 20
