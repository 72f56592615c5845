"""SQL that converts text to a typed value, null if the text does not match the type.

It is stricter than Spark's cast, which guesses: no ``t`` or ``1`` as BOOLEAN, no ``1d`` as DOUBLE, no ``2020`` as DATE.
It accepts more in one case: numbers as TIMESTAMP, which JSON marks with ``@``, are milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as st

from airflow_provider_odf.engine.sql import Sql, ddl, first_group, matches, text, when
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import ReadStep
from airflow_provider_odf.read_steps import POSIX_YEAR, RFC3339, Types

MILLIS = "@"
"""Mark of a number that represents a time."""

NESTED = (st.ArrayType, st.MapType, st.StructType)

_TIMESTAMPS = (st.TimestampType, st.TimestampNTZType)
_TIMES = (*_TIMESTAMPS, st.DateType)
_FLOATS = (st.FloatType, st.DoubleType)
_BITS = {st.ByteType: 7, st.ShortType: 15, st.IntegerType: 31, st.LongType: 63}
"""Bits of integers without that of the sign."""


_FIRST_MILLIS, _LAST_MILLIS = -62_135_596_800_000, 253_402_300_799_999
"""First and last millisecond of the years 1 to 9999."""

_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}:\d{2}(\.\d{1,9})?"
_TIMESTAMP = rf"^{_DATE}([Tt ]{_TIME}([Zz]|[+-]\d{{2}}:\d{{2}})?)?$"
_DIGIT = r"\d"
_MANTISSA = r"^\s*[+-]?([\d.]*)"
_EXPONENT = r"[eE]([+-]?\d+)\s*$"
_DECIMALS = r"\.(\d*)"
_DECIMALS_BEYOND = r"\.\d{%d}\d*[1-9]"
_SHORT = 30
"""Length in bytes of a number without an exponent that any numeric type holds. FLOAT holds up to 39 digits."""

_JAVA_FLOAT = r"[\d.][dDfF]\s*$|[xX]"


@dataclass(frozen=True)
class Formats:
    """Formats of values: Java patterns of dates and timestamps, or None for RFC 3339.

    ``is_base64`` applies to binary values, as in JSON. ``has_millis`` allows numbers after MILLIS as times.
    """

    date: str | None = None
    timestamp: str | None = None
    is_base64: bool = False
    has_millis: bool = True

    @staticmethod
    def of(step: ReadStep) -> Formats:
        date, timestamp = (
            None if pattern in ("", RFC3339) else pattern for pattern in (step.date_format, step.timestamp_format)
        )
        return Formats(date, timestamp, step.format.types is Types.JSON, step.format.types is not Types.TEXT)

    def suffix(self, kind: st.DataType) -> str:
        """Return the format of a type for messages, if one is set."""
        pattern = self.date if isinstance(kind, st.DateType) else None
        pattern = self.timestamp if isinstance(kind, st.TimestampType) else pattern
        return f" of the format {POSIX_YEAR.sub('yy', pattern)}" if pattern else ""


def scalar(raw: Sql, kind: st.DataType, formats: Formats, path: str) -> Sql:
    """Return SQL for ``raw`` as a value of ``kind``.

    :raises InvalidQuery: text cannot represent values of this type.
    """
    typed = f"try_cast({raw} AS {ddl(kind)})"
    if isinstance(kind, st.VarcharType | st.CharType):
        return when(f"char_length({raw}) <= {kind.length}", raw)
    if isinstance(kind, st.StringType):
        return raw
    if isinstance(kind, st.BooleanType):
        return f"CASE {raw} WHEN 'true' THEN true WHEN 'false' THEN false ELSE {_loosely_boolean(raw)} END"
    if isinstance(kind, st.IntegralType):
        return typed
    if isinstance(kind, st.DecimalType):
        return when(_has_scale(raw, kind.scale), typed)
    if isinstance(kind, st.FractionalType):
        return when(f"{_is_plain_number(raw)} OR {_is_number(raw, typed)}", typed)
    return _other(raw, kind, formats, path)


def has_times(kind: st.DataType) -> bool:
    """Whether values of a type can be or contain dates and times."""
    return any(name in kind.simpleString() for name in ("date", "timestamp"))


def is_in_range(value: Sql, kind: st.DataType) -> Sql:
    """Return SQL that tests whether slices can hold a value that is not null. Times must be in the years 1 to 9999."""
    if not isinstance(kind, _TIMES):
        return "true"
    last = "9999-12-31" if isinstance(kind, st.DateType) else "9999-12-31 23:59:59.999999"
    return f"{value} BETWEEN {ddl(kind)} '0001-01-01' AND {ddl(kind)} '{last}'"


def is_castable(source: st.DataType, kind: st.DataType) -> bool:
    """Whether values of one type can become values of another. Nested types can only become text."""
    if isinstance(kind, st.StringType | st.VarcharType | st.CharType) or source == kind:
        return True
    if isinstance(source, st.StringType):
        return True
    if isinstance(kind, st.NumericType):
        return isinstance(source, st.NumericType)
    if isinstance(kind, _TIMESTAMPS):
        return isinstance(source, (*_TIMESTAMPS, st.DateType, st.NumericType))
    if isinstance(kind, st.DateType):
        return isinstance(source, _TIMESTAMPS)
    return isinstance(kind, st.TimeType) and isinstance(source, st.TimeType)


def cast(value: Sql, source: st.DataType, kind: st.DataType) -> Sql:
    """Return SQL that casts a value with a castable type to ``kind``, null if that would change it.

    Only a FLOAT of a DOUBLE may be rounded, and a DATE keeps no time of day.
    """
    if isinstance(kind, st.VarcharType | st.CharType):
        written = cast(value, source, st.StringType())
        return when(f"char_length({written}) <= {kind.length}", written)
    if isinstance(kind, st.StringType) and isinstance(source, NESTED):
        return f"to_json({value}, map('ignoreNullFields', 'false'))"
    if isinstance(kind, _TIMESTAMPS) and isinstance(source, st.NumericType):
        millis = cast(value, source, st.LongType())
        return f"CAST({_of_millis(millis)} AS {ddl(kind)})"
    typed = _try_cast(value, source, kind)
    if isinstance(kind, st.StringType) and isinstance(source, st.BinaryType):
        return f"try_validate_utf8({typed})"
    if isinstance(kind, st.NumericType | st.TimeType):
        return when(_is_unchanged(value, source, typed, kind), typed)
    return typed


def _try_cast(value: Sql, source: st.DataType, kind: st.DataType) -> Sql:
    typed = f"try_cast({value} AS {ddl(kind)})"
    if not isinstance(source, _FLOATS) or not isinstance(kind, st.DecimalType):
        return typed
    # By itself, Spark has 0.10000000149011612 for a FLOAT of 0.1, and 4611686018427387900 for a DOUBLE of 2^62.
    whole = f"try_cast({cast(value, source, st.LongType())} AS {ddl(kind)})"
    return f"coalesce({whole}, try_cast(CAST({value} AS STRING) AS {ddl(kind)}))"


def _is_unchanged(value: Sql, source: st.DataType, typed: Sql, kind: st.DataType) -> Sql:
    if isinstance(source, _FLOATS) and isinstance(kind, _FLOATS):
        return f"NOT {_is_infinite(typed)} OR {_is_infinite(value)}"
    if isinstance(source, _FLOATS) and isinstance(kind, st.IntegralType):
        return _is_integer(value, typed, kind)
    if isinstance(source, st.IntegralType) and isinstance(kind, _FLOATS):
        return _is_integer(typed, value, source)
    return f"{_try_cast(typed, kind, source)} = {value}"


def _is_integer(number: Sql, integer: Sql, kind: st.IntegralType) -> Sql:
    """Return SQL that tests whether a FLOAT or DOUBLE is an integer of ``kind``.

    Spark casts a number just beyond the last integer to that integer, and compares integers as DOUBLE.
    """
    has_size = f"{number} < double('{2.0 ** _BITS[type(kind)]}')"
    return f"{has_size} AND try_cast({number} AS {ddl(kind)}) = {integer} AND double({integer}) = double({number})"


def _is_infinite(number: Sql) -> Sql:
    return f"abs({number}) = double('infinity')"


def _loosely_boolean(raw: Sql) -> Sql:
    return when(f"lower(trim({raw})) IN ('true', 'false')", f"try_cast({raw} AS BOOLEAN)")


def _is_plain_number(raw: Sql) -> Sql:
    """Return SQL for a quick test: the last character is a digit, and there is no exponent and no notation of Java."""
    ends = f"substring({raw}, -1, 1) BETWEEN '0' AND '9'"
    others = " AND ".join(f"NOT contains({raw}, '{letter}')" for letter in "eExX")
    return f"(octet_length({raw}) < {_SHORT} AND {ends} AND {others})"


def _is_number(raw: Sql, typed: Sql) -> Sql:
    is_too_large = f"({_is_infinite(typed)} AND {matches(raw, _DIGIT)})"
    return f"(NOT {matches(raw, _JAVA_FLOAT)} AND NOT {is_too_large})"


def _has_scale(raw: Sql, scale: int) -> Sql:
    """Return SQL that tests whether a number has at most ``scale`` decimal places, without trailing zeros."""
    point = f"instr({raw}, '.')"
    is_short = f"({point} = 0 OR octet_length({raw}) - {point} <= {scale})"
    return f"(({is_short} AND NOT contains({raw}, 'e') AND NOT contains({raw}, 'E')) OR {_has_scale_of(raw, scale)})"


def _has_scale_of(raw: Sql, scale: int) -> Sql:
    digits = f"replace({first_group(raw, _MANTISSA)}, '.', '')"
    significant = f"regexp_replace({digits}, '0+$', '')"
    exponent = f"coalesce(try_cast({first_group(raw, _EXPONENT)} AS INT), 0)"
    needed = f"length({first_group(raw, _DECIMALS)}) - (length({digits}) - length({significant})) - {exponent}"
    plain = f"NOT {matches(raw, _DECIMALS_BEYOND % scale)}"
    return f"CASE WHEN {matches(raw, '[eE]')} THEN {significant} = '' OR {needed} <= {scale} ELSE {plain} END"


def _other(raw: Sql, kind: st.DataType, formats: Formats, path: str) -> Sql:
    if isinstance(kind, st.DateType):
        return _date(raw, formats.date)
    if isinstance(kind, st.TimestampType | st.TimestampNTZType):
        return f"CAST({_timestamp(raw, formats.timestamp, formats.has_millis)} AS {ddl(kind)})"
    if isinstance(kind, st.TimeType):
        is_finer = matches(raw, _DECIMALS_BEYOND % kind.precision)
        return when(f"{matches(raw, f'^{_TIME}$')} AND NOT {is_finer}", f"try_cast({raw} AS {ddl(kind)})")
    if isinstance(kind, st.BinaryType):
        return f"try_to_binary({raw}, 'base64')" if formats.is_base64 else f"encode({raw}, 'utf-8')"
    if isinstance(kind, st.VariantType):
        return f"try_parse_json({raw})"
    raise InvalidQuery(f"column {path}: {kind.simpleString().upper()} cannot be read from text")


def _date(raw: Sql, pattern: str | None) -> Sql:
    if pattern:
        return f"CAST({_by_pattern(raw, pattern)} AS DATE)"
    # For a timestamp, the date as written.
    return when(matches(raw, _TIMESTAMP), f"try_cast(substring({raw}, 1, 10) AS DATE)")


def _timestamp(raw: Sql, pattern: str | None, has_millis: bool) -> Sql:
    written = _by_pattern(raw, pattern) if pattern else _rfc3339(raw)
    if not has_millis:
        return written
    millis = _of_millis(f"try_cast(substring({raw}, 2, 30) AS BIGINT)")
    return f"CASE WHEN startswith({raw}, {text(MILLIS)}) THEN {millis} ELSE {written} END"


def _of_millis(millis: Sql) -> Sql:
    return when(f"{millis} BETWEEN {_FIRST_MILLIS} AND {_LAST_MILLIS}", f"timestamp_millis({millis})")


def _by_pattern(raw: Sql, pattern: str) -> Sql:
    moment = f"try_to_timestamp({raw}, {text(POSIX_YEAR.sub('yy', pattern))})"
    if not POSIX_YEAR.search(pattern):
        return moment
    return f"CASE WHEN year({moment}) >= 2069 THEN {moment} - INTERVAL '100' YEAR ELSE {moment} END"


def _rfc3339(raw: Sql) -> Sql:
    """Return SQL that parses RFC 3339, dates alone, and times without a zone as UTC."""
    return when(
        matches(raw, _TIMESTAMP), f"coalesce(try_cast({raw} AS TIMESTAMP), try_cast(upper({raw}) AS TIMESTAMP))"
    )
