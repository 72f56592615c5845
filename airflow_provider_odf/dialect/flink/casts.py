"""Flink's CAST and TRY_CAST. Where Flink wraps around or saturates, the query stops instead."""

from __future__ import annotations

from sqlglot import exp

from airflow_provider_odf.dialect.arithmetic import refuse_rounded_twice
from airflow_provider_odf.dialect.engine import NodeRule, Translation, spell
from airflow_provider_odf.dialect.flink.times import read_time
from airflow_provider_odf.dialect.literals import time_literal
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call, fail, is_like, is_null, switch
from airflow_provider_odf.dialect.typed import cast as cast_to
from airflow_provider_odf.dialect.types import DATE, NULL, STRING, Type, of_data_type, timestamp

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
"""The types to which a CAST of a type is translated."""
_TRUNCATED = {0: "second", 3: "millisecond"}
_WRITTEN = {0: "", 3: ".SSS", 6: ".SSSSSS"}
"""The fraction of a second in text, by the precision of a TIMESTAMP."""
_DEFAULT_DIGITS = 6
_NO_TARGETS = ("UNKNOWN", "TIME", "STRUCT", "ARRAY", "BINARY")
_LONGEST = 2**31 - 1

_WHOLE = "^ *[+-]?[0-9]+ *$"
_NUMBER = r"^ *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *$"
_NO_WHOLE = "^[^0-9]*$|[A-Za-z]"
_NO_NUMBER = r"^[^0-9nNiI]*$|[^0-9A-Fa-fxXpPiInNtTyY.+\-\s]"
"""Texts that Java reads as no number in any of its notations."""


def cast(t: Translation, node: exp.Expr) -> Typed:
    """CAST(… AS type), and ``type 'literal'``."""
    value, type_ = t.expression(node.this), _target(node)
    if value.type == NULL:
        return Typed(cast_to(value.sql, type_), type_)
    if value.type == STRING and type_ == timestamp(0):
        raise Refused(node, "a CAST of text to TIMESTAMP(0) is not translated", "cast it to TIMESTAMP(3) first")
    if value.text is not None and (type_ == DATE or type_.is_timestamp):
        read = time_literal(node, value.text, type_)
        # Without a precision it may be a literal, which has as many digits as are written.
        return Typed(read.sql, type_) if node.args["to"].expressions else read
    if _family(type_) not in _CASTS.get(_family(value.type), ()):
        advice = "" if value.type.is_known else SCHEMA_ADVICE
        raise Refused(node, f"CAST of {value.type} to {type_} is not translated", advice)
    if type_.is_float:
        refuse_rounded_twice(node, value.type)
    return _shorten(node, _text(node, value)) if type_ == STRING else Typed(_convert(value, type_), type_)


def try_cast(t: Translation, node: exp.Expr) -> Typed:
    """TRY_CAST of text: null where it is no such value; what Flink may read in its own way stops the query."""
    value, type_ = t.expression(node.this), _target(node)
    if value.type != STRING:
        raise Refused(node, f"TRY_CAST of {value.type} is not translated", "TRY_CAST takes strings here")
    if type_ == DATE or type_.is_timestamp:
        return Typed(read_time(value.sql, type_, or_null=True), type_)
    if not type_.is_numeric:
        raise Refused(node, f"TRY_CAST to {type_} is not translated")
    pattern, other = (_WHOLE, _NO_WHOLE) if type_.is_integer else (_NUMBER, _NO_NUMBER)
    number = cast_to(value.sql, type_, is_tried=True)
    is_no_number = exp.Or(this=is_null(value.sql), expression=is_like(value.sql, other))
    failure = fail(f"TRY_CAST to {type_}: engines may read this text differently", type_)
    return Typed(switch([(is_like(value.sql, pattern), number), (is_no_number, exp.Null())], failure), type_)


def _target(node: exp.Expr) -> Type:
    target: exp.DataType = node.args["to"]
    type_ = of_data_type(target, timestamp(_DEFAULT_DIGITS))
    if target.this in (exp.DType.CHAR, exp.DType.NCHAR):
        raise Refused(node, "CHAR is filled up with blanks, which Spark does not do", "use STRING or VARCHAR")
    if target.this == exp.DType.TIMESTAMPTZ or type_.name in _NO_TARGETS:
        raise Refused(node, f"a CAST to {spell(target)} is not translated")
    if not type_.is_timestamp:
        return type_
    digits = int(target.expressions[0].name) if target.expressions else _DEFAULT_DIGITS
    if digits not in _WRITTEN:
        raise Refused(node, f"TIMESTAMP({digits}) is not translated", "use a precision of 0, 3 or 6")
    return timestamp(digits)


def _family(type_: Type) -> str:
    return "INTEGER" if type_.is_integer else type_.name


def _convert(value: Typed, type_: Type) -> exp.Expr:
    if value.type == STRING and (type_ == DATE or type_.is_timestamp):
        return read_time(value.sql, type_, or_null=False)
    if value.type.is_timestamp and type_.is_timestamp:
        # A coarser precision cuts; an unknown one may have more digits.
        is_coarser = type_.precision in _TRUNCATED and not 0 <= value.type.precision <= type_.precision
        return call("date_trunc", _TRUNCATED[type_.precision], value.sql) if is_coarser else value.sql
    return cast_to(value.sql, type_)


def _text(node: exp.Expr, value: Typed) -> exp.Expr:
    if value.type == STRING:
        return value.sql
    if not value.type.is_timestamp:
        text = cast_to(value.sql, STRING)
        return call("upper", text) if value.type.name == "BOOLEAN" else text
    if value.type.precision not in _WRITTEN:
        message = "Flink writes as many digits of a second as the type has, which is not known here"
        raise Refused(node, message, "cast it to TIMESTAMP(3) first")
    return call("date_format", value.sql, f"yyyy-MM-dd HH:mm:ss{_WRITTEN[value.type.precision]}")


def _shorten(node: exp.Expr, text: exp.Expr) -> Typed:
    """VARCHAR(n) cuts a text, which Spark's CAST does not."""
    length = node.args["to"].expressions
    if not length:
        return Typed(text, STRING)
    digits = length[0].name
    if not digits.isdigit() or len(digits) > len(str(_LONGEST)) or not 1 <= int(digits) <= _LONGEST:
        raise Refused(node, f"VARCHAR takes a length from 1 to {_LONGEST}")
    return Typed(call("left", text, int(digits)), STRING)


NODES: dict[type[exp.Expr], NodeRule] = {exp.Cast: cast, exp.TryCast: try_cast}
