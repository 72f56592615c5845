"""The table of the kinds of checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from airflow_provider_odf.engine.contract import rules
from airflow_provider_odf.engine.contract.rows import Rows
from airflow_provider_odf.engine.contract.rules import OnField, Verdict
from airflow_provider_odf.engine.contract.scan import Condition, Key, Reference, Values
from airflow_provider_odf.engine.schema import quoted
from airflow_provider_odf.protocol import Check


@dataclass(frozen=True)
class Measured:
    """A clause that needs rows for a result.

    ``example`` is SQL for the text of a failing row in the report, None for no text. ``shown`` are the columns of a
    sample.
    """

    condition: Condition
    expected: str
    example: str | None = None
    what: str = ""
    shown: tuple[str, ...] = ()


Judge: TypeAlias = Callable[[Check, Rows], Measured | Verdict]


def judge(check: Check, rows: Rows) -> Measured | Verdict:
    """Return the verdict on a clause, or how to measure it."""
    if check.outcome:
        return Verdict(check.outcome, check.reason)
    if check.kind not in KINDS:
        return Verdict("error", f"this engine knows no clause of kind {check.kind}")
    return KINDS[check.kind](check, rows)


def _on_field(rule: OnField) -> Judge:
    """Return the judge of a rule for the values of one field."""

    def judge(check: Check, rows: Rows) -> Measured | Verdict:
        path = check.field or ""
        found = rows.find(path)
        if found is None:
            return _missing(path)
        judged = rule(check, found)
        if isinstance(judged, Verdict):
            return judged
        example = None if check.kind == "required" or check.is_sensitive else found.text
        return Measured(Values(found.in_row(judged.broken)), judged.expected, example, shown=(found.column,))

    return judge


def _missing(*paths: str) -> Verdict:
    return Verdict(
        "fail", "column not found" if len(paths) == 1 else f"column {', '.join(paths)} not found", "a column"
    )


def _key(check: Check, rows: Rows) -> Measured | Verdict:
    is_complete = check.kind == "primary_key"
    paths = check.columns
    found = {path: rows.find(path) for path in paths}
    if missing := [path for path, f in found.items() if f is None]:
        return Verdict("fail", f"column {', '.join(missing)} not found" if len(paths) > 1 else "column not found")
    columns = [f for f in found.values() if f is not None]
    if any(column.levels for column in columns):
        return Verdict("unsupported", "elements of arrays and maps cannot be a key")
    sql = tuple(c.sql for c in columns)
    texts = ", ".join(f"coalesce({c.text}, 'null')" for c in columns)
    example = None if check.is_sensitive else f"concat_ws(', ', {texts})"
    expected, shown = "unique and not null" if is_complete else "unique", tuple(c.column for c in columns)
    if not rows.unique_by or not rows.unique_by <= {name.lower() for name in paths}:
        what = "share a key or lack one" if is_complete else "share a value"
        return Measured(Key(sql, is_complete), expected, example, what, shown)
    if is_complete:
        broken = " OR ".join(f"{c} IS NULL" for c in sql)
        return Measured(Values(broken), expected, example, "lack a key", shown)
    return Verdict("pass", "unique by the merge key", expected)


def _model_present(check: Check, rows: Rows) -> Measured | Verdict:
    if not rows.malformed:
        return Verdict("pass", "the data can be read", "rows")
    broken = f"{quoted(rows.malformed)} IS NOT NULL"
    example = None if check.is_sensitive else quoted(rows.malformed)
    return Measured(Values(broken), "rows", example, "cannot be read")


def _additional(check: Check, rows: Rows) -> Verdict:
    known = {name.lower() for name in (*check.columns, *rows.system)}
    extra = [name for name in rows.schema.fieldNames() if name.lower() not in known]
    if extra:
        return Verdict("fail", f"also {', '.join(extra)}", "no other columns", ", ".join(extra))
    return Verdict("pass", "no other columns", "no other columns")


def _references(check: Check, rows: Rows) -> Measured | Verdict:
    target = str(check.arguments["target"])
    model, _, path = target.partition(".")
    found = rows.find(check.field or "")
    if found is None:
        return _missing(check.field or "")
    if found.levels:
        return Verdict("unsupported", "references from elements of arrays and maps are not tested")
    if (other := rows.others.get(model.lower())) is None:
        return Verdict("error", f"there is no data of model {model}", f"a value of {target}")
    if (there := other.find(path)) is None or there.levels:
        return Verdict("error", f"model {model} has no column {path}", f"a value of {target}")
    condition = Reference(found.sql, other.frame, there.sql)
    example = None if check.is_sensitive else found.text
    return Measured(condition, f"a value of {target}", example, shown=(found.column,))


KINDS: Mapping[str, Judge] = {
    "model_present": _model_present,
    "field_present": _on_field(rules.present),
    "field_type": _on_field(rules.of_type),
    "required": _on_field(rules.required),
    "enum": _on_field(rules.enum),
    "pattern": _on_field(rules.pattern),
    "format": _on_field(rules.format_of),
    "min_length": _on_field(rules.length("<", "at least")),
    "max_length": _on_field(rules.length(">", "at most")),
    "minimum": _on_field(rules.limit("<", ">=")),
    "exclusive_minimum": _on_field(rules.limit("<=", ">")),
    "maximum": _on_field(rules.limit(">", "<=")),
    "exclusive_maximum": _on_field(rules.limit(">=", "<")),
    "precision": _on_field(rules.precision),
    "scale": _on_field(rules.scale),
    "physical_type": _on_field(rules.physical_type),
    "unique": _key,
    "primary_key": _key,
    "references": _references,
    "additional_fields": _additional,
}
"""Kind of check -> its judge."""
