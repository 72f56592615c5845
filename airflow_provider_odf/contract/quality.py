"""Compile quality rules and service levels to checks."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from airflow_provider_odf.contract.model import Clause, DataContract, Model
from airflow_provider_odf.protocol import Check

_SERVICE = frozenset({"availability", "frequency", "support", "backup"})
"""Service levels of the service, which the data cannot show. Retention is one of them if it names no time field."""


def check(rule: Clause, model: Model, field: str | None) -> Check:
    """Return the check of one quality rule of a model or a field."""
    value = rule.value
    kind = str(value.get("type", "sql" if "query" in value else "text"))
    text = str(value.get("description") or value.get("query") or value.get("engine") or "").strip()
    description = f"{field or model.name}: {text}".rstrip(": ")
    severity = str(value.get("severity", "error"))
    if kind == "text":
        outcome, reason = "informational", "a text, which people read"
    else:
        outcome, reason = "unsupported", f"quality rules of type {kind} are not supported yet"
    return Check(rule.path, f"quality_{kind}", description, field, severity=severity, outcome=outcome, reason=reason)


def contract_checks(contract: DataContract, models: Collection[str]) -> Iterator[Check]:
    """Yield the checks of clauses about the whole contract; ``models`` are the tested models."""
    for level in contract.service_levels:
        yield _service_level(level, models)
    for clause in (*contract.quality, *contract.clauses):
        reason = f"{clause.name} of the whole contract is not supported yet"
        yield Check(clause.path, clause.name, clause.name, outcome="unsupported", reason=reason, line=clause.place.line)


def _service_level(level: Clause, models: Collection[str]) -> Check:
    value = level.value if isinstance(level.value, dict) else {}
    description = str(value.get("description") or "").strip() or f"service level {level.name}"
    fields = [str(v) for key, v in value.items() if key.endswith("Field")]
    outcome, reason = "unsupported", f"service level {level.name} is not measured yet"
    if level.name in _SERVICE or (level.name == "retention" and not fields):
        outcome, reason = "informational", "a promise of the service, which data cannot show"
    elif fields and not any("." not in f or f.partition(".")[0] in models for f in fields):
        outcome, reason = "informational", f"it is about {', '.join(fields)}"
    kind = f"service_level_{level.name}"
    return Check(level.path, kind, description, outcome=outcome, reason=reason, line=level.place.line)
