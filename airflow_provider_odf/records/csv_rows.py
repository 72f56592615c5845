"""Arrow columns as CSV, in the texts of `json_rows`: made by Arrow where its text of a value is surely the same, and
else in Python."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from airflow_provider_odf.merge_strategies import OPERATION_NAMES
from airflow_provider_odf.records import json_rows
from airflow_provider_odf.records.logical_hash import data_of
from airflow_provider_odf.wording import cell

_SECONDS = (-62_135_596_800, 253_402_300_799)
"""First and last second of the years 1 to 9999 since 1970."""
_DAY = 86_400
_UNITS = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}
"""Units of times, and how many of them are a second."""
_PLAIN_FLOATS = (1e-4, 1e10)
"""Arrow and Python write the absolute numbers from the first to before the second without exponent."""
_PLAIN_SCALE = 6
"""Arrow writes decimals with so many digits after the point without exponent."""


def header(names: Sequence[str]) -> bytes:
    """Return the first line of a file."""
    return _line(names).encode()


def lines(batch: pa.RecordBatch, operation_column: str | None = None) -> bytes:
    """Return a line for each row; codes of ``operation_column`` become ``+A -R -C +C``. Nulls are empty."""
    texts = [
        _operations(c) if n == operation_column else _texts(c) for n, c in zip(batch.schema.names, batch, strict=True)
    ]
    cells = [_quoted(column) for column in texts]
    if len(cells) == 1:  # else a line would be empty
        cells = [pc.if_else(pc.equal(pc.fill_null(cells[0], _text("")), _text("")), _text('""'), cells[0])]
    last = _joined(cells[-1], _text("\n"), between="")
    return bytes(data_of(_joined(*cells[:-1], last, between=",")))


def _text(text: str) -> pa.Scalar:
    return pa.scalar(text, pa.large_string())


def _joined(*columns: pa.Array | pa.Scalar, between: str) -> pa.Array:
    """Return texts one after the other; nulls are empty."""
    return pc.binary_join_element_wise(*columns, _text(between), null_handling="replace")


def _operations(codes: pa.Array) -> pa.Array:
    names = pa.array(OPERATION_NAMES, pa.large_string())
    is_known = pc.and_(pc.greater_equal(codes, 0), pc.less(codes, len(names)))
    return pc.if_else(is_known, names.take(pc.if_else(is_known, codes, 0)), codes.cast(pa.large_string()))


def _texts(column: pa.Array) -> pa.Array:
    """Return the text of each value."""
    kind = column.type
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_integer(kind) or pt.is_boolean(kind):
        return column.cast(pa.large_string())
    if pt.is_floating(kind) and kind.bit_width > 16:
        return _floats(column)
    if pt.is_decimal(kind) and 0 <= kind.scale <= _PLAIN_SCALE:
        return column.cast(pa.large_string())
    if pt.is_timestamp(kind):
        return _timestamps(column)
    if pt.is_date32(kind):
        first, last = (second // _DAY for second in _SECONDS)
        is_sure = _between(column.view(pa.int32()).cast(pa.int64()), first, last)
        return _or_by_value(column, column.cast(pa.large_string()), is_sure)
    return _by_value(column)


def _floats(column: pa.Array) -> pa.Array:
    size, texts = pc.abs(column), column.cast(pa.large_string())
    least, most = _PLAIN_FLOATS
    is_sure = pc.or_(pc.and_(pc.greater_equal(size, least), pc.less(size, most)), pc.equal(size, 0.0))
    is_whole = pc.equal(column, pc.trunc(column))
    texts = pc.if_else(is_whole, pc.binary_join_element_wise(texts, _text(".0"), _text("")), texts)
    return _or_by_value(column, texts, is_sure)


def _timestamps(column: pa.Array) -> pa.Array:
    """Return times with as few digits of the fraction as each needs: 0, 3, 6 or 9."""
    unit, moments = column.type.unit, column.view(pa.int64())
    parts = _UNITS[unit]
    coarser = [name for name in _UNITS if _UNITS[name] <= parts]
    texts = None
    for name in reversed(coarser):
        step = parts // _UNITS[name]
        counts = pc.divide(moments, step)
        is_exact = pc.equal(pc.multiply(counts, step), moments)
        written = counts.view(pa.timestamp(name)).cast(pa.large_string())
        texts = written if texts is None else pc.if_else(is_exact, written, texts)
    zone = _text("Z" if column.type.tz is not None else "")
    texts = pc.binary_join_element_wise(pc.binary_replace_slice(texts, 10, 11, "T"), zone, _text(""))
    first, last = _SECONDS
    least, most = first * parts, (last + 1) * parts - 1
    is_sure = _between(moments, max(least, -(1 << 63)), min(most, (1 << 63) - 1))
    return _or_by_value(column, texts, is_sure)


def _between(numbers: pa.Array, least: int, most: int) -> pa.Array:
    return pc.and_(pc.greater_equal(numbers, least), pc.less_equal(numbers, most))


def _or_by_value(column: pa.Array, texts: pa.Array, is_sure: pa.Array) -> pa.Array:
    """Return texts; those that are not sure are made in Python. Nulls are sure."""
    is_unsure = pc.fill_null(pc.invert(is_sure), False)
    if not pc.any(is_unsure).as_py():
        return texts
    return pc.replace_with_mask(texts, is_unsure, _by_value(column.filter(is_unsure)))


def _by_value(column: pa.Array) -> pa.Array:
    return pa.array([None if v is None else cell(v) for v in json_rows.values(column)], pa.large_string())


def _quoted(texts: pa.Array) -> pa.Array:
    """Return texts with quotes where a reader needs them."""
    needs = pc.match_substring_regex(texts, f"[{_special()}]")
    if not pc.any(needs).as_py():
        return texts
    quote = _text('"')
    quoted = pc.binary_join_element_wise(quote, pc.replace_substring(texts, '"', '""'), quote, _text(""))
    return pc.if_else(needs, quoted, texts)


@cache
def _special() -> str:
    """Return the characters for which the csv module of this Python quotes a text: newer ones do so for ``\\r``."""
    return "".join(c for c in '",\r\n' if _line([c, ""]).startswith('"'))


def _line(cells: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
