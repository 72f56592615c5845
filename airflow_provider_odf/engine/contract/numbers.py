"""SQL on decimal numbers as text, and numbers of a contract beside the values of a column.

Numbers compare exactly, whatever their size and type. A FLOAT or DOUBLE counts as the shortest decimal number that it
stands for: 0.7 is 0.7 in either.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.sql import Sql, matches, text, when

DECIMAL = T.DecimalType(38, 18)
"""The type of numbers of text in queries and aggregates."""

INTEGRAL_BITS: Mapping[type[T.DataType], int] = {T.ByteType: 8, T.ShortType: 16, T.IntegerType: 32, T.LongType: 64}

_NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,8})?\z"
_PLAIN = r"^([1-9]\d*(\.\d+)?|0\.\d*[1-9]\d*)\z"
"""Positive numbers without an exponent, a sign and additional zeros before the point."""

_INTEGER = r"^[+-]?\d+\z"
_OFFSET = 2_000_000_000
"""Added to an exponent, so that it has ten digits."""

_INVERSE = 9_999_999_999 - _OFFSET
"""An exponent below zero and the digits for it in a key add up to this."""

_EXACT = Context(prec=100_000, Emax=10**9, Emin=-(10**9))


def is_number(raw: Sql) -> Sql:
    """Return SQL that tests whether a text is a decimal number, perhaps with an exponent."""
    return matches(raw, _NUMBER)


def order_key(number: Sql) -> Sql:
    """Return SQL for a text that orders as the number in a text does; null for a text that is no number.

    It is the sign, the exponent with which the digits follow the point (0 for 0.5, 2 for 50), and the digits without
    outer zeros. Variables of lambdas keep the expression short: as one term, it would repeat the number many times.
    """
    mantissa = "split_part(lower(n_), 'e', 1)"
    parts = (
        f"named_struct('w', ltrim('+-0', split_part({mantissa}, '.', 1)), 'f', split_part({mantissa}, '.', 2),"
        " 'e', coalesce(try_cast(split_part(lower(n_), 'e', 2) AS INT), 0))"
    )
    figures = "concat(p_.w, p_.f)"
    exponent = f"length(p_.w) + p_.e - (length({figures}) - length(ltrim('0', {figures})))"
    positive = f"concat({exponent} + {_OFFSET}, trim(BOTH '0' FROM {figures}))"
    negative = f"concat('0', translate({positive}, '0123456789', '9876543210'), '~')"
    signed = f"CASE WHEN startswith(n_, '-') THEN {negative} ELSE concat('2', {positive}) END"
    key = let("p_", parts, f"CASE WHEN trim(BOTH '0' FROM {figures}) = '' THEN '1' ELSE {signed} END")
    any_number = let("n_", number, when(is_number("n_"), key))
    # Lambdas are slow, and most numbers need none.
    plain = f"WHEN {matches(number, _PLAIN)} THEN concat('2', {_of_plain(number)})"
    return f"CASE {plain} WHEN {number} = '0' THEN '1' ELSE {any_number} END"


def _of_plain(number: Sql) -> Sql:
    """Return SQL for the exponent and the digits of a number that matches `_PLAIN`."""
    fraction = f"substring({number}, 3)"
    exponent = (
        f"CASE WHEN startswith({number}, '0') THEN length(ltrim('0', {fraction})) - length({fraction})"
        f" ELSE length(substring_index({number}, '.', 1)) END"
    )
    return f"concat({_OFFSET} + {exponent}, trim(BOTH '0' FROM replace({number}, '.', '')))"


def key_of(number: Decimal) -> str:
    """Return the text of `order_key` for a number.

    >>> key_of(Decimal("-0.05"))
    '080000000004~'
    """
    sign, figures, _ = number.as_tuple()
    significant = "".join(map(str, figures)).strip("0")
    if not significant:
        return "1"
    positive = f"{number.adjusted() + 1 + _OFFSET}{significant}"
    return f"0{positive.translate(str.maketrans('0123456789', '9876543210'))}~" if sign else f"2{positive}"


def places(key: Sql) -> Sql:
    """Return SQL for the decimal places of a number as `order_key`, which is not null, without zeros at the end."""
    return f"greatest(0, {_length(key)} - {_exponent(key)})"


def digits(key: Sql) -> Sql:
    """Return SQL for the digits before the point and the decimal places of a number as `order_key`, without outer
    zeros."""
    return f"greatest(0, {_exponent(key)}) + {places(key)}"


def as_decimal(number: Sql, key: Sql) -> Sql:
    """Return SQL for a number as text as `DECIMAL`, null for other texts. A number that does not fit is an error.

    ``key`` is SQL for its `order_key`.
    """
    fits = f"{places(key)} <= {DECIMAL.scale} AND {_exponent(key)} <= {DECIMAL.precision - DECIMAL.scale}"
    problem = text("a number does not fit in DECIMAL(38, 18), in which Spark computes: round it, or use double")
    error = f"CAST(raise_error({problem}) AS DECIMAL(38, 18))"
    return when(
        f"{key} IS NOT NULL",
        f"CASE WHEN {fits} THEN coalesce(try_cast({number} AS DECIMAL(38, 18)), 0) ELSE {error} END",
    )


def as_bigint(number: Sql) -> Sql:
    """Return SQL for a number as text as BIGINT, null for other texts, fractions, and numbers that do not fit."""
    cast = f"try_cast(try_cast({number} AS DECIMAL(38, 18)) AS BIGINT)"  # not of zero with an exponent such as 0e99
    whole = f"CASE WHEN k_ = '1' THEN 0L WHEN k_ IS NOT NULL AND {places('k_')} = 0 THEN {cast} END"
    other = let("k_", order_key(number), whole)
    return f"CASE WHEN {matches(number, _INTEGER)} THEN try_cast({number} AS BIGINT) ELSE {other} END"


def exact(value: Any) -> Decimal | None:
    """Return a number of a contract as it is written, None for what is no number. JSON has those that no float holds as
    texts."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def literal(number: Decimal, kind: T.DataType) -> Sql | None:
    """Return the literal of a column's type for a number, None if no value of the type equals it."""
    if isinstance(kind, T.FloatType | T.DoubleType):
        value = _nearest(number, kind)
        return _binary(value, kind) if math.isfinite(value) and Decimal(shortest(value, kind)) == number else None
    low, high = _bounds(kind)
    scaled = number.scaleb(_scale(kind), _EXACT)
    if scaled != scaled.to_integral_value() or not low <= scaled <= high:
        return None
    return _fixed(int(scaled), kind)


def compared(value: Sql, kind: T.DataType, opposite: str, limit: Decimal) -> Sql:
    """Return SQL for values of a numeric column that are ``opposite`` (``<``, ``<=``, ``>``, ``>=``) to a number.

    The number need not be one of the type: the comparison is with the next that is.
    """
    is_below = opposite[0] == "<"
    if isinstance(kind, T.FloatType | T.DoubleType):
        return f"{value} {'<=' if is_below else '>='} {_binary(_last_beyond(limit, kind, opposite), kind)}"
    low, high = _bounds(kind)
    # Beyond the type, one number is like another: as an integer, 1e99999999 would take hours.
    scaled = max(Decimal(low - 1), min(limit.scaleb(_scale(kind), _EXACT), Decimal(high + 1)))
    rounding = ROUND_CEILING if opposite in ("<", ">=") else ROUND_FLOOR
    bound = int(scaled.to_integral_value(rounding))
    if bound < low or (bound == low and opposite == ">="):
        return "false" if is_below and bound < low else "true"
    if bound > high or (bound == high and opposite == "<="):
        return "true" if is_below else "false"
    return f"{value} {opposite} {_fixed(bound, kind)}"


def shortest(value: float, kind: T.DataType) -> str:
    """Return the shortest decimal number that stands for a value of FLOAT or DOUBLE."""
    if isinstance(kind, T.DoubleType):
        return repr(value)
    texts = (f"{value:.{figures}g}" for figures in range(1, 10))
    return next(t for t in texts if _narrow(float(t)) == value)


def _last_beyond(limit: Decimal, kind: T.DataType, opposite: str) -> float:
    """Return the value nearest to a limit, of those that are opposite to it; infinity if there is none."""
    is_beyond: Callable[[Decimal], bool] = {
        "<": lambda number: number < limit, "<=": lambda number: number <= limit,
        ">": lambda number: number > limit, ">=": lambda number: number >= limit,
    }[opposite]  # fmt: skip
    outward = -math.inf if opposite[0] == "<" else math.inf
    value = _nearest(limit, kind)
    while math.isinf(value) or not is_beyond(Decimal(shortest(value, kind))):
        if value == outward:
            return value
        value = _next(value, outward, kind)
    return value


def _nearest(number: Decimal, kind: T.DataType) -> float:
    try:
        value = float(number)
    except OverflowError:
        value = math.copysign(math.inf, number)
    return value if isinstance(kind, T.DoubleType) else _narrow(value)


def _narrow(value: float) -> float:
    """Return the nearest value of FLOAT."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def _next(value: float, towards: float, kind: T.DataType) -> float:
    if isinstance(kind, T.DoubleType):
        return math.nextafter(value, towards)
    if value == 0:
        return math.copysign(1.401298464324817e-45, towards)
    if math.isinf(value):
        return math.copysign(3.4028234663852886e38, value)
    bits = struct.unpack("i", struct.pack("f", value))[0]
    return float(struct.unpack("f", struct.pack("i", bits + (1 if (towards > value) == (value > 0) else -1)))[0])


def _binary(value: float, kind: T.DataType) -> Sql:
    return f"CAST('{value!r}' AS {kind.simpleString().upper()})"


def _bounds(kind: T.DataType) -> tuple[int, int]:
    """Return the smallest and the largest value of a type, in units of its last place."""
    if isinstance(kind, T.DecimalType):
        return 1 - 10**kind.precision, 10**kind.precision - 1
    bits = INTEGRAL_BITS[type(kind)]
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _scale(kind: T.DataType) -> int:
    return kind.scale if isinstance(kind, T.DecimalType) else 0


def _fixed(units: int, kind: T.DataType) -> Sql:
    number = Decimal(units).scaleb(-_scale(kind), _EXACT)
    return f"CAST('{number:f}' AS {kind.simpleString().upper()})"


def _exponent(key: Sql) -> Sql:
    written = f"CAST(substring({key}, 2, 10) AS BIGINT)"
    signs = f"WHEN '2' THEN {written} - {_OFFSET} WHEN '0' THEN {_INVERSE} - {written} WHEN '1' THEN 0"
    return f"CASE left({key}, 1) {signs} END"


def _length(key: Sql) -> Sql:
    """Return SQL for the number of digits of a key, which the sign and the exponent precede."""
    return f"CASE left({key}, 1) WHEN '2' THEN length({key}) - 11 WHEN '0' THEN length({key}) - 12 WHEN '1' THEN 0 END"


def let(variable: str, value: Sql, body: Sql) -> Sql:
    """Return SQL for an expression over a variable."""
    return f"element_at(transform(array({value}), {variable} -> {body}), 1)"
