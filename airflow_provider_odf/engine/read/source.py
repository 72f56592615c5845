"""Raw files as bytes and text: encodings, strict decoding, and splitting of large files at line ends."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import ReadStep
from airflow_provider_odf.read_steps import COMPRESSIONS, READ_STEPS, Types, python_encoding
from airflow_provider_odf.records import files
from airflow_provider_odf.wording import listed

CHUNK_BYTES = 16 << 20
"""Maximum size in bytes of a file that the driver reads.

Workers read larger files in pieces of a quarter of this size, of which they hold several copies at a time.
"""

LONGEST = 256 << 20
"""Maximum size of a record in bytes. A longer one is treated as an unclosed quote."""

EndOfRecords: TypeAlias = Callable[[bytes], int]
"""Function that returns the size of the complete records in data that begin with a record."""

_PARQUET = READ_STEPS["Parquet"].magic

_MARKED = ("utf-16", "utf-32")
"""Encodings whose decoders remove the byte order mark."""


@dataclass(frozen=True)
class Chunk:
    """Complete lines of a file: bytes ``start`` to ``end``, from line ``first_line`` of the file."""

    path: str
    start: int
    end: int
    first_line: int

    def read(self) -> bytes:
        return b"".join(files.blocks(self.path, self.start, self.end))


def encoding(name: str) -> str:
    """Return the canonical name of an encoding: ``UTF8``, ``latin1``, ``windows-1252`` are accepted.

    A byte order mark begins a file, not a chunk, so that no codec may look for it.

    :raises InvalidQuery: there is no such encoding.
    """
    try:
        codec = python_encoding(name)
    except ValueError:
        raise InvalidQuery(f"unknown encoding {name!r}: use utf-8, iso-8859-1, windows-1252, utf-16, …") from None
    return "utf-8" if codec == "utf-8-sig" else codec


def is_cut_at_newline_bytes(name: str) -> bool:
    """Whether the byte 0x0A always is a line end in this encoding (not so in UTF-16 or EBCDIC)."""
    return _decodes(name, b"\n", "\n") and not name.startswith(("utf-16", "utf-32", "utf_16", "utf_32", "utf-7"))


def is_ascii_based(name: str) -> bool:
    """Whether each byte below 128 always is its ASCII character, also after other bytes (not so in Shift_JIS)."""
    ascii_, lead = bytes(range(128)), (bytes([byte, 0x5C]) for byte in range(128, 256))
    return _decodes(name, ascii_, ascii_.decode()) and not any(_decodes(name, pair, None) for pair in lead)


def _decodes(name: str, data: bytes, expected: str | None) -> bool:
    """Whether bytes decode to this text or, if it is None, to a single character."""
    try:
        text = data.decode(name)
    except UnicodeDecodeError:
        return False
    return len(text) == 1 if expected is None else text == expected


def unreadable(path: str, step: ReadStep) -> str:
    """Return why the reader of a step cannot read a file, or an empty text.

    In some encodings any bytes are valid text.
    """
    size, mark = files.size(path), len(_PARQUET)
    if not size:
        return _unreadable_empty(step)
    if step.format.types is Types.FILE:
        return ""
    begin = Chunk(path, 0, min(size, mark), 1).read()
    if compression := next((name for name, magic in COMPRESSIONS.items() if begin.startswith(magic)), None):
        return f"the file is compressed: add the prepare step Decompress with format {compression}"
    is_parquet = begin == _PARQUET and Chunk(path, size - mark, size, 1).read() == _PARQUET
    return "the file is Parquet: read it with kind Parquet" if is_parquet else ""


def _unreadable_empty(step: ReadStep) -> str:
    """Return why 0 bytes are not a valid file without records, or an empty text."""
    empty, is_text = step.format.empty, step.format.types is Types.TEXT
    if empty is None or (is_text and not step.header):
        return ""
    form = f"{step.kind} with `header: true`" if is_text else step.kind
    return f"the file has 0 bytes, but {form} must contain {empty}: check whether the source wrote the whole file"


def decode(data: bytes, name: str, first_line: int = 1) -> str:
    """Return the text.

    :raises Malformed: bytes that are not valid in this encoding, with their line.
    """
    try:
        return data.decode(name)
    except UnicodeDecodeError as e:
        raise _not_of(name, e, first_line + data.count(b"\n", 0, e.start)) from None


def _not_of(name: str, error: UnicodeDecodeError, line: int) -> Malformed:
    byte = error.object[error.start]
    return Malformed(f"byte 0x{byte:02x} is not {name}: set `encoding` to the encoding of the file", line)


def texts(chunk: Chunk, name: str) -> Iterator[str]:
    """Yield the text of a chunk in blocks, without a byte order mark at the start of the file.

    :raises Malformed: bytes that are not valid in this encoding, with their line.
    """
    decoder = codecs.getincrementaldecoder(name)()
    line = chunk.first_line
    start = chunk.start == 0 and name not in _MARKED
    for data in chain(files.blocks(chunk.path, chunk.start, chunk.end), [b""]):
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeError as e:
            if not isinstance(e, UnicodeDecodeError) or "BOM" in e.reason:  # before Python 3.13, and since
                raise Malformed(f"no byte order mark: set `encoding` to {name}-le or {name}-be") from None
            raise _not_of(name, e, line + e.object[: e.start].decode(name, "replace").count("\n")) from None
        yield text.removeprefix("\ufeff") if start else text
        line, start = line + text.count("\n"), start and not text


def end_of_lines(data: bytes) -> int:
    """Return the number of bytes up to the end of the last complete line."""
    return data.rfind(b"\n") + 1


def line_ends(data: bytes) -> int:
    returns = data.count(b"\r")
    return data.count(b"\n") + (returns - data.count(b"\r\n") if returns else 0)


def chunks(path: str, is_divisible: bool, end_of_records: EndOfRecords = end_of_lines) -> list[Chunk]:
    """Return a file as chunks of complete records, in order; one chunk if it is not divisible.

    :raises Malformed: a record exceeds the maximum size.
    """
    length = files.size(path)
    if not is_divisible or length <= CHUNK_BYTES:
        return [Chunk(path, 0, length, 1)]
    parts, start, line = list[Chunk](), 0, 1
    for piece in pieces(files.blocks(path, 0, length, CHUNK_BYTES // 4), end_of_records):
        parts.append(Chunk(path, start, start + len(piece), line))
        start, line = parts[-1].end, line + line_ends(piece)
    return parts


def pieces(blocks: Iterable[bytes], end_of_records: EndOfRecords) -> Iterator[bytes]:
    """Yield the same bytes in pieces that end at the ends of records.

    Without an end, the next search waits for twice as many bytes, so that a long record is not searched for each block.

    :raises Malformed: a record exceeds the maximum size.
    """
    begun, size, enough, line = list[bytes](), 0, 0, 1
    for block in blocks:
        begun.append(block)
        size += len(block)
        if size < enough:
            continue
        data = b"".join(begun)
        end = end_of_records(data)
        if not end and size > LONGEST:
            raise Malformed(f"a record longer than {LONGEST >> 20} MiB starts here: check for an unclosed quote", line)
        if end:
            yield data[:end]
            line += line_ends(data[:end])
        begun, size, enough = [data[end:]], size - end, 0 if end else min(2 * size, LONGEST + 1)
    if size:
        yield b"".join(begun)


_LONGEST = 200


def excerpt(text: str) -> str:
    """Return a part of the data as messages quote it, cut if it is long."""
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "…")


def ignored_columns(label: str, names: Collection[str]) -> tuple[str, ...]:
    """Return a notice on columns that the schema does not have, nothing if there are none."""
    return (f"{label}: ignored columns that are not in the schema: {listed(tuple(names))}",) if names else ()


class Malformed(Exception):
    """The data do not match their format. ``line`` and ``record`` count from 1; 0 means unknown."""

    def __init__(self, reason: str, line: int = 0, record: int = 0) -> None:
        places = [f"{unit} {number}" for unit, number in (("line", line), ("record", record)) if number]
        super().__init__(f"{', '.join(places)}: {reason}" if places else reason)
        self.reason, self.line = reason, line
