"""Split CSV text into records: both quote styles, quoted line breaks, and errors where other readers guess.

A quote opens a quoted field only at the start of the field. Inside, ``""``, ``\\"`` and ``\\\\`` (with the configured
escape character) represent the quote and the escape character. Any other backslash is a backslash.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_odf.engine.read.source import Malformed

Record: TypeAlias = tuple[int, list[str]]
"""First line of a record, and its fields."""


@dataclass(frozen=True)
class CsvFormat:
    """Format of a CSV file. ``quote`` and ``escape`` are empty if there are none."""

    separator: str = ","
    quote: str = '"'
    escape: str = "\\"

    @property
    def escapes(self) -> tuple[str, ...]:
        """Escape sequences that Python's ``csv`` module cannot read. Without them, the module follows these rules."""
        if not self.quote or not self.escape or self.escape == self.quote:
            return ()
        return (self.escape + self.quote, self.escape + self.escape)


def records(text: str, form: CsvFormat, first_line: int = 1) -> Iterator[Record]:
    """Yield the records of a text, without blank lines.

    :raises Malformed: an unterminated quote, or text after a closing one.
    """
    if any(escape in text for escape in form.escapes):
        return _scanned(text, form, first_line)
    return _plain(text, form, first_line)


def _plain(text: str, form: CsvFormat, first_line: int) -> Iterator[Record]:
    csv.field_size_limit(sys.maxsize)
    options: dict[str, Any] = {"quotechar": form.quote} if form.quote else {"quoting": csv.QUOTE_NONE}
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=form.separator, strict=True, **options)
    line = first_line
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = first_line + reader.line_num
    except csv.Error as e:
        raise Malformed(_reason(str(e), form), line) from None


def _reason(error: str, form: CsvFormat) -> str:
    return _UNTERMINATED if "unexpected end" in error else _after_quote(form)


def _after_quote(form: CsvFormat) -> str:
    return f"text after a closing quote: only {form.separator!r} or a line end may follow"


_UNTERMINATED = "the quote that opens here is never closed"


def _scanned(text: str, form: CsvFormat, first_line: int) -> Iterator[Record]:
    separator, quote, escape = map(re.escape, (form.separator, form.quote, form.escape))
    plain = re.compile(rf"[^{separator}\r\n]*")
    quoted = re.compile(
        rf"{quote}([^{quote}{escape}]*(?:(?:{escape}.|{quote}{quote})[^{quote}{escape}]*)*){quote}", re.S
    )
    inner = re.compile(rf"{escape}([{quote}{escape}])|{quote}({quote})")
    end = re.compile(r"\r\n|\r|\n|\Z")
    at, line, began, fields = 0, first_line, first_line, list[str]()
    while at < len(text) or fields:
        if text.startswith(form.quote, at):
            field = quoted.match(text, at)
            if field is None:
                raise Malformed(_UNTERMINATED, line)
            fields.append(inner.sub(lambda m: m[1] or m[2], field[1]))
            line += _line_ends(field[1])
        else:
            field = plain.match(text, at)
            fields.append(field[0] if field else "")
        at = field.end() if field else at
        if text.startswith(form.separator, at):
            at += 1
            continue
        stop = end.match(text, at)
        if stop is None:
            raise Malformed(_after_quote(form), line)
        if fields != [""] or text[at - 1 : at] == form.quote:
            yield began, fields
        at = stop.end()
        line += 1
        began, fields = line, []


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")


_LINE_ENDS = b"\r\n"


def end_of_records(data: bytes, form: CsvFormat) -> int:
    """Return the number of bytes up to the end of the last complete record; the data begin with a record."""
    if not form.quote or form.quote.encode() not in data:
        return _after_line_end(data, 0, len(data)) or 0
    return _regular_end(data, form) if are_regular(data, form) else _end(data, form)


def are_regular(data: bytes, form: CsvFormat) -> bool:
    """Whether the quotes are regular; the data begin with a record and may end within one."""
    quote, separator = form.quote.encode(), form.separator.encode()
    if not quote or quote not in data:
        return True
    if len(quote) > 1 or len(separator) > 1 or any(escape.encode() in data for escape in form.escapes[:1]):
        return False
    opening, closing = _alternate(_indices(_equal(data, quote)))
    beside = pa.array([*(separator + quote + _LINE_ENDS)], pa.uint8())
    # The first and the last byte have no neighbor, and count as their own neighbor.
    before = pc.max_element_wise(pc.subtract(opening, 1), 0)
    after = pc.min_element_wise(pc.add(closing, 1), len(data) - 1)
    bytes_ = _array(data)
    return all(pc.all(pc.is_in(bytes_.take(at), beside)).as_py() is not False for at in (before, after))


def first_lines(data: bytes, quote: str, records: int, first: int = 1) -> pa.Array | None:
    """Return the first line of each record in data with regular quotes, None if lines do not show it.

    That is the case with blank lines, and with carriage returns alone as line ends.
    """
    if data.count(b"\r") != data.count(b"\r\n"):
        return None
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if lines == records:
        return pa.array(range(first, first + records), pa.int64())
    if not quote:
        return None
    # Number of quotes before each line end. Only its parity counts, so that an overflow does no harm.
    before = pc.cumulative_sum(_equal(data, quote.encode()).cast(pa.uint8())).filter(_equal(data, b"\n"))
    ends = _indices(pc.equal(pc.bit_wise_and(before, pa.scalar(1, pa.uint8())), 0))
    starts = pa.concat_arrays([pa.array([first], pa.int64()), pc.add(ends, first + 1)])
    return starts[:records] if len(starts) - data.endswith(b"\n") == records else None


def _regular_end(data: bytes, form: CsvFormat) -> int:
    quote, end = form.quote.encode(), len(data)
    is_inside = data.count(quote) % 2
    for start in _lines_from_the_end(data):
        is_inside ^= data.count(quote, start, end) % 2
        if not is_inside:
            return start
        end = start - 1
    return 0


def _lines_from_the_end(data: bytes) -> Iterator[int]:
    """Yield the starts of lines, the last one first: after line feeds, then after carriage returns before all of them.

    The last carriage return counts only if it is followed by another byte, which may be its line feed.
    """
    end = len(data)
    for mark in (b"\n", b"\r"):
        while (at := data.rfind(mark, 0, min(end, len(data) - (mark == b"\r")))) >= 0:
            yield at + 1
            end = at


def _end(data: bytes, form: CsvFormat) -> int:
    """Find the end of the last record by searching between the quoted fields, from the last one."""
    end = len(data)
    for start_of_field, end_of_field in reversed([field.span() for field in _quoted(form).finditer(data)]):
        if (start := _after_line_end(data, end_of_field, end)) is not None:
            return start
        end = start_of_field
    return _after_line_end(data, 0, end) or 0


def _quoted(form: CsvFormat) -> re.Pattern[bytes]:
    """Return a pattern for a complete or unfinished quoted field. Each byte has one possible match: no backtracking."""
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
    """Return the start of the last line after a complete line end, None if there is no such line end."""
    at = data.rfind(b"\n", start, end)
    if at < 0:
        at = data.rfind(b"\r", start, min(end, len(data) - 1))
    return None if at < 0 else at + 1


def _alternate(indices: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return every second index from the first one, and the others."""
    pairs = pa.FixedSizeListArray.from_arrays(indices[: len(indices) // 2 * 2], 2)
    first, second = pc.list_element(pairs, 0), pc.list_element(pairs, 1)
    return pa.concat_arrays([first, indices[len(indices) // 2 * 2 :]]), second


def _array(data: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.uint8(), len(data), [None, pa.py_buffer(data)])


def _equal(data: bytes, byte: bytes) -> pa.Array:
    return pc.equal(_array(data), pa.scalar(byte[0], pa.uint8()))


def _indices(mask: pa.Array) -> pa.Array:
    return pc.indices_nonzero(mask).cast(pa.int64())
