"""The table of metrics that quality rules limit: numbers of rows, values and keys, and aggregates of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract import ages, rules, values
from airflow_provider_odf.engine.contract.conditions import Aggregate, Count, Key, Reference, Values
from airflow_provider_odf.engine.contract.fields import Found, key_text
from airflow_provider_odf.engine.contract.measured import Measured, Verdict, masked, of_number
from airflow_provider_odf.engine.contract.rows import Rows
from airflow_provider_odf.engine.contract.thresholds import limits_of
from airflow_provider_odf.engine.sql import when
from airflow_provider_odf.protocol import Check

Metric: TypeAlias = Callable[[Check, Rows], Measured | Verdict]
Numbers: TypeAlias = Callable[[Count], Any]


def limited(check: Check, rows: Rows) -> Measured | Verdict:
    """Return how to measure the metric of a quality rule."""
    name = str(check.arguments["metric"])
    if name not in METRICS:
        fix = "install the same release of the provider on Spark"
        return Verdict("error", f"the engine does not support the metric {name}: {fix}")
    return METRICS[name](check, rows)


def _limited(check: Check, measured: Measured, number: Numbers, whole: Numbers | None = None) -> Measured:
    """Return a metric with the thresholds of its rule, on a number or on its share of a whole in percent."""
    limits, mostly = limits_of(check), check.arguments.get("mostly")

    def verdict(count: Count) -> Verdict:
        if not limits.unit or whole is None:
            return of_number(number(count), limits, what(check))
        part, rows = number(count), whole(count)
        judged = of_number(_percent(part, rows), limits, what(check))
        if mostly is None:
            return judged
        # Great Expectations compares shares of valid rows, and percents would round them in another way.
        return replace(judged, outcome="pass" if not rows or (rows - part) / rows >= mostly else "fail")

    return replace(measured, expected=limits.text, verdict=verdict)


def what(check: Check) -> str:
    """Return the metric of a rule in words, before its value."""
    return str(check.arguments["metric"]).replace("_", " ") + ":"


def _percent(part: int, whole: int) -> float:
    """Return a share in percent. There is none of nothing."""
    return 100 * part / whole if whole else 0.0


def _failed(count: Count) -> int:
    return count.failed


def _rows(count: Count) -> int:
    return count.rows


def _value(count: Count) -> Any:
    return count.value


def _row_count(check: Check, rows: Rows) -> Measured:
    return _limited(check, Measured(Aggregate("count(1)"), ""), _value)


def _on_values(broken: Callable[[Check, Found], tuple[str, str] | Verdict]) -> Metric:
    """Return a metric that counts the rows with certain values of a field; ``broken`` returns SQL for these, and for
    all rows that it is about."""

    def metric(check: Check, rows: Rows) -> Measured | Verdict:
        found = rows.find(check.field or "")
        if found is None:
            return rules.missing(check.field or "")
        sql = broken(check, found)
        if isinstance(sql, Verdict):
            return sql
        condition = Values(found.in_row(sql[0]), "true" if found.levels else sql[1])
        example = None if check.is_sensitive else found.text
        return _limited(check, Measured(condition, "", example, shown=(found.column,)), _failed, _rows)

    return metric


def _on_keys(number: Numbers, whole: Numbers | None = None) -> Metric:
    """Return a metric of the keys that some columns make."""

    def metric(check: Check, rows: Rows) -> Measured | Verdict:
        columns, missing = rows.find_all(check.columns)
        if missing:
            return rules.missing(*missing)
        if any(column.levels for column in columns):
            return Verdict("unsupported", "elements of arrays and maps cannot be a key")
        example = None if check.is_sensitive else key_text(columns)
        condition = Key(_key(check, columns), is_complete=False)
        shown = tuple(c.column for c in columns)
        return _limited(check, Measured(condition, "", example, "with a duplicate value", shown), number, whole)

    return metric


def _key(check: Check, columns: Sequence[Found]) -> tuple[str, ...]:
    """Return SQL for a key, of which rows with a null are ignored. A struct is no null, although its fields may be."""
    ignored = check.arguments.get("ignore_row_if", "any_value_is_missing")
    parts = tuple(c.in_key for c in columns)
    if ignored == "any_value_is_missing":
        return parts
    key = f"struct({', '.join(f'{part} AS c{i}' for i, part in enumerate(parts))})"
    is_there = " OR ".join(f"{part} IS NOT NULL" for part in parts)
    return (key if ignored == "never" else when(is_there, key),)


def _column(check: Check, rows: Rows, kinds: type[T.DataType] | tuple[type[T.DataType], ...]) -> Found | Verdict:
    """Return the field of a check, if it is of one of some types."""
    found = rows.find(check.field or "")
    if found is None:
        return rules.missing(check.field or "")
    if found.levels or not isinstance(found.type, kinds):
        what = str(check.arguments["metric"])
        return Verdict("error", f"{what} does not apply to a column of type {found.type_name}", limits_of(check).text)
    return found


def _aggregate(sql: str, *kinds: type[T.DataType]) -> Metric:
    """Return the metric of an aggregate, in which ``{x}`` is the column."""

    def metric(check: Check, rows: Rows) -> Measured | Verdict:
        found = _column(check, rows, kinds or (T.NumericType,))
        if isinstance(found, Verdict):
            return found
        arguments = {"fraction": check.arguments.get("fraction", 0)}
        measured = _limited(check, Measured(Aggregate(sql.format(x=found.sql, **arguments)), ""), _value)
        # Of one row, a sum is the value itself.
        return masked(measured) if check.is_sensitive else measured

    return metric


def _age(check: Check, rows: Rows) -> Measured | Verdict:
    """Return the age of the newest time in units of some seconds."""
    found = _column(check, rows, ages.TIMES)
    if isinstance(found, Verdict):
        return found
    newest = f"unix_micros(CAST(max({found.sql}) AS TIMESTAMP))"
    age = f"(unix_micros({ages.literal(rows.as_of)}) - {newest}) / {int(check.arguments['seconds'])}000000D"
    measured = _limited(check, Measured(Aggregate(age), ""), _value)
    return masked(measured) if check.is_sensitive else measured


def _reference(check: Check, rows: Rows) -> Measured | Verdict:
    target = str(check.arguments["target"])
    model, _, path = target.partition(".")
    found = rows.find(check.field or "")
    if found is None or found.levels:
        return rules.missing(check.field or "")
    other = rows.others.get(model.lower())
    there = other.find(path) if other else None
    if other is None or there is None:
        return Verdict("error", f"there is no column {path} of model {model}" if other else f"no data of {model}")
    example = None if check.is_sensitive else found.text
    pair = rules.comparable(found, there)
    if isinstance(pair, Verdict):
        return pair
    measured = Measured(Reference(pair[0], other.frame, pair[1]), "", example, shown=(found.column,))
    return _limited(check, measured, _failed, _rows)


def _column_count(check: Check, rows: Rows) -> Verdict:
    limits, names = limits_of(check), _names(rows)
    outcome = "pass" if limits.hold(len(names)) else "fail"
    return Verdict(outcome, f"{len(names)} columns", limits.text, str(len(names)))


def _columns_exist(check: Check, rows: Rows) -> Verdict:
    names, arguments = _names(rows), check.arguments
    problems = [f"column {name} not found" for name in check.columns if name not in names]
    if arguments.get("exact"):
        problems += [f"additional column {name}" for name in names if name not in check.columns]
    if arguments.get("ordered") and not problems and [*check.columns] != names:
        problems.append("the columns are in another order")
    return Verdict(
        "fail" if problems else "pass", ", ".join(problems) or "the columns exist", f"columns {_listed(check.columns)}",
        _listed(names),
    )  # fmt: skip


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


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


_STRING = (T.StringType,)

METRICS: Mapping[str, Metric] = {
    "row_count": _row_count,
    "column_count": _column_count,
    "columns_exist": _columns_exist,
    "null_values": _on_values(values.nulls),
    "present_values": _on_values(values.present),
    "missing_values": _on_values(values.missing),
    "invalid_values": _on_values(values.invalid),
    "violations": _on_values(values.violations),
    "reference": _reference,
    "duplicate_values": _on_keys(lambda c: c.failed_keys, _rows),
    "repeated_rows": _on_keys(_failed, lambda c: c.complete),
    "distinct_values": _on_keys(lambda c: c.keys),
    "distinct_share": _on_keys(lambda c: c.keys / c.complete if c.complete else 0),
    "min": _aggregate("min({x})"),
    "max": _aggregate("max({x})"),
    "avg": _aggregate("avg({x})"),
    "sum": _aggregate("sum({x})"),
    "stddev": _aggregate("stddev_samp({x})"),
    "stddev_samp": _aggregate("stddev_samp({x})"),
    "stddev_pop": _aggregate("stddev_pop({x})"),
    "variance": _aggregate("var_samp({x})"),
    "var_samp": _aggregate("var_samp({x})"),
    "var_pop": _aggregate("var_pop({x})"),
    "median": _aggregate("percentile_cont(0.5) WITHIN GROUP (ORDER BY nullif({x}, double('NaN')))"),
    "percentile": _aggregate("percentile_cont({fraction}) WITHIN GROUP (ORDER BY {x})"),
    "min_length": _aggregate("min(char_length({x}))", *_STRING),
    "max_length": _aggregate("max(char_length({x}))", *_STRING),
    "avg_length": _aggregate("avg(char_length({x}))", *_STRING),
    "age": _age,
}
"""Metric -> how it is measured. Queries and expectations of libraries have modules of their own."""
