"""ReadStep::Csv of the specification.

Extensions: any encoding of Python, quoted line breaks, both quote styles, Java and strftime formats.
"""

from __future__ import annotations

import codecs
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import pyarrow as pa
import pyarrow.csv

from airflow_provider_odf.engine.read import convert, csv_records, raw, source
from airflow_provider_odf.engine.read.convert import OpenFile
from airflow_provider_odf.engine.read.csv_records import CsvFormat, Record, records
from airflow_provider_odf.engine.read.source import Chunk, Malformed, excerpt, ignored_columns
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, PositionalHeader, ReadStep
from airflow_provider_odf.read_steps import NOT_IN_CSV_FORMAT
from airflow_provider_odf.records import files
from airflow_provider_odf.wording import counted

QUICK_FROM = 256 << 10
"""Size in bytes of data with quotes from which it is faster to search all quotes at once."""

_BATCH_CELLS = 400_000


def open_csv(step: ReadStep, path: str, label: str) -> OpenFile:
    """Open one file.

    :raises InvalidQuery: an option, the header or the beginning of the data is not valid.
    """
    form, encoding = _format(step), source.encoding(step.encoding)
    is_divisible = source.is_ascii_based(encoding)
    try:
        first = _first_record(path, form, encoding)
        whole = source.chunks(path, is_divisible, partial(csv_records.end_of_records, form=form))
    except Malformed as e:
        raise InvalidQuery(f"{label}: {e}") from None
    if step.header and not first:
        raise InvalidQuery(
            f"{label}: the file is blank, but Csv with `header: true` needs a header line: "
            "check whether the source wrote the whole file"
        )
    columns, match = _columns(step, first, label)
    width = len(first) if step.header or step.columns is None else len(step.columns)
    parser = CsvParser(form, encoding, step.header, width, match.indexes, step.null_value)
    infers = step.columns is None and step.infer_schema
    return OpenFile(step, parser, whole, columns, label, "line", match.notices, match.headers, infers)


def _format(step: ReadStep) -> CsvFormat:
    separator = {"\\t": "\t"}.get(step.separator, step.separator)
    for name, value, is_optional in (
        ("separator", separator, False),
        ("quote", step.quote, True),
        ("escape", step.escape, True),
    ):
        if len(value) > 1 or not (value or is_optional):
            raise InvalidQuery(f"read.{name} is {value!r}: it must be a single character")
        if value in NOT_IN_CSV_FORMAT:
            raise InvalidQuery(f"read.{name} is {value!r}: it cannot be a line end or NUL")
    if separator in (step.quote, step.escape):
        raise InvalidQuery(f"read.separator {separator!r} is also the quote or the escape: choose another")
    return CsvFormat(separator, step.quote, step.escape)


def _first_record(path: str, form: CsvFormat, encoding: str) -> list[str]:
    # Complete blocks, else the last character may be cut.
    texts = source.texts(Chunk(path, 0, min(files.size(path), 2 * files.BLOCK), 1), encoding)
    text = next(texts) + next(texts, "")
    _expect_text(text.encode(), 1)
    return next(records(text, form), (0, []))[1]


def _expect_text(data: bytes, line: int) -> None:
    """Check that the data have no NUL byte."""
    if (at := data.find(0)) >= 0:
        line += source.line_ends(data[:at])
        raise Malformed("a NUL byte, which CSV cannot have: check the `encoding`", line)


def _columns(step: ReadStep, first: Sequence[str], label: str) -> tuple[tuple[Column, ...], ColumnMatch]:
    """Return the columns to read and their positions in the file. An empty file has all declared columns."""
    if step.columns is not None:
        declared = [column.name for column in step.columns]
        if first and step.header:
            return step.columns, match_columns(first, declared, label)
        return step.columns, ColumnMatch(tuple(range(len(declared))))
    names = column_names(first, label) if step.header else tuple(f"column_{i}" for i, _ in enumerate(first, 1))
    return tuple(Column(name, "STRING") for name in names), ColumnMatch(tuple(range(len(names))))


@dataclass(frozen=True)
class CsvParser:
    """Parses chunks of CSV.

    ``width`` is the number of fields of each record, ``indexes`` are the positions of the columns among them.
    """

    form: CsvFormat
    encoding: str
    has_header: bool
    width: int
    indexes: tuple[int, ...]
    null_value: str

    @cached_property
    def columns(self) -> tuple[pa.Field, ...]:
        return tuple(pa.field(convert.raw_name(i), pa.string()) for i in range(len(self.indexes)))

    def parse(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        line, has_header = chunk.first_line, self.has_header and chunk.start == 0
        for piece in self._pieces(chunk):
            _expect_text(piece, line)
            batch = self._split(piece, line, has_header)
            yield from self._scanned(piece, line, has_header) if batch is None else [batch]
            line, has_header = line + source.line_ends(piece), False

    def _pieces(self, chunk: Chunk) -> Iterator[bytes]:
        """Yield the chunk as UTF-8, in pieces of complete records."""
        if self.encoding == "utf-8":
            data = chunk.read()
            yield data if chunk.start else data.removeprefix(codecs.BOM_UTF8)
        elif source.is_ascii_based(self.encoding):
            yield source.decode(chunk.read(), self.encoding, chunk.first_line).encode()
        else:
            blocks = (text.encode() for text in source.texts(chunk, self.encoding))
            yield from source.pieces(blocks, partial(csv_records.end_of_records, form=self.form))

    def _scanned(self, data: bytes, line: int, has_header: bool) -> Iterator[pa.RecordBatch]:
        rows = records(source.decode(data, "utf-8", line), self.form, line)
        rest = islice(rows, 1, None) if has_header else rows
        while block := list(islice(rest, max(1, _BATCH_CELLS // max(self.width, 1)))):
            yield self._batch(block)

    def _split(self, data: bytes, line: int, has_header: bool) -> pa.RecordBatch | None:
        """Return the records as Arrow's parser splits them, None if the result may be wrong."""
        form = self.form
        if self.width < 2 or not data.strip() or not (form.separator + form.quote).isascii():
            return None
        quotes = data.count(form.quote.encode()) if form.quote else 0
        if quotes % 2 or (quotes and len(data) < QUICK_FROM):
            return None
        # Arrow takes U+FEFF for a byte order mark.
        if data.startswith(codecs.BOM_UTF8) or any(escape.encode() in data for escape in form.escapes):
            return None
        if not csv_records.are_regular(data, form):
            return None
        try:
            table = self._table(data, is_quoted=quotes > 0)
        except pa.ArrowInvalid:
            return None
        lines = csv_records.first_lines(data, form.quote if quotes else "", table.num_rows, line)
        if lines is None:
            return None
        texts = [table.column(i).combine_chunks().slice(has_header) for i in self.indexes]
        return raw.batch(self, texts, lines.slice(has_header))

    def _table(self, data: bytes, *, is_quoted: bool) -> pa.Table:
        names = [f"f{i}" for i in range(self.width)]
        return pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(use_threads=False, column_names=names, block_size=len(data)),
            pyarrow.csv.ParseOptions(
                delimiter=self.form.separator,
                quote_char=self.form.quote if is_quoted else False,
                escape_char=False,
                newlines_in_values=is_quoted,
            ),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=["", self.null_value],
                strings_can_be_null=True,
            ),
        )

    def _batch(self, block: Sequence[Record]) -> pa.RecordBatch:
        for line, fields in block:
            if len(fields) != self.width:
                raise self._ragged(line, self.form.separator.join(fields), len(fields))
        nulls = ("", self.null_value)
        texts = [
            pa.array([None if fields[i] in nulls else fields[i] for _, fields in block], pa.string())
            for i in self.indexes
        ]
        return raw.batch(self, texts, pa.array([line for line, _ in block], pa.int64()))

    def _ragged(self, line: int, text: str, fields: int) -> Malformed:
        return Malformed(f"{counted(fields, 'field')} instead of {self.width}: {excerpt(text)}", line)


_SEPARATORS = ";,\t|"


@dataclass(frozen=True)
class ColumnMatch:
    """Positions in the file for the columns of the schema, and notices for the user.

    ``headers`` has the header; if columns were matched by name, it has the names of the schema.
    """

    indexes: tuple[int, ...]
    notices: tuple[str, ...] = ()
    headers: tuple[PositionalHeader, ...] = ()


def match_columns(header: Sequence[str], columns: Sequence[str], label: str) -> ColumnMatch:
    """Match columns by name if all of them match, else by position.

    Names are compared ignoring case and everything except letters and digits. A match by position needs a header with
    as many names, none of them at the position of another column.

    :raises InvalidQuery: neither is possible.
    """
    positions = _positions(header, columns)
    by_name = tuple(i for i in positions if i is not None)
    matched = set(by_name)
    if len(by_name) == len(columns) == len(matched):
        extra = [name for i, name in enumerate(header) if i not in matched]
        return ColumnMatch(
            by_name, ignored_columns(label, extra), (PositionalHeader(label, tuple(columns), tuple(columns)),)
        )
    if len(header) == len(columns) and all(i is None or i == at for at, i in enumerate(positions)):
        pairs = ", ".join(f"{n!r} as {c}" for n, c in zip(header, columns, strict=True) if _key(n) != _key(c))
        notice = f"{label}: the names in the header differ from the schema, so columns are matched by position: {pairs}"
        positional = PositionalHeader(label, tuple(header), tuple(columns))
        return ColumnMatch(tuple(range(len(columns))), (notice,), (positional,))
    raise InvalidQuery(
        f"{label}: the header does not match the schema: the file has {_list(header)}, the schema {_list(columns)}; "
        f"{_separator(header) or 'correct the names or their order in the schema'}"
    )


def column_names(header: Sequence[str], label: str) -> tuple[str, ...]:
    """Return the column names of a header; ``column_3`` if the third has none.

    :raises InvalidQuery: two columns have the same name.
    """
    columns = tuple(name.strip() or f"column_{i}" for i, name in enumerate(header, 1))
    lower_names: set[str] = set()
    for name in columns:
        if name.lower() in lower_names:
            raise InvalidQuery(f"{label}: the header has two columns {name!r}: declare a schema that names the columns")
        lower_names.add(name.lower())
    return columns


def _positions(header: Sequence[str], columns: Sequence[str]) -> list[int | None]:
    """Return the position of each column's best unique match: exact, ignoring case, or by letters and digits."""
    positions: list[int | None] = [None] * len(columns)
    for form in (_key, str.lower, str):
        count = Counter(map(form, header))
        unique = {form(name): i for i, name in enumerate(header) if count[form(name)] == 1}
        positions = [unique.get(form(column), at) for column, at in zip(columns, positions, strict=True)]
    return positions


def _key(name: str) -> str:
    return "".join(c for c in name.lower() if c.isalnum()) or name.strip().lower()


def _list(names: Sequence[str]) -> str:
    return f"{counted(len(names), 'column')} ({', '.join(names)})"


def _separator(header: Sequence[str]) -> str:
    """Return a hint on ``separator`` if the header is a single name because the separator is wrong."""
    if len(header) != 1:
        return ""
    count, separator = max((header[0].count(mark), mark) for mark in _SEPARATORS)
    return f"the separator may be wrong: write `separator: {json.dumps(separator)}`" if count else ""
