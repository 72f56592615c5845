"""How many records of a slice are of each hour of event time: the material of charts by time, and of the days that a
block touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Records:
    """Records of an hour, of one code of operation. ``hour`` counts from 1970 in UTC, None for records without an event
    time. They are late if their event time is before the watermark that the history had when they were merged."""

    hour: int | None
    operation: int
    is_late: bool
    number: int


def records_by_hour(
    dataset: Dataset, data_slice: DataSlice, state: ChainState, watermark: Instant | None
) -> Iterator[Records]:
    """Yield the numbers of a slice's records by hour of event time, operation, and whether they are late. Only two
    columns are read.

    :param state: of the chain, whose columns the slice has.
    :param watermark: the one before the slice, None if there was none.
    :raises ChainCorrupted: the file is missing or damaged.
    :raises StorageError: the file cannot be read.
    """
    vocab, schema = state.vocab, state.row_schema()
    assert schema is not None  # noqa: S101 - a slice follows a schema
    columns = [vocab.event_time_column, vocab.operation_type_column]
    total: Counter[tuple[int | None, int, bool]] = Counter()
    for batch in slices.scan(dataset, data_slice, schema, columns):
        times = _naive(batch.column(0))
        hours = pc.floor_temporal(times, unit="hour").cast(pa.timestamp("s")).cast(pa.int64())
        is_late = pa.repeat(pa.scalar(False), batch.num_rows)
        if watermark is not None:
            before = pa.scalar(watermark.to_datetime().replace(tzinfo=None), pa.timestamp("us"))
            is_late = pc.fill_null(pc.less(times, before), False)
        table = pa.table([hours, batch.column(1), is_late], ["hour", "operation", "late"])
        for row in table.group_by(table.column_names).aggregate([([], "count_all")]).to_pylist():
            hour = None if row["hour"] is None else row["hour"] // SECONDS
            total[hour, row["operation"], row["late"]] += row["count_all"]
    for (hour, operation, is_late), number in total.items():
        yield Records(hour, operation, is_late, number)


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
