"""Checks of primary keys and of references."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from airflow_provider_odf.contract.model import Clause, Model
from airflow_provider_odf.protocol import Check


def key(model: Model, path: str, columns: tuple[str, ...]) -> Check:
    """Return the check of a primary key."""
    return Check(
        path,
        "primary_key",
        f"({', '.join(columns)}) is never null and identifies one row",
        field=columns[0] if len(columns) == 1 else None,
        columns=columns,
        is_sensitive=any(map(model.is_sensitive, columns)),
    )


def foreign_key(model: Model, clause: Clause) -> Check:
    """Return the check of a foreign key of several columns."""
    if "problem" in clause.value:
        return Check(clause.path, "references", "foreign key", outcome="error", reason=clause.value["problem"])
    columns, targets = tuple(clause.value["columns"]), clause.value["targets"]
    check = Check(
        clause.path,
        "references",
        f"({', '.join(columns)}) exists in ({', '.join(targets)})",
        columns=columns,
        arguments={"targets": targets},
        is_sensitive=any(map(model.is_sensitive, columns)),
    )
    return _elsewhere(check, targets)


def _elsewhere(check: Check, targets: Iterable[str]) -> Check:
    """Return the check of a reference, which is unsupported if it leads to another contract."""
    if not any("#" in target for target in targets):
        return check
    return replace(check, outcome="unsupported", reason="the reference points to another contract")


def reference(check: Check, clause: Clause) -> Check:
    """Return the check of a reference from one field, unless it is not valid or points to another contract."""
    if isinstance(clause.value, dict):
        return replace(check, description="foreign key", outcome="error", reason=clause.value["problem"])
    if "#" not in clause.value and not all(clause.value.partition(".")[::2]):
        reason = f"{clause.value!r} is no reference: write MODEL.FIELD, such as customers.id"
        return replace(check, outcome="error", reason=reason)
    return _elsewhere(check, [clause.value])
