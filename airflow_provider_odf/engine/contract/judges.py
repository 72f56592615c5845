"""Judge clauses: the verdict on each, or how to measure it on the rows of its model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from airflow_provider_odf.clauses import KINDS, limits_of
from airflow_provider_odf.engine.contract import metrics, rules
from airflow_provider_odf.engine.contract.conditions import (
    Decided,
    Expectation,
    Key,
    Measured,
    Query,
    Reference,
    Values,
    Verdict,
    complete,
)
from airflow_provider_odf.engine.contract.fields import field_at, key_text
from airflow_provider_odf.engine.contract.rows import Rows
from airflow_provider_odf.engine.contract.rules import OnField
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.engine.sql import when
from airflow_provider_odf.protocol import Check

Judged: TypeAlias = Measured | Query | Expectation | Verdict
Judge: TypeAlias = Callable[[Check, Rows], Judged]


def judge(check: Check, rows: Rows) -> Judged:
    """Return the verdict on a clause, or how to measure it."""
    if check.kind not in KINDS:
        fix = "install the same release of the provider on Spark"
        return Verdict("error", f"the engine does not support clauses of kind {check.kind}: {fix}")
    if check.kind not in _ABOUT_NAMES and check.arguments.get("metric") not in _ABOUT_NAMES:
        paths = (check.field or "", *check.columns)
        if reason := next(filter(None, map(rows.why_broken, filter(None, paths))), None):
            return Verdict("error", reason)
    try:
        return JUDGES[KINDS[check.kind].measure](check, rows)
    except Decided as e:
        return e.verdict


_ABOUT_NAMES = frozenset({"additional_fields", "column_count", "columns_exist"})
"""Kinds of checks, and metrics, about the names of columns, which may have unreadable values."""


def _on_field(rule: OnField) -> Judge:
    """Return the judge of a rule for the values of one field."""

    def judge(check: Check, rows: Rows) -> Measured | Verdict:
        (field,) = rows.require(check.field or "")
        judged = rule(check, field)
        if isinstance(judged, Verdict):
            return judged
        example = None if check.kind == "required" or check.is_sensitive else field.text
        return Measured(Values(field.in_row(judged.broken)), judged.expected, example, shown=(field.column,))

    return judge


def _distinct_items(check: Check, rows: Rows) -> Judged:
    item = field_at(rows.schema, f"{check.field}[]", rows.types)
    return _on_field(lambda check, field: rules.distinct_items(check, field, item))(check, rows)


def _key(check: Check, rows: Rows) -> Measured | Verdict:
    is_complete = check.kind == "primary_key"
    paths, expected = check.columns, KINDS[check.kind].expected
    columns, missing = rows.fields_at(paths)
    if missing:
        return Verdict("fail", f"column {', '.join(missing)} not found" if len(paths) > 1 else "column not found")
    if any(column.levels for column in columns):
        return Verdict("unsupported", "elements of arrays and maps cannot be a key")
    sql = tuple(c.in_key for c in columns)
    example, shown = None if check.is_sensitive else key_text(columns), tuple(c.column for c in columns)
    if not rows.unique_by or not rows.unique_by <= {name.lower() for name in paths}:
        what = "with a duplicate or null key" if is_complete else "with a duplicate value"
        return Measured(Key(sql, is_complete), expected, example, what, shown)
    if is_complete:
        broken = " OR ".join(f"{c} IS NULL" for c in sql)
        return Measured(Values(broken), expected, example, "with a null key", shown)
    return Verdict("pass", "unique, because the merge key is unique", expected)


def _rows(check: Check, rows: Rows) -> Measured | Verdict:
    if rows.problem:
        return Verdict("error", rows.problem, "rows")
    if not rows.malformed:
        return Verdict("pass", "the data can be read", "rows")
    broken = f"{quoted(rows.malformed)} IS NOT NULL"
    example = None if check.is_sensitive else quoted(rows.malformed)
    return Measured(Values(broken), "rows", example, "cannot be read")


def _columns(check: Check, rows: Rows) -> Verdict:
    known = {name.lower() for name in check.columns}
    if extra := [name for name in rows.visible if name.lower() not in known]:
        return Verdict("fail", f"additional columns: {', '.join(extra)}", "no other columns", ", ".join(extra))
    return Verdict("pass", "no other columns", "no other columns")


def _reference(check: Check, rows: Rows) -> Measured | Verdict:
    targets = check.targets
    expected = f"exists in {', '.join(targets)}"
    columns = rows.require(*(check.columns or (check.field or "",)))
    if any(column.levels for column in columns):
        return Verdict("unsupported", "references from elements of arrays and maps are not tested")
    models = {target.partition(".")[0]: None for target in targets}
    if len(models) > 1:
        return Verdict("error", f"a foreign key must refer to one model, not to {' and '.join(models)}", expected)
    model = next(iter(models))
    if (other := rows.others.get(model.lower())) is None:
        way = "the store has no such dataset" if rows.has_offsets else "add the model to the contract"
        return Verdict("error", f"there is no data of model {model}: {way}", expected)
    there = {target.partition(".")[2]: other.field_at(target.partition(".")[2]) for target in targets}
    if unknown := [name for name, field in there.items() if field is None or field.levels]:
        return Verdict("error", f"model {model} has no column {unknown[0]}", expected)
    field = [there[target.partition(".")[2]] for target in targets]
    pairs = [rules.comparable(c, f, expected) for c, f in zip(columns, field, strict=True) if f is not None]
    condition = Reference(_tuple(here for here, _ in pairs), other.frame, _tuple(target for _, target in pairs))
    example = None if check.is_sensitive else key_text(columns)
    return Measured(condition, expected, example, shown=tuple(column.column for column in columns))


def _tuple(columns: Iterable[str]) -> str:
    """Return SQL for one value, or for a struct of several; null if one of them is null."""
    sql = [*columns]
    if len(sql) == 1:
        return sql[0]
    fields = ", ".join(f"{c} AS c{i}" for i, c in enumerate(sql))
    return when(complete(sql), f"struct({fields})")


def _metric(check: Check, rows: Rows) -> Judged:
    """Return how to measure a quality rule, whatever its language."""
    arguments = check.arguments
    if arguments.get("metric") == "query":
        return Query(str(arguments["query"]), limits_of(arguments), check.is_sensitive)
    if arguments.get("metric") == "expectation":
        if missing := rows.fields_at(check.columns)[1]:
            return Verdict("fail", f"column {', '.join(missing)} not found")
        return Expectation(str(arguments["type"]), arguments["kwargs"], check.is_sensitive)
    return metrics.limited(check, rows)


JUDGES: Mapping[str, Judge] = {
    **{measure: _on_field(rule) for measure, rule in rules.MEASURES.items()},
    "rows": _rows,
    "columns": _columns,
    "distinct items": _distinct_items,
    "key": _key,
    "reference": _reference,
    "metric": _metric,
    "newest time": metrics.age_of("the newest", "max"),
    "oldest time": metrics.age_of("the oldest", "min"),
    "delay": metrics.latency,
}
"""Measure of the table of clauses -> the function that judges clauses by it."""
