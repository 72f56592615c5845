"""Read the attributes of a shapefile, a dBASE III table, as JSON.

A value that does not fit its column's type stays a text; the reader that casts it then reports its place. Blank values
and the asterisks of an overflow are null.
"""

from __future__ import annotations

import codecs
import json
import re
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_odf.protocol import Column
from airflow_provider_odf.wording import counted

_HEADER = struct.Struct("<4xIHH17xB2x")
_FIELD = struct.Struct("<11sc4xBB14x")
_END_OF_FIELDS = b"\r"
_DELETED = b"*"
_LONGEST_BIGINT = 18
_LONGEST_DECIMAL = 38
_NUMBER = re.compile(r"([+-]?)0*(\d*)(?:\.(\d*))?([eE][+-]?\d+)?")
_BOOLEANS = {**dict.fromkeys("YyTt", "true"), **dict.fromkeys("NnFf", "false"), "?": "null"}

_CODE_PAGES = {
    0x01: 437, 0x02: 850, 0x03: 1252, 0x4D: 936, 0x4E: 949, 0x4F: 950, 0x50: 874, 0x58: 1252, 0x59: 1252,
    0x64: 852, 0x65: 866, 0x66: 865, 0x67: 861, 0x6A: 737, 0x6B: 857, 0x78: 950, 0x79: 949, 0x7A: 936,
    0x7B: 932, 0x7C: 874, 0x7D: 1255, 0x7E: 1256, 0x87: 852, 0xC8: 1250, 0xC9: 1251, 0xCA: 1254, 0xCB: 1253,
    0xCC: 1257,
}  # fmt: skip
"""Code pages by language driver. 0x57 is missing: it only means "Windows"."""


class DbfError(Exception):
    """The file is not a dBASE table, is truncated, or uses features that shapefiles do not have."""


@dataclass(frozen=True)
class Field:
    """A column of the table. ``at`` is its position in a record."""

    name: str
    kind: str
    width: int
    decimals: int
    at: int

    @property
    def type(self) -> str:
        """The DDL type of its values."""
        if self.kind == "N" and self.decimals == 0:
            exact = f"DECIMAL({min(self.width, _LONGEST_DECIMAL)},0)"
            return "BIGINT" if self.width <= _LONGEST_BIGINT else exact
        return {"C": "STRING", "D": "DATE", "L": "BOOLEAN"}.get(self.kind, "DOUBLE")


class Table:
    """A table with texts in an encoding.

    :raises DbfError: the header is not that of a table, or the file is too short for it.
    :raises UnicodeDecodeError: the name of a column is not in the encoding.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        self._path, self._encoding = path, encoding
        with path.open("rb") as file:
            head = file.read(_HEADER.size)
            if len(head) < _HEADER.size:
                raise DbfError("the .dbf file is truncated")
            self.count, self._start, self._width, _ = _HEADER.unpack(head)
            self.fields = tuple(self._fields(file.read(max(0, self._start - _HEADER.size))))
        if path.stat().st_size < self._start + self.count * self._width:
            raise DbfError(f"the .dbf file is truncated: it is too short for its {counted(self.count, 'record')}")

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(field.name, field.type) for field in self.fields)

    def records(self) -> Iterator[str | None]:
        """Yield each record as a JSON object, or None if it is deleted.

        :raises UnicodeDecodeError: a text is not in the encoding.
        """
        keys = [json.dumps(field.name, ensure_ascii=False) for field in self.fields]
        with self._path.open("rb") as file:
            file.seek(self._start)
            for _ in range(self.count):
                record = file.read(self._width)
                if record[:1] == _DELETED:
                    yield None
                    continue
                values = (self._json(field, record[field.at : field.at + field.width]) for field in self.fields)
                yield "{" + ",".join(f"{key}:{value}" for key, value in zip(keys, values, strict=True)) + "}"

    def _fields(self, data: bytes) -> Iterator[Field]:
        at, names = 1, Counter[str]()
        for start in range(0, len(data), _FIELD.size):
            if data.startswith(_END_OF_FIELDS, start):
                break
            if len(data) < start + _FIELD.size:
                raise DbfError("the .dbf file has a damaged header")
            raw, kind, width, decimals = _FIELD.unpack_from(data, start)
            name = raw.partition(b"\0")[0].decode(self._encoding).strip()
            if kind not in (b"C", b"D", b"F", b"L", b"N"):
                raise DbfError(f"column {name} has type {kind!r}: only C, D, F, L and N are supported")
            names[name.lower()] += 1
            if names[name.lower()] > 1:
                raise DbfError(f"the .dbf file names the column {name} twice")
            yield Field(name, kind.decode(), width, decimals, at)
            at += width
        if at > self._width:
            raise DbfError("the .dbf file has a damaged header: its records are shorter than their columns")

    def _json(self, field: Field, raw: bytes) -> str:
        if field.kind == "C":
            text = self._text(raw, field.width)
            return json.dumps(text, ensure_ascii=False) if text else "null"
        text = raw.partition(b"\0")[0].decode("latin-1").strip()
        if not text.strip("*"):
            return "null"
        if field.kind == "D":
            return _date(text)
        return _BOOLEANS.get(text) or json.dumps(text) if field.kind == "L" else _number(text)

    def _text(self, raw: bytes, width: int) -> str:
        data = raw.partition(b"\0")[0]
        if len(data) < width or data.endswith(b" "):
            return data.decode(self._encoding).rstrip(" ")
        # A text that fills its column may be cut within its last character.
        return codecs.getincrementaldecoder(self._encoding)().decode(data).rstrip(" ")


def _date(text: str) -> str:
    if not text.strip("0"):
        return "null"
    return f'"{text[:4]}-{text[4:6]}-{text[6:]}"' if len(text) == 8 and text.isdigit() else json.dumps(text)


def _number(text: str) -> str:
    """Return a text as a JSON number: without plus sign and leading zeros, with digits on both sides of the point."""
    match = _NUMBER.fullmatch(text)
    if match is None or not any(c.isdigit() for c in text.lower().partition("e")[0]):
        return json.dumps(text)
    sign, whole, decimals, exponent = match.groups()
    return ("-" if sign == "-" else "") + (whole or "0") + (f".{decimals}" if decimals else "") + (exponent or "")


def encoding_of(path: Path) -> str | None:
    """Return the encoding that the header of a table names, or None.

    :raises DbfError: there is no header.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        raise DbfError("the .dbf file is truncated")
    page = _CODE_PAGES.get(_HEADER.unpack(head)[3])
    return f"cp{page}" if page else None


def parse_encoding(text: str) -> str:
    """Return Python's name of the encoding in a ``.cpg`` file: ``UTF-8``, ``1252``, ``ANSI 1251``, ``ISO 8859-1``.

    :raises LookupError: the encoding is unknown, or does not encode text.
    :raises ValueError: no encoding can have this name.
    """
    name = re.sub(r"^(ansi|oem|cp|windows)[\s_-]*(?=\d)", "", text.strip().lower())
    if re.fullmatch(r"8859\d{1,2}", name):
        name = f"iso-8859-{name[4:]}"
    elif name.isdigit():
        name = "utf-8" if name == "65001" else f"cp{name}"
    name = re.sub(r"^iso[\s_]+", "iso-", name)
    "".encode(name)  # Python also has codecs that are not of text
    return codecs.lookup(name).name
