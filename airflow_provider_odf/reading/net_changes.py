"""Which records of a range of a history are its difference, as a table.

The table has the key, if the dataset has one, and a code: an offset times four, plus an operation. It is in the order
of the key, or of offsets if there is no key. Of a key, only its first and its last record of the range count: the first
says what was there before, the last what is there after. Without a key, records that undo each other are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from airflow_provider_odf.merge_strategies import APPEND, CORRECT_FROM, CORRECT_TO, PRESENT, RETRACT
from airflow_provider_odf.records import json_rows

if TYPE_CHECKING:
    import pyarrow as pa

CODE = "code"
OPERATIONS = 4
"""A code is an offset times this, plus the operation."""

_COMPACT = 200_000
_FIRST, _LAST, _NUMBER = "first", "last", "number"
_PAIR = 2
_GONE = (RETRACT, CORRECT_FROM)
"""Operations of records whose row was there before."""


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


def net_changes(records: Records, before: pa.Table | None = None) -> pa.Table | None:
    """Return the table of the difference.

    :param before: the table of all records before the range, to get that of all records; None then stands for a range
        that must be read with them, because it undoes rows by their values.
    """
    if records.key:
        return _by_key(records, before)
    changes = _by_row(records)
    if before is None:
        return changes
    import pyarrow as pa
    import pyarrow.compute as pc

    has_undone = pc.any(pc.not_equal(_operation(changes[CODE]), APPEND)).as_py()
    return None if has_undone else pa.concat_tables([before, changes])


def _by_key(records: Records, before: pa.Table | None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

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
    import pyarrow as pa
    import pyarrow.compute as pc

    names, held, rows, limit = _names(records.key), list[pa.Table](), 0, _COMPACT
    if before is not None:
        ones = pa.repeat(pa.scalar(1, pa.int64()), before.num_rows)
        columns = [*(before[name] for name in names), before[CODE], before[CODE], ones]
        held.append(pa.table(columns, [*names, _FIRST, _LAST, _NUMBER]))
    for batch in records.read([*records.key, records.offset, records.operation]):
        codes = pc.add(pc.multiply(batch[records.offset], OPERATIONS), batch[records.operation].cast(pa.int64()))
        ones = pa.repeat(pa.scalar(1, pa.int64()), batch.num_rows)
        columns = [*(batch[name] for name in records.key), codes, codes, ones]
        held.append(pa.table(columns, [*names, _FIRST, _LAST, _NUMBER]))
        rows += batch.num_rows
        if rows > limit:
            held = [_grouped(held, names)]
            rows = held[0].num_rows
            limit = _COMPACT + 2 * rows
    if not held:
        return pa.table({name: pa.array([], pa.int64()) for name in (*names, _FIRST, _LAST, _NUMBER)})
    return _grouped(held, names)


def _grouped(tables: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    import pyarrow as pa

    aggregates = [(_FIRST, "min"), (_LAST, "max"), (_NUMBER, "sum")]
    groups = pa.concat_tables(tables).combine_chunks().group_by(list(names)).aggregate(aggregates)
    return groups.rename_columns([*names, _FIRST, _LAST, _NUMBER])


def _names(key: Sequence[str]) -> list[str]:
    """Return names for the columns of the key that no other column has."""
    return [f"key {n}" for n in range(len(key))]


def _operation(codes: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.bit_wise_and(codes, OPERATIONS - 1)


def _base(codes: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return codes without their operation."""
    import pyarrow.compute as pc

    return pc.subtract(codes, _operation(codes))


def _offsets(codes: pa.ChunkedArray) -> list[int]:
    return [code // OPERATIONS for code in codes.to_pylist()]


def _unchanged(records: Records, pairs: Mapping[int, int]) -> list[int]:
    """Return the codes, without operation, of pairs of rows with the same values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array([*pairs, *pairs.values()], pa.int64())
    digests: dict[int, bytes] = {}
    for batch in records.read([records.offset, *records.data]) if pairs else ():
        digests.update(_digests(batch.filter(pc.is_in(batch[records.offset], value_set=wanted)), records))
    same = ((first, last) for first, last in pairs.items() if digests[first] == digests[last])
    return [offset * OPERATIONS for pair in same for offset in pair]


def _by_row(records: Records) -> pa.Table:
    import pyarrow as pa

    left: dict[bytes, list[int]] = defaultdict(list)
    has_only_additions = all(max(_code(b, records)) == APPEND for b in records.read([records.operation]) if b.num_rows)
    for batch in records.read([records.offset, records.operation, *([] if has_only_additions else records.data)]):
        operations = _code(batch, records)
        for operation, (offset, digest) in zip(operations, _digests(batch, records), strict=True):
            code = offset * OPERATIONS + (APPEND if operation in PRESENT else RETRACT)
            others = left[b"" if has_only_additions else digest]
            if others and others[-1] % OPERATIONS != code % OPERATIONS:
                others.pop()
            elif operation in PRESENT or not records.is_first:
                others.append(code)
    return pa.table({CODE: pa.array(sorted(code for codes in left.values() for code in codes), pa.int64())})


def _code(batch: pa.RecordBatch, records: Records) -> list[int]:
    codes: list[int] = batch[records.operation].to_pylist()
    return codes


def _digests(batch: pa.RecordBatch, records: Records) -> Iterator[tuple[int, bytes]]:
    """Yield offset and digest of the data of each row."""
    columns = [json_rows.values(batch[name]) for name in records.data if name in batch.schema.names]
    offsets = batch[records.offset].to_pylist()
    for offset, row in zip(offsets, zip(*columns, strict=True) if columns else [()] * len(offsets), strict=True):
        yield offset, blake2b(repr(row).encode(), digest_size=16).digest()
