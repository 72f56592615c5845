"""Derivatives of polled datasets by transform requests, without chain or coordinator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from airflow_provider_odf.protocol import (
    DatasetVocabulary,
    HistorySlice,
    MergeStrategy,
    OffsetInterval,
    SqlQueryStep,
    Transform,
    TransformRequest,
    TransformRequestInput,
    TransformSuccess,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.engine.conftest import Polled

Record = tuple[str, tuple[Any, ...]]
"""Operation, and the values of event time and data."""

OPERATIONS = ("+A", "-R", "-C", "+C")


@dataclass
class Derived:
    """A derivative, whose inputs are polled datasets or derivatives by alias. `step` computes what is new."""

    spark: SparkSession
    work: Path
    inputs: dict[str, Polled | Derived]
    queries: Sequence[SqlQueryStep]
    vocab: DatasetVocabulary = field(default_factory=DatasetVocabulary)
    engine: str = "spark"
    history: tuple[HistorySlice, ...] = ()
    schema: str | None = None
    read: dict[str, int] = field(default_factory=dict)
    is_query_new: bool = False
    watermark: str | None = None
    evaluation: str = ""
    reason: str = ""
    arrow_query: str | None = None

    @classmethod
    def of(cls, spark: SparkSession, work: Path, query: str, **inputs: Polled | Derived) -> Derived:
        work.mkdir(parents=True, exist_ok=True)
        return cls(spark, work, inputs, (SqlQueryStep(query),))

    def step(self) -> TransformSuccess:
        from airflow_provider_odf.engine.transform import transform

        success = transform.execute(self.spark.newSession(), self.request(), lambda _: None)
        assert success.evaluation is not None
        self.evaluation, self.reason = success.evaluation.kind, success.evaluation.reason
        self.arrow_query = success.evaluation.arrow_query
        self.schema = success.schema or self.schema
        if success.slice is not None:
            self.history += (HistorySlice(success.slice.path, success.slice.offset_interval),)
        self.read = {alias: of.history[-1].offset_interval.end + 1 for alias, of in self.inputs.items() if of.history}
        self.is_query_new = False
        return success

    def request(self, *, is_analyzed_only: bool = False) -> TransformRequest:
        return TransformRequest(
            dataset_id="did:odf:derived",
            dataset_alias="derived",
            system_time="2024-06-01T00:00:00Z",
            vocab=self.vocab,
            transform=Transform(self.engine, tuple(self.queries)),
            query_inputs=tuple(self._input(alias, of) for alias, of in self.inputs.items()),
            next_offset=self.history[-1].offset_interval.end + 1 if self.history else 0,
            new_checkpoint_path="",
            new_data_path="" if is_analyzed_only else str(self.work),
            history=self.history,
            schema=self.schema,
            watermark=self.watermark,
            is_query_new=self.is_query_new,
            arrow_query=self.arrow_query,
        )

    def _input(self, alias: str, of: Polled | Derived) -> TransformRequestInput:
        new_from = self.read.get(alias, 0)
        new = [s for s in of.history if s.offset_interval.start >= new_from]
        assert of.schema is not None
        return TransformRequestInput(
            dataset_id=f"did:odf:{alias}",
            dataset_alias=alias,
            query_alias=alias,
            vocab=of.vocab,
            data_paths=tuple(s.path for s in new),
            schema_file="",
            explicit_watermarks=(),
            offset_interval=OffsetInterval(new_from, new[-1].offset_interval.end) if new else None,
            merge=_merge(of),
            history=of.history,
            schema=of.schema,
        )

    @property
    def records(self) -> list[Record]:
        """All records, in the order of their offsets."""
        return records(self.history, self.vocab)

    @property
    def rows(self) -> Counter[tuple[Any, ...]]:
        """The current rows. Fails if a record takes back a row that is not there."""
        return net(self.records)


def _merge(of: Polled | Derived) -> MergeStrategy | None:
    return None if isinstance(of, Derived) else of.strategy


def records(history: Iterable[HistorySlice], vocab: DatasetVocabulary) -> list[Record]:
    """Return the records of slices, in the order of their offsets."""
    found: list[Record] = []
    for slice_ in history:
        table = pq.read_table(slice_.path)
        names = [name for name in table.column_names if name not in vocab.columns[:3]]
        operations = table[vocab.operation_type_column].to_pylist()
        values = zip(*(table[name].to_pylist() for name in names), strict=True)
        found += [(OPERATIONS[o], tuple(map(_hashable, row))) for o, row in zip(operations, values, strict=True)]
    return found


def _hashable(value: Any) -> Any:
    """Return a value in which lists and structs are tuples, so that equal ones can be counted."""
    if isinstance(value, dict):
        return tuple((name, _hashable(v)) for name, v in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def net(of: Iterable[Record]) -> Counter[tuple[Any, ...]]:
    """Return the rows that remain after records in order, each with its number."""
    rows: Counter[tuple[Any, ...]] = Counter()
    before: Record = ("", ())
    for record in of:
        operation, row = record
        assert (operation == "+C") == (before[0] == "-C"), f"half a correction: {before}, {record}"
        rows[row] += 1 if operation in ("+A", "+C") else -1
        assert rows[row] >= 0, f"{operation} takes back {row}, which is not there"
        before = record
    return +rows
