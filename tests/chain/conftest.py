"""A store in a temporary folder, and a dataset that grows by real slices."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.records.logical_hash import logical_hash

from .golden_datasets import DATASETS

DID = "did:odf:fed016b65f9b5b23c00006b65f9b5b23c0000b056960700000000561226bab29c83f7"
TIME = Instant.parse("2024-05-02T08:00:00Z")
MOMENT = datetime(2024, 5, 2, 8, tzinfo=UTC)
OPERATIONS = ("+A", "-R", "-C", "+C")
SYSTEM = [
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("op", pa.int32(), nullable=False),
    pa.field("system_time", pa.timestamp("ms", "UTC"), nullable=False),
    pa.field("event_time", pa.timestamp("ms", "UTC")),
]


class Growing:
    """A dataset of columns ``id`` and ``value`` that grows by one slice at a time."""

    def __init__(
        self,
        dataset: Dataset,
        merge: model.MergeStrategy,
        columns: Sequence[pa.Field],
        event_type: pa.DataType = SYSTEM[-1].type,
    ) -> None:
        self.dataset = dataset
        self.schema = pa.schema([*SYSTEM[:-1], SYSTEM[-1].with_type(event_type), *columns])
        self.draft = Draft(dataset)
        self.append(model.Seed(dataset_id=DID, dataset_kind="Root"))
        self.append(
            model.SetPollingSource(fetch=model.FetchStepUrl(url="file:///x.csv"), read=model.ReadStepCsv(), merge=merge)
        )
        self.append(schema.set_data_schema(self.schema))

    def append(self, event: model.MetadataEvent) -> str:
        before = self.draft.state.head if self.draft._state else None
        block_hash = self.draft.append(event, TIME)
        self.dataset.storage.compare_and_set_ref("head", before, block_hash)
        return block_hash

    def add(
        self, *rows: tuple[Any, ...], event_times: Sequence[datetime] = (), watermark: Instant = TIME, **options: Any
    ) -> Path:
        """Commit a slice of rows ``(op, id, value)``, with the event times of the rows; where it lies."""
        state = self.draft.state
        start = 0 if state.last_offset is None else state.last_offset + 1
        columns = [
            list(range(start, start + len(rows))),
            [OPERATIONS.index(row[0]) for row in rows],
            [MOMENT] * len(rows),
            list(event_times) or [MOMENT] * len(rows),
            *([row[n] for row in rows] for n in range(1, len(self.schema) - len(SYSTEM) + 1)),
        ]
        table = pa.table(columns, schema=self.schema)
        finished = Path(self.dataset.storage.location("slice.parquet"))
        pq.write_table(table, finished, **options)
        physical = multiformats.hash_file(finished)
        new_data = model.DataSlice(
            logical_hash=logical_hash(table),
            physical_hash=physical,
            offset_interval=model.OffsetInterval(start=start, end=start + len(rows) - 1),
            size=finished.stat().st_size,
        )
        self.dataset.storage.adopt(f"data/{physical}", finished)
        self.append(model.AddData(prev_offset=state.last_offset, new_data=new_data, new_watermark=watermark))
        return Path(self.dataset.storage.location(f"data/{physical}"))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store")


@pytest.fixture
def grow(store: Store):
    def make(
        name: str = "numbers",
        merge: model.MergeStrategy | None = None,
        columns: Sequence[pa.Field] = (pa.field("id", pa.int64()), pa.field("value", pa.string())),
    ) -> Growing:
        return Growing(store.create(DatasetAlias.parse(name)), merge or model.MergeStrategyAppend(), columns)

    return make


@pytest.fixture
def foreign(store: Store):
    """Put a dataset that another ODF implementation wrote into the store: cities or sensors."""

    def put(name: str) -> Dataset:
        for path, data in DATASETS[name].items():
            file = Path(store.location) / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        return store.dataset(name)

    return put
