"""Where the records of CSV bytes end, and on which lines they begin, quoted line breaks left aside.

Quotes are looked at together, by Arrow, where they are *regular*: none is escaped, and in turns they open at the start
of a field and close at its end, but for doubled ones. Elsewhere each quoted field is, which takes ten times as long.
All of it is for encodings in which the bytes of a quote, a separator and a line end are nothing else.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine.read.csv_fields import CsvFormat

_LINE_ENDS = b"\r\n"


def end_of_records(data: bytes, form: CsvFormat) -> int:
    """How many bytes of data that begin with a record are records with their ends, perhaps none."""
    if not form.quote or form.quote.encode() not in data:
        return _after_line_end(data, 0, len(data)) or 0
    return _regular_end(data, form) if are_regular(data, form) else _end(data, form)


def are_regular(data: bytes, form: CsvFormat) -> bool:
    """Whether the quotes of data that begin with a record, and may end within one, are regular."""
    quote, separator = form.quote.encode(), form.separator.encode()
    if not quote or quote not in data:
        return True
    if len(quote) > 1 or len(separator) > 1 or any(escape.encode() in data for escape in form.escapes[:1]):
        return False
    found = _indices(_equal(data, quote))
    opening, closing = _in_turns(found)
    beside = pa.array([*(separator + quote + _LINE_ENDS)], pa.uint8())
    # The first and the last byte have nothing beside them, and then count as that themselves.
    before = pc.max_element_wise(pc.subtract(opening, 1), 0)
    after = pc.min_element_wise(pc.add(closing, 1), len(data) - 1)
    bytes_ = _array(data)
    return all(pc.all(pc.is_in(bytes_.take(at), beside)).as_py() is not False for at in (before, after))


def first_lines(data: bytes, quote: str, records: int, first: int = 1) -> pa.Array | None:
    """For each record of data with regular quotes the line where it begins. None where lines do not tell that:
    there are blank ones, or they end in a carriage return alone."""
    if data.count(b"\r") != data.count(b"\r\n"):
        return None
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if lines == records:
        return pa.array(range(first, first + records), pa.int64())
    if not quote:
        return None
    # How many quotes come before each line end; only whether they are even counts, so that overflow does no harm.
    before = pc.cumulative_sum(_equal(data, quote.encode()).cast(pa.uint8())).filter(_equal(data, b"\n"))
    ends = _indices(pc.equal(pc.bit_wise_and(before, pa.scalar(1, pa.uint8())), 0))
    starts = pa.concat_arrays([pa.array([first], pa.int64()), pc.add(ends, first + 1)])
    return starts[:records] if len(starts) - data.endswith(b"\n") == records else None


def _regular_end(data: bytes, form: CsvFormat) -> int:
    quote, end = form.quote.encode(), len(data)
    is_inside = data.count(quote) % 2
    while (start := _after_line_end(data, 0, end)) is not None:
        is_inside ^= data.count(quote, start, end) % 2
        if not is_inside:
            return start
        end = start - 1
    return 0


def _end(data: bytes, form: CsvFormat) -> int:
    """Looks between the quoted fields, from the last one."""
    end = len(data)
    for start_of_field, end_of_field in reversed([field.span() for field in _quoted(form).finditer(data)]):
        if (found := _after_line_end(data, end_of_field, end)) is not None:
            return found
        end = start_of_field
    return _after_line_end(data, 0, end) or 0


def _quoted(form: CsvFormat) -> re.Pattern[bytes]:
    """A quoted field, or what there is of it. Each byte can be matched in one way: there is no backtracking."""
    separator, quote, escape = (re.escape(c.encode()) for c in (form.separator, form.quote, form.escape))
    special, pair = quote, quote + quote
    if form.escapes:
        special, pair = quote + b"|" + escape, pair + b"|" + escape + rb"(?:.|\Z)"
    plain = b"[^" + quote + escape + b"]*" if len(form.quote.encode() + form.escape.encode()) < 3 else b""
    plain = plain if form.escapes and plain else b"(?:(?!" + special + b").)*"
    before = b"|".join(b"(?<=" + start + quote + b")" for start in (separator, rb"[\r\n]", rb"\A"))
    starts = quote + b"(?:" + before + b")"
    return re.compile(starts + plain + b"(?:(?:" + pair + b")" + plain + b")*(?:" + quote + rb"|\Z)", re.DOTALL)


def _after_line_end(data: bytes, start: int, end: int) -> int | None:
    """Where the last line begins whose end before it is known to be whole."""
    found = data.rfind(b"\n", start, end)
    if found < 0:
        found = data.rfind(b"\r", start, min(end, len(data) - 1))
    return None if found < 0 else found + 1


def _in_turns(found: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The first, third, fifth… of indices, and the others."""
    pairs = pa.FixedSizeListArray.from_arrays(found[: len(found) // 2 * 2], 2)
    first, second = pc.list_element(pairs, 0), pc.list_element(pairs, 1)
    return pa.concat_arrays([first, found[len(found) // 2 * 2 :]]), second


def _array(data: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])


def _equal(data: bytes, byte: bytes) -> pa.Array:
    return pc.equal(_array(data), pa.scalar(byte[0], pa.uint8()))


def _indices(of: pa.Array) -> pa.Array:
    return pc.indices_nonzero(of).cast(pa.int64())
