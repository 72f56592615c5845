"""Flink's CAST and TRY_CAST. Where Flink wraps around or saturates, the query stops instead."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from airflow_provider_odf.dialect.engine import NodeRule, Translation, spelled
from airflow_provider_odf.dialect.flink.numbers import refuse_rounded_twice
from airflow_provider_odf.dialect.flink.times import parsed
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.time_text import date_literal, timestamp_literal
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call, fail, switch
from airflow_provider_odf.dialect.typed import cast as cast_to
from airflow_provider_odf.dialect.types import DATE, NULL, STRING, Type, of_data_type, timestamp

_WHOLE = "^ *[+-]?[0-9]+ *$"
_NUMBER = r"^ *[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)? *$"
_NO_WHOLE = "^[^0-9]*$|[A-Za-z]"
_NO_NUMBER = r"^[^0-9nNiI]*$|[^0-9A-Fa-fxXpPiInNtTyY.+\-\s]"
"""Texts that Java reads as no number in any of its notations."""

_NO_TARGETS = ("UNKNOWN", "TIME", "STRUCT", "ARRAY", "BINARY")
_UNIT = {0: "s", 3: "ms", 6: "us"}
_TRUNCATED = {"s": "second", "ms": "millisecond"}
_LONGEST = 2**31 - 1
_FRACTIONS = {"s": "", "ms": ".SSS", "us": ".SSSSSS"}


def cast(t: Translation, node: exp.Expr) -> Typed:
    """CAST(… AS type), and ``type 'literal'``."""
    value, type_ = t.expression(node.this), _target(node)
    if value.type == NULL:
        return Typed(cast_to(value.sql, type_), type_)
    if value.text is not None and type_ == DATE:
        return date_literal(node, value.text)
    if value.type == STRING and type_.name == "TIMESTAMP" and type_.unit == "s":
        raise Refused(node, "a CAST of text to TIMESTAMP(0) is not translated", "cast it to TIMESTAMP(3) first")
    if value.text is not None and type_.name == "TIMESTAMP":
        # Without a precision it may be a literal, which has as many digits as are written.
        return Typed(timestamp_literal(node, value.text).sql, type_ if node.args["to"].expressions else timestamp())
    if value.type == STRING and type_ == STRING:
        return _shortened(node, value.sql)
    return _by_rule(node, value, type_)


def _by_rule(node: exp.Expr, value: Typed, type_: Type) -> Typed:
    rule = _RULES.get((_family(value.type), _family(type_)))
    if rule is None:
        advice = "" if value.type.is_known else SCHEMA_ADVICE
        raise Refused(node, f"CAST of {value.type} to {type_} is not translated", advice)
    if value.type.name == "TIMESTAMP" and not value.type.unit and type_ == STRING:
        message = "Flink writes as many digits of a second as the type has, which is not known here"
        raise Refused(node, message, "cast it to TIMESTAMP(3) first")
    if type_.is_float:
        refuse_rounded_twice(node, value.type)
    converted = rule(value, type_)
    return _shortened(node, converted) if type_ == STRING else Typed(converted, type_)


def try_cast(t: Translation, node: exp.Expr) -> Typed:
    """TRY_CAST of text: null where it is no such value; what Flink may read in its own way stops the query."""
    value, type_ = t.expression(node.this), _target(node)
    if value.type != STRING:
        raise Refused(node, f"TRY_CAST of {value.type} is not translated", "TRY_CAST takes strings here")
    if type_ == DATE or type_.name == "TIMESTAMP":
        return Typed(parsed(value.sql, type_, or_null=True), type_)
    if not type_.is_numeric:
        raise Refused(node, f"TRY_CAST to {type_} is not translated")
    pattern, other = (_WHOLE, _NO_WHOLE) if type_.is_integer else (_NUMBER, _NO_NUMBER)
    tried = exp.TryCast(this=value.sql, to=exp.DataType.build(type_.ddl, dialect="spark"), safe=True)
    is_null = exp.Is(this=value.sql.copy(), expression=exp.Null())
    branches = [
        (call("regexp_like", value.sql.copy(), pattern), tried),
        (exp.Or(this=is_null, expression=call("regexp_like", value.sql.copy(), other)), exp.Null()),
    ]
    return Typed(switch(branches, fail(f"TRY_CAST to {type_}: engines may read this text differently", type_)), type_)


def _target(node: exp.Expr) -> Type:
    target: exp.DataType = node.args["to"]
    type_ = of_data_type(target, timestamp("us"))
    if target.this in (exp.DType.CHAR, exp.DType.NCHAR):
        raise Refused(node, "CHAR is filled up with blanks, which Spark does not do", "use STRING or VARCHAR")
    if target.this == exp.DType.TIMESTAMPTZ or type_.name in _NO_TARGETS:
        raise Refused(node, f"a CAST to {spelled(target)} is not translated")
    if type_.name != "TIMESTAMP":
        return type_
    precision = int(target.expressions[0].name) if target.expressions else 6
    if precision not in _UNIT:
        raise Refused(node, f"TIMESTAMP({precision}) is not translated", "use a precision of 0, 3 or 6")
    return timestamp(_UNIT[precision])


def _family(type_: Type) -> str:
    return "INTEGER" if type_.is_integer else type_.name


def _shortened(node: exp.Expr, text: exp.Expr) -> Typed:
    """VARCHAR(n) cuts a text, which Spark's CAST does not."""
    length = node.args["to"].expressions
    if not length:
        return Typed(text, STRING)
    digits = length[0].name
    if not digits.isdigit() or len(digits) > len(str(_LONGEST)) or not 1 <= int(digits) <= _LONGEST:
        raise Refused(node, f"VARCHAR takes a length from 1 to {_LONGEST}")
    return Typed(call("left", text, int(digits)), STRING)


def _plain(value: Typed, type_: Type) -> exp.Expr:
    return cast_to(value.sql, type_)


def _text(value: Typed, type_: Type) -> exp.Expr:
    return cast_to(value.sql, STRING)


def _time_text(value: Typed, type_: Type) -> exp.Expr:
    return call("date_format", value.sql, f"yyyy-MM-dd HH:mm:ss{_FRACTIONS[value.type.unit]}")


def _time(value: Typed, type_: Type) -> exp.Expr:
    """A coarser precision cuts."""
    order = list(_FRACTIONS)
    is_coarser = order.index(type_.unit) < order.index(value.type.unit or "us")
    return call("date_trunc", _TRUNCATED[type_.unit], value.sql) if is_coarser else value.sql


_RULES: dict[tuple[str, str], Callable[[Typed, Type], exp.Expr]] = {
    **dict.fromkeys(
        [
            *(("INTEGER", name) for name in ("INTEGER", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN")),
            *(("STRING", name) for name in ("INTEGER", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN")),
            *(("DECIMAL", name) for name in ("INTEGER", "DOUBLE", "DECIMAL")),
            *(("DOUBLE", name) for name in ("INTEGER", "FLOAT", "DOUBLE", "DECIMAL")),
            *(("FLOAT", name) for name in ("INTEGER", "FLOAT", "DOUBLE")),
            ("BOOLEAN", "BOOLEAN"),
            ("BOOLEAN", "INTEGER"),
            ("DATE", "DATE"),
            ("DATE", "TIMESTAMP"),
            ("TIMESTAMP", "DATE"),
        ],
        _plain,
    ),
    **{(name, "STRING"): _text for name in ("INTEGER", "FLOAT", "DOUBLE", "DECIMAL", "DATE")},
    ("BOOLEAN", "STRING"): lambda value, type_: call("upper", cast_to(value.sql, STRING)),
    ("STRING", "DATE"): lambda value, type_: parsed(value.sql, type_, or_null=False),
    ("STRING", "TIMESTAMP"): lambda value, type_: parsed(value.sql, type_, or_null=False),
    ("TIMESTAMP", "STRING"): _time_text,
    ("TIMESTAMP", "TIMESTAMP"): _time,
}
NODES: dict[type[exp.Expr], NodeRule] = {exp.Cast: cast, exp.TryCast: try_cast}
