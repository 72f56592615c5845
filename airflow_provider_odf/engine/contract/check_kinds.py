"""The table of the kinds of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from airflow_provider_odf.engine.contract import ages, metrics, rules
from airflow_provider_odf.engine.contract.conditions import Key, Reference, Values, complete
from airflow_provider_odf.engine.contract.fields import find, key_text
from airflow_provider_odf.engine.contract.measured import Expectation, Measured, Query
from airflow_provider_odf.engine.contract.rows import Rows
from airflow_provider_odf.engine.contract.rules import OnField, Verdict
from airflow_provider_odf.engine.contract.thresholds import limits_of
from airflow_provider_odf.engine.contract.values import VALUE_RULES
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
    return KINDS[check.kind](check, rows)


_ABOUT_NAMES = frozenset({"additional_fields", "column_count", "columns_exist"})
"""Kinds of checks, and metrics, about the names of columns, which may have unreadable values."""


def _on_field(rule: OnField) -> Judge:
    """Return the judge of a rule for the values of one field."""

    def judge(check: Check, rows: Rows) -> Measured | Verdict:
        path = check.field or ""
        found = rows.find(path)
        if found is None:
            return rules.missing(path)
        judged = rule(check, found)
        if isinstance(judged, Verdict):
            return judged
        example = None if check.kind == "required" or check.is_sensitive else found.text
        return Measured(Values(found.in_row(judged.broken)), judged.expected, example, shown=(found.column,))

    return judge


def _unique_items(check: Check, rows: Rows) -> Judged:
    item = find(rows.schema, f"{check.field}[]", rows.types)
    judge = _on_field(lambda check, found: rules.unique_items(check, found, item))
    return judge(check, rows)


def _key(check: Check, rows: Rows) -> Measured | Verdict:
    is_complete = check.kind == "primary_key"
    paths = check.columns
    columns, missing = rows.find_all(paths)
    if missing:
        return Verdict("fail", f"column {', '.join(missing)} not found" if len(paths) > 1 else "column not found")
    if any(column.levels for column in columns):
        return Verdict("unsupported", "elements of arrays and maps cannot be a key")
    sql = tuple(c.in_key for c in columns)
    example = None if check.is_sensitive else key_text(columns)
    expected, shown = "unique and not null" if is_complete else "unique", tuple(c.column for c in columns)
    if not rows.unique_by or not rows.unique_by <= {name.lower() for name in paths}:
        what = "with a duplicate or null key" if is_complete else "with a duplicate value"
        return Measured(Key(sql, is_complete), expected, example, what, shown)
    if is_complete:
        broken = " OR ".join(f"{c} IS NULL" for c in sql)
        return Measured(Values(broken), expected, example, "with a null key", shown)
    return Verdict("pass", "unique, because the merge key is unique", expected)


def _model_present(check: Check, rows: Rows) -> Measured | Verdict:
    if rows.problem:
        return Verdict("error", rows.problem, "rows")
    if not rows.malformed:
        return Verdict("pass", "the data can be read", "rows")
    broken = f"{quoted(rows.malformed)} IS NOT NULL"
    example = None if check.is_sensitive else quoted(rows.malformed)
    return Measured(Values(broken), "rows", example, "cannot be read")


def _additional(check: Check, rows: Rows) -> Verdict:
    known = {name.lower() for name in check.columns}
    if extra := [name for name in rows.visible if name.lower() not in known]:
        return Verdict("fail", f"additional columns: {', '.join(extra)}", "no other columns", ", ".join(extra))
    return Verdict("pass", "no other columns", "no other columns")


def _references(check: Check, rows: Rows) -> Measured | Verdict:
    targets = check.targets
    expected = f"exists in {', '.join(targets)}"
    columns, missing = rows.find_all(check.columns or (check.field or "",))
    if missing:
        return rules.missing(*missing)
    if any(column.levels for column in columns):
        return Verdict("unsupported", "references from elements of arrays and maps are not tested")
    models = {target.partition(".")[0]: None for target in targets}
    if len(models) > 1:
        return Verdict("error", f"a foreign key must refer to one model, not to {' and '.join(models)}", expected)
    model = next(iter(models))
    if (other := rows.others.get(model.lower())) is None:
        way = "the store has no such dataset" if rows.has_offsets else "add the model to the contract"
        return Verdict("error", f"there is no data of model {model}: {way}", expected)
    there = [other.find(target.partition(".")[2]) for target in targets]
    if unknown := [t.partition(".")[2] for t, f in zip(targets, there, strict=True) if f is None or f.levels]:
        return Verdict("error", f"model {model} has no column {unknown[0]}", expected)
    pairs = [rules.comparable(c, f) for c, f in zip(columns, there, strict=True) if f is not None]
    for pair in pairs:
        if isinstance(pair, Verdict):
            return replace(pair, expected=expected)
    sql = [pair for pair in pairs if not isinstance(pair, Verdict)]
    condition = Reference(_tuple(here for here, _ in sql), other.frame, _tuple(target for _, target in sql))
    example = None if check.is_sensitive else key_text(columns)
    return Measured(condition, expected, example, shown=tuple(column.column for column in columns))


def _tuple(columns: Iterable[str]) -> str:
    """Return SQL for one value, or for a struct of several; null if one of them is null."""
    sql = [*columns]
    if len(sql) == 1:
        return sql[0]
    fields = ", ".join(f"{c} AS c{i}" for i, c in enumerate(sql))
    return when(complete(sql), f"struct({fields})")


def _quality(check: Check, rows: Rows) -> Judged:
    """Return how to measure a quality rule, whatever its language."""
    arguments = check.arguments
    if arguments.get("metric") == "query":
        return Query(str(arguments["query"]), limits_of(check), check.is_sensitive)
    if arguments.get("metric") == "expectation":
        if missing := rows.find_all(check.columns)[1]:
            return Verdict("fail", f"column {', '.join(missing)} not found")
        return Expectation(str(arguments["type"]), arguments["kwargs"], check.is_sensitive)
    return metrics.limited(check, rows)


KINDS: Mapping[str, Judge] = {
    "model_present": _model_present,
    "field_present": _on_field(rules.present),
    "field_type": _on_field(rules.of_type),
    "required": _on_field(rules.required),
    **{kind: _on_field(rule) for kind, rule in VALUE_RULES.items()},
    "precision": _on_field(rules.precision),
    "scale": _on_field(rules.scale),
    "multiple_of": _on_field(rules.multiple_of),
    "range": _on_field(rules.in_range),
    "min_items": _on_field(rules.items("<", "at least")),
    "max_items": _on_field(rules.items(">", "at most")),
    "items": _on_field(rules.items("!=", "exactly")),
    "unique_items": _unique_items,
    "required_fields": _on_field(rules.required_fields),
    "physical_type": _on_field(rules.physical_type),
    "unique": _key,
    "primary_key": _key,
    "references": _references,
    "additional_fields": _additional,
    "quality_sql": _quality,
    "quality_library": _quality,
    "quality_soda": _quality,
    "quality_great_expectations": _quality,
    "service_level_freshness": ages.freshness,
    "service_level_retention": ages.retention,
    "service_level_latency": ages.latency,
}
"""Kind of check -> the function that evaluates it."""
