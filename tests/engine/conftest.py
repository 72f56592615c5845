"""A dataset that is polled by merge requests, without chain or coordinator."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from airflow_provider_odf.protocol import (
    SLICE_RECORDS,
    Column,
    Contract,
    DatasetVocabulary,
    HistorySlice,
    MergeInput,
    MergeRequest,
    MergeStrategy,
    MergeSuccess,
    ReadStep,
    StateCache,
    Transform,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from tests.s3 import Bucket

Row = dict[str, Any]


@dataclass
class Polled:
    """History, schema and state as a chain would keep them. Poll n happens on day n of May 2024, its file is of day n
    of April."""

    spark: SparkSession
    work: Path
    columns: str
    strategy: MergeStrategy
    vocab: DatasetVocabulary = field(default_factory=DatasetVocabulary)
    preprocess: Transform | None = None
    contract: Contract | None = None
    read: dict[str, Any] = field(default_factory=dict)
    days: int = 0
    slice_records: int = SLICE_RECORDS
    history: tuple[HistorySlice, ...] = ()
    schema: str | None = None
    state: StateCache | None = None
    progress: list[str] = field(default_factory=list)

    def poll(self, *inputs: Sequence[Row] | Path, kind: str = "NdJson") -> MergeSuccess:
        """Merge inputs: rows, written as NdJson, or files."""
        from airflow_provider_odf.engine import merge

        self.days += 1
        success = merge.execute(self.spark.newSession(), self.request(*inputs, kind=kind), self.progress.append)
        self.schema = success.schema
        self.history += tuple(HistorySlice(s.path, s.offset_interval) for s in success.new_slices)
        self.state = success.new_state or self.state
        return success

    def request(self, *inputs: Sequence[Row] | Path, kind: str = "NdJson") -> MergeRequest:
        names = [c.split(" ", 1) for c in self.columns.split("; ")] if self.columns else []
        columns = tuple(Column(n, t.removesuffix(" NOT NULL"), not t.endswith(" NOT NULL")) for n, t in names)
        files = [self._file(i, rows) for i, rows in enumerate(inputs)]
        return MergeRequest(
            dataset_id="did:odf:fed01" + "0" * 64,
            dataset_alias="polled",
            system_time=f"2024-05-{self.days:02}T10:00:00.123456789Z",
            vocab=self.vocab,
            read=ReadStep(kind, columns or None, **self.read),
            merge=self.strategy,
            inputs=tuple(MergeInput((str(f),), f"2024-04-{self.days:02}T00:00:00Z", f.name) for f in files),
            next_offset=self.history[-1].offset_interval.end + 1 if self.history else 0,
            new_data_path=str(self.work / "data"),
            preprocess=self.preprocess,
            history=self.history,
            schema=self.schema,
            prev_state=self.state,
            new_state_path=str(self.work / f"state-{self.days}"),
            contract=self.contract,
            slice_records=self.slice_records,
        )

    def _file(self, number: int, rows: Sequence[Row] | Path) -> Path:
        if isinstance(rows, Path):
            return rows
        self.work.mkdir(parents=True, exist_ok=True)
        file = self.work / f"poll-{self.days}-{number}.json"
        file.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
        return file

    def table(self) -> pa.Table:
        """The whole history."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        return pa.concat_tables([pq.read_table(s.path) for s in self.history])

    def records(self, *columns: str, last: int = 0) -> list[tuple[Any, ...]]:
        """Records of the history (or its last ones): the operation as text, then the columns, times as ISO text."""
        op = self.vocab.operation_type_column
        rows = self.table().select([op, *columns]).to_pylist()[-last:]
        return [tuple(["+A", "-R", "-C", "+C"][v] if k == op else _shown(v) for k, v in r.items()) for r in rows]


def _shown(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


@pytest.fixture
def polled(spark: SparkSession, tmp_path: Path) -> Callable[..., Polled]:
    """Make a dataset: its columns as `name TYPE; name TYPE`, its merge strategy, and what else `Polled` has."""

    def make(columns: str, kind: str, *keys: str, compare: Sequence[str] | None = None, **others: Any) -> Polled:
        strategy = MergeStrategy(kind, keys, tuple(compare) if compare is not None else None)
        return Polled(spark, others.pop("work", tmp_path / "work"), columns, strategy, **others)

    return make


@pytest.fixture(scope="session")
def cache_of_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of copies of slices."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def lake(spark: SparkSession, bucket: Bucket, cache_of_tasks: Path, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A new bucket, which tasks of Spark find too. Their environment is the same for all tests: the daemon of Python
    that Spark starts for it serves them all."""
    monkeypatch.setenv("ODF_CACHE_DIR", str(cache_of_tasks))
    for name in os.environ:
        if name.startswith("AWS_") or name == "ODF_CACHE_DIR":
            monkeypatch.setitem(spark.sparkContext.environment, name, os.environ[name])
    return bucket


@pytest.fixture(params=["small", pytest.param("large", marks=pytest.mark.long)])
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both forms of a merge, on the same few rows."""
    from airflow_provider_odf.records import files

    if request.param == "large":
        monkeypatch.setattr(files, "SMALL", -1)
    return request.param


@pytest.fixture
def people(spark: SparkSession, tmp_path: Path) -> Polled:
    """A Snapshot of people. Its event time is the day of the poll."""
    return Polled(spark, tmp_path / "people", "id BIGINT; name STRING", MergeStrategy("Snapshot", ("id",)))


@pytest.fixture
def readings(spark: SparkSession, tmp_path: Path) -> Polled:
    """Readings of sensors, which only grow."""
    columns = "event_time TIMESTAMP; sensor STRING; v BIGINT"
    return Polled(spark, tmp_path / "readings", columns, MergeStrategy("Append"))
