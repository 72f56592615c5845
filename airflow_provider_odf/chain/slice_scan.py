"""Scans of a slice: some of its columns and rows as a stream of Arrow batches, in bounded memory.

Only a scan with a condition imports ``pyarrow.dataset``, which imports pandas and takes a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import slices
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.manifest.model import DataSlice

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc

_BATCH = 65_536
"""Most rows of a batch."""


@dataclass(frozen=True)
class OffsetRange:
    """Offsets from ``first`` to ``last``, in the offset column of a dataset."""

    column: str
    first: int
    last: int

    def overlaps(self, data_slice: DataSlice) -> bool:
        interval = data_slice.offset_interval
        return interval.end >= self.first and interval.start <= self.last

    def covers(self, data_slice: DataSlice) -> bool:
        interval = data_slice.offset_interval
        return self.first <= interval.start and interval.end <= self.last

    def condition(self) -> pc.Expression:
        import pyarrow.compute as pc

        offset = pc.field(self.column)
        return (offset >= self.first) & (offset <= self.last)


def scan(
    dataset: Dataset,
    data_slice: DataSlice,
    schema: pa.Schema,
    columns: Sequence[str],
    condition: pc.Expression | None = None,
    offsets: OffsetRange | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield columns of the rows of a slice that meet a condition and have these offsets, in the order of offsets.

    A column that was added after the slice is null.

    :raises ChainCorrupted: the file is missing, damaged, or does not match the schema.
    :raises StorageError: the file cannot be read.
    """
    if offsets is not None and offsets.covers(data_slice):
        offsets = None
    source = slices.location(dataset, data_slice)
    with slices.read_errors(source):
        if condition is None:
            yield from _read(source, data_slice, schema, columns, offsets)
        else:
            where = condition if offsets is None else condition & offsets.condition()
            yield from _filtered(source, schema, columns, where)


def _read(
    source: str, data_slice: DataSlice, schema: pa.Schema, columns: Sequence[str], offsets: OffsetRange | None
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    selected = pa.schema([schema.field(name) for name in columns])
    start = data_slice.offset_interval.start
    with pq.ParquetFile(source, pre_buffer=False) as file:  # else all of the columns would be in memory
        present = [name for name in file.schema_arrow.names if name in set(columns)]
        # A file without any of the columns still says how many rows there are.
        for batch in file.iter_batches(_BATCH, columns=present or file.schema_arrow.names[:1]):
            table = slices.conform(pa.Table.from_batches([batch]), selected)
            if offsets is not None:
                first, last = max(0, offsets.first - start), max(0, offsets.last + 1 - start)
                table = table.slice(first, max(0, last - first))
            start += batch.num_rows
            yield from table.to_batches()


def _filtered(
    source: str, schema: pa.Schema, columns: Sequence[str], condition: pc.Expression
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that meet a condition. Row groups that cannot have such rows are not read."""
    import pyarrow as pa
    import pyarrow.dataset as pads
    from pyarrow.fs import LocalFileSystem

    fragment = pads.ParquetFileFormat().make_fragment(source, LocalFileSystem())
    options: dict[str, Any] = {"batch_size": _BATCH, "batch_readahead": 1, "fragment_readahead": 1}
    views = {pa.string_view(), pa.binary_view()}
    if views.isdisjoint(fragment.physical_schema.types):
        scanner = fragment.scanner(schema=schema, columns=list(columns), filter=condition, **options)
        yield from (batch for batch in scanner.to_batches() if batch.num_rows)
        return
    for batch in fragment.scanner(schema=schema, **options).to_batches():  # pyarrow cannot filter views
        yield from pa.Table.from_batches([batch]).filter(condition).select(list(columns)).to_batches()
