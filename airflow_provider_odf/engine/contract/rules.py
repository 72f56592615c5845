"""Rules for the values of one field: a verdict from the type alone, or Spark SQL that is true for failing values.

Nulls fail only the clauses ``required`` and ``primaryKey``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf import time_limits
from airflow_provider_odf.engine.contract import linear_patterns, numbers, texts
from airflow_provider_odf.engine.contract.fields import Found
from airflow_provider_odf.engine.contract.formats import FORMATS
from airflow_provider_odf.engine.sql import ddl, matches, text
from airflow_provider_odf.protocol import Check
from airflow_provider_odf.wording import counted


@dataclass(frozen=True)
class Verdict:
    """Outcome of a clause that needs no rows."""

    outcome: str
    reason: str = ""
    expected: str = ""
    observed: str = ""


@dataclass(frozen=True)
class Rule:
    """A test of values: the SQL ``broken`` is true for failing ones, and ``expected`` describes valid ones."""

    broken: str
    expected: str


_TEXTS = (T.StringType, T.VarcharType, T.CharType)
_MOST_DIGITS = 38
"""Digits of a DECIMAL."""
_TIMES = (T.DateType, T.TimestampType, T.TimestampNTZType, T.TimeType)


def missing(*paths: str) -> Verdict:
    """Return the verdict on a clause whose columns the data lack."""
    reason = "column not found" if len(paths) == 1 else f"column {', '.join(paths)} not found"
    return Verdict("fail", reason, "a column")


OnField: TypeAlias = Callable[[Check, Found], Rule | Verdict]


def present(check: Check, found: Found) -> Verdict:
    return Verdict("pass", "the column exists", "a column", found.type_name)


def of_type(check: Check, found: Found) -> Rule | Verdict:
    """Judge the type of a column. Text of a file is tested value by value, and so are columns with a wider type."""
    logical = str(check.arguments["type"])
    if logical not in texts.TYPES:
        return Verdict("unsupported", f"Spark has no type {logical}", logical, found.type_name)
    if not texts.can_hold(found.type, logical):
        return Verdict("fail", f"the column is of type {found.type_name}", logical, found.type_name)
    unread = [found.is_no_value] if found.raw else []
    misfit = texts.misfit(logical, found.sql, found.type)
    if broken := [*unread, *([misfit] if misfit else [])]:
        return Rule(" OR ".join(f"({sql})" for sql in broken), logical)
    return Verdict("pass", f"the column is of type {found.type_name}", logical, found.type_name)


def required(check: Check, found: Found) -> Rule:
    """A nested field is required in each struct around it that exists."""
    return Rule(f"{found.parent} IS NOT NULL AND {found.is_null}" if found.parent else found.is_null, "not null")


def enum(check: Check, found: Found) -> Rule:
    values = [str(value) for value in check.arguments["values"]]
    return Rule(f"{found.has_value} AND NOT {is_one_of(values, found)}", f"one of {', '.join(values)}")


def is_one_of(values: Iterable[str], found: Found) -> str:
    """Return SQL that tests whether a value equals one of some texts of a contract."""
    literals = ", ".join(sql for one in values if (sql := _equal(one, found)) is not None) or "NULL"
    return f"coalesce({found.key or found.sql} IN ({literals}), false)"


def _equal(value: str, found: Found) -> str | None:
    """Return SQL for the value of a column that equals a text of a contract, None if there is none."""
    if isinstance(found.type, T.NumericType):
        if (number := numbers.exact(value)) is None:
            return None
        return text(numbers.key_of(number)) if found.key else numbers.literal(number, found.type)
    if isinstance(found.type, _TEXTS):
        return text(value)
    reading = texts.of_column(found.type)
    return reading.typed(text(value)) if reading else f"try_cast({text(value)} AS {ddl(found.type)})"


def in_set(check: Check, found: Found) -> Rule:
    """Judge values against literals as Spark compares them: with numbers, text is read as a number."""
    values = [_literal(value) for value in check.arguments["values"]]
    broken = f"NOT ({found.sql} IN ({', '.join(values)}))" if values else "true"
    return Rule(broken, f"one of {', '.join(map(str, check.arguments['values']))}")


def _literal(value: str | int | float) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"double('{value!r}')"
    return str(value) if abs(value) < 2**31 else f"{value}L" if abs(value) < 2**63 else f"{value}BD"


def pattern(check: Check, found: Found) -> Rule | Verdict:
    ecma = check.arguments["pattern"]
    if (re2 := check.arguments.get("re2")) is not None:
        is_match = linear_patterns.matches(found.sql, str(re2))
    else:
        is_match = matches(found.sql, str(check.arguments.get("java", ecma)))
    return _on(T.StringType, check, found) or Rule(f"NOT {is_match}", f"matches {ecma}")


def format_of(check: Check, found: Found) -> Rule | Verdict:
    name = str(check.arguments["format"])
    broken = f"NOT {matches(found.sql, FORMATS[name])}"
    return _on(T.StringType, check, found) or Rule(broken, f"a valid {name}")


def precision(check: Check, found: Found) -> Rule | Verdict:
    """Judge the number of digits: those before the point, and the decimal places without zeros at the end."""
    most = int(check.arguments["limit"])
    fits = f"{_has_digits(found)} AND {numbers.digits(_key(found))} <= {most}"
    broken = f"{found.has_value} AND NOT ({fits})"
    return _on(T.NumericType, check, found) or Rule(broken, f"at most {most} digits")


def scale(check: Check, found: Found) -> Rule | Verdict:
    """Judge the number of decimal places, without zeros at the end."""
    most = int(check.arguments["limit"])
    broken = f"{_has_digits(found)} AND {numbers.places(_key(found))} > {most}"
    return _on(T.NumericType, check, found) or Rule(broken, f"at most {most} decimal places")


def physical_type(check: Check, found: Found) -> Verdict:
    """Judge the type in the data against a type of Spark."""
    expected = str(check.arguments["type"])
    if found.raw:
        return Verdict("unsupported", "the data is text, which has no physical type", expected)
    try:
        kind = T.DataType.fromDDL(expected)
    except PySparkException:
        return Verdict("error", f"{expected!r} is not a Spark type", expected, found.type_name)
    outcome = "pass" if texts.are_same(kind, found.type) else "fail"
    return Verdict(outcome, f"the column is of type {found.type_name}", expected, found.type_name)


def multiple_of(check: Check, found: Found) -> Rule | Verdict:
    step = _exact(check)
    if max(step.adjusted() + 1, 0) - min(int(step.as_tuple().exponent), 0) > _MOST_DIGITS:
        return Verdict("error", f"{step} has more than {_MOST_DIGITS} digits", f"a multiple of {step}")
    number = found.sql
    if isinstance(found.type, T.FloatType | T.DoubleType):
        number = numbers.as_decimal(f"CAST({found.sql} AS STRING)", _key(found))
    broken = f"{number} % {step:f}BD != 0"
    return _on(T.NumericType, check, found) or Rule(broken, f"a multiple of {step}")


def in_range(check: Check, found: Found) -> Rule | Verdict:
    """Judge whole numbers against the bounds of a width. Bounds beyond DECIMAL(38) have no value beyond them."""
    if (verdict := _on(T.NumericType, check, found)) is not None:
        return verdict
    low, high = check.arguments["limit"]
    key = _key(found)
    is_whole = f"{_has_digits(found)} AND {numbers.places(key)} = 0"
    between = f"{key} BETWEEN {text(numbers.key_of(Decimal(low)))} AND {text(numbers.key_of(Decimal(high)))}"
    return Rule(f"{found.has_value} AND NOT ({is_whole} AND {between})", f"a whole number from {low} to {high}")


def items(opposite: str, words: str) -> OnField:
    """Return the rule for a number of items; ``opposite`` is the operator of failing arrays."""

    def judge(check: Check, found: Found) -> Rule | Verdict:
        limit = int(check.arguments["limit"])
        broken = f"{found.sql} IS NOT NULL AND size({found.sql}) {opposite} {limit}"
        return _on(T.ArrayType, check, found) or Rule(broken, f"{words} {counted(limit, 'item')}")

    return judge


def unique_items(check: Check, found: Found, item: Found | None) -> Rule | Verdict:
    """Judge whether an array has an item twice; ``item`` is an element of it."""
    if item is None:
        return _on(T.ArrayType, check, found) or missing(f"{check.field}[]")
    keys = f"transform({found.sql}, {item.levels[-1][1]} -> {item.in_key})"
    broken = f"{found.sql} IS NOT NULL AND size(array_distinct({keys})) < size({found.sql})"
    return Rule(broken, "no duplicate items")


def required_fields(check: Check, found: Found) -> Rule | Verdict:
    """Judge fields of a struct, which must not be null in a struct that exists."""
    names = [str(name) for name in check.arguments["fields"]]
    fields = {name: found.child(name) for name in names}
    if missing := [name for name, field in fields.items() if field is None]:
        return Verdict("fail", f"the struct has no field {', '.join(missing)}", f"{', '.join(names)} are not null")
    is_null = " OR ".join(field.is_null for field in fields.values() if field is not None)
    return Rule(f"{found.sql} IS NOT NULL AND ({is_null})", f"{', '.join(names)} are not null")


def length(opposite: str, words: str) -> OnField:
    """Return the rule for a limit of the number of characters; ``opposite`` is the operator of failing values."""

    def judge(check: Check, found: Found) -> Rule | Verdict:
        limit = int(check.arguments["limit"])
        broken = f"char_length({found.sql}) {opposite} {limit}"
        return _on(T.StringType, check, found) or Rule(broken, f"{words} {limit} characters")

    return judge


def limit(opposite: str, words: str) -> OnField:
    """Return the rule for a limit of numbers or times; ``opposite`` is the operator of failing values."""

    def judge(check: Check, found: Found) -> Rule | Verdict:
        limit = check.arguments["limit"]
        if isinstance(limit, str) and isinstance(found.type, _TIMES):
            return _time_limit(limit, found, opposite, words)
        if (number := numbers.exact(limit)) is None or not isinstance(found.type, T.NumericType):
            return _inapplicable(check, found)
        if found.key:
            broken = f"{found.key} {opposite} {text(numbers.key_of(number))}"
        else:
            broken = numbers.compared(found.sql, found.type, opposite, number)
        if isinstance(found.type, T.FloatType | T.DoubleType) and not check.arguments.get("orders_nan"):
            # Spark orders NaN above every number. No range of a contract includes it.
            broken = f"({broken} OR isnan({found.sql}))"
        return Rule(f"{found.has_value} AND {broken}", f"{words} {limit}")

    return judge


def _time_limit(limit: str, found: Found, opposite: str, words: str) -> Rule | Verdict:
    """Judge times against a limit. A date is its midnight, and a time without an offset is one of UTC."""
    is_time = isinstance(found.type, T.TimeType)
    if problem := time_limits.problem(limit, is_time=is_time):
        return Verdict("error", problem, f"{words} {limit}")
    kind = "TIME" if is_time else "TIMESTAMP"
    return Rule(f"CAST({found.sql} AS {kind}) {opposite} CAST({text(limit.upper())} AS {kind})", f"{words} {limit}")


def comparable(one: Found, other: Found) -> tuple[str, str] | Verdict:
    """Return SQL for the values of two columns that is equal for equal values.

    Numbers compare exactly. A text beside another type counts as the value that it is in that type.
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
    return Verdict("error", reason)


def _equal_key(found: Found) -> str:
    """Return SQL for a text that is equal for equal numbers. NaN, infinity and a text that is no number stand for
    themselves."""
    if isinstance(found.type, (*_TEXTS, T.FloatType, T.DoubleType)):
        written = f"CAST({found.sql} AS STRING)"
        return f"coalesce({numbers.order_key(written)}, concat('=', {written}))"
    return _key(found)


def _key(found: Found) -> str:
    """Return SQL for the `numbers.order_key` of a number."""
    return found.key or numbers.order_key(f"CAST({found.sql} AS STRING)")


def _has_digits(found: Found) -> str:
    """Return SQL that is true for a number that is neither NaN nor infinite."""
    if found.key:
        return found.has_value
    if isinstance(found.type, T.FloatType | T.DoubleType):
        return f"coalesce(abs({found.sql}) < double('Infinity'), false)"
    return f"{found.sql} IS NOT NULL"


def _exact(check: Check) -> Decimal:
    number = numbers.exact(check.arguments["limit"])
    if number is None:
        raise ValueError(f"{check.arguments['limit']!r} is not a number")
    return number


def _on(kind: type[T.DataType] | tuple[type[T.DataType], ...], check: Check, found: Found) -> Verdict | None:
    """Return the verdict on a clause that does not apply to the column's type, None if it applies."""
    return None if isinstance(found.type, kind) else _inapplicable(check, found)


def _inapplicable(check: Check, found: Found) -> Verdict:
    """Return the verdict on a clause that does not apply to the column's type.

    It fails if the contract declares a type that the column lacks.
    """
    reason = f"{check.kind} does not apply to a column of type {found.type_name}"
    return Verdict("fail" if "type" in check.arguments else "unsupported", reason, observed=found.type_name)
