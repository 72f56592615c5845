"""Texts as typed values, where Arrow provably reads what the strict reader does.

The strict reader (``read.scalar``) accepts more texts than this module and has the messages for all others. For each
type, Arrow accepts a part of those texts with the same values, and few others, which are found here:

- integers: Arrow also reads hexadecimal numbers
- FLOAT, DOUBLE: Arrow also reads infinity, not a number, and numbers that are too large as infinity
- DECIMAL: Arrow also reads numbers with an exponent and texts of any length, and its numbers wrap around past 128 bits
- DATE: none; only dates before year 1, which both read
- BOOLEAN: Arrow also reads 0 and 1, so the texts are compared
- TIMESTAMP: Arrow also reads times without minutes or seconds, and other zones, so only texts with seconds, with Z or
  without a zone count
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

_MOST_DIGITS = 38
"""Digits that always fit in 128 bits. Twice as many always fit in 256 bits."""

_SECONDS = len("2024-01-01T00:00:00")
_MICROSECONDS = len("2024-01-01T00:00:00.123456")


def convert(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return texts as values of a type of the dataset, times in its unit. Return None if only the strict reader can
    judge them."""
    if pt.is_string(kind):
        return texts
    try:
        if pt.is_boolean(kind):
            return _booleans(texts)
        if pt.is_timestamp(kind):
            return _times(texts, kind)
        if pt.is_signed_integer(kind):
            return None if _any(pc.match_substring(texts, "x", ignore_case=True)) else texts.cast(kind)
        if pt.is_floating(kind):
            numbers = texts.cast(kind)
            return numbers if pc.all(pc.is_finite(numbers), min_count=0).as_py() else None
        if pt.is_decimal128(kind):
            return _decimals(texts, kind)
        if pt.is_date32(kind):
            days = texts.cast(kind)
            return None if _starts_before_year_1(days) else days
    except pa.ArrowInvalid:
        pass
    return None


def _decimals(texts: pa.Array, kind: pa.Decimal128Type) -> pa.Array | None:
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if longest > _MOST_DIGITS or _any(pc.match_substring(texts, "e", ignore_case=True)):
        return None
    # A number has at most as many digits as its text has bytes, and gets zeros up to the scale.
    fits = longest + kind.scale <= _MOST_DIGITS
    wide = pa.decimal128(_MOST_DIGITS, kind.scale) if fits else pa.decimal256(2 * _MOST_DIGITS, kind.scale)
    return texts.cast(wide).cast(kind)


def _booleans(texts: pa.Array) -> pa.Array | None:
    is_true = pc.equal(texts, "true")
    return is_true if pc.all(pc.or_(is_true, pc.equal(texts, "false")), min_count=0).as_py() else None


def _times(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    is_zoned = pc.ends_with(texts, "Z")
    has_zones = _any(is_zoned)
    if has_zones and not pc.all(is_zoned, min_count=0).as_py():
        return None
    lengths = pc.min_max(pc.binary_length(texts))
    first, last = (length.as_py() for length in lengths.values())
    if first is not None and not _SECONDS <= first - has_zones <= last - has_zones <= _MICROSECONDS:
        return None
    times = texts.cast(pa.timestamp("us", "UTC" if has_zones else None)).view(pa.timestamp("us"))
    if _starts_before_year_1(times):
        return None
    return pc.floor_temporal(times, unit="millisecond").cast(pa.timestamp("ms")).view(kind)


def _starts_before_year_1(times: pa.Array) -> bool:
    """Whether a time is before year 1, the first one that slices can hold. None of ten digits is after year 9999."""
    first = pc.min(times)
    return bool(
        first.is_valid
        and first.cast(pa.int32() if pt.is_date32(times.type) else pa.int64()).as_py()
        < (-719_162 if pt.is_date32(times.type) else -719_162 * 86_400_000_000)
    )


def _any(flags: pa.Array) -> bool:
    return bool(pc.any(flags, min_count=0).as_py())
