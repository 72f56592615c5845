"""Raw files as bytes and text: encodings, strict decoding, and cutting of large files at line ends."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from airflow_provider_odf.engine.read.problem import Malformed
from airflow_provider_odf.errors import InvalidQuery

CHUNK_BYTES = 16 << 20
"""A file up to this size is read by the driver, a larger one in pieces of it by the workers."""

_BLOCK = 4 << 20
_BOM = codecs.BOM_UTF8


@dataclass(frozen=True)
class Chunk:
    """Whole lines of a file: bytes ``start`` to ``end``, the first being line ``first_line`` of the file."""

    path: str
    start: int
    end: int
    first_line: int

    def read(self) -> bytes:
        with open_file(self.path) as file:
            file.seek(self.start)
            return file.read(self.end - self.start)


def encoding(name: str) -> str:
    """Python's name of an encoding, however it is spelled: ``UTF8``, ``latin1``, ``windows-1252``.

    :raises InvalidQuery: no such encoding.
    """
    try:
        found = codecs.lookup(name.strip() or "utf-8").name
    except LookupError:
        raise InvalidQuery(f"encoding {name!r} is not known: use utf-8, iso-8859-1, windows-1252, utf-16, …") from None
    return "utf-8" if found == "ascii" else found


def is_cut_at_newline_bytes(name: str) -> bool:
    """Whether the byte 0x0A is always a line end in this encoding (so not in UTF-16 and UTF-32)."""
    return not name.startswith(("utf-16", "utf-32", "utf_16", "utf_32", "utf-7"))


def open_file(path: str) -> BinaryIO:
    """A local path or a URI that Arrow knows (file, s3, gs, hdfs), opened for reading."""
    if "://" not in path and not path.startswith("file:"):
        return open(path, "rb")
    system, name = _resolve(path)
    return io.BufferedReader(system.open_input_file(name), _BLOCK)


def is_file(path: str) -> bool:
    """Whether the path is a file that can be opened here, and no directory."""
    if "://" not in path and not path.startswith("file:"):
        return os.path.isfile(path)
    from pyarrow import fs

    system, name = _resolve(path)
    return bool(system.get_file_info(name).type == fs.FileType.File)


def _resolve(uri: str) -> tuple[Any, str]:
    from pyarrow import fs

    system, name = fs.FileSystem.from_uri(uri if "://" in uri else "file://" + uri.removeprefix("file:"))
    return system, name


def size(path: str) -> int:
    with open_file(path) as file:
        return file.seek(0, os.SEEK_END)


def decode(data: bytes, name: str, first_line: int = 1) -> str:
    """The text, without a byte order mark.

    :raises Malformed: bytes that are not of this encoding, with their line.
    """
    try:
        return data.decode(name).removeprefix("\ufeff")
    except UnicodeDecodeError as e:
        raise _not_of(name, e, first_line + data.count(b"\n", 0, e.start)) from None


def _not_of(name: str, error: UnicodeDecodeError, line: int) -> Malformed:
    byte = error.object[error.start]
    return Malformed(f"byte 0x{byte:02x} is not {name}: set `encoding` to what the file has", line)


def texts(chunk: Chunk, name: str) -> Iterator[str]:
    """The text of a chunk in blocks, without a byte order mark.

    :raises Malformed: bytes that are not of this encoding, with their line.
    """
    decoder = codecs.getincrementaldecoder(name)()
    line, start, left = chunk.first_line, chunk.start == 0, chunk.end - chunk.start
    with open_file(chunk.path) as file:
        file.seek(chunk.start)
        while True:
            data = file.read(min(_BLOCK, left))
            left -= len(data)
            try:
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError as e:
                raise _not_of(name, e, line + e.object[: e.start].decode(name, "replace").count("\n")) from None
            yield text.removeprefix("\ufeff") if start else text
            if not data:
                return
            line, start = line + text.count("\n"), start and not text


def chunks(path: str, is_divisible: bool) -> list[Chunk]:
    """A file in pieces of whole lines, in order; one piece if it may not be divided."""
    length = size(path)
    if not is_divisible or length <= CHUNK_BYTES:
        return [Chunk(path, 0, length, 1)]
    return list(_cut(path, length))


def _cut(path: str, length: int) -> Iterator[Chunk]:
    start, line = 0, 1
    with open_file(path) as file:
        while start < length:
            file.seek(start)
            data = file.read(CHUNK_BYTES)
            data += file.readline()
            yield Chunk(path, start, start + len(data), line)
            start += len(data)
            line += data.count(b"\n")


def has_any(path: str, *patterns: bytes) -> bool:
    """Whether one of some short byte sequences occurs in a file."""
    overlap = max(map(len, patterns)) - 1
    with open_file(path) as file:
        tail = b""
        while block := file.read(_BLOCK):
            block = tail + block
            if any(pattern in block for pattern in patterns):
                return True
            tail = block[-overlap:] if overlap else b""
    return False


def without_bom(data: bytes) -> bytes:
    return data.removeprefix(_BOM)
