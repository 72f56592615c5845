"""``DifferenceScan``: what a range of a history changed in the end.

A first pass finds the records of the difference, as a table of the key, if the dataset has one, and a code: an offset
times four, plus an operation. It is in the order of the key, or of offsets if there is no key. Of a key, only its first
and its last record of the range count: the first says what was there before, the last what is there after. Without a
key, records that undo each other are left out.

The table is kept in the cache of the dataset, because a range of a history never changes. A second pass reads the rows
of its codes, or those of a page alone.
"""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.chain import cache_file, slices
from airflow_provider_odf.chain.record_rows import spelled_key
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, OPERATION_NAMES, PRESENT, RETRACT
from airflow_provider_odf.reading.scan import HistoryScan
from airflow_provider_odf.records.current_rows import not_undone
from airflow_provider_odf.records.keys import equality_codes, equality_codes_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from airflow_provider_odf.manifest.model import DataSlice

CODE = "code"
OPERATIONS = 4
"""A code is an offset times this, plus the operation."""

_COMPACT = 200_000
_AT_ONCE = 100_000
_FIRST, _LAST, _NUMBER = "first", "last", "number"
_PAIR = 2
_GONE = (RETRACT, CORRECT_FROM)
"""Operations of records whose row was there before."""

MAX_RECORDS = 2_000_000
"""Records of a range that can be compared."""

CACHED = 5
"""Differences that are cached for a dataset."""

_FORMAT, _PREFIX = "difference 1", "difference-"


@dataclass(frozen=True, eq=False, repr=False)
class DifferenceScan(HistoryScan):
    """Rows that a range of offsets added (``+A``), retracted (``-R``) and corrected (``-C``, ``+C``) in the end, in the
    order of offsets. A correction that ends with the values it began with is left out."""

    kind = "difference"

    @cached_property
    def key(self) -> list[str]:
        """Columns of the primary key, none without a key."""
        return spelled_key(self.state, self._all_columns())

    def in_order(self, operations: Collection[int], start: int, n: int) -> pa.Table:
        """Return ``n`` rows of the difference from a place on, in the order of the key, or of offsets without a key.

        :param operations: codes of operations; rows with others do not count.
        """
        codes = self._changes[CODE]
        is_wanted = pc.is_in(pc.bit_wise_and(codes, OPERATIONS - 1), value_set=pa.array(operations, pa.int64()))
        codes = codes.filter(is_wanted)
        page: list[int] = codes.slice(start, n).to_pylist()
        self._check(self._slices(sorted(page)))
        batches = list(self._rows(sorted(page)))
        place = {code: row for row, code in enumerate(sorted(page))}
        return pa.Table.from_batches(batches, self.schema).take(pa.array([place[code] for code in page], pa.int64()))

    def all_in_order(self) -> Iterator[pa.Table]:
        """Yield all rows of the difference in the order of `in_order`, some at a time."""
        for start in range(0, self._changes.num_rows, _AT_ONCE):
            yield self.in_order(range(OPERATIONS), start, _AT_ONCE)

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of rows by operation, such as ``{"+A": 2}``, whatever the condition is."""
        operations = pc.value_counts(pc.bit_wise_and(self._changes[CODE], OPERATIONS - 1)).to_pylist()
        return {OPERATION_NAMES[entry["values"]]: entry["counts"] for entry in operations}

    def __len__(self) -> int:
        """Return the number of rows, which are not read for it unless there is a condition."""
        return int(self._changes.num_rows) if self.condition is None else super().__len__()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._rows(sorted(self._changes[CODE].to_pylist())):
            if self.condition is None:
                yield batch
            else:
                yield from pa.Table.from_batches([batch]).filter(self.condition).to_batches()

    def _rows(self, codes: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some codes, which ascend."""
        vocab, names = self.state.vocab, self.schema.names
        for batch in self._read(self._slices(codes), [*names, vocab.offset_column]):
            start, end = batch[vocab.offset_column][0].as_py(), batch[vocab.offset_column][-1].as_py()
            first, after = (bisect_left(codes, offset * OPERATIONS) for offset in (start, end + 1))
            in_batch = codes[first:after]
            rows = batch.select(names).take(pa.array([code // OPERATIONS - start for code in in_batch], pa.int64()))
            if vocab.operation_type_column in names:
                place = names.index(vocab.operation_type_column)
                field = rows.schema.field(place)
                rows = rows.set_column(place, field, pa.array([code % OPERATIONS for code in in_batch], field.type))
            if rows.num_rows:
                yield rows

    @cached_property
    def _changes(self) -> pa.Table:
        self._check_length()
        names = self._files()
        at, cached = self._newest_cached(names)
        if cached is not None and at == len(names):
            return cached
        parts = self.slices()
        changes = _net_changes(self._records(parts[at:], is_first=False), cached) if cached is not None else None
        if changes is None:
            is_first = self.offsets is None or self.offsets.first == 0
            changes = _net_changes(self._records(parts, is_first=is_first))
            assert changes is not None  # noqa: S101 - nothing is before the range
        if self.dataset.cache is not None and names:
            _write(self.dataset.cache / names[-1], changes)
        return changes

    def _records(self, parts: Sequence[DataSlice], *, is_first: bool) -> Records:
        self._check(parts)
        vocab = self.state.vocab
        data = [name for name in self._all_columns() if name not in vocab.columns[:3]]
        return Records(
            partial(self._read, parts), vocab.offset_column, vocab.operation_type_column, self.key, data, is_first
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

    def _newest_cached(self, names: Sequence[str]) -> tuple[int, pa.Table | None]:
        """Return the cached table of the most slices, and their number."""
        cache = self.dataset.cache
        stored = {file.name for file in cache.glob(f"{_PREFIX}*")} if cache is not None else set()
        for at in reversed(range(len(names))):
            if cache is not None and names[at] in stored and (cached := _read(cache / names[at])) is not None:
                return at + 1, cached
        return 0, None

    def _check_length(self) -> None:
        length = self.offsets.last - self.offsets.first + 1 if self.offsets is not None else self.state.next_offset
        if length > MAX_RECORDS:
            raise InvalidInput(
                f"dataset {self.dataset.alias}: {length:,} records are between the two blocks, more than the "
                f"{MAX_RECORDS:,} that can be compared: choose blocks that are closer together, or show the history "
                "between them"
            )

    def _read(self, parts: Sequence[DataSlice], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        schema, wanted = self.state.row_schema(), list(dict.fromkeys(columns))
        for data_slice in parts:
            yield from slices.scan(self.dataset, data_slice, schema, wanted, None, self.offsets)

    def _slices(self, codes: Sequence[int]) -> list[DataSlice]:
        """Return the slices with some codes, which ascend."""
        starts = [bisect_left(codes, s.offset_interval.start * OPERATIONS) for s in self.slices()]
        ends = [bisect_left(codes, (s.offset_interval.end + 1) * OPERATIONS) for s in self.slices()]
        return [s for s, start, end in zip(self.slices(), starts, ends, strict=True) if start < end]

    def _check(self, parts: Sequence[DataSlice]) -> None:
        slices.check_unrecorded(self.dataset, self.state.dataset_id, parts)

    def _frame(self, spark: SparkSession) -> NoReturn:
        raise InvalidInput("a difference cannot become a DataFrame: use `to_arrow`")


def _read(file: Path) -> pa.Table | None:
    """Return a kept table, None if there is none or its bytes are damaged."""
    content = cache_file.read(file, _FORMAT)
    return pa.ipc.open_stream(content).read_all() if content is not None else None


def _write(file: Path, table: pa.Table) -> None:
    """Keep a table, if the folder can be written to, and delete those that were written longest ago."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    cache_file.write(file, _FORMAT, sink.getvalue().to_pybytes())
    with contextlib.suppress(OSError):
        for old in sorted(file.parent.glob(f"{_PREFIX}*"), key=lambda path: path.stat().st_mtime)[:-CACHED]:
            old.unlink(missing_ok=True)


@dataclass(frozen=True)
class Records:
    """Records of a range: ``read`` yields batches of some of their columns."""

    read: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    offset: str
    operation: str
    key: Sequence[str]
    data: Sequence[str]
    """Columns that make two rows differ."""
    is_first: bool = False
    """Whether there are no records before the range, so that no row was there before."""


def _net_changes(records: Records, before: pa.Table | None = None) -> pa.Table | None:
    """Return the table of the difference.

    :param before: the table of all records before the range, to get that of all records; None then stands for a range
        that must be read with them, because it undoes rows by their values.
    """
    if records.key:
        return _by_key(records, before)
    changes = _by_row(records)
    if before is None:
        return changes
    has_undone = pc.any(pc.not_equal(_operation(changes[CODE]), APPEND)).as_py()
    return None if has_undone else pa.concat_tables([before, changes])


def _by_key(records: Records, before: pa.Table | None) -> pa.Table:
    ends = _ends(records, before)
    first, last = ends[_FIRST], ends[_LAST]
    was = pc.is_in(_operation(first), value_set=pa.array([] if records.is_first else _GONE, pa.int64()))
    now = pc.is_in(_operation(last), value_set=pa.array(PRESENT, pa.int64()))
    codes_before = pc.add(_base(first), pc.if_else(now, CORRECT_FROM, RETRACT))
    codes_after = pc.add(_base(last), pc.if_else(was, CORRECT_TO, APPEND))
    names = _names(records.key)
    gone = ends.select(names).append_column(CODE, codes_before).filter(was)
    new = ends.select(names).append_column(CODE, codes_after).filter(now)
    # A pair of -C and +C always differs.
    is_pair = pc.and_(pc.equal(ends[_NUMBER], _PAIR), pc.equal(_operation(first), CORRECT_FROM))
    doubtful = ends.filter(pc.and_(pc.and_(was, now), pc.invert(is_pair)))
    same = _unchanged(records, dict(zip(_offsets(doubtful[_FIRST]), _offsets(doubtful[_LAST]), strict=True)))
    changes = pa.concat_tables([gone, new])
    if same:
        changes = changes.filter(pc.invert(pc.is_in(_base(changes[CODE]), value_set=pa.array(same, pa.int64()))))
    changes = changes.append_column("operation", _operation(changes[CODE]))
    return changes.sort_by([(name, "ascending") for name in (*names, "operation")]).select([*names, CODE])


def _ends(records: Records, before: pa.Table | None) -> pa.Table:
    """Return each key of the range with the codes of its first and its last record, and their number. Rows before the
    range count as records of it."""
    names, held, read, rows, limit = _names(records.key), list[pa.Table](), list[pa.RecordBatch](), 0, _COMPACT

    def single(keys: Iterable[pa.ChunkedArray], codes: pa.ChunkedArray) -> pa.Table:
        ones = pa.repeat(pa.scalar(1, pa.int64()), len(codes))
        return pa.table([*keys, codes, codes, ones], [*names, _FIRST, _LAST, _NUMBER])

    def compact() -> pa.Table:
        # All at once: batches of a history of small slices have a few rows each.
        new = pa.Table.from_batches(read).combine_chunks()
        codes = pc.add(pc.multiply(new[records.offset], OPERATIONS), new[records.operation].cast(pa.int64()))
        return _grouped([*held, single(map(new.column, records.key), codes)], names)

    if before is not None:
        held.append(single(map(before.column, names), before[CODE]))
    for batch in records.read([*records.key, records.offset, records.operation]):
        read.append(batch)
        rows += batch.num_rows
        if rows > limit:
            held, read = [compact()], []
            rows = held[0].num_rows
            limit = _COMPACT + 2 * rows
    if read:
        return compact()
    if not held:
        return pa.table({name: pa.array([], pa.int64()) for name in (*names, _FIRST, _LAST, _NUMBER)})
    return _grouped(held, names)


def _grouped(tables: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    aggregates = [(_FIRST, "min"), (_LAST, "max"), (_NUMBER, "sum")]
    groups = pa.concat_tables(tables).combine_chunks().group_by(list(names)).aggregate(aggregates)
    return groups.rename_columns([*names, _FIRST, _LAST, _NUMBER])


def _names(key: Sequence[str]) -> list[str]:
    """Return names for the columns of the key that no other column has."""
    return [f"key {n}" for n in range(len(key))]


def _operation(codes: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.bit_wise_and(codes, OPERATIONS - 1)


def _base(codes: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return codes without their operation."""
    return pc.subtract(codes, _operation(codes))


def _offsets(codes: pa.ChunkedArray) -> list[int]:
    return [code // OPERATIONS for code in codes.to_pylist()]


def _unchanged(records: Records, pairs: Mapping[int, int]) -> list[int]:
    """Return the codes, without operation, of pairs of rows with the same values."""
    if not pairs:
        return []
    wanted = pa.array([*pairs, *pairs.values()], pa.int64())
    names = list(dict.fromkeys([records.offset, *records.data]))
    batches = [b.filter(pc.is_in(b[records.offset], value_set=wanted)) for b in records.read(names)]
    rows = pa.Table.from_batches(batches)
    codes = dict(zip(rows[records.offset].to_pylist(), equality_codes_of(rows, records.data).to_pylist(), strict=True))
    same = (pair for pair in pairs.items() if codes[pair[0]] == codes[pair[1]])
    return [offset * OPERATIONS for pair in same for offset in pair]


def _by_row(records: Records) -> pa.Table:
    def column(name: str) -> pa.ChunkedArray:
        chunks = [batch.column(0) for batch in records.read([name])]
        return pa.chunked_array(chunks) if chunks else pa.chunked_array([], pa.int64())

    operations, offsets = column(records.operation), column(records.offset)
    if pc.max(operations).as_py() not in (None, APPEND):
        places = not_undone(equality_codes(map(column, records.data)), operations, is_first=records.is_first)
        operations, offsets = operations.take(pa.array(places, pa.int64())), offsets.take(pa.array(places, pa.int64()))
    is_present = pc.is_in(operations.cast(pa.int64()), value_set=pa.array(PRESENT, pa.int64()))
    codes = pc.add(pc.multiply(offsets.cast(pa.int64()), OPERATIONS), pc.if_else(is_present, APPEND, RETRACT))
    return pa.table({CODE: codes})
