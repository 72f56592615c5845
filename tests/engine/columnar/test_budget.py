"""The share of the memory that rows may take outside of the JVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.engine.columnar import budget


def test_a_third_of_the_heap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [budget.of_heap(heap) for heap in ("512m", "6G", "3gb", "900")] == [178956970, 2147483648, 1073741824, 300]
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(budget, "_CGROUP", limit)
    limit.write_text("1200\n")
    assert budget.of_heap("") == 100
    limit.write_text("max\n")
    assert budget.of_heap("") > 1 << 20
