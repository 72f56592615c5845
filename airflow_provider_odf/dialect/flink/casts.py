"""Flink's CAST and TRY_CAST. Where Flink wraps around or saturates, the query stops instead."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect import types
from airflow_provider_odf.dialect.engine import NodeRule, Translator, spell
from airflow_provider_odf.dialect.flink.times import read_time
from airflow_provider_odf.dialect.literals import time_literal
from airflow_provider_odf.dialect.place import Refusal
from airflow_provider_odf.dialect.spark import Value, call, sql
from airflow_provider_odf.dialect.spark import cast as cast_to
from airflow_provider_odf.dialect.spark import try_cast as try_cast_to
from airflow_provider_odf.dialect.types import NULL, STRING, Type, of_data_type, timestamp

_NUMBERS = ("INTEGER", "FLOAT", "DOUBLE", "DECIMAL")
_CASTS = {
    "INTEGER": (*_NUMBERS, "BOOLEAN", "STRING"),
    "FLOAT": ("INTEGER", "FLOAT", "DOUBLE", "STRING"),
    "DOUBLE": (*_NUMBERS, "STRING"),
    "DECIMAL": ("INTEGER", "DOUBLE", "DECIMAL", "STRING"),
    "STRING": (*_NUMBERS, "BOOLEAN", "STRING", "DATE", "TIMESTAMP"),
    "BOOLEAN": ("BOOLEAN", "INTEGER", "STRING"),
    "DATE": ("DATE", "TIMESTAMP", "STRING"),
    "TIMESTAMP": ("DATE", "TIMESTAMP", "STRING"),
}
"""The types to which a CAST of a type is supported."""
_UNITS = {0: "second", 3: "millisecond"}
_FRACTIONS = {0: "", 3: ".SSS", 6: ".SSSSSS"}
"""The fraction of a second in text, by the precision of a TIMESTAMP."""
_DEFAULT_DIGITS = 6
_NO_TARGETS = ("UNKNOWN", "TIME", "STRUCT", "ARRAY", "BINARY")
_COMPACT_DIGITS = range(types.EXACT_DOUBLE_DIGITS + 1, 19)
"""Digits of a DECIMAL that Flink stores as an integer, which it converts to DOUBLE in two steps."""
_MAX_LENGTH = 2**31 - 1

_WHOLE = "^ *[+-]?[0-9]+ *$"
_NUMBER = r"^ *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *$"
_NO_WHOLE = "^[^0-9]*$|[A-Za-z]"
_NO_NUMBER = r"^[^0-9nNiI]*$|[^0-9A-Fa-fxXpPiInNtTyY.+\-\s]"
"""Strings that Java cannot parse as a number in any notation."""
_TRY_NUMBER = (
    "CASE WHEN regexp_like(a, b) THEN c WHEN a IS NULL OR regexp_like(a, d) THEN NULL "
    "ELSE raise_error(concat("
    "'TRY_CAST: engines may parse this string as different numbers (correct or filter it first): ', a)) END"
)


def cast(t: Translator, node: exp.Expr) -> Value:
    """Translate CAST(… AS type), and ``type 'literal'``."""
    value, type_ = t.expression(node.this), _target(node)
    if value.type == NULL:
        return Value(cast_to(value.sql, type_), type_)
    if value.type == STRING and type_ == timestamp(0):
        raise Refusal(node, "a CAST of a string to TIMESTAMP(0) is not supported", "cast it to TIMESTAMP(3) first")
    if value.text is not None and type_.is_time:
        literal = time_literal(node, value.text, type_)
        # Without a precision it may be a literal, which has as many digits as its text.
        return Value(literal.sql, type_) if node.args["to"].expressions else literal
    if type_.family not in _CASTS.get(value.type.family, ()):
        advice = types.advice([value.type], "")
        raise Refusal(node, f"CAST of {value.type} to {type_} is not supported", advice)
    if type_.is_float and value.type.scale and value.type.precision in _COMPACT_DIGITS:
        advice = f"cast to DECIMAL({_COMPACT_DIGITS.stop},{value.type.scale}) first"
        raise Refusal(node, f"Flink rounds {value.type} twice when it converts to DOUBLE", advice)
    return Value(_shorten(node, _text(node, value)) if type_ == STRING else _convert(value, type_), type_)


def try_cast(t: Translator, node: exp.Expr) -> Value:
    """Translate TRY_CAST of text: null if it is no such value. Text that engines may read as different values stops
    the query."""
    value, type_ = t.expression(node.this), _target(node)
    if value.type != STRING or not (type_.is_time or type_.is_numeric):
        advice = types.advice([value.type], "TRY_CAST takes strings here")
        raise Refusal(node, f"TRY_CAST of {value.type} to {type_} is not supported", advice)
    if type_.is_time:
        return Value(read_time(value.sql, type_, or_null=True), type_)
    is_number, is_other = (_WHOLE, _NO_WHOLE) if type_.is_integer else (_NUMBER, _NO_NUMBER)
    return Value(sql(_TRY_NUMBER, value.sql, is_number, try_cast_to(value.sql, type_), is_other), type_)


def _target(node: exp.Expr) -> Type:
    target: exp.DataType = node.args["to"]
    type_ = of_data_type(target, timestamp(_DEFAULT_DIGITS))
    if target.this in (exp.DType.CHAR, exp.DType.NCHAR):
        raise Refusal(node, "Flink pads CHAR with spaces, but Spark does not", "use STRING or VARCHAR")
    if target.this == exp.DType.TIMESTAMPTZ or type_.name in _NO_TARGETS:
        raise Refusal(node, f"a CAST to {spell(target)} is not supported")
    if not type_.is_timestamp or not target.expressions:
        return type_
    digits = int(target.expressions[0].name)
    if digits not in _FRACTIONS:
        raise Refusal(node, f"TIMESTAMP({digits}) is not supported", "use a precision of 0, 3 or 6")
    return timestamp(digits)


def _convert(value: Value, type_: Type) -> exp.Expr:
    if value.type == STRING and type_.is_time:
        return read_time(value.sql, type_, or_null=False)
    if value.type.is_timestamp and type_.is_timestamp:
        # A coarser precision cuts; an unknown one may have more digits.
        is_coarser = type_.precision in _UNITS and not 0 <= value.type.precision <= type_.precision
        return call("date_trunc", _UNITS[type_.precision], value.sql) if is_coarser else value.sql
    return cast_to(value.sql, type_)


def _text(node: exp.Expr, value: Value) -> exp.Expr:
    if value.type == STRING:
        return value.sql
    if not value.type.is_timestamp:
        text = cast_to(value.sql, STRING)
        return call("upper", text) if value.type.name == "BOOLEAN" else text
    if value.type.precision not in _FRACTIONS:
        message = "the result depends on the precision of the TIMESTAMP, which is unknown"
        raise Refusal(node, message, "cast it to TIMESTAMP(3) first")
    return call("date_format", value.sql, f"yyyy-MM-dd HH:mm:ss{_FRACTIONS[value.type.precision]}")


def _shorten(node: exp.Expr, text: exp.Expr) -> exp.Expr:
    """VARCHAR(n) cuts a text, which Spark's CAST does not."""
    length = node.args["to"].expressions
    if not length:
        return text
    digits = length[0].name
    if not digits.isdigit() or len(digits) > len(str(_MAX_LENGTH)) or not 1 <= int(digits) <= _MAX_LENGTH:
        raise Refusal(node, f"VARCHAR takes a length from 1 to {_MAX_LENGTH}")
    return call("left", text, int(digits))


NODES: dict[type[exp.Expr], NodeRule] = {exp.Cast: cast, exp.TryCast: try_cast}
