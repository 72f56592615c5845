"""Values at the edges of the types of Parquet, and what each is in a declared type by the arithmetic of Python."""

from __future__ import annotations

import datetime as dt
import math
import re
import struct
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow as pa

from tests.engine.columnar.value_texts import value_texts

REFUSED = "refused"
_EXACT = Context(prec=400)
_EPOCH = dt.datetime(1970, 1, 1)
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_DECIMALS = [(5, 2), (9, 0), (9, 9), (18, 4), (19, 0), (20, 0), (28, 10), (38, 0), (38, 18), (38, 38)]
_LONG = 2**63
_BLANKS = "".join(map(chr, [*range(33), 127]))
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

KINDS = [
    *_BITS, "FLOAT", "DOUBLE", "DECIMAL(3,0)", *(f"DECIMAL({p},{s})" for p, s in _DECIMALS),
    "BOOLEAN", "STRING", "VARCHAR(5)", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIME(3)", "TIME(6)",
]  # fmt: skip


@dataclass(frozen=True)
class Float:
    """A FLOAT or DOUBLE, of 4 or 8 bytes."""

    value: float
    size: int


def sources(rng: Random, count: int) -> dict[str, pa.Array]:
    """Columns of a file by their name: values at the edges of all types, and ``count`` others."""
    times = [int(s * 1_000_000) for s in (-62_135_596_800, 253_402_300_799, 0, -1, 86_399, 1_700_000_000.123456)]
    times += [rng.randrange(-62_135_596_800_000_000, 253_402_300_800_000_000) for _ in range(count)]
    days = [-719_162, 2_932_896, 0, -1, 1, *(rng.randrange(-719_162, 2_932_897) for _ in range(count))]
    texts = ["1.50", "0.1", "-0", "1e3", "9007199254740993", "12345678901234567890.5", "1e-400", "true", "TRUE", "été"]
    made = {
        "boolean": pa.array([True, False]),
        "text": pa.array(texts + value_texts(rng, 10 * count)),
        "bytes": pa.array([b"", b"ab", "漢字".encode(), b"\xff", b"123456", b"\xc3"]),
        "date": pa.array(days, pa.date32()),
        "time": pa.array([0, 1, 999, 1000, 86_399_999_999, 1_234_000], pa.time64("us")),
        "zoned": pa.array(times, pa.timestamp("us", "UTC")),
        "local": pa.array([t // 1000 for t in times], pa.timestamp("ms")),
        "nanoseconds": pa.array([1_700_000_000_123_456_789, -1, 999], pa.timestamp("ns", "UTC")),
    }
    for bits in (8, 16, 32, 64):
        for name, low, high in (
            (f"int{bits}", -(2 ** (bits - 1)), 2 ** (bits - 1)),
            (f"uint{bits}", 0, 2**bits),
        ):
            values = [value for value in _integers(rng, count) if low <= value < high]
            made[name] = pa.array(values, getattr(pa, name)())
    made["float32"] = pa.array(_floats(rng, count, 4), pa.float32())
    made["float64"] = pa.array(_floats(rng, count, 8), pa.float64())
    for p, s in _DECIMALS:
        made[f"decimal_{p}_{s}"] = pa.array(_decimals(rng, count, p, s), pa.decimal128(p, s))
    return made


def _integers(rng: Random, count: int) -> list[int]:
    edges = [2**n for n in (7, 8, 15, 16, 24, 25, 31, 32, 53, 54, 62, 63, 64)] + [10**n for n in (2, 3, 5, 9, 15, 18)]
    edges += [62_135_596_800_000, 253_402_300_800_000]
    near = [sign * (edge + more) for edge in edges for more in (-1, 0, 1) for sign in (1, -1)]
    return [0, *near, *(rng.getrandbits(rng.randrange(1, 65)) * rng.choice([1, -1]) for _ in range(count))]


def _floats(rng: Random, count: int, size: int) -> list[float]:
    exact = [
        0.0,
        -0.0,
        0.1,
        0.5,
        1.5,
        1.25,
        -2.675,
        1e15,
        1e16,
        1e22,
        1e23,
        1e37,
        1e38,
        123456.789,
        1e-9,
        1e-38,
        5e-324,
    ]
    exact += [1.239, 99999.995, 1e60, 3.4028235677973366e38, 3.4028234e38, 1.7976931348623157e308]
    specials = [float("nan"), float("inf"), float("-inf")]
    form = {4: "<f", 8: "<d"}[size]
    whole = [_rounded(Fraction(value), size) for value in _integers(rng, count)]
    made = [_rounded(Fraction(value), size) for value in exact] + whole
    made += [float(struct.unpack(form, rng.randbytes(size))[0]) for _ in range(count)]
    made += [_rounded(Fraction(rng.randrange(10**9), 10 ** rng.randrange(10)), size) for _ in range(count)]
    return [v for v in made if v is not None] + specials


def _decimals(rng: Random, count: int, precision: int, scale: int) -> list[Decimal]:
    """Numbers of all lengths, of which many end in zeros."""
    numbers = [0, 1, -1, 10**precision - 1, 1 - 10**precision, 5 * 10**scale, 10**scale - 1, 10**scale + 1]
    numbers += [value * 10**scale for value in _integers(rng, 0)] + _integers(rng, count)
    for _ in range(count):
        zeros = rng.randrange(precision)
        numbers.append(rng.randrange(-(10 ** (precision - zeros)) + 1, 10 ** (precision - zeros)) * 10**zeros)
    return [_EXACT.scaleb(Decimal(n), -scale) for n in numbers if abs(n) < 10**precision]


def value_of(name: str, value: Any) -> Any:
    """Return a value of a source as the oracle takes it."""
    if name in ("float32", "float64"):
        return Float(value, 4 if name == "float32" else 8)
    return _plain(value)


def _plain(value: Any) -> Any:
    """Return a time in microseconds of UTC."""
    if not isinstance(value, dt.datetime):
        return value
    return dt.datetime(*value.timetuple()[:6], value.microsecond)


def is_castable(value: Any, kind: str) -> bool:
    """Whether values of a type can have another type at all."""
    if kind.startswith(("STRING", "VARCHAR")) or isinstance(value, str):
        return True
    if isinstance(value, bool):
        return kind == "BOOLEAN"
    if isinstance(value, bytes):
        return kind == "BINARY"
    if isinstance(value, int | Decimal | Float):
        return kind not in ("BOOLEAN", "BINARY", "DATE") and not kind.startswith("TIME(")
    if isinstance(value, dt.time):
        return kind.startswith("TIME(")
    return kind == "DATE" or kind.startswith("TIMESTAMP")


def is_right(value: Any, kind: str, actual: Any) -> bool:
    """Whether a value became what it must be. Java has more digits of some numbers than the shortest ones."""
    expected, actual = cast(value, kind), _plain(actual)
    is_float, is_decimal = isinstance(value, Float), isinstance(actual, Decimal)
    if is_float and kind == "STRING":
        return _reads_back(actual, value)
    if is_float and kind.startswith("VARCHAR"):
        return actual == REFUSED or _reads_back(actual, value)
    if is_float and is_decimal and expected != REFUSED and not _is_whole(Fraction(value.value)):
        digits = len(actual.normalize(_EXACT).as_tuple().digits)
        return digits <= (9 if value.size == 4 else 17) and _reads_back(f"{actual}", value)
    if actual == REFUSED and kind in ("FLOAT", "DOUBLE") and not isinstance(value, str | Float) and abs(value) >= _LONG:
        return True
    return actual == expected == 0 or repr(actual) == repr(expected)


def _is_whole(number: Fraction) -> bool:
    return number.denominator == 1 and -_LONG <= number < _LONG


def _reads_back(text: str, number: Float) -> bool:
    if not math.isfinite(number.value):
        return repr(float(text)) == repr(number.value)
    return _rounded(Fraction(text), number.size) == number.value


def cast(value: Any, kind: str) -> Any:
    """Return a value in a declared type, or REFUSED. Call it only if ``is_castable``."""
    if kind == "STRING" or kind.startswith("VARCHAR"):
        text = _text(value)
        return text if text is not None and (kind == "STRING" or len(text) <= 5) else REFUSED
    if isinstance(value, str):
        return _of_text(value, kind)
    if isinstance(value, dt.time):
        return value if kind == "TIME(6)" or value.microsecond % 1000 == 0 else REFUSED
    if isinstance(value, dt.date):
        return _of_time(value, kind)
    if isinstance(value, bool | bytes):
        return value
    return _of_number(value, kind)


def _of_number(value: int | Decimal | Float, kind: str) -> Any:
    if kind in ("FLOAT", "DOUBLE"):
        return _as_float(value, 4 if kind == "FLOAT" else 8)
    if isinstance(value, Float) and not math.isfinite(value.value):
        return REFUSED
    if kind.startswith("DECIMAL"):
        return _as_decimal(_digits(value) if isinstance(value, Float) else Decimal(value), kind)
    exact = Fraction(value.value if isinstance(value, Float) else value)
    if exact.denominator != 1:
        return REFUSED
    if kind.startswith("TIMESTAMP"):
        is_time = -62_135_596_800_000 <= exact < 253_402_300_800_000
        return _EPOCH + dt.timedelta(milliseconds=int(exact)) if is_time else REFUSED
    limit = 2 ** (_BITS[kind] - 1)
    return int(exact) if -limit <= exact < limit else REFUSED


def _as_float(value: int | Decimal | Float, size: int) -> Any:
    """Return the nearest number. Integers and decimals must come back from it."""
    if isinstance(value, Float):
        nearest = _rounded(Fraction(value.value), size) if math.isfinite(value.value) else value.value
        return REFUSED if nearest is None else nearest
    nearest = _rounded(Fraction(value), size)
    if nearest is None:
        return REFUSED
    back = int(nearest) if isinstance(value, int) else _digits(Float(nearest, size))
    return nearest if back == value else REFUSED


def _as_decimal(value: Decimal, kind: str) -> Any:
    precision, scale = map(int, kind[len("DECIMAL(") : -1].split(","))
    scaled = Fraction(value) * 10**scale
    if scaled.denominator != 1 or abs(scaled) >= 10**precision:
        return REFUSED
    return _EXACT.scaleb(Decimal(int(scaled)), -scale)


def _rounded(value: Fraction, size: int) -> float | None:
    """Return the nearest FLOAT or DOUBLE to a number, the even one of two, or None if it is too large."""
    bits, least = (24, -149) if size == 4 else (53, -1074)
    if not value:
        return 0.0
    exponent = abs(value).numerator.bit_length() - abs(value).denominator.bit_length()
    exponent -= abs(value) < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - bits + 1, least)
    rounded = round(value / unit) * unit
    return float(rounded) if abs(rounded) < 2 ** (128 if size == 4 else 1024) else None


def _digits(number: Float) -> Decimal:
    """Return an integer, or the shortest decimal number that reads back as a FLOAT or DOUBLE."""
    if _is_whole(Fraction(number.value)):
        return Decimal(number.value)
    if number.size == 8:
        return Decimal(repr(number.value))
    texts = (f"{number.value:.{digits}e}" for digits in range(17))
    return Decimal(next(text for text in texts if _rounded(Fraction(text), 4) == number.value))


def _of_time(value: dt.date, kind: str) -> Any:
    if kind == "DATE":
        return value.date() if isinstance(value, dt.datetime) else value
    return value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, dt.time | dt.datetime) and value.microsecond:
        return str(value).rstrip("0")
    return str(value.value) if isinstance(value, Float) else str(value)


def _of_text(text: str, kind: str) -> Any:
    """Return a text as a number, BOOLEAN or BINARY."""
    trimmed = text.strip(_BLANKS)
    if kind == "BOOLEAN":
        return trimmed.lower() == "true" if trimmed.lower() in ("true", "false") else REFUSED
    if kind == "BINARY":
        return text.encode()
    if kind in _BITS:
        return _of_number(int(trimmed), kind) if re.fullmatch(r"[+-]?\d+", trimmed, re.ASCII) else REFUSED
    special = re.fullmatch("([+-]?)(nan|inf|infinity)", trimmed.lower())
    if kind in ("FLOAT", "DOUBLE") and special and (special[2] != "nan" or not special[1]):
        return float(trimmed)
    if kind.startswith("DECIMAL"):
        is_number = re.fullmatch(_NUMBER.pattern, trimmed)  # also digits of other scripts
        return _as_decimal(Decimal(trimmed), kind) if is_number else REFUSED
    if not _NUMBER.fullmatch(trimmed):
        return REFUSED
    nearest = _rounded(Fraction(trimmed), 4 if kind == "FLOAT" else 8)
    return REFUSED if nearest is None else nearest
