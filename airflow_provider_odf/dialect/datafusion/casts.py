"""DataFusion's CAST and TRY_CAST. Each pair of types that Spark converts alike is listed; others are refused."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from airflow_provider_odf.dialect.engine import Call, Translation
from airflow_provider_odf.dialect.place import Refused
from airflow_provider_odf.dialect.time_text import as_text, checked, date_literal, parsed, timestamp_literal
from airflow_provider_odf.dialect.typed import SCHEMA_ADVICE, Typed, call, fail, has_type, switch
from airflow_provider_odf.dialect.typed import cast as cast_to
from airflow_provider_odf.dialect.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    NULL,
    STRING,
    Type,
    of_data_type,
    timestamp,
)

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_TO_TICKS = {"s": "unix_seconds", "ms": "unix_millis", "us": "unix_micros"}
_INFERRED = (STRING, BIGINT, DOUBLE, BOOLEAN, DATE)
"""Types that a reader may have inferred where the type of a column is not known beforehand."""

_EXACT_DOUBLE_DIGITS = 15
_WHOLE_NUMBER = r"\A[ \t\n\f\r]*[+-]?[0-9]+[ \t\n\f\r]*\z"
"""What Arrow reads as a whole number; Spark trims other control characters too."""
_FIXED_POINT = r"\A[ \t\n\f\r]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)[ \t\n\f\r]*\z"
"""What Arrow reads as a DECIMAL; Spark also reads an exponent."""


def cast(t: Translation, node: exp.Expr) -> Typed:
    """CAST(… AS type), and ``type 'literal'``."""
    value = t.expression(node.this)
    return convert(node, value, of_data_type(_target(node), timestamp("ns")))


def try_cast(t: Translation, node: exp.Expr) -> Typed:
    """TRY_CAST: null where the text does not fit. Spark reads more texts as numbers, so those are kept out."""
    value, type_ = t.expression(node.this), of_data_type(_target(node), timestamp("ns"))
    if value.type != STRING:
        raise Refused(node, f"TRY_CAST of {value.type} is not translated", "TRY_CAST takes strings here")
    if not type_.is_integer:
        raise Refused(node, f"TRY_CAST to {type_} is not translated")
    is_good = exp.RegexpLike(this=value.sql.copy(), expression=exp.Literal.string(_WHOLE_NUMBER))
    tried = exp.TryCast(this=value.sql, to=exp.DataType.build(type_.ddl, dialect="spark"), safe=True)
    return Typed(switch([(is_good, tried)], exp.Null()), type_)


def _target(node: exp.Expr) -> exp.DataType:
    target: exp.DataType = node.args["to"]
    if node.args.get("format") or node.args.get("action"):
        raise Refused(node, "CAST is translated without FORMAT")
    return target


def convert(node: exp.Expr, value: Typed, type_: Type) -> Typed:
    """The value in another type, as DataFusion converts it.

    :raises Refused: if Spark would convert it in another way."""
    if not type_.is_known:
        raise Refused(node, "this type is not known to the datafusion translation", "Spark has no unsigned numbers")
    if value.type.ddl == type_.ddl and type_.name != "TIMESTAMP":
        return value
    if value.type == NULL:
        return Typed(cast_to(value.sql, type_), type_)
    if not value.type.is_known:
        return Typed(_of_unknown(node, value, type_), type_)
    form = _form(node, value, type_)
    if form is None:
        raise Refused(node, f"engines convert {value.type} to {type_} in different ways", _advice(value.type, type_))
    result = value.type if type_.name == value.type.name == "TIMESTAMP" else type_
    return Typed(form, result)


def _advice(source: Type, target: Type) -> str:
    if source.is_numeric and target.name == "TIMESTAMP":
        return "use to_timestamp_seconds and the like"
    return f"cast to DECIMAL({_EXACT_DOUBLE_DIGITS}, scale) first" if source.name == "DECIMAL" else ""


def _form(node: exp.Expr, value: Typed, type_: Type) -> exp.Expr | None:
    rule = _RULES.get((_family(value.type), _family(type_)))
    if value.text is not None and type_ == DATE:
        return date_literal(node, value.text).sql
    if value.text is not None and type_.name == "TIMESTAMP":
        return timestamp_literal(node, value.text).sql
    return rule(value, type_) if rule else None


def _family(type_: Type) -> str:
    return "INTEGER" if type_.name in _INTEGERS else type_.name


def _of_unknown(node: exp.Expr, value: Typed, type_: Type) -> exp.Expr:
    """A CAST of a column whose type only Spark will know: one branch for each type that it may turn out to have."""
    branches = []
    for source in _INFERRED:
        # By way of STRING, because Spark must find every branch well typed, also those never taken.
        text = cast_to(value.sql.copy(), STRING)
        typed = Typed(text if source == STRING else cast_to(text, source), source)
        form = typed.sql if source == type_ else _form(node, typed, type_)
        if form is not None:
            branches.append((has_type(value.sql, source.ddl), form))
    if not branches:
        raise Refused(node, f"the type of what becomes {type_} is not known", SCHEMA_ADVICE)
    return switch(branches, fail(f"no exact CAST to {type_} of this column's type is known: {SCHEMA_ADVICE}", type_))


def _plain(value: Typed, type_: Type) -> exp.Expr:
    return cast_to(value.sql, type_)


def _ticks(value: Typed, type_: Type) -> exp.Expr | None:
    """A TIMESTAMP as the whole number by which DataFusion stores it: seconds, milli- or microseconds by its unit."""
    if type_ != BIGINT or value.type.unit not in _TO_TICKS:
        return None
    return call(_TO_TICKS[value.type.unit], value.sql)


def _decimal_to_double(value: Typed, type_: Type) -> exp.Expr | None:
    return cast_to(value.sql, type_) if value.type.precision <= _EXACT_DOUBLE_DIGITS and type_ == DOUBLE else None


def _fixed_point(value: Typed, type_: Type) -> exp.Expr:
    return checked(value.sql, _FIXED_POINT, cast_to(value.sql, type_), type_)


_RULES: dict[tuple[str, str], Callable[[Typed, Type], exp.Expr | None]] = {
    ("INTEGER", "INTEGER"): _plain,
    ("INTEGER", "FLOAT"): _plain,
    ("INTEGER", "DOUBLE"): _plain,
    ("INTEGER", "DECIMAL"): _plain,
    ("INTEGER", "STRING"): _plain,
    ("INTEGER", "BOOLEAN"): _plain,
    ("BOOLEAN", "INTEGER"): _plain,
    ("BOOLEAN", "STRING"): _plain,
    ("FLOAT", "DOUBLE"): _plain,
    ("DOUBLE", "FLOAT"): _plain,
    ("DOUBLE", "INTEGER"): _plain,
    ("STRING", "BOOLEAN"): _plain,
    ("STRING", "DECIMAL"): _fixed_point,
    ("STRING", "INTEGER"): _plain,
    ("STRING", "FLOAT"): _plain,
    ("STRING", "DOUBLE"): _plain,
    ("STRING", "DATE"): lambda value, type_: parsed(value.sql, type_),
    ("STRING", "TIMESTAMP"): lambda value, type_: parsed(value.sql, type_),
    ("DECIMAL", "DECIMAL"): _plain,
    ("DECIMAL", "INTEGER"): _plain,
    ("DECIMAL", "STRING"): _plain,
    ("DECIMAL", "DOUBLE"): _decimal_to_double,
    ("DATE", "STRING"): _plain,
    ("DATE", "TIMESTAMP"): _plain,
    ("DATE", "INTEGER"): lambda value, type_: cast_to(call("unix_date", value.sql), type_),
    ("TIMESTAMP", "DATE"): _plain,
    ("TIMESTAMP", "TIMESTAMP"): lambda value, type_: value.sql,
    ("TIMESTAMP", "STRING"): lambda value, type_: as_text(value.sql, value.type),
    ("TIMESTAMP", "INTEGER"): _ticks,
}


# --- arrow_cast ------------------------------------------------------------------------------------------------------

_ARROW_TYPE = re.compile(r"(?P<name>[A-Za-z]+[0-9]*)(?:\((?P<arguments>.*)\))?")
_ARROW: dict[str, Type] = {
    "Boolean": BOOLEAN,
    "Date32": DATE,
    "Float32": Type("FLOAT"),
    "Float64": DOUBLE,
    "Int8": Type("TINYINT"),
    "Int16": Type("SMALLINT"),
    "Int32": Type("INT"),
    "Int64": BIGINT,
    "LargeUtf8": STRING,
    "Utf8": STRING,
    "Utf8View": STRING,
}
_UNITS = {"Second": "s", "Millisecond": "ms", "Microsecond": "us", "Nanosecond": "ns"}
_FROM_TICKS = {"s": "timestamp_seconds", "ms": "timestamp_millis", "us": "timestamp_micros"}


def arrow_cast(c: Call) -> Typed:
    """arrow_cast(value, 'Timestamp(Millisecond, None)') and the like."""
    c.expect(2)
    value, type_ = c.argument(0), _arrow_type(c.text(1))
    if type_ is None:
        raise c.refusal(f"the type {c.text(1)} is not translated")
    if type_.name != "TIMESTAMP":
        return convert(c.node, value, type_)
    if value.type.is_integer and type_.unit in _FROM_TICKS:
        return Typed(call(_FROM_TICKS[type_.unit], value.sql), type_)
    units = list(_UNITS.values())
    if value.type.name == "TIMESTAMP" and value.type.unit and units.index(value.type.unit) <= units.index(type_.unit):
        return Typed(value.sql, type_)
    raise c.refusal(f"{value.type} to {c.text(1)} is not translated", "use to_timestamp and its kin")


def _arrow_type(text: str) -> Type | None:
    match = _ARROW_TYPE.fullmatch(text.strip())
    if match is None:
        return None
    arguments = [part.strip() for part in (match["arguments"] or "").split(",")]
    if match["name"] == "Decimal128" and len(arguments) == 2 and all(a.isdigit() for a in arguments):
        return Type("DECIMAL", int(arguments[0]), int(arguments[1]))
    if (
        match["name"] == "Timestamp"
        and len(arguments) == 2
        and arguments[1] in ("None", 'Some("UTC")', 'Some("+00:00")')
    ):
        return timestamp(_UNITS[arguments[0]], is_zoned=arguments[1] != "None") if arguments[0] in _UNITS else None
    return _ARROW.get(match["name"]) if not match["arguments"] else None
