"""Types of columns, inferred from all values of the samples, with the reason where it is not obvious."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

NULLS = ("NA", "N/A", "null", "NULL", "\\N", "-")
"""Texts that stand for null in files of other programs."""

_LONG = 1 << 63
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+)\.(\d+)")
_FLOAT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([.' ]\d{3})+)(,\d+)?")
_ZERO = re.compile(r"[+-]?0\d|\+")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ISO_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")
_MOST_DECIMALS = 4
DATES = {"dd.MM.yyyy": "%d.%m.%Y", "yyyy/MM/dd": "%Y/%m/%d", "dd/MM/yyyy": "%d/%m/%Y", "MM/dd/yyyy": "%m/%d/%Y"}
TIMES = {
    f"{day} {time}": f"{python} {code}"
    for day, python in {**DATES, "yyyy-MM-dd": "%Y-%m-%d"}.items()
    for time, code in (("HH:mm:ss", "%H:%M:%S"), ("HH:mm", "%H:%M"))
    if (day, time) != ("yyyy-MM-dd", "HH:mm:ss")
}
_EXACT = re.compile(r"\d{1,4}[./-]\d\d[./-]\d{2,4}( \d\d:\d\d(:\d\d)?)?")


@dataclass(frozen=True)
class ColumnType:
    """SQL type of a column. ``format`` is the pattern of its dates or times, empty for ISO."""

    sql: str
    reason: str = ""
    format: str = ""


def is_value(text: str) -> bool:
    """Return whether a text is a number, a date or a time, and thus no name of a column."""
    return bool(_FLOAT.fullmatch(text)) or text_type([text]).sql in ("DATE", "TIMESTAMP")


def text_type(values: Sequence[str]) -> ColumnType:
    """Return the type of texts without nulls."""
    if not values:
        return ColumnType("STRING", "no values in the sample")
    if all(_INTEGER.fullmatch(v) for v in values):
        if any(_ZERO.match(v) for v in values):
            return ColumnType("STRING", "digits with leading zeros or a plus sign are text")
        fits = all(-_LONG <= int(v) < _LONG for v in values)
        return ColumnType("BIGINT") if fits else ColumnType("STRING", "more digits than BIGINT holds")
    if all(_FLOAT.fullmatch(v) for v in values):
        return _number(values)
    if all(v.lower() in ("true", "false") for v in values):
        return ColumnType("BOOLEAN")
    if all(_COMMA.fullmatch(v) for v in values) and any("," in v for v in values):
        return ColumnType("STRING", "numbers with a decimal comma: convert them to DECIMAL in preprocess")
    return _time(values) or ColumnType("STRING")


def _number(values: Sequence[str]) -> ColumnType:
    matches = [_NUMBER.fullmatch(v) or _INTEGER.fullmatch(v) for v in values]
    if any(m is None for m in matches):
        return ColumnType("DOUBLE", "numbers with exponents")
    scale = max(len(v.partition(".")[2]) for v in values)
    digits = max(len(v.lstrip("+-").partition(".")[0]) for v in values)
    if scale > _MOST_DECIMALS or digits + scale > 38:
        return ColumnType("DOUBLE", f"up to {scale} decimals")
    precision = max(18, digits + scale)
    return ColumnType(f"DECIMAL({precision},{scale})", f"at most {scale} decimals in the sample; more are an error")


def _time(values: Sequence[str]) -> ColumnType | None:
    if all(_ISO_DATE.fullmatch(v) and _parses(v, "%Y-%m-%d") for v in values):
        return ColumnType("DATE")
    if all(_ISO_TIME.fullmatch(v) and _parses(v[:19].replace("T", " "), "%Y-%m-%d %H:%M:%S") for v in values):
        zones = "" if all(re.search(r"(Z|[+-]\d\d:\d\d)$", v) for v in values) else "times without a zone are UTC"
        return ColumnType("TIMESTAMP", zones)
    for sql, formats in (("DATE", DATES), ("TIMESTAMP", TIMES)):
        fitting = [java for java, python in formats.items() if all(_parses(v, python) for v in values)]
        if len(fitting) > 1:
            return ColumnType("STRING", f"{' or '.join(fitting)}? Set the format, and the type {sql}")
        if fitting and all(_EXACT.fullmatch(v) for v in values):
            return ColumnType(sql, f"written as {fitting[0]}", fitting[0])
    return None


def _parses(text: str, pattern: str) -> bool:
    try:
        datetime.strptime(text, pattern)  # noqa: DTZ007 - only whether it is one
    except ValueError:
        return False
    return True


def json_type(values: Sequence[Any]) -> ColumnType:
    """Return the type of values of JSON or Parquet without nulls."""
    kinds = {type(value) for value in values}
    if kinds & {dict, list}:
        return ColumnType("STRING", "nested values, as JSON text")
    if kinds == {bool}:
        return ColumnType("BOOLEAN")
    if kinds == {int}:
        fits = all(-_LONG <= v < _LONG for v in values)
        return ColumnType("BIGINT") if fits else ColumnType("STRING", "more digits than BIGINT holds")
    if kinds in ({date}, {datetime}):
        return ColumnType("DATE" if kinds == {date} else "TIMESTAMP")
    if kinds <= {int, float} and kinds:
        return ColumnType("DOUBLE")
    if kinds == {str} and not any(_FLOAT.fullmatch(v) or v.lower() in ("true", "false") for v in values):
        as_text = text_type(values)
        return as_text if not as_text.format else ColumnType("STRING", as_text.reason)
    return ColumnType("STRING", "several kinds of values" if len(kinds) > 1 else "")


def null_text(columns: Mapping[str, Sequence[str]]) -> str | None:
    """Return the text that stands for null in a column whose other values are no text, or None."""
    for values in columns.values():
        for null in NULLS:
            others = [v for v in values if v != null]
            if null in values and others and text_type(others).sql != "STRING":
                return null
    return None


def one_format(types: Mapping[str, ColumnType], sql: str) -> tuple[str, dict[str, ColumnType]]:
    """Return the format of all columns of a type, and the types with STRING for columns of another format."""
    formats = [t.format for t in types.values() if t.sql == sql]
    chosen = formats[0] if formats else ""
    other = ColumnType("STRING", f"{sql} in another format than the first such column: convert it in preprocess")
    return chosen, {name: other if t.sql == sql and t.format != chosen else t for name, t in types.items()}
