"""What a data contract says about values, in plain Python, and contracts and values at the edges.

Values are those of JSON: a number is a ``Number`` as written, besides strings, booleans and None. In CSV all are text.
"""

from __future__ import annotations

import base64
import binascii
import collections
import datetime as dt
import math
import random
import re
from decimal import Decimal
from typing import Any, NamedTuple


class Number(NamedTuple):
    """A number of JSON as it is written."""

    text: str


TEXTS = ("string", "text", "varchar")
DECIMALS = ("number", "decimal", "numeric")
INTEGERS = ("int", "integer", "long", "bigint")
FLOATS = ("float", "double")
TIMES = ("timestamp", "timestamp_tz", "timestamp_ntz", "date")
TYPES = (*TEXTS, *DECIMALS, *INTEGERS, *FLOATS, *TIMES, "boolean", "bytes", "null")

_NUMBER = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
INVALID = object()
"""What a value of another type is read as."""


def read(kind: str, value: Any, is_csv: bool) -> Any:
    """Return a value in the type of its field, None for null, INVALID for a value of another type.

    An empty field of CSV is null, with and without quotes, as in Spark.
    """
    if value is None or (is_csv and value == ""):
        return None
    if kind in TEXTS:
        return value if isinstance(value, str) else INVALID
    if kind in (*DECIMALS, *INTEGERS, *FLOATS):
        return _number(kind, value, is_csv)
    if kind == "boolean":
        if is_csv:
            return {"true": True, "false": False}.get(value.lower(), INVALID)
        return value if isinstance(value, bool) else INVALID
    return _of_text(kind, value) if isinstance(value, str) else INVALID


def _number(kind: str, value: Any, is_csv: bool) -> Any:
    text = value.text if isinstance(value, Number) else value if is_csv else None
    if not isinstance(text, str):
        return INVALID
    if kind in FLOATS and re.fullmatch("NaN|[+-]?Infinity", text):
        return float(text)
    if not re.fullmatch(_NUMBER, text):
        return INVALID
    number = Decimal(text)
    if kind in INTEGERS:
        is_whole = number == number.to_integral_value() if number.adjusted() < 40 else True
        return int(number) if is_whole and -(2**63) <= number < 2**63 else INVALID
    if kind in FLOATS:
        return float(number) if math.isfinite(float(number)) else INVALID
    return number


def _of_text(kind: str, text: str) -> Any:
    try:
        if kind == "bytes":
            return base64.b64decode(text, validate=True)
        if kind == "date":
            return dt.date.fromisoformat(text) if re.fullmatch(_DATE, text) else INVALID
        zone = "" if kind == "timestamp_ntz" else r"([Zz]|[+-][0-9]{2}:[0-9]{2})?"
        if kind not in TIMES or not re.fullmatch(f"{_DATE}({_TIME}{zone})?", text):
            return INVALID
        time = dt.datetime.fromisoformat(text.upper())
        return (time if time.tzinfo else time.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)
    except (ValueError, binascii.Error):
        return INVALID


def is_of_type(kind: str, value: Any) -> bool:
    """Whether a value as `read` is one of its type; INTEGER and FLOAT have 32 bits, LONG and DOUBLE 64."""
    if value is None:
        return True
    if value is INVALID or kind == "null":
        return False
    if kind == "float":
        return not math.isfinite(value) or abs(value) <= 3.4028234663852886e38
    return kind not in ("int", "integer") or -(2**31) <= value < 2**31


def exact(value: Any) -> Decimal | None:
    """Return the decimal number that a value stands for, None for NaN and infinity."""
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    return Decimal(value)


def figures(number: Decimal) -> tuple[int, int]:
    """Return the number of digits before the point, and of decimal places."""
    _, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits))
    significant = text.rstrip("0")
    if not significant.strip("0"):
        return 0, 0
    return max(0, number.adjusted() + 1), max(0, -(exponent + len(text) - len(significant)))


def breaks(kind: str, name: str, limit: Any, value: Any, is_csv: bool) -> bool:
    """Whether a value as `read`, neither null nor of another type, breaks a clause."""
    if name == "enum":
        if kind in TEXTS:
            return value not in limit
        if kind in (*DECIMALS, *INTEGERS, *FLOATS):
            return exact(value) not in [Decimal(t) for t in limit if re.fullmatch(_NUMBER, t)]
        return value not in [read(kind, t, True) for t in limit]
    if name == "pattern":
        return re.search(limit, value) is None
    if name in ("minLength", "maxLength"):
        return len(value) < limit if name == "minLength" else len(value) > limit
    number = exact(value)
    if name in ("precision", "scale"):
        if number is None:
            return name == "precision"
        before, places = figures(number)
        return (before + places if name == "precision" else places) > int(limit)
    if number is None:
        return math.isnan(value) or (value > 0) == name.lower().endswith("maximum")
    bound = Decimal(limit)
    return {
        "minimum": number < bound, "exclusiveMinimum": number <= bound,
        "maximum": number > bound, "exclusiveMaximum": number >= bound,
    }[name]  # fmt: skip


def failed(kind: str, name: str, limit: Any, values: list[Any], is_csv: bool) -> int:
    """Return the number of rows that fail a clause of a field."""
    typed = [read(kind, value, is_csv) for value in values]
    if name == "type":
        return sum(not is_of_type(kind, value) for value in typed)
    if name == "required":
        return sum(value is None for value in typed)
    if name == "unique":
        is_mixed = not is_csv and not all(value is None or isinstance(value, Number) for value in values)
        keys = [
            _raw_key(raw, is_mixed) if value is INVALID else ("value", _key(value))
            for raw, value in zip(values, typed, strict=True)
        ]
        counts = collections.Counter(key for key, value in zip(keys, typed, strict=True) if value is not None)
        return sum(n for n in counts.values() if n > 1)
    return sum(breaks(kind, name, limit, v, is_csv) for v in typed if v is not None and v is not INVALID)


def _raw_key(raw: Any, is_mixed: bool) -> str:
    """Return a value of another type in a key: as it is written. Numbers beside other values are those of VARIANT."""
    if not isinstance(raw, Number) or not is_mixed:
        return repr(raw)
    number = Decimal(raw.text)
    is_double = "e" in raw.text.lower() or len(number.as_tuple().digits) > 38
    return f"DOUBLE {float(number)!r}" if is_double else f"DECIMAL {number.normalize() + 0}"


def _key(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, Decimal | float):
        return str(value) if exact(value) is None else exact(value)
    return value


NUMBERS = [
    "12", "5", "0", "-0", "1.0", "1e2", "1E+2", "100", "1.5", "0.1", "0.10", "0.30", "1.005", "1.01", "-1.01",
    "-0.7", "0.7",
    "2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
    "9007199254740993", "9007199254740992", "123456789012345678901", "123456789012345678901.5", "1e-20", "0.000001",
    "12345678901234567890123456789012345678901234", "1e30", "-1e-30", "123456789.123456789", "1.7e308", "1e400", "1e39",
]  # fmt: skip
STRINGS = [
    "12", "5", "", " 7 ", "7 ", "+5", ".5", "5.", "1e", "abc", "a", "ab\ncd", "a\n", "true", "True", "false",
    "yes", "t",
    "2024-01-01", "2024-02-30", "2024-1-1", "20240101", "2024-01-01T23:00:00-05:00", "2024-01-01T00:00:00",
    "2024-01-01 10:00:00", "2024-01-01T10:00:00Z", "2024-01-01t10:00:00.123456z", "2024-01-01T25:00:00",
    "2024-01-01T10:00",
    "2024-01-02T04:00:00Z", "YWJj", "YQ==", "NaN", "Infinity", "-Infinity", "0x10", "1d", "1_000", "\u0661",
    "\u00e9", "\U0001f600",
    "1.0", "null", '"', "a,b", "\u00a0",
]  # fmt: skip
_PATTERNS = ["^[a-c]+$", "^[0-9]+$", "a", "^.{0,3}$", r"^-?[0-9]+\.[0-9]$"]


def clauses(r: random.Random, kind: str) -> dict[str, Any]:
    """Return clauses of a field, each of a sort that its type can have. Numbers are texts, as the contract has them."""
    some: dict[str, Any] = {"type": kind}
    some |= {name: True for name in ("required", "unique") if r.random() < 0.5}
    if kind in TEXTS:
        some |= {"enum": r.sample(STRINGS, 6)} if r.random() < 0.5 else {"pattern": r.choice(_PATTERNS)}
        some |= {"minLength": r.randrange(0, 4), "maxLength": r.randrange(1, 8)}
    elif kind in (*DECIMALS, *INTEGERS, *FLOATS):
        names = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
        some |= {name: r.choice(NUMBERS) for name in names if r.random() < 0.6}
        some |= {"precision": str(r.randrange(1, 30)), "scale": str(r.randrange(0, 22))}
        some["enum"] = r.sample([*NUMBERS, "abc"], 8)
    elif kind in (*TIMES, "boolean"):
        some["enum"] = r.sample(STRINGS, 12)
    return some


def values(r: random.Random, kind: str, length: int) -> list[Any]:
    """Return values of JSON at the edges, some of the type and some not."""
    fitting = NUMBERS if kind in (*DECIMALS, *INTEGERS, *FLOATS) else STRINGS
    sorts = [
        lambda: None,
        lambda: Number(r.choice(NUMBERS)),
        lambda: r.choice(STRINGS),
        lambda: r.random() < 0.5,
    ]
    only = r.choice([None, None, None, *range(4)])
    return [
        (sorts[only]() if only is not None else r.choice([*sorts, *[lambda: _fitting(r, kind, fitting)] * 4])())
        for _ in range(length)
    ]


def _fitting(r: random.Random, kind: str, pool: list[str]) -> Any:
    if kind == "boolean":
        return r.random() < 0.5
    return Number(r.choice(pool)) if pool is NUMBERS else r.choice(pool)
