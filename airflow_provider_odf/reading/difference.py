"""``DifferenceScan``: what a range of a history changed in the end.

Of a key, only its first and its last record of the range count: the first says what was there before, the last what is
there after. Without a key, records that undo each other are left out. A row that was added and retracted in the range
is thus no difference.

A first pass reads the operations and the key, or all columns of data if there is no key. A second pass reads the rows
of the difference. In memory is one entry for each record of the range at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NoReturn

from airflow_provider_odf.chain import json_rows
from airflow_provider_odf.chain.current_rows import spelled_key
from airflow_provider_odf.chain.slice_scan import scan
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, PRESENT, RETRACT
from airflow_provider_odf.reading.scan import HistoryScan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

MOST = 2_000_000
"""Records of a range that can be compared."""

_COMPACT = 200_000
_CODES = 4
"""An offset and its operation are one number: the offset times this, plus the operation."""

_PAIR = 2


@dataclass(frozen=True, eq=False)
class DifferenceScan(HistoryScan):
    """Rows that a range of offsets added (``+A``), retracted (``-R``) and corrected (``-C``, ``+C``) in the end, in the
    order of offsets. A correction that ends with the values it began with is left out."""

    @property
    def key(self) -> list[str]:
        """Columns of the primary key, none without a key."""
        return spelled_key(self.state, self._all_columns())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        self._check_length()
        vocab, names = self.state.vocab, self.schema.names
        found = self._by_key() if self.key else self._by_row()
        offsets = pa.array(found, pa.int64())
        operations = pa.array(list(found.values()), pa.int32())
        for batch in self._read([*names, vocab.offset_column]):
            at = pc.index_in(batch[vocab.offset_column], value_set=offsets)
            rows, taken = batch.filter(at.is_valid()).select(names), operations.take(at.drop_null())
            if vocab.operation_type_column in names:
                place = names.index(vocab.operation_type_column)
                rows = rows.set_column(place, rows.schema.field(place), taken.cast(rows.schema.field(place).type))
            if rows.num_rows:
                yield from pa.Table.from_batches([rows]).filter(self._condition()).to_batches()

    def _condition(self) -> pa.compute.Expression:
        import pyarrow.compute as pc

        return pc.scalar(True) if self.condition is None else self.condition

    def _check_length(self) -> None:
        length = self.offsets.last - self.offsets.first + 1 if self.offsets is not None else self.state.next_offset
        if length > MOST:
            raise InvalidInput(
                f"dataset {self.dataset.alias}: {length:,} records are between the two blocks, more than the {MOST:,} "
                "that can be compared: choose blocks that are closer together, or show the history between them"
            )

    def _by_key(self) -> dict[int, int]:
        """Return operations by offset, in ascending order, of a dataset with a key."""
        result: dict[int, int] = {}
        doubtful: dict[int, int] = {}
        for first, last, number in zip(*self._ends().values(), strict=True):
            before, after = first % _CODES not in PRESENT, last % _CODES in PRESENT
            if before and after:
                result[first // _CODES], result[last // _CODES] = CORRECT_FROM, CORRECT_TO
                if number > _PAIR:
                    doubtful[first // _CODES] = last // _CODES
            elif before:
                result[first // _CODES] = RETRACT
            elif after:
                result[last // _CODES] = APPEND
        for unchanged in self._unchanged(doubtful):
            del result[unchanged]
        return dict(sorted(result.items()))

    def _ends(self) -> Mapping[str, Sequence[int]]:
        """Return the first and the last code of each key in the range, and its number of records."""
        import pyarrow as pa

        held: list[pa.Table] = []
        rows, limit = 0, _COMPACT
        for batch in self._read([*self.key, self.state.vocab.offset_column, self.state.vocab.operation_type_column]):
            codes, ones = self._codes(batch), pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows)
            held.append(pa.table([*(batch[name] for name in self.key), codes, codes, ones], [*self._names(), *_ENDS]))
            rows += batch.num_rows
            if rows > limit:
                held = [self._grouped(held)]
                rows = held[0].num_rows
                limit = _COMPACT + 2 * rows
        ends = self._grouped(held).select(_ENDS) if held else None
        return {name: ends[name].to_pylist() if ends is not None else [] for name in _ENDS}

    def _names(self) -> list[str]:
        """Return names for the columns of the key that no other column has."""
        return [f"key {n}" for n in range(len(self.key))]

    def _grouped(self, tables: Sequence[pa.Table]) -> pa.Table:
        import pyarrow as pa

        first, last, number = _ENDS
        aggregates = [(first, "min"), (last, "max"), (number, "sum")]
        groups = pa.concat_tables(tables).combine_chunks().group_by(self._names()).aggregate(aggregates)
        return groups.rename_columns([*self._names(), *_ENDS])

    def _codes(self, batch: pa.RecordBatch) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        operations = batch[self.state.vocab.operation_type_column].cast(pa.int64())
        return pc.add(pc.multiply(batch[self.state.vocab.offset_column], _CODES), operations)

    def _unchanged(self, pairs: Mapping[int, int]) -> Iterator[int]:
        """Yield the offsets of pairs of rows with the same values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array([*pairs, *pairs.values()], pa.int64())
        digests: dict[int, bytes] = {}
        for batch in self._read([self.state.vocab.offset_column, *self._data()]) if pairs else ():
            digests.update(_digests(batch.filter(pc.is_in(batch.column(0), value_set=wanted))))
        for first, last in pairs.items():
            if digests[first] == digests[last]:
                yield from (first, last)

    def _by_row(self) -> dict[int, int]:
        """Return operations by offset, in ascending order, of a dataset without a key."""
        vocab = self.state.vocab
        operations = [code for b in self._read([vocab.operation_type_column]) for code in b.column(0).to_pylist()]
        start = self.offsets.first if self.offsets is not None else 0
        if all(code in PRESENT for code in operations):
            return dict.fromkeys(range(start, start + len(operations)), APPEND)
        left: dict[bytes, list[int]] = defaultdict(list)
        for batch in self._read([vocab.offset_column, *self._data()]):
            for offset, digest in _digests(batch):
                is_present = operations[offset - start] in PRESENT
                others = left[digest]
                if others and (operations[others[-1] - start] in PRESENT) != is_present:
                    others.pop()
                else:
                    others.append(offset)
        rest = sorted(offset for offsets in left.values() for offset in offsets)
        return {offset: APPEND if operations[offset - start] in PRESENT else RETRACT for offset in rest}

    def _data(self) -> list[str]:
        """Return the columns that make two rows differ."""
        system = self.state.vocab.columns[:3]
        return [name for name in self._all_columns() if name not in system]

    def _read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        schema = self.state.row_schema()
        for data_slice in self.slices():
            yield from scan(self.dataset, data_slice, schema, list(dict.fromkeys(columns)), None, self.offsets)

    def _frame(self, spark: SparkSession) -> NoReturn:
        raise InvalidInput("a difference cannot become a DataFrame: use `to_arrow`")


_ENDS = ["first code", "last code", "number"]


def _digests(batch: pa.RecordBatch) -> Iterator[tuple[int, bytes]]:
    """Yield offset and digest of rows whose first column is the offset."""
    offsets, *values = (json_rows.values(column) for column in batch.columns)
    for offset, *row in zip(offsets, *values, strict=True):
        yield offset, blake2b(repr(row).encode(), digest_size=16).digest()
