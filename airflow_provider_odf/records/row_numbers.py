"""Numbers that represent values, for comparing rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt


def row_numbers(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """Return a number for each row. Rows that are equal in the columns have the same number.

    Equality is that of ``<=>``: null is a value, NaN equals itself and zero has no sign. Without columns there are no
    numbers.
    """
    combined: pa.Array | None = None
    for name in names:
        codes = _codes(table[name])
        if combined is None:
            combined = codes
        else:
            width = (pc.max(codes).as_py() or 0) + 1
            both = pc.add(pc.multiply(combined, width), codes)
            combined = both.dictionary_encode().indices.cast(pa.int64())
    return combined if combined is not None else pa.array([], pa.int64())


def _codes(column: pa.ChunkedArray) -> pa.Array:
    whole = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pt.is_floating(whole.type):
        whole = pc.add(whole, pa.scalar(0.0, whole.type))
    if pt.is_nested(whole.type):
        whole = pa.array([None if value is None else repr(value) for value in whole.to_pylist()], pa.string())
    return pc.add(pc.fill_null(whole.dictionary_encode().indices.cast(pa.int64()), -1), 1)
