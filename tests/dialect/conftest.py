"""One table of every type with nulls, empty strings, signed zeros and times before 1970, and a translator over it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest

from airflow_provider_odf.dialect.translate import preprocess_to_spark
from airflow_provider_odf.manifest.model import TransformSql
from airflow_provider_odf.protocol import Column

_UTC = dt.UTC
_MS = pa.timestamp("ms", tz="UTC")
_STRUCT = pa.struct([("x", pa.int64()), ("y", pa.string())])


def _time(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=_UTC)


_COLUMNS = {
    "r": ("BIGINT", pa.int64(), [1, 2, 3, 4, 5, 6, 7, 8]),
    "g": ("STRING", pa.string(), ["p", "p", "q", "q", "q", None, "p", "q"]),
    "i": ("BIGINT", pa.int64(), [1, -7, 0, None, 2**40, 7, 3, -2]),
    "j": ("INT", pa.int32(), [2, -3, 5, None, -1, 2147483647, 0, 4]),
    "k": ("BIGINT", pa.int64(), [2, 3, 5, None, 1, 7, 10, 4]),
    "f": ("FLOAT", pa.float32(), [1.5, -2.25, 0.1, None, 3.4e10, 0.0, -0.0, 7.0]),
    "d": ("DOUBLE", pa.float64(), [1.5, -2.5, 0.5, None, 1e20, 2.0, -0.0, 1234.5678]),
    "e": ("DOUBLE", pa.float64(), [1.005, 2.5, 0.49999999999999994, None, 100.0, 2.675, 0.25, 1234.5678]),
    "m": (
        "DECIMAL(12,2)",
        pa.decimal128(12, 2),
        ["1.50", "-2.55", "0.00", None, "9999999999.99", "0.01", "2.00", "-1.25"],
    ),
    "n": (
        "DECIMAL(10,3)",
        pa.decimal128(10, 3),
        ["1.555", "-2.445", "3.000", None, "100.999", "0.001", "2.500", "1.250"],
    ),
    "s": ("STRING", pa.string(), ["abc", "", "Äpfel ß", None, "  x y  ", "a.b.c", "Hello World", "İ%_\\"]),
    "u": ("STRING", pa.string(), ["b", "abc", " ", "x", None, ".", "o", "straße"]),
    "w": ("STRING", pa.string(), ["12", "-3", "0", None, "+7", "12345678901", "007", "1"]),
    "x": ("STRING", pa.string(), ["1.5", "-3", "0", ".5", None, "1e3", "00.10", "NaN"]),
    "v": (
        "STRING",
        pa.string(),
        [
            "2020-01-02",
            "2020-02-29 23:59:59",
            "2020-01-02T03:04:05Z",
            None,
            "1969-12-31T23:59:58.5",
            "2020-01-02 03:04:05+02:00",
            "2021-12-31T00:00:00.123456",
            "1900-01-01",
        ],
    ),
    "y": (
        "STRING",
        pa.string(),
        ["2020-01-02", "2020-02-29", "1969-12-31", None, "9999-12-31", "0001-01-01", "2000-01-01", "1582-10-10"],
    ),
    "b": ("BOOLEAN", pa.bool_(), [True, False, True, None, True, False, None, True]),
    "c": ("BOOLEAN", pa.bool_(), [True, True, False, None, None, False, False, True]),
    "dt": (
        "DATE",
        pa.date32(),
        [
            dt.date(2020, 1, 2),
            dt.date(2020, 2, 29),
            dt.date(1969, 12, 31),
            None,
            dt.date(1900, 1, 1),
            dt.date(2024, 12, 31),
            dt.date(2021, 1, 3),
            dt.date(2023, 7, 9),
        ],
    ),
    "dz": (
        "DATE",
        pa.date32(),
        [
            dt.date(2019, 12, 31),
            dt.date(2020, 2, 29),
            dt.date(1970, 1, 1),
            None,
            dt.date(2000, 1, 1),
            dt.date(2024, 12, 30),
            dt.date(2021, 1, 1),
            dt.date(2023, 7, 9),
        ],
    ),
    "ts": (
        "TIMESTAMP",
        _MS,
        [
            _time(2020, 1, 2, 3, 4, 5),
            _time(2020, 2, 29, 23, 59, 59, 999000),
            _time(1969, 12, 31, 23, 59, 59, 500000),
            None,
            _time(1900, 1, 1),
            _time(2024, 12, 31, 12, 0, 0, 1000),
            _time(2021, 1, 3),
            _time(2023, 7, 9, 10, 11, 12, 120000),
        ],
    ),
    "tz": (
        "TIMESTAMP",
        _MS,
        [
            _time(2020, 1, 1),
            _time(2020, 2, 29, 1),
            _time(1970, 1, 1),
            None,
            _time(1900, 1, 1),
            _time(2024, 12, 31, 12, 30),
            _time(2021, 1, 4),
            _time(2023, 7, 1),
        ],
    ),
    "l": ("ARRAY<BIGINT>", pa.list_(pa.int64()), [[1, 2, 3], [], [None, 1], None, [5, 5, -1], [3], [2, 1], [None]]),
    "ls": (
        "ARRAY<STRING>",
        pa.list_(pa.string()),
        [["a", "b"], [], [None, ""], None, ["z", "a", "z"], ["x"], ["", ""], ["b", "a"]],
    ),
    "st": (
        "STRUCT<x: BIGINT, y: STRING>",
        _STRUCT,
        [{"x": n if n != 2 else None, "y": "y" if n != 3 else None} for n in range(1, 9)],
    ),
}


def _array(type_: pa.DataType, values: list[object]) -> pa.Array:
    is_decimal = pa.types.is_decimal(type_)
    return pa.array([Decimal(str(v)) if is_decimal and v is not None else v for v in values], type_)


@pytest.fixture(scope="session")
def rows() -> pa.Table:
    return pa.table({name: _array(type_, values) for name, (_, type_, values) in _COLUMNS.items()})


@pytest.fixture(scope="session")
def declared() -> tuple[Column, ...]:
    return tuple(Column(name, ddl) for name, (ddl, _, _) in _COLUMNS.items())


@pytest.fixture
def translate(declared: tuple[Column, ...]) -> Callable[..., str]:
    """Spark's SQL of one query over the table ``input``."""

    def translate(query: str, engine: str = "flink", columns: tuple[Column, ...] | None = declared) -> str:
        return preprocess_to_spark(TransformSql(engine=engine, query=query), {"input": columns}).queries[0].query

    return translate


@pytest.fixture
def expression(translate: Callable[..., str]) -> Callable[..., str]:
    """Spark's form of one expression over the columns of ``input``."""

    def expression(text: str, engine: str = "flink", **options: object) -> str:
        query = translate(f"select {text} as z from input", engine, **options)
        return query.removeprefix("SELECT ").removesuffix(" AS `z` FROM `input`")

    return expression
