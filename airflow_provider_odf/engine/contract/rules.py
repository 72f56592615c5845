"""What each measure of the table of clauses is for the values of one field: a verdict from the type alone, or Spark SQL
that is true for failing values.

Nulls fail only the clauses ``required`` and ``primaryKey``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf import time_limits
from airflow_provider_odf.clauses import KINDS
from airflow_provider_odf.engine.contract import numbers, texts
from airflow_provider_odf.engine.contract.conditions import Decided, Rule, Verdict
from airflow_provider_odf.engine.contract.fields import FieldSql
from airflow_provider_odf.engine.contract.formats import FORMATS
from airflow_provider_odf.engine.contract.rows import missing_columns
from airflow_provider_odf.engine.sql import Sql, ddl, matches, text
from airflow_provider_odf.protocol import Check
from airflow_provider_odf.wording import counted

_TEXTS = (T.StringType, T.VarcharType, T.CharType)
_FLOATS = (T.FloatType, T.DoubleType)
_TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType, T.TimeType)
_MOST_DIGITS = 38
"""Digits of a DECIMAL."""

OnField: TypeAlias = Callable[[Check, FieldSql], Rule | Verdict]
"""Judges the values of a field. It raises `Decided` if the clause does not apply to the field."""


def of_type(check: Check, field: FieldSql) -> Rule | Verdict:
    """Judge the type of a column. Text of a file is tested value by value, and so are columns with a wider type."""
    logical = str(check.arguments["type"])
    if logical not in texts.TYPES:
        return Verdict("unsupported", f"Spark has no type {logical}", logical, field.type_name)
    if not texts.can_hold(field.type, logical):
        return Verdict("fail", f"the column is of type {field.type_name}", logical, field.type_name)
    unread = [field.is_no_value] if field.raw else []
    misfit = texts.misfit(logical, field.sql, field.type)
    if broken := [*unread, *([misfit] if misfit else [])]:
        return Rule(" OR ".join(f"({sql})" for sql in broken), logical)
    return Verdict("pass", f"the column is of type {field.type_name}", logical, field.type_name)


def _rule(check: Check, broken: Sql, **arguments: Any) -> Rule:
    """Return a rule, described by the arguments of a check or by others."""
    return Rule(broken, KINDS[check.kind].expected.format(**{**check.arguments, **arguments}))


def _opposite(check: Check) -> str:
    """Return the operator that is true for failing values."""
    return KINDS[check.kind].comparison.opposite


def _not_null(check: Check, field: FieldSql) -> Rule:
    """A nested field is required in each struct around it that exists."""
    return _rule(check, f"{field.parent} IS NOT NULL AND {field.is_null}" if field.parent else field.is_null)


def _text(check: Check, field: FieldSql) -> Rule:
    values = [str(value) for value in check.arguments["values"]]
    return _rule(check, f"{field.has_value} AND NOT {is_one_of(values, field)}", values=", ".join(values))


def is_one_of(values: Iterable[str], field: FieldSql) -> Sql:
    """Return SQL that tests whether a value equals one of some texts of a contract."""
    literals = ", ".join(sql for one in values if (sql := _equal(one, field)) is not None) or "NULL"
    return f"coalesce({field.key or field.sql} IN ({literals}), false)"


def _equal(value: str, field: FieldSql) -> Sql | None:
    """Return SQL for the value of a column that equals a text of a contract, None if there is none."""
    if isinstance(field.type, T.NumericType):
        if (number := numbers.exact(value)) is None:
            return None
        return text(numbers.key_of(number)) if field.key else numbers.literal(number, field.type)
    if isinstance(field.type, _TEXTS):
        return text(value)
    reading = texts.of_column(field.type)
    return reading.typed(text(value)) if reading else f"try_cast({text(value)} AS {ddl(field.type)})"


def _literal(check: Check, field: FieldSql) -> Rule:
    """Judge values against literals as Spark compares them: with numbers, text is read as a number."""
    values = check.arguments["values"]
    broken = f"NOT ({field.sql} IN ({', '.join(map(_sql_of, values))}))" if values else "true"
    return _rule(check, broken, values=", ".join(map(str, values)))


def _sql_of(value: str | int | float) -> Sql:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"double('{value!r}')"
    return str(value) if abs(value) < 2**31 else f"{value}L" if abs(value) < 2**63 else f"{value}BD"


def _match(check: Check, field: FieldSql) -> Rule:
    """Judge texts by a pattern, or by that of a format."""
    _require(T.StringType, check, field)
    form, re2 = check.arguments.get("format"), check.arguments.get("re2")
    pattern = FORMATS[str(form)] if form else str(check.arguments.get("java", check.arguments.get("pattern")))
    is_match = matches(field.sql, pattern) if re2 is None else f"{_RE2}({field.sql}, {text(str(re2))})"
    return _rule(check, f"NOT {is_match}")


_RE2 = "odf_matches"
"""A function that matches patterns in linear time. Java's expressions backtrack: on some patterns, a text of 30
characters takes hours. Arrow contains RE2, which runs in Spark's Python workers."""


def needs_re2(sql: Sql) -> bool:
    """Whether SQL only runs in a session with `register_re2`."""
    return f"{_RE2}(" in sql


def register_re2(spark: SparkSession) -> None:
    """Make the function that matches patterns of RE2 known to a session."""
    from pyspark.sql.pandas.functions import arrow_udf

    spark.udf.register(_RE2, arrow_udf(_contains, "boolean"))  # type: ignore[call-overload]


def _contains(values: pa.Array, patterns: pa.Array) -> pa.Array:
    return pc.match_substring_regex(values, patterns[0].as_py()) if len(values) else values.cast(pa.bool_())


def _digits(check: Check, field: FieldSql) -> Rule:
    """Judge the number of digits: those before the point, and the decimal places without zeros at the end."""
    _require(T.NumericType, check, field)
    limit = int(check.arguments["limit"])
    fits = f"{_has_digits(field)} AND {numbers.digits(_key(field))} <= {limit}"
    return _rule(check, f"{field.has_value} AND NOT ({fits})", limit=limit)


def _stored_type(check: Check, field: FieldSql) -> Verdict:
    """Judge the type in the data against a type of Spark."""
    expected = str(check.arguments["type"])
    if field.raw:
        return Verdict("unsupported", "the data is text, which has no physical type", expected)
    try:
        kind = T.DataType.fromDDL(expected)
    except PySparkException:
        return Verdict("error", f"{expected!r} is not a Spark type", expected, field.type_name)
    outcome = "pass" if texts.are_same(kind, field.type) else "fail"
    return Verdict(outcome, f"the column is of type {field.type_name}", expected, field.type_name)


def _remainder(check: Check, field: FieldSql) -> Rule:
    if (step := numbers.exact(check.arguments["limit"])) is None:
        raise ValueError(f"{check.arguments['limit']!r} is not a number")
    if max(step.adjusted() + 1, 0) - min(int(step.as_tuple().exponent), 0) > _MOST_DIGITS:
        raise Decided("error", f"{step} has more than {_MOST_DIGITS} digits", f"a multiple of {step}")
    number = field.sql
    if isinstance(field.type, _FLOATS):
        number = numbers.as_decimal(f"CAST({field.sql} AS STRING)", _key(field))
    _require(T.NumericType, check, field)
    return _rule(check, f"{number} % {step:f}BD != 0", limit=step)


def _whole_number(check: Check, field: FieldSql) -> Rule:
    """Judge whole numbers against the bounds of a width. Bounds beyond DECIMAL(38) have no value beyond them."""
    _require(T.NumericType, check, field)
    key = _key(field)
    is_whole = f"{_has_digits(field)} AND {numbers.places(key)} = 0"
    low, high = (text(numbers.key_of(Decimal(bound))) for bound in check.arguments["limit"])
    return _rule(check, f"{field.has_value} AND NOT ({is_whole} AND {key} BETWEEN {low} AND {high})")


def _limit(kind: type[T.DataType], measure: Callable[[FieldSql], Sql], noun: str = "") -> OnField:
    """Return the rule that a number of a value, such as its length, is within a limit of some nouns."""

    def rule(check: Check, field: FieldSql) -> Rule:
        _require(kind, check, field)
        limit = int(check.arguments["limit"])
        text = counted(limit, noun) if noun else limit
        return _rule(check, f"{measure(field)} {_opposite(check)} {limit}", limit=text)

    return rule


def distinct_items(check: Check, field: FieldSql, item: FieldSql | None) -> Rule:
    """Judge whether an array has an item twice; ``item`` is an element of it."""
    if item is None:
        _require(T.ArrayType, check, field)
        raise missing_columns(f"{check.field}[]")
    keys = f"transform({field.sql}, {item.levels[-1][1]} -> {item.in_key})"
    return _rule(check, f"{field.sql} IS NOT NULL AND size(array_distinct({keys})) < size({field.sql})")


def _nulls_of_fields(check: Check, field: FieldSql) -> Rule:
    """Judge fields of a struct, which must not be null in a struct that exists."""
    names = [str(name) for name in check.arguments["fields"]]
    fields = {name: field.child(name) for name in names}
    if unknown := [name for name, inner in fields.items() if inner is None]:
        raise Decided("fail", f"the struct has no field {', '.join(unknown)}", f"{', '.join(names)} are not null")
    is_null = " OR ".join(inner.is_null for inner in fields.values() if inner is not None)
    return _rule(check, f"{field.sql} IS NOT NULL AND ({is_null})", fields=", ".join(names))


def _value(check: Check, field: FieldSql) -> Rule:
    """Judge numbers or times against a limit."""
    limit = check.arguments["limit"]
    if isinstance(limit, str) and isinstance(field.type, _TIMES):
        return _time(check, field, limit)
    if (number := numbers.exact(limit)) is None or not isinstance(field.type, T.NumericType):
        raise _inapplicable(check, field)
    if field.key:
        broken = f"{field.key} {_opposite(check)} {text(numbers.key_of(number))}"
    else:
        broken = numbers.compared(field.sql, field.type, _opposite(check), number)
    if isinstance(field.type, _FLOATS) and not check.arguments.get("orders_nan"):
        # Spark orders NaN above every number. No range of a contract includes it.
        broken = f"({broken} OR isnan({field.sql}))"
    return _rule(check, f"{field.has_value} AND {broken}")


def _time(check: Check, field: FieldSql, limit: str) -> Rule:
    """Judge times against a limit. A date is its midnight, and a time without an offset is one of UTC."""
    is_time = isinstance(field.type, T.TimeType)
    if problem := time_limits.problem(limit, is_time=is_time):
        raise Decided("error", problem, _rule(check, "").expected)
    kind = "TIME" if is_time else "TIMESTAMP"
    return _rule(check, f"CAST({field.sql} AS {kind}) {_opposite(check)} CAST({text(limit.upper())} AS {kind})")


MEASURES: Mapping[str, OnField] = {
    "column": lambda check, field: Verdict("pass", "the column exists", "a column", field.type_name),
    "type": of_type,
    "stored type": _stored_type,
    "null": _not_null,
    "text": _text,
    "literal": _literal,
    "match": _match,
    "format": _match,
    "length": _limit(T.StringType, lambda field: f"char_length({field.sql})"),
    "value": _value,
    "digits": _digits,
    "decimal places": _limit(T.NumericType, lambda field: f"{_has_digits(field)} AND {numbers.places(_key(field))}"),
    "remainder": _remainder,
    "whole number": _whole_number,
    "items": _limit(T.ArrayType, lambda field: f"{field.sql} IS NOT NULL AND size({field.sql})", "item"),
    "nulls of fields": _nulls_of_fields,
}
"""Measure of the table of clauses -> how values of one field are judged by it."""


def comparable(one: FieldSql, other: FieldSql, expected: str = "") -> tuple[Sql, Sql]:
    """Return SQL for the values of two columns that is equal for equal values.

    Numbers compare exactly. A text beside another type counts as the value that it is in that type.

    :raises Decided: their types have no equal values.
    """
    if one.type == other.type and not (one.key or other.key):
        return one.sql, other.sql
    kinds = (one.type, other.type)
    if all(isinstance(kind, (T.NumericType, *_TEXTS)) for kind in kinds):
        return _equal_key(one), _equal_key(other)
    if any(isinstance(kind, T.NullType) for kind in kinds) or all(isinstance(kind, _TIMES) for kind in kinds):
        return one.sql, other.sql
    if isinstance(one.type, _TEXTS) and (reading := texts.of_column(other.type)):
        return f"coalesce(CAST({reading.typed(one.sql)} AS STRING), {one.sql})", f"CAST({other.sql} AS STRING)"
    if isinstance(other.type, _TEXTS) and (reading := texts.of_column(one.type)):
        return f"CAST({one.sql} AS STRING)", f"CAST({reading.typed(other.sql)} AS STRING)"
    reason = f"{one.type_name} and {other.type_name} have no equal values: give both columns the same type"
    raise Decided("error", reason, expected)


def _equal_key(field: FieldSql) -> Sql:
    """Return SQL for a text that is equal for equal numbers. NaN, infinity and a text that is no number stand for
    themselves."""
    if isinstance(field.type, (*_TEXTS, *_FLOATS)):
        written = f"CAST({field.sql} AS STRING)"
        return f"coalesce({numbers.order_key(written)}, concat('=', {written}))"
    return _key(field)


def _key(field: FieldSql) -> Sql:
    """Return SQL for the `numbers.order_key` of a number."""
    return field.key or numbers.order_key(f"CAST({field.sql} AS STRING)")


def _has_digits(field: FieldSql) -> Sql:
    """Return SQL that is true for a number that is neither NaN nor infinite."""
    if not field.key and isinstance(field.type, _FLOATS):
        return f"coalesce(abs({field.sql}) < double('Infinity'), false)"
    return field.has_value


def _require(kind: type[T.DataType], check: Check, field: FieldSql) -> None:
    """Check that a clause applies to the column's type.

    :raises Decided: it does not. It fails if the contract declares a type that the column lacks.
    """
    if not isinstance(field.type, kind):
        raise _inapplicable(check, field)


def _inapplicable(check: Check, field: FieldSql) -> Decided:
    reason = f"{check.kind} does not apply to a column of type {field.type_name}"
    return Decided("fail" if "type" in check.arguments else "unsupported", reason, observed=field.type_name)
