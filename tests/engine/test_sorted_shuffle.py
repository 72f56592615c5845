"""How records in sorted runs are cut into ranges."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from airflow_provider_odf.engine import sorted_shuffle
from airflow_provider_odf.engine.strategies.strategy import Records
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.records.slice_file import SlicePlan

SIZE = 16
"""Bytes of a row."""


def _records(table: pa.Table, batches: object) -> Iterator[Records]:
    yield Records(table.slice(start, 100) for start in range(0, table.num_rows, 100))


@pytest.mark.parametrize(
    ("rows", "tasks", "samples"), [(20_000, 20, 64), (160_000, 400, 8), (60_000, 8, 64), (3000, 1, 64)]
)
def test_ranges_are_of_about_the_same_size_although_tasks_have_the_same_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, tasks: int, samples: int
) -> None:
    """Runs of wide rows have few of them: here, of 16 bytes, 400 in a run and 800 in a range."""
    monkeypatch.setattr(sorted_shuffle, "RUN", 400 * SIZE)
    monkeypatch.setattr(sorted_shuffle, "_RANGE_BYTES", 800 * SIZE)
    monkeypatch.setattr(sorted_shuffle, "_SAMPLES", samples)
    plan = SlicePlan(str(tmp_path), pa.schema([]), Instant.parse("2024-05-01T00:00:00Z"), None, 0, (), "input")
    rng, made = random.Random(1), list[pa.RecordBatch]()
    keys_of: list[list[int]] = [[] for _ in range(tasks)]
    for key in range(rows):
        rng.choice(keys_of).append(key)
    for task, keys in enumerate(keys_of):
        own = pa.array(keys, pa.int64())
        context = SimpleNamespace(get=lambda task=task: SimpleNamespace(partitionId=lambda: task))
        monkeypatch.setattr(sorted_shuffle, "TaskContext", context)
        merged = sorted_shuffle.Merged(partial(_records, pa.table({"k": own, "v": own})), ("k",), plan)
        made += sorted_shuffle._runs(merged, [])
    about = pa.Table.from_batches(made)
    limits = sorted_shuffle._limits(about, ("k",), rows // 800)
    ends = [-1, *(key for ((_, _, key),) in limits), rows - 1]
    sizes = [end - start for start, end in pairwise(ends)]
    assert len(sizes) == rows // 800
    assert min(sizes) >= 400
    assert max(sizes) <= 1600
