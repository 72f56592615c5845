"""ReadStep::Csv of the specification.

Beyond it: any encoding that Python knows, quoted line breaks, both quote styles, Java and strftime formats.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import pyarrow as pa
import pyarrow.csv
from pyspark.sql import SparkSession

from airflow_provider_odf.engine.read import header, infer, raw, source, typed
from airflow_provider_odf.engine.read.csv_fields import CsvFormat, Record, records
from airflow_provider_odf.engine.read.opened import Opened
from airflow_provider_odf.engine.read.problem import Malformed, shown
from airflow_provider_odf.engine.read.result import Read
from airflow_provider_odf.engine.read.source import Chunk
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import Column, ReadStep

_BATCH_ROWS = 50_000
_HEADER_BYTES = 1 << 20


def read_csv(spark: SparkSession, step: ReadStep, path: str, label: str) -> Read:
    """The rows of one file.

    :raises InvalidQuery: an option, the header or the beginning of the data is not right; what is wrong further on
        comes out when the rows are used.
    """
    opened = open_csv(step, path, label)
    if step.columns is None and step.infer_schema:
        found = infer.columns(raw.frame(spark, opened.parser, opened.chunks), opened.columns, step)
        opened = replace(opened, columns=found)
    return opened.read(spark)


def open_csv(step: ReadStep, path: str, label: str) -> Opened:
    """The same before its rows are read, which ``inferSchema`` needs to know their types."""
    form, encoding = _format(step), source.encoding(step.encoding)
    whole = source.chunks(path, _is_divisible(path, form, encoding))
    try:
        first = _first_record(whole[0], form, encoding)
    except Malformed as e:
        raise InvalidQuery(f"{label}: {e}") from None
    columns, matched = _columns(step, first, label)
    width = len(first) if step.header or step.columns is None else len(step.columns)
    parser = CsvParser(form, encoding, step.header, width, matched.indexes, step.null_value)
    return Opened(step, parser, whole, columns, label, "line", matched.notices)


def _format(step: ReadStep) -> CsvFormat:
    separator = {"\\t": "\t"}.get(step.separator, step.separator)
    for name, value, is_optional in (
        ("separator", separator, False),
        ("quote", step.quote, True),
        ("escape", step.escape, True),
    ):
        if len(value) > 1 or not (value or is_optional):
            raise InvalidQuery(f"read.{name} is {value!r}: it must be a single character")
    return CsvFormat(separator, step.quote, step.escape)


def _is_divisible(path: str, form: CsvFormat, encoding: str) -> bool:
    """A quoted field may have line ends, which only reading from the start can tell from those of records."""
    if not source.is_cut_at_newline_bytes(encoding):
        return False
    return source.size(path) > source.CHUNK_BYTES and not (form.quote and source.has_any(path, form.quote.encode()))


def _first_record(chunk: Chunk, form: CsvFormat, encoding: str) -> list[str]:
    with source.open_file(chunk.path) as file:
        data = file.read(_HEADER_BYTES)
    if len(data) == _HEADER_BYTES:
        # Cut at a line end, so that the last bytes are no half a character.
        data = data[: data.rfind(b"\n") + 1] if source.is_cut_at_newline_bytes(encoding) else chunk.read()
    return next(records(source.decode(data, encoding), form), (0, []))[1]


def _columns(step: ReadStep, first: Sequence[str], label: str) -> tuple[tuple[Column, ...], header.Matched]:
    """The columns to read, and where in the file they are. An empty file has all that are declared."""
    if step.columns is not None:
        declared = [column.name for column in step.columns]
        if first and step.header:
            return step.columns, header.match(first, declared, label)
        return step.columns, header.Matched(tuple(range(len(declared))))
    names = header.names(first, label) if step.header else tuple(f"column_{i}" for i, _ in enumerate(first, 1))
    return tuple(Column(name, "STRING") for name in names), header.Matched(tuple(range(len(names))))


@dataclass(frozen=True)
class CsvParser:
    """``width`` is how many fields each record must have, ``indexes`` says which of them are columns."""

    form: CsvFormat
    encoding: str
    has_header: bool
    width: int
    indexes: tuple[int, ...]
    null_value: str
    columns: tuple[pa.Field, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "columns", tuple(pa.field(typed.raw_name(i), pa.string()) for i in range(len(self.indexes)))
        )

    def parse(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        data = chunk.read()
        if self._is_simple(data):
            yield self._split(source.without_bom(data), chunk)
            return
        rows = records(source.decode(data, self.encoding, chunk.first_line), self.form, chunk.first_line)
        rest = islice(rows, 1, None) if self._starts_with_header(chunk) else rows
        while block := list(islice(rest, _BATCH_ROWS)):
            yield self._batch(block)

    def _starts_with_header(self, chunk: Chunk) -> bool:
        return self.has_header and chunk.start == 0

    def _is_simple(self, data: bytes) -> bool:
        """Whether Arrow's own parser reads the same: no quotes, no blank lines, UTF-8."""
        if self.encoding != "utf-8" or self.width < 2 or not data.strip():
            return False
        if self.form.quote and self.form.quote.encode() in data:
            return False
        return not (data.startswith((b"\n", b"\r")) or any(b in data for b in (b"\n\n", b"\n\r", b"\r\r")))

    def _split(self, data: bytes, chunk: Chunk) -> pa.RecordBatch:
        names = [f"f{i}" for i in range(self.width)]
        ragged: list[pyarrow.csv.InvalidRow] = []

        def keep(row: pyarrow.csv.InvalidRow) -> str:
            ragged.append(row)
            return "skip"

        skipped = int(self._starts_with_header(chunk))
        try:
            table = pyarrow.csv.read_csv(
                io.BytesIO(data),
                pyarrow.csv.ReadOptions(
                    use_threads=False, column_names=names, skip_rows=skipped, block_size=max(len(data), 1)
                ),
                pyarrow.csv.ParseOptions(
                    delimiter=self.form.separator, quote_char=False, escape_char=False, invalid_row_handler=keep
                ),
                pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    null_values=["", self.null_value],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid:
            # Bytes that are not UTF-8: the strict decoder knows their line.
            source.decode(data, self.encoding, chunk.first_line)
            raise
        if ragged:
            raise self._ragged(chunk.first_line + ragged[0].number - 1, ragged[0].text, ragged[0].actual_columns)
        first = chunk.first_line + skipped
        places = pa.array(range(first, first + len(table)), pa.int64())
        texts = [table.column(i).combine_chunks() for i in self.indexes]
        return raw.batch(self, texts, places)

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
        return Malformed(f"{fields} fields instead of {self.width}: {shown(text)}", line)
