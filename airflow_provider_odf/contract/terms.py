"""What a contract says to people beside its clauses: owner and terms, and what its columns mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow_provider_odf.contract.load import ContractFile
    from airflow_provider_odf.contract.model import Field, Model

_LONGEST_TEXT = 1_000
"""Maximum number of characters of a text."""

_LABELS: Mapping[tuple[str, ...], str] = {
    ("info", "title"): "Title",
    ("name",): "Title",
    ("info", "version"): "Version",
    ("version",): "Version",
    ("info", "status"): "Status",
    ("status",): "Status",
    ("info", "description"): "Description",
    ("description", "purpose"): "Purpose",
    ("info", "owner"): "Owner",
    ("team",): "Owner",
    ("info", "contact"): "Contact",
    ("support",): "Support",
    ("domain",): "Domain",
    ("dataProduct",): "Data product",
    ("terms", "usage"): "Usage",
    ("description", "usage"): "Usage",
    ("terms", "limitations"): "Limitations",
    ("description", "limitations"): "Limitations",
    ("terms", "policies"): "Policies",
    ("terms", "billing"): "Billing",
    ("price",): "Price",
    ("terms", "noticePeriod"): "Notice period",
}
"""Path of a value in a document of either specification -> its label."""


def terms(file: ContractFile) -> dict[str, str]:
    """Return owner and terms of a contract as texts by label, in the order in which people read them."""
    root = file.document.value
    return {label: text[:_LONGEST_TEXT] for path, label in _LABELS.items() if (text := _text(_at(root, path)))}


@dataclass(frozen=True)
class ColumnTerms:
    """What a contract says of a column to people."""

    title: str = ""
    description: str = ""
    is_required: bool = False
    is_unique: bool = False
    classification: str = ""
    """Such as ``restricted``, and ``pii`` for personal data."""
    tags: tuple[str, ...] = ()


def column_terms(model: Model) -> dict[str, ColumnTerms]:
    """Return what a model of a contract says of its columns, by name in lower case."""
    return {field.name.lower(): _column_terms(field) for field in model.fields}


def _column_terms(field: Field) -> ColumnTerms:
    is_key, tags = bool(field.value("primaryKey")), field.value("tags")
    marks = (str(field.value("classification") or ""), "pii" if field.value("pii") else "")
    return ColumnTerms(
        title=_text(field.value("title"))[:_LONGEST_TEXT],
        description=_text(field.value("description"))[:_LONGEST_TEXT],
        is_required=is_key or bool(field.value("required")),
        is_unique=is_key or bool(field.value("unique")),
        classification=", ".join(filter(None, marks)),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
    )


def _at(root: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        root = root.get(key) if isinstance(root, dict) else None
    return root


def _text(value: Any) -> str:
    """Return a value as text: members of objects and lists, without keys of objects in lists."""
    if isinstance(value, dict):
        return "; ".join(_members(value))
    if isinstance(value, list):
        entries = (", ".join(map(_text, v.values())) if isinstance(v, dict) else _text(v) for v in value)
        return "; ".join(filter(None, entries))
    return "" if value is None else str(value).strip()


def _members(value: Mapping[str, Any]) -> Iterator[str]:
    members = value.get("members")
    if isinstance(members, list):
        yield _text(members)
        return
    yield from (f"{key}: {text}" for key, member in value.items() if (text := _text(member)))
