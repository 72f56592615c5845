"""Rules for the values of one field: a verdict from the type alone, or Spark SQL that is true for failing values.

Nulls fail only the clauses ``required`` and ``primaryKey``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract import linear_patterns, types
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
    if logical not in types.TYPES:
        return Verdict("unsupported", f"Spark has no type {logical}", logical, found.type_name)
    if not types.can_hold(found.type, logical):
        return Verdict("fail", f"the column is of type {found.type_name}", logical, found.type_name)
    unread = [f"{found.raw} IS NOT NULL AND {found.sql} IS NULL"] if found.raw else []
    misfit = types.misfit(logical, found.sql, found.type)
    if broken := [*unread, *([misfit] if misfit else [])]:
        return Rule(" OR ".join(f"({sql})" for sql in broken), logical)
    return Verdict("pass", f"the column is of type {found.type_name}", logical, found.type_name)


def required(check: Check, found: Found) -> Rule:
    """A nested field is required in each struct around it that exists."""
    return Rule(f"{found.parent} IS NOT NULL AND {found.is_null}" if found.parent else found.is_null, "not null")


def enum(check: Check, found: Found) -> Rule:
    texts = [str(value) for value in check.arguments["values"]]
    # A text that the column's type cannot represent becomes null and equals no value.
    values = ", ".join(f"try_cast({text(value)} AS {ddl(found.type)})" for value in texts) or "NULL"
    return Rule(
        f"{found.sql} IS NOT NULL AND NOT coalesce({found.sql} IN ({values}), false)", f"one of {', '.join(texts)}"
    )


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
    broken = f"{_digits(found)} + {_places(found)} > {most}"
    if isinstance(found.type, T.FloatType | T.DoubleType):
        broken = f"abs({found.sql}) >= double('1e{most}') OR {broken}"  # what DECIMAL cannot hold
    return _on(T.NumericType, check, found) or Rule(broken, f"at most {most} digits")


def scale(check: Check, found: Found) -> Rule | Verdict:
    """Judge the number of decimal places, without zeros at the end."""
    most = int(check.arguments["limit"])
    return _on(T.NumericType, check, found) or Rule(f"{_places(found)} > {most}", f"at most {most} decimal places")


def physical_type(check: Check, found: Found) -> Verdict:
    """Judge the type in the data against a type of Spark."""
    expected = str(check.arguments["type"])
    if found.raw:
        return Verdict("unsupported", "the data is text, which has no physical type", expected)
    try:
        kind = T.DataType.fromDDL(expected)
    except PySparkException:
        return Verdict("error", f"{expected!r} is not a Spark type", expected, found.type_name)
    outcome = "pass" if types.are_same(kind, found.type) else "fail"
    return Verdict(outcome, f"the column is of type {found.type_name}", expected, found.type_name)


def multiple_of(check: Check, found: Found) -> Rule | Verdict:
    step = check.arguments["limit"]
    is_binary = isinstance(found.type, T.FloatType | T.DoubleType)
    number = f"try_cast(CAST({found.sql} AS STRING) AS DECIMAL(38, 18))" if is_binary else found.sql
    broken = f"{number} % {_decimal(step)} != 0"
    return _on(T.NumericType, check, found) or Rule(broken, f"a multiple of {step}")


def in_range(check: Check, found: Found) -> Rule | Verdict:
    """Judge whole numbers against the bounds of a width. Bounds beyond DECIMAL(38) have no value beyond them."""
    low, high = check.arguments["limit"]
    bounds = [(">", high), ("<", low)]
    broken = [f"{found.sql} {sign} {bound}BD" for sign, bound in bounds if abs(bound) < 10**38]
    broken.append(f"{found.sql} != floor({found.sql})")
    return _on(T.NumericType, check, found) or Rule(" OR ".join(broken), f"a whole number from {low} to {high}")


def items(opposite: str, words: str) -> OnField:
    """Return the rule for a number of items; ``opposite`` is the operator of failing arrays."""

    def judge(check: Check, found: Found) -> Rule | Verdict:
        limit = int(check.arguments["limit"])
        broken = f"{found.sql} IS NOT NULL AND size({found.sql}) {opposite} {limit}"
        return _on(T.ArrayType, check, found) or Rule(broken, f"{words} {counted(limit, 'item')}")

    return judge


def unique_items(check: Check, found: Found) -> Rule | Verdict:
    broken = f"{found.sql} IS NOT NULL AND size(array_distinct({found.sql})) < size({found.sql})"
    return _on(T.ArrayType, check, found) or Rule(broken, "no duplicate items")


def required_fields(check: Check, found: Found) -> Rule | Verdict:
    """Judge fields of a struct, which must not be null in a struct that exists."""
    names = [str(name) for name in check.arguments["fields"]]
    fields = {name: found.child(name) for name in names}
    if missing := [name for name, field in fields.items() if field is None]:
        return Verdict("fail", f"the struct has no field {', '.join(missing)}", f"{', '.join(names)} are not null")
    is_null = " OR ".join(f"{field.sql} IS NULL" for field in fields.values() if field is not None)
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
        number = check.arguments["limit"]
        if isinstance(number, str):
            kind = found.type.simpleString()
            return _on(_TIMES, check, found) or Rule(
                f"{found.sql} {opposite} CAST({text(number)} AS {kind})", f"{words} {number}"
            )
        broken = f"{found.sql} {opposite} {_number(number, found.type)}"
        if isinstance(found.type, T.FloatType | T.DoubleType) and not check.arguments.get("orders_nan"):
            # Spark orders NaN above every number. No range of a contract includes it.
            broken = f"({broken} OR isnan({found.sql}))"
        return _on(T.NumericType, check, found) or Rule(broken, f"{words} {number}")

    return judge


def _digits(found: Found) -> str:
    """Return SQL for the number of digits before the point."""
    return f"length(ltrim('0', replace(split_part({_plain(found)}, '.', 1), '-', '')))"


def _places(found: Found) -> str:
    """Return SQL for the number of decimal places, without zeros at the end."""
    return f"length(rtrim('0', split_part({_plain(found)}, '.', 2)))"


def _plain(found: Found) -> str:
    """Return SQL for a number as text without an exponent."""
    is_binary = isinstance(found.type, T.FloatType | T.DoubleType)
    number = f"try_cast(CAST({found.sql} AS STRING) AS DECIMAL(38, 18))" if is_binary else found.sql
    return f"CAST({number} AS STRING)"


def _on(kind: type[T.DataType] | tuple[type[T.DataType], ...], check: Check, found: Found) -> Verdict | None:
    """Return the verdict on a clause that does not apply to the column's type, None if it applies.

    The clause fails if the contract declares a type that the column lacks.
    """
    if isinstance(found.type, kind):
        return None
    reason = f"{check.kind} does not apply to a column of type {found.type_name}"
    return Verdict("fail" if "type" in check.arguments else "unsupported", reason, observed=found.type_name)


def _number(value: int | float, column: T.DataType) -> str:
    """Return a limit as SQL: decimal for exact types, the column's own type for binary ones (0.7 is not 0.7f)."""
    if isinstance(column, T.FloatType | T.DoubleType):
        return f"CAST('{value!r}' AS {column.simpleString()})"
    return _decimal(value)


def _decimal(value: int | float) -> str:
    return f"{Decimal(repr(value)):f}BD"
