"""How many records of slices are of each hour of event time: the material of charts by time, and of the days that a
block touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.chain import slices

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.model import DataSlice

SECONDS = 3600
_EPOCH = date(1970, 1, 1)
_AT_ONCE = 200_000
"""Rows that are counted at once: small slices have a few each."""


@dataclass(frozen=True)
class Records:
    """Records of an hour, of one code of operation. ``hour`` counts from 1970 in UTC, None for records without an event
    time. They are late if their event time is before the watermark that the history had when they were merged.
    ``published`` is the hour that was given for their slice."""

    hour: int | None
    operation: int
    is_late: bool
    published: int
    number: int


@dataclass(frozen=True)
class Part:
    """A slice, the watermark before it, None if there was none, and the hour of its publication."""

    data_slice: DataSlice
    watermark: Instant | None = None
    published: int = 0


def records_by_hour(dataset: Dataset, parts: Iterable[Part], state: ChainState) -> Iterator[Records]:
    """Yield the numbers of records by hour of event time, operation, lateness, and hour of publication. Only two
    columns of the slices are read.

    :param state: of the chain, whose columns the slices have.
    :raises ChainCorrupted: a file is missing, or differs from its hash.
    :raises StorageError: a file cannot be read.
    """
    schema, vocab = state.row_schema(), state.vocab
    held, total = _Rows(), Counter[tuple[int | None, int, bool, int]]()
    for part in parts:
        slices.check_unrecorded(dataset, state.dataset_id, [part.data_slice])
        for batch in slices.scan(
            dataset, part.data_slice, schema, [vocab.event_time_column, vocab.operation_type_column]
        ):
            held.add(batch, part)
        if held.number > _AT_ONCE:
            total += held.counts()
            held = _Rows()
    total += held.counts()
    for (hour, operation, is_late, published), number in total.items():
        yield Records(hour, operation, is_late, published, number)


@dataclass
class _Rows:
    """Event times and operations of rows, with the watermark and the publication of each."""

    columns: tuple[list[pa.Array], ...] = field(default_factory=lambda: ([], [], [], []))
    number: int = 0

    def add(self, batch: pa.RecordBatch, part: Part) -> None:
        n = batch.num_rows
        watermark = part.watermark.to_datetime().replace(tzinfo=None) if part.watermark is not None else None
        own = (
            _naive(batch.column(0)),
            batch.column(1),
            pa.repeat(pa.scalar(watermark, pa.timestamp("us")), n),
            pa.repeat(part.published, n),
        )
        for column, values in zip(self.columns, own, strict=True):
            column.append(values)
        self.number += n

    def counts(self) -> Counter[tuple[int | None, int, bool, int]]:
        """Return the numbers of rows by hour, operation, lateness and publication."""
        if not self.number:
            return Counter()
        times, operations, watermarks, published = (pa.chunked_array(c).combine_chunks() for c in self.columns)
        hours = pc.floor_temporal(times, unit="hour").cast(pa.timestamp("s")).cast(pa.int64())
        is_late = pc.fill_null(pc.less(times, watermarks), False)
        table = pa.table([hours, operations, is_late, published], ["hour", "operation", "late", "published"])
        rows = table.group_by(table.column_names).aggregate([([], "count_all")]).to_pylist()
        counts = Counter[tuple[int | None, int, bool, int]]()
        for row in rows:
            hour = None if row["hour"] is None else row["hour"] // SECONDS
            counts[hour, row["operation"], row["late"], row["published"]] += row["count_all"]
        return counts


def day_of(hour: int | None) -> str:
    """Return the day of an hour.

    >>> day_of(24), day_of(-1), day_of(None)
    ('1970-01-02', '1969-12-31', 'no event time')
    """
    return "no event time" if hour is None else (_EPOCH + timedelta(days=hour // 24)).isoformat()


def _naive(times: pa.Array) -> pa.Array:
    """Return times without a zone, as they are in UTC: what Arrow computes without a database of zones."""
    unit = times.type.unit if pa.types.is_timestamp(times.type) else "s"
    return times.cast(pa.timestamp(unit))
