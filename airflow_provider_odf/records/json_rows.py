"""Arrow columns as JSON values: times in RFC 3339, dates in ISO, decimals as text, binary as base64."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.merge_strategies import OPERATION_NAMES

if TYPE_CHECKING:
    import pyarrow as pa

_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}
_AT_ONCE = 10_000
_EPOCH = date(1970, 1, 1)
_DAY = 86_400_000


def rows(table: pa.Table, operation_column: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield one dict per row, columns in order; codes of ``operation_column`` become ``+A -R -C +C``.

    Rows are converted in batches of some thousands.
    """
    names = table.column_names
    for batch in table.to_batches(max_chunksize=_AT_ONCE):
        columns = [values(column) for column in batch.columns]
        if operation_column in names:
            at = names.index(operation_column)
            columns[at] = [_operation(code) for code in columns[at]]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))


def _operation(code: int | None) -> str | int | None:
    return OPERATION_NAMES[code] if code is not None and 0 <= code < len(OPERATION_NAMES) else code


def values(array: pa.Array) -> list[Any]:
    """Return the values of a column as ``json.dumps`` accepts them."""
    for matches, convert in _conversions():
        if matches(array.type):
            return convert(array)
    return list(array.to_pylist())


@cache
def _conversions() -> tuple[tuple[Callable[[Any], bool], Callable[[Any], list[Any]]], ...]:
    import pyarrow.types as pt

    lists = (pt.is_list, pt.is_large_list, pt.is_fixed_size_list, pt.is_list_view, pt.is_large_list_view)
    binaries = (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary, pt.is_binary_view)
    return (
        (pt.is_timestamp, _timestamps),
        (pt.is_floating, _floats),
        (pt.is_decimal, lambda a: _texts(a.to_pylist(), _decimal)),
        (pt.is_date, _dates),
        (pt.is_time, _times),
        (pt.is_duration, _durations),
        *((matches, _binaries) for matches in binaries),
        *((matches, _lists) for matches in lists),
        (pt.is_struct, _structs),
        (pt.is_map, _maps),
        (pt.is_dictionary, lambda a: values(a.dictionary_decode())),
    )


def _floats(array: pa.Array) -> list[float | str | None]:
    """Return the shortest numbers with the same values: 0.1 as FLOAT is 0.1, not the nearest double of it."""
    import pyarrow as pa

    narrow = array.type.bit_width < 64
    texts = array.cast(pa.string()).to_pylist() if narrow else array.to_pylist()
    numbers = (x if x is None else float(x) for x in texts)
    return [x if x is None or math.isfinite(x) else _not_finite(x) for x in numbers]


def _texts(raw: list[Any], text: Callable[[Any], str]) -> list[str | None]:
    """Return each value as text, converting each distinct value once, since times and dates repeat."""
    known: dict[Any, str | None] = {x: text(x) for x in set(raw) - {None}}
    known[None] = None
    return [known[x] for x in raw]


def _integers(array: pa.Array) -> list[int | None]:
    import pyarrow as pa

    return list(array.cast(pa.int64()).to_pylist())


def _timestamps(array: pa.Array) -> list[str | None]:
    factor = _NANOSECONDS[array.type.unit]
    zone = "Z" if array.type.tz is not None else ""
    return _texts(_integers(array), lambda x: _time(x * factor, zone))


def _time(epoch_ns: int, zone: str) -> str:
    try:
        return str(Instant(epoch_ns)).removesuffix("Z") + zone
    except ValueError:
        return f"{epoch_ns} ns since 1970"  # beyond the years that RFC 3339 can write


def _dates(array: pa.Array) -> list[str | None]:
    import pyarrow as pa
    import pyarrow.types as pt

    unit = 1 if pt.is_date32(array.type) else _DAY
    raw = array.cast(pa.int32() if unit == 1 else pa.int64()).to_pylist()
    return _texts(raw, lambda x: _date(x // unit))


def _date(days: int) -> str:
    try:
        return (_EPOCH + timedelta(days=days)).isoformat()
    except OverflowError:
        return f"{days} days since 1970"


def _times(array: pa.Array) -> list[str | None]:
    import pyarrow as pa

    factor = _NANOSECONDS[array.type.unit]
    raw = array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64()).to_pylist()
    return _texts(raw, lambda x: str(Instant(x * factor)).removesuffix("Z").partition("T")[2])


def _durations(array: pa.Array) -> list[str | None]:
    """Return a duration in ISO 8601: ``PT1.5S``."""
    factor = _NANOSECONDS[array.type.unit]
    return _texts(_integers(array), lambda x: f"PT{_decimal(Decimal(x * factor).scaleb(-9).normalize())}S")


def _decimal(number: Decimal) -> str:
    return format(number, "f")


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _binaries(array: pa.Array) -> list[str | None]:
    return [x if x is None else base64.b64encode(x).decode("ascii") for x in array.to_pylist()]


def _lists(array: pa.Array) -> list[list[Any] | None]:
    import pyarrow.compute as pc

    items: Iterator[Any] = iter(values(array.flatten()))
    return [n if n is None else [next(items) for _ in range(n)] for n in pc.list_value_length(array).to_pylist()]


def _structs(array: pa.Array) -> list[dict[str, Any] | None]:
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    children = [values(child) for child in array.flatten()]
    members = zip(*children, strict=True) if children else iter([()] * len(array))
    return [
        dict(zip(names, row, strict=True)) if valid else None
        for row, valid in zip(members, array.is_valid().to_pylist(), strict=True)
    ]


def _maps(array: pa.Array) -> list[list[list[Any]] | None]:
    """Return maps as lists of pairs, because keys may not be texts."""
    import pyarrow as pa

    result: list[list[list[Any]] | None] = []
    for entry in array:
        if not entry.is_valid:
            result.append(None)
            continue
        pairs = pa.array(entry.values)
        keys, items = (values(child) for child in pairs.flatten())
        result.append([list(pair) for pair in zip(keys, items, strict=True)])
    return result
