"""Values of Arrow as Spark writes them: cast to text, and in JSON."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract import numbers


def texts(values: pa.ChunkedArray, kind: T.DataType) -> list[str | None]:
    """Return the values of a column as the text that reports show: hexadecimal for bytes."""
    return _each(values, kind, _TEXTS)


def json_values(values: pa.ChunkedArray, kind: T.DataType) -> list[Any]:
    """Return the values of a column as those of JSON. Decimals are texts."""
    return _each(values, kind, {**_TEXTS, **_JSON})


def _each(values: pa.ChunkedArray, kind: T.DataType, write: Mapping[type[T.DataType], Any]) -> list[Any]:
    if isinstance(kind, T.TimestampType | T.TimestampNTZType):  # of any unit and zone
        values = values.cast(pa.timestamp("us")).cast(pa.int64())
    function = write.get(type(kind), lambda value, _: value)
    return [None if value is None else function(value, kind) for value in values.to_pylist()]


def _decimal(value: Decimal, _: T.DataType) -> str:
    return f"{value:f}"


def _floating(value: float, kind: T.DataType) -> str:
    """Return a number as Java does: with an exponent below 0.001, and from ten millions on."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    number = Decimal(numbers.shortest(value, kind)).normalize()
    sign, digits, _exponent = number.as_tuple()
    figures, places = "".join(map(str, digits)), number.adjusted()
    minus = "-" if sign else ""
    if value == 0 or -3 <= places < 7:
        plain = f"{abs(number):f}"
        return minus + (plain if "." in plain else f"{plain}.0")
    return f"{minus}{figures[0]}.{figures[1:] or '0'}E{places}"


def _time(micros: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)  # noqa: DTZ001 - in UTC


def _timestamp(micros: int, _: T.DataType) -> str:
    time = _time(micros)
    fraction = f"{time.microsecond:06}".rstrip("0")
    return f"{time:%H:%M:%S}".join((f"{time.date().isoformat()} ", f".{fraction}" if fraction else ""))


def _json_timestamp(micros: int, kind: T.DataType) -> str:
    zone = "Z" if isinstance(kind, T.TimestampType) else ""
    return _time(micros).isoformat(timespec="milliseconds") + zone


def _json_floating(value: float, kind: T.DataType) -> float | str:
    return float(numbers.shortest(value, kind)) if math.isfinite(value) else _floating(value, kind)


_TEXTS: Mapping[type[T.DataType], Callable[[Any, T.DataType], Any]] = {
    T.BooleanType: lambda value, _: str(value).lower(),
    **dict.fromkeys((T.ByteType, T.ShortType, T.IntegerType, T.LongType), lambda value, _: str(value)),
    **dict.fromkeys((T.FloatType, T.DoubleType), _floating),
    **dict.fromkeys((T.TimestampType, T.TimestampNTZType), _timestamp),
    T.DecimalType: _decimal,
    T.DateType: lambda value, _: value.isoformat(),
    T.BinaryType: lambda value, _: value.hex().upper(),
}
_JSON: Mapping[type[T.DataType], Callable[[Any, T.DataType], Any]] = {
    **dict.fromkeys((T.BooleanType, T.ByteType, T.ShortType, T.IntegerType, T.LongType), lambda value, _: value),
    **dict.fromkeys((T.FloatType, T.DoubleType), _json_floating),
    **dict.fromkeys((T.TimestampType, T.TimestampNTZType), _json_timestamp),
    T.BinaryType: lambda value, _: base64.b64encode(value).decode(),
}
