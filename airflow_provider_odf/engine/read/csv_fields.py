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

from airflow_provider_odf.engine.read.problem import Malformed

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
