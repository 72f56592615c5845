"""Checks for what cannot be read in a contract: errors of the wrong values, and of the clauses that need them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from airflow_provider_odf.contract.clauses import KINDS
from airflow_provider_odf.contract.model import Clause, DataContract
from airflow_provider_odf.protocol import SERVICE_LEVEL, Check

_TYPED = frozenset(kind.name for kind in KINDS.values())
"""Kinds of checks that depend on the type of their field, which is an argument of them."""


def with_errors(checks: Iterable[Check], contract: DataContract) -> Iterator[Check]:
    """Yield the checks of a contract, as errors if they are of a value that cannot be read or need one: clauses that
    depend on the type of their field, or on the names of fields. Then yield the other values that cannot be read."""
    reasons = {clause.path: str(clause.value) for clause in contract.invalid}
    unnamed = {base: reason for path, reason in reasons.items() if (base := _unnamed(path))}
    paths = set()
    for check in checks:
        paths.add(check.path)
        reason = reasons.get(check.path)
        if not check.outcome:
            reason = reason or _reason(check, reasons) or _reason_inside(check.path, unnamed)
        yield replace(check, outcome="error", reason=reason) if reason else check
    yield from (_check(clause, contract) for clause in contract.invalid if clause.path not in paths)


def _reason(check: Check, reasons: Mapping[str, str]) -> str:
    """Return why the type or the fields that a check needs cannot be read, empty if they can."""
    parent = re.sub("/(logicalTypeOptions|relationships)$", "", check.path.rpartition("/")[0])
    needed: tuple[str, ...] = ()
    if check.kind in _TYPED and "type" not in check.arguments:
        needed = ("type", "logicalType", "physicalType", "$ref")
        if of_definitions := next((r for p, r in reasons.items() if re.fullmatch("/definitions/.*/type", p)), ""):
            return of_definitions
    elif check.kind == "additional_fields":
        needed = ("fields",)
    elif check.kind == "primary_key":
        return _reason_of_key(check, reasons)
    return next((reasons[path] for key in needed if (path := f"{parent}/{key}") in reasons), "")


def _reason_of_key(check: Check, reasons: Mapping[str, str]) -> str:
    """Return why it is unknown which fields are part of a compound key, empty if it is known."""
    fields = re.escape(check.path.rpartition("/")[0].rpartition("/")[0])
    parts = re.compile(rf"{fields}/[^/]*(/(primaryKey|primary|primaryKeyPosition|name|physicalName|\$ref))?")
    return next((reason for path, reason in reasons.items() if parts.fullmatch(path)), "")


def _unnamed(path: str) -> str:
    """Return the table or property without a valid name, if a path is that of its name."""
    base, _, key = path.rpartition("/")
    is_name = key == "name" or (key == "physicalName" and "/properties/" in base)
    return base if is_name and base.startswith("/schema/") else ""


def _reason_inside(path: str, unnamed: Mapping[str, str]) -> str:
    return next((reason for base, reason in unnamed.items() if f"{path}/".startswith(f"{base}/")), "")


def _check(clause: Clause, contract: DataContract) -> Check:
    model = next((m.name for m in contract.models if f"{clause.path}/".startswith(f"{m.path}/")), "")
    kind = f"{SERVICE_LEVEL}invalid" if re.match("/(servicelevels|slaProperties)", clause.path) else "invalid"
    description = f"{clause.name} can be read"
    check = Check(clause.path, kind, description, outcome="error", reason=str(clause.value))
    return replace(check, model=model, line=clause.place.line)
