"""``DifferenceScan``: what a range of a history changed in the end, see `net_changes`.

A first pass finds the records of the difference. What it found is kept in the folder of the scan's cache, because a
range of a history never changes. A second pass reads their rows, or those of a page alone.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, NoReturn

from airflow_provider_odf.chain import checked_slices, kept_file
from airflow_provider_odf.chain.current_rows import spelled_key
from airflow_provider_odf.chain.slice_scan import scan
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.reading.net_changes import CODE, OPERATIONS, Records, net_changes
from airflow_provider_odf.reading.scan import HistoryScan

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from airflow_provider_odf.manifest.model import DataSlice

MOST = 2_000_000
"""Records of a range that can be compared."""

KEPT = 5
"""Differences that are kept for a dataset."""

_FORMAT, _PREFIX = "difference 1", "difference-"


@dataclass(frozen=True, eq=False)
class DifferenceScan(HistoryScan):
    """Rows that a range of offsets added (``+A``), retracted (``-R``) and corrected (``-C``, ``+C``) in the end, in the
    order of offsets. A correction that ends with the values it began with is left out."""

    @cached_property
    def key(self) -> list[str]:
        """Columns of the primary key, none without a key."""
        return spelled_key(self.state, self._all_columns())

    def in_order(self, operations: Collection[int], start: int, n: int) -> pa.Table:
        """Return ``n`` rows of the difference from a place on, in the order of the key, or of offsets without a key.

        :param operations: codes of operations; rows with others do not count.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        codes = self._changes[CODE]
        is_wanted = pc.is_in(pc.bit_wise_and(codes, OPERATIONS - 1), value_set=pa.array(operations, pa.int64()))
        codes = codes.filter(is_wanted)
        page: list[int] = codes.slice(start, n).to_pylist()
        self._check(self._slices(sorted(page)))
        batches = list(self._rows(sorted(page)))
        place = {code: row for row, code in enumerate(sorted(page))}
        return pa.Table.from_batches(batches, self.schema).take(pa.array([place[code] for code in page], pa.int64()))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in self._rows(sorted(self._changes[CODE].to_pylist())):
            if self.condition is None:
                yield batch
            else:
                yield from pa.Table.from_batches([batch]).filter(self.condition).to_batches()

    def _rows(self, codes: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some codes, which ascend."""
        import pyarrow as pa

        vocab, names = self.state.vocab, self.schema.names
        for batch in self._read(self._slices(codes), [*names, vocab.offset_column]):
            start, end = batch[vocab.offset_column][0].as_py(), batch[vocab.offset_column][-1].as_py()
            found = codes[bisect_left(codes, start * OPERATIONS) : bisect_right(codes, end * OPERATIONS + OPERATIONS)]
            found = [code for code in found if code // OPERATIONS <= end]
            rows = batch.select(names).take(pa.array([code // OPERATIONS - start for code in found], pa.int64()))
            if vocab.operation_type_column in names:
                place = names.index(vocab.operation_type_column)
                field = rows.schema.field(place)
                rows = rows.set_column(place, field, pa.array([code % OPERATIONS for code in found], field.type))
            if rows.num_rows:
                yield rows

    @cached_property
    def _changes(self) -> pa.Table:
        self._check_length()
        names = self._files()
        at, kept = self._newest_kept(names)
        if kept is not None and at == len(names):
            return kept
        slices = self.slices()
        changes = net_changes(self._records(slices[at:], is_first=False), kept) if kept is not None else None
        if changes is None:
            is_first = self.offsets is None or self.offsets.first == 0
            changes = net_changes(self._records(slices, is_first=is_first))
            assert changes is not None  # noqa: S101 - nothing is before the range
        if self.cache is not None and names:
            _write(self.cache / names[-1], changes)
        return changes

    def _records(self, slices: Sequence[DataSlice], *, is_first: bool) -> Records:
        self._check(slices)
        vocab = self.state.vocab
        data = [name for name in self._all_columns() if name not in vocab.columns[:3]]
        return Records(
            partial(self._read, slices), vocab.offset_column, vocab.operation_type_column, self.key, data, is_first
        )

    def _files(self) -> list[str]:
        """Return names of files: of a range that of its difference, of the whole history those after each slice. They
        have a hash of all that the difference depends on."""
        words = (_FORMAT, self.state.dataset_id, str(self.offsets), str(self.key), str(self._all_columns()))
        digest, names = sha256("\n".join(words).encode()), []
        for data_slice in self.slices():
            digest.update(data_slice.physical_hash.encode())
            names.append(f"{_PREFIX}{digest.hexdigest()}")
        return names if self.offsets is None else names[-1:]

    def _newest_kept(self, names: Sequence[str]) -> tuple[int, pa.Table | None]:
        """Return what is kept of the most slices, and their number."""
        stored = {file.name for file in self.cache.glob(f"{_PREFIX}*")} if self.cache is not None else set()
        for at in reversed(range(len(names))):
            if self.cache is not None and names[at] in stored and (kept := _read(self.cache / names[at])) is not None:
                return at + 1, kept
        return 0, None

    def _check_length(self) -> None:
        length = self.offsets.last - self.offsets.first + 1 if self.offsets is not None else self.state.next_offset
        if length > MOST:
            raise InvalidInput(
                f"dataset {self.dataset.alias}: {length:,} records are between the two blocks, more than the {MOST:,} "
                "that can be compared: choose blocks that are closer together, or show the history between them"
            )

    def _read(self, slices: Sequence[DataSlice], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        schema, wanted = self.state.row_schema(), list(dict.fromkeys(columns))
        for data_slice in slices:
            yield from scan(self.dataset, data_slice, schema, wanted, None, self.offsets)

    def _slices(self, codes: Sequence[int]) -> list[DataSlice]:
        """Return the slices with some codes, which ascend."""
        starts = [bisect_left(codes, s.offset_interval.start * OPERATIONS) for s in self.slices()]
        ends = [bisect_left(codes, (s.offset_interval.end + 1) * OPERATIONS) for s in self.slices()]
        return [s for s, start, end in zip(self.slices(), starts, ends, strict=True) if start < end]

    def _check(self, slices: Sequence[DataSlice]) -> None:
        checked_slices.check(self.dataset, self.state.dataset_id, slices, self.cache)

    def _frame(self, spark: SparkSession) -> NoReturn:
        raise InvalidInput("a difference cannot become a DataFrame: use `to_arrow`")


def _read(file: Path) -> pa.Table | None:
    """Return a kept table, None if there is none or its bytes are damaged."""
    import pyarrow as pa

    content = kept_file.read(file, _FORMAT)
    return pa.ipc.open_stream(content).read_all() if content is not None else None


def _write(file: Path, table: pa.Table) -> None:
    """Keep a table, if the folder can be written to, and delete those that were written longest ago."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    if file.parent.is_dir():
        kept_file.write(file, _FORMAT, sink.getvalue().to_pybytes())
        with contextlib.suppress(OSError):
            kept = sorted(file.parent.glob(f"{_PREFIX}*"), key=lambda path: path.stat().st_mtime)
            for old in kept[:-KEPT]:
                old.unlink(missing_ok=True)
