"""One text as one typed value: null where the text is not of the type.

Narrower than Spark's cast where that guesses: no ``t`` or ``1`` as BOOLEAN, no ``1d`` as DOUBLE, no ``2020`` as DATE.
Wider nowhere but in numbers as TIMESTAMP, which JSON marks with ``@`` and which are milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column as Expression
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from airflow_provider_odf.engine.read.time_format import java_pattern
from airflow_provider_odf.errors import InvalidQuery
from airflow_provider_odf.protocol import ReadStep

MILLIS = "@"
"""Before a number that stands for a time."""

_DATE = r"\d{4}-\d{2}-\d{2}"
_TIME = r"\d{2}:\d{2}:\d{2}(\.\d{1,9})?"
_TIMESTAMP = rf"^{_DATE}([Tt ]{_TIME}([Zz]|[+-]\d{{2}}:\d{{2}})?)?$"
_JAVA_FLOAT = r"[\d.][dDfF]\s*$|[xX]"


@dataclass(frozen=True)
class Formats:
    """Java patterns of dates and timestamps, None for RFC 3339, and whether binary values are base64 (as in JSON)."""

    date: str | None = None
    timestamp: str | None = None
    is_base64: bool = False

    @staticmethod
    def of(step: ReadStep) -> Formats:
        return Formats(
            java_pattern(step.date_format), java_pattern(step.timestamp_format), step.kind in ("Json", "NdJson")
        )

    def suffix(self, kind: st.DataType) -> str:
        """What messages add to the name of a type: its format, where one is set."""
        pattern = self.date if isinstance(kind, st.DateType) else None
        pattern = self.timestamp if isinstance(kind, st.TimestampType) else pattern
        return f" of the format {pattern}" if pattern else ""


def scalar(raw: Expression, kind: st.DataType, formats: Formats, path: str) -> Expression:
    """``raw`` as a value of ``kind``.

    :raises InvalidQuery: values of this type cannot be written as text.
    """
    if isinstance(kind, st.VarcharType | st.CharType):
        return sf.when(sf.char_length(raw) <= kind.length, raw)
    if isinstance(kind, st.StringType):
        return raw
    if isinstance(kind, st.BooleanType):
        return sf.when(sf.lower(sf.trim(raw)).isin("true", "false"), raw.try_cast(kind))
    if isinstance(kind, st.IntegralType):
        return raw.try_cast(kind)
    if isinstance(kind, st.DecimalType):
        return sf.when(_has_scale(raw, kind.scale), raw.try_cast(kind))
    if isinstance(kind, st.FractionalType):
        typed = raw.try_cast(kind)
        is_too_large = _is_infinite(typed) & raw.rlike(r"\d")
        return sf.when(~raw.rlike(_JAVA_FLOAT) & ~is_too_large, typed)
    return _other(raw, kind, formats, path)


def cast(value: Expression, given: st.DataType, kind: st.DataType) -> Expression:
    """A value that has a type already as one of ``kind``: null where that would change it."""
    if given == kind:
        return value
    if isinstance(kind, st.TimestampType | st.TimestampNTZType) and isinstance(given, st.IntegralType):
        return sf.timestamp_millis(value).cast(kind)
    typed = value.try_cast(kind)
    if isinstance(kind, st.IntegralType) and isinstance(given, st.FractionalType | st.DecimalType):
        return sf.when(typed == value, typed)
    if isinstance(kind, st.DecimalType) and isinstance(given, st.FractionalType):
        return sf.when(typed.try_cast(given) == value, typed)
    if isinstance(kind, st.FractionalType) and isinstance(given, st.NumericType):
        return sf.when(~_is_infinite(typed) | _is_infinite(value.cast("double")), typed)
    return typed


def _is_infinite(number: Expression) -> Expression:
    return sf.abs(number) == float("inf")


def _has_scale(raw: Expression, scale: int) -> Expression:
    """Whether a number needs no more digits after its point than ``scale``; zeros at its end are not needed."""
    digits = sf.regexp_replace(sf.regexp_extract(raw, r"^\s*[+-]?([\d.]*)", 1), r"\.", "")
    significant = sf.regexp_replace(digits, "0+$", "")
    zeros = sf.length(digits) - sf.length(significant)
    exponent = sf.coalesce(sf.regexp_extract(raw, r"[eE]([+-]?\d+)\s*$", 1).try_cast("int"), sf.lit(0))
    needed = sf.length(sf.regexp_extract(raw, r"\.(\d*)", 1)) - zeros - exponent
    plain = ~raw.rlike(rf"\.\d{{{scale}}}\d*[1-9]")
    return sf.when(raw.rlike("[eE]"), (significant == "") | (needed <= scale)).otherwise(plain)


def _other(raw: Expression, kind: st.DataType, formats: Formats, path: str) -> Expression:
    if isinstance(kind, st.DateType):
        return _date(raw, formats.date)
    if isinstance(kind, st.TimestampType | st.TimestampNTZType):
        return _timestamp(raw, formats.timestamp).cast(kind)
    if isinstance(kind, st.TimeType):
        return sf.when(raw.rlike(rf"^{_TIME}$"), raw.try_cast(kind))
    if isinstance(kind, st.BinaryType):
        return sf.try_to_binary(raw, sf.lit("base64")) if formats.is_base64 else sf.encode(raw, "utf-8")
    if isinstance(kind, st.VariantType):
        return sf.try_parse_json(raw)
    raise InvalidQuery(f"column {path}: {kind.simpleString().upper()} cannot be read from text")


def _date(raw: Expression, pattern: str | None) -> Expression:
    if pattern:
        return sf.try_to_timestamp(raw, sf.lit(pattern)).cast("date")
    # Of a timestamp, the date as written.
    return sf.when(raw.rlike(_TIMESTAMP), sf.substring(raw, 1, 10).try_cast("date"))


def _timestamp(raw: Expression, pattern: str | None) -> Expression:
    text = sf.try_to_timestamp(raw, sf.lit(pattern)) if pattern else _rfc3339(raw)
    millis = sf.substring(raw, 2, 30).try_cast("bigint")
    return sf.when(raw.startswith(MILLIS), sf.timestamp_millis(millis)).otherwise(text)


def _rfc3339(raw: Expression) -> Expression:
    """Also without a zone, which is then UTC, and dates alone."""
    return sf.when(raw.rlike(_TIMESTAMP), sf.upper(raw).try_cast("timestamp"))
