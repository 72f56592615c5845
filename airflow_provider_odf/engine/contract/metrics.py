"""Measure what quality rules limit, numbers of rows, values and keys, and aggregates of columns, and the service levels
that times in the data answer: freshness, retention and latency.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeAlias

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf import clauses
from airflow_provider_odf.clauses import limits_of
from airflow_provider_odf.engine.contract import rules
from airflow_provider_odf.engine.contract.conditions import (
    Aggregate,
    Count,
    Decided,
    Key,
    Measured,
    Reference,
    Rule,
    Values,
    Verdict,
    masked,
    of_number,
)
from airflow_provider_odf.engine.contract.fields import FieldSql, key_text
from airflow_provider_odf.engine.contract.rows import Rows, missing_columns
from airflow_provider_odf.engine.sql import Sql, first_group, text, when
from airflow_provider_odf.protocol import Check
from airflow_provider_odf.wording import counted

_TIMES = (T.TimestampType, T.TimestampNTZType, T.DateType)


def _now(instant: str) -> str:
    """Return SQL for an instant of RFC 3339, now if it is empty."""
    return f"to_timestamp({text(instant)})" if instant else "current_timestamp()"


def latency(check: Check, rows: Rows) -> Measured:
    """Return whether each row was processed at most a duration after its source time."""
    source, processed = (_time(path, rows) for path in check.columns)
    late = f"{_instant(processed)} > {_instant(source)} + {_duration(check)}"
    age = first_group(f"CAST({_instant(processed)} - {_instant(source)} AS STRING)", _QUOTED)
    example = None if check.is_sensitive else age
    shown = (source.column, processed.column)
    about = f"{source.sql} IS NOT NULL AND {processed.sql} IS NOT NULL"
    return Measured(Values(late, about), f"at most {check.arguments['threshold']} later", example, "too late", shown)


def age_of(what: str, aggregate: str) -> Callable[[Check, Rows], Measured]:
    """Return how to measure whether the newest or oldest time is at most a duration before the time of the test."""

    def measure(check: Check, rows: Rows) -> Measured:
        value, now = f"{aggregate}({_instant(_time(check.field or '', rows))})", _now(rows.as_of)
        # One value for the report and the verdict, in one aggregate.
        is_ok = f"{value} >= {now} - {_duration(check)}"
        sql = f"struct(date_format({value}, {_FORMAT}), {is_ok}, CAST({now} - {value} AS STRING))"
        expected = f"{what} is at most {check.arguments['threshold']} old"

        def verdict(count: Count) -> Verdict:
            time, is_ok, age = count.value
            if time is None:
                return Verdict("fail", "no row has a time", expected)
            return Verdict("pass" if is_ok else "fail", f"{what} is from {time}, {_plain(age)} old", expected, time)

        measured = Measured(Aggregate(sql), expected, verdict=verdict)
        return masked(measured) if check.is_sensitive else measured

    return measure


def _plain(interval: str) -> str:
    """Return an interval of Spark in plain words: ``3 days 4:05:06``."""
    match = re.fullmatch(r"INTERVAL '(-?)(\d+) 0?(\d+:\d\d:\d\d)[.\d]*' DAY TO SECOND", interval)
    return f"{match[1]}{counted(int(match[2]), 'day')} {match[3]}" if match else interval


_QUOTED = "'(.*)'"
_FORMAT = text("yyyy-MM-dd'T'HH:mm:ss'Z'")


def _time(path: str, rows: Rows) -> FieldSql:
    field = rows.field_at(path)
    if field is None:
        raise Decided("fail", f"column {path} not found", "a column")
    if field.levels or not isinstance(field.type, _TIMES):
        raise Decided("error", f"{path} is of type {field.type_name}, not a time")
    return field


def _instant(field: FieldSql) -> str:
    return f"CAST({field.sql} AS TIMESTAMP)"


def _duration(check: Check) -> str:
    """Return SQL for a duration. Months and years are those of the calendar."""
    months, seconds = int(check.arguments["months"]), check.arguments["seconds"]
    return f"make_interval(0, {months}, 0, 0, 0, 0, CAST('{seconds}' AS DECIMAL(18, 6)))"


Metric: TypeAlias = Callable[[Check, Rows], Measured | Verdict]
Numbers: TypeAlias = Callable[[Count], Any]

_WITH_TEXT = (T.NumericType, T.BooleanType, T.DateType, T.TimestampType, T.TimestampNTZType)
"""Types whose values Spark casts to text where a function needs one."""


def limited(check: Check, rows: Rows) -> Measured | Verdict:
    """Return how to measure the metric of a quality rule.

    :raises Decided: it cannot be measured.
    """
    name = str(check.arguments["metric"])
    if name in METRICS:
        return METRICS[name](check, rows)
    if name in clauses.METRICS:
        return _aggregate(clauses.METRICS[name], check, rows)
    fix = "install the same release of the provider on Spark"
    raise Decided("error", f"the engine does not support the metric {name}: {fix}")


def _limited(check: Check, measured: Measured, number: Numbers, whole: Numbers | None = None) -> Measured:
    """Return a metric with the thresholds of its rule, on a number or on its share of a whole in percent."""
    limits, mostly = limits_of(check.arguments), check.arguments.get("mostly")
    words = str(check.arguments["metric"]).replace("_", " ") + ":"

    def verdict(count: Count) -> Verdict:
        if not limits.unit or whole is None:
            return of_number(number(count), limits, words)
        part, rows = number(count), whole(count)
        judged = of_number(100 * part / rows if rows else 0.0, limits, words)
        if mostly is None:
            return judged
        # Great Expectations compares shares of valid rows, and percents would round them in another way.
        return replace(judged, outcome="pass" if not rows or (rows - part) / rows >= mostly else "fail")

    return replace(measured, expected=limits.text, verdict=verdict)


_failed, _rows = attrgetter("failed"), attrgetter("rows")


def _value(check: Check, sql: Sql) -> Measured:
    """Return the metric of a value that all rows have together. Of one row, a sum is the value itself."""
    measured = _limited(check, Measured(Aggregate(sql), ""), attrgetter("value"))
    return masked(measured) if check.is_sensitive else measured


def _aggregate(metric: clauses.Metric, check: Check, rows: Rows) -> Measured:
    if "{x}" not in metric.sql:
        return _value(replace(check, is_sensitive=False), metric.sql)
    field = _column(check, rows, T.StringType if metric.of_text else T.NumericType)
    return _value(check, metric.sql.format(x=field.sql, fraction=check.arguments.get("fraction", 0)))


def _age(check: Check, rows: Rows) -> Measured:
    """Return the age of the newest time in units of some seconds."""
    field = _column(check, rows, *_TIMES)
    newest = f"unix_micros(CAST(max({field.sql}) AS TIMESTAMP))"
    seconds = int(check.arguments["seconds"])
    return _value(check, f"(unix_micros({_now(rows.as_of)}) - {newest}) / {seconds}000000D")


def _column(check: Check, rows: Rows, *kinds: type[T.DataType]) -> FieldSql:
    """Return the field of a check, if it is of one of some types."""
    (field,) = rows.require(check.field or "")
    if field.levels or not isinstance(field.type, kinds):
        reason = f"{check.arguments['metric']} does not apply to a column of type {field.type_name}"
        raise Decided("error", reason, limits_of(check.arguments).text)
    return field


def _on_values(broken: Callable[[Check, FieldSql], tuple[Sql, Sql]]) -> Metric:
    """Return a metric that counts the rows with certain values of a field; ``broken`` returns SQL for these, and for
    all rows that it is about."""

    def metric(check: Check, rows: Rows) -> Measured:
        (field,) = rows.require(check.field or "")
        failing, about = broken(check, field)
        condition = Values(field.in_row(failing), "true" if field.levels else about)
        example = None if check.is_sensitive else field.text
        return _limited(check, Measured(condition, "", example, shown=(field.column,)), _failed, _rows)

    return metric


def _on_keys(number: Numbers, whole: Numbers | None = None) -> Metric:
    """Return a metric of the keys that some columns make."""

    def metric(check: Check, rows: Rows) -> Measured:
        columns = rows.require(*check.columns)
        if any(column.levels for column in columns):
            raise Decided("unsupported", "elements of arrays and maps cannot be a key")
        example = None if check.is_sensitive else key_text(columns)
        condition = Key(_key(check, columns), is_complete=False)
        shown = tuple(c.column for c in columns)
        return _limited(check, Measured(condition, "", example, "with a duplicate value", shown), number, whole)

    return metric


def _key(check: Check, columns: Sequence[FieldSql]) -> tuple[Sql, ...]:
    """Return SQL for a key, of which rows with a null are ignored. A struct is no null, although its fields may be."""
    ignored = check.arguments.get("ignore_row_if", "any_value_is_missing")
    parts = tuple(c.in_key for c in columns)
    if ignored == "any_value_is_missing":
        return parts
    key = f"struct({', '.join(f'{part} AS c{i}' for i, part in enumerate(parts))})"
    is_there = " OR ".join(f"{part} IS NOT NULL" for part in parts)
    return (key if ignored == "never" else when(is_there, key),)


def _reference(check: Check, rows: Rows) -> Measured:
    model, _, path = str(check.arguments["target"]).partition(".")
    field = rows.field_at(check.field or "")
    if field is None or field.levels:
        raise missing_columns(check.field or "")
    other = rows.others.get(model.lower())
    there = other.field_at(path) if other else None
    if other is None or there is None:
        raise Decided("error", f"there is no column {path} of model {model}" if other else f"no data of {model}")
    here, target = rules.comparable(field, there)
    example = None if check.is_sensitive else field.text
    measured = Measured(Reference(here, other.frame, target), "", example, shown=(field.column,))
    return _limited(check, measured, _failed, _rows)


def _column_count(check: Check, rows: Rows) -> Verdict:
    limits, count = limits_of(check.arguments), len(_names(rows))
    return Verdict("pass" if limits.hold(count) else "fail", f"{count} columns", limits.text, str(count))


def _columns_exist(check: Check, rows: Rows) -> Verdict:
    names, arguments = _names(rows), check.arguments
    problems = [f"column {name} not found" for name in check.columns if name not in names]
    if arguments.get("exact"):
        problems += [f"additional column {name}" for name in names if name not in check.columns]
    if arguments.get("ordered") and not problems and [*check.columns] != names:
        problems.append("the columns are in another order")
    reason, expected = ", ".join(problems) or "the columns exist", f"columns {', '.join(check.columns)}"
    return Verdict("fail" if problems else "pass", reason, expected, ", ".join(names))


def _names(rows: Rows) -> list[str]:
    """Return the columns as Great Expectations names them on Spark: with the fields of structs."""
    visible = set(rows.visible)
    return [name for field in rows.schema if field.name in visible for name in _names_of(field, "")]


def _names_of(field: T.StructField, parent: str) -> Iterator[str]:
    name = f"`{field.name}`" if "." in field.name and not field.name.startswith("`") else field.name
    yield f"{parent}{name}"
    if isinstance(field.dataType, T.StructType):
        for inner in field.dataType:
            yield from _names_of(inner, f"{parent}{field.name}.")


def _is_missing(check: Check, field: FieldSql) -> Sql:
    """Return SQL for values that are null or stand for it."""
    parts = [field.is_null]
    if values := check.arguments.get("missing"):
        as_text = field.raw or f"CAST({field.sql} AS STRING)"  # of a value inside an array or a map, too
        parts.append(f"{as_text} IN ({', '.join(map(text, values))})")
        if isinstance(field.type, _WITH_TEXT):  # which can have several texts
            parts.append(rules.is_one_of(values, field))
    parts += [f"NOT coalesce({_broken(rule, check, field)}, true)" for rule in check.arguments.get("missing_rules", ())]
    return " OR ".join(f"({part})" for part in parts)


def _violates(check: Check, field: FieldSql) -> Sql:
    """Return SQL that is true for values that break one of the rules, or that follow a forbidden one."""
    parts = [field.is_no_value] if field.raw else []  # a text that is no value of the type follows no rule
    for key, form in (("rules", "coalesce({}, false)"), ("forbidden", "NOT coalesce({}, true)")):
        for rule in check.arguments.get(key, ()):
            parts.append(f"{field.has_value} AND {form.format(_broken(rule, check, field))}")
    return " OR ".join(f"({part})" for part in parts)


def _broken(rule: Mapping[str, Any], check: Check, field: FieldSql) -> Sql:
    """Return SQL that is true for values that break a rule, which has the kind and the arguments of a clause."""
    if rule["arguments"].get("as_text") and isinstance(field.type, _WITH_TEXT):
        field = replace(field, sql=f"CAST({field.sql} AS STRING)", type=T.StringType())
    clause = replace(check, kind=rule["kind"], arguments=rule["arguments"])
    try:
        judged = rules.MEASURES[clauses.KINDS[clause.kind].measure](clause, field)
    except Decided as e:
        reason, observed = e.verdict.reason, e.verdict.observed
        raise Decided("error", reason, limits_of(check.arguments).text, observed) from None
    return judged.broken if isinstance(judged, Rule) else "false"


METRICS: Mapping[str, Metric] = {
    "column_count": _column_count,
    "columns_exist": _columns_exist,
    "null_values": _on_values(lambda check, field: (field.is_null, "true")),
    "present_values": _on_values(lambda check, field: (f"NOT ({field.is_null})", "true")),
    "missing_values": _on_values(lambda check, field: (_is_missing(check, field), "true")),
    "invalid_values": _on_values(
        lambda check, field: (f"NOT ({_is_missing(check, field)}) AND ({_violates(check, field)})", "true")
    ),
    "violations": _on_values(lambda check, field: (_violates(check, field), f"NOT ({field.is_null})")),
    "reference": _reference,
    "duplicate_values": _on_keys(attrgetter("failed_keys"), _rows),
    "repeated_rows": _on_keys(_failed, attrgetter("complete")),
    "distinct_values": _on_keys(attrgetter("keys")),
    "distinct_share": _on_keys(lambda count: count.keys / count.complete if count.complete else 0),
    "age": _age,
}
"""Metric of the table that is no aggregate -> how it is measured."""
