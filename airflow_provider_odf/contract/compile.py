"""Compile a model of a contract to checks for the engine: one check for each clause.

See the Model and Field Objects of the Data Contract Specification. Clauses that the engine cannot test become
``unsupported`` checks. Clauses with nothing to test become ``informational``. Titles, descriptions, tags, examples,
lineage, config, servers and terms are not clauses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow_provider_odf.contract.ecma import to_java
from airflow_provider_odf.contract.load import ContractFile
from airflow_provider_odf.contract.model import (
    CHARACTER_TYPES,
    NUMERIC_TYPES,
    STRUCT_TYPES,
    DataContract,
    FieldObject,
    ModelObject,
)
from airflow_provider_odf.protocol import Check, Contract

_LIMITS = {
    "minimum": (">=", NUMERIC_TYPES),
    "exclusive_minimum": (">", NUMERIC_TYPES),
    "maximum": ("<=", NUMERIC_TYPES),
    "exclusive_maximum": ("<", NUMERIC_TYPES),
    "min_length": ("length >=", CHARACTER_TYPES),
    "max_length": ("length <=", CHARACTER_TYPES),
}
"""Attribute -> its text in descriptions, and the types that it applies to."""

_UNTESTED_FIELD_CLAUSES = ("format", "precision", "scale", "references", "items", "keys", "values")
_ANNOTATED_SERVICE_LEVELS = frozenset({"availability", "frequency", "support", "backup"})
"""Service levels of the service, which the data cannot show. Retention is one of them if it names no time field."""


def compile_model(file: ContractFile, model: str) -> Contract:
    """Return the contract with the checks of one model, in the order of the file."""
    contract = file.contract
    checks = [*_model_checks(model, contract.models[model]), *_contract_checks(contract, model)]
    return Contract(
        id=contract.id,
        model=model,
        digest=file.digest,
        checks=tuple(_with_unique_keys(checks)),
        version=contract.info.version,
        title=contract.info.title,
    )


def _with_unique_keys(checks: list[Check]) -> Iterator[Check]:
    """Yield the checks, with a number added to repeated keys.

    Two fields can have the same key: ``a`` with ``b__required``, and ``a__b`` with ``required``.
    """
    seen: dict[str, int] = {}
    for check in checks:
        seen[check.key] = count = seen.get(check.key, 0) + 1
        yield check if count == 1 else Check(**{**vars(check), "key": f"{check.key}__{count}"})


def _model_checks(name: str, model: ModelObject) -> Iterator[Check]:
    for field, definition in model.fields.items():
        yield from _Clauses(name, field, definition).checks()
    yield from _keys(name, model)
    if model.additional_fields is False:
        yield Check(
            f"{name}__additional_fields",
            "additional_fields",
            "there are no columns but the contract's",
            columns=tuple(model.fields),
        )
    yield from _quality(f"{name}__quality", name, model.quality)
    yield from _extensions(name, model)


def _keys(name: str, model: ModelObject) -> Iterator[Check]:
    """Yield the primary keys. One marked field is a key; several marked fields are one compound key."""
    marked = tuple(f for f, definition in model.fields.items() if definition.is_primary_key)
    if len(marked) == 1:
        yield _key(f"{name}__{marked[0]}__primary_key", marked, model)
    elif marked:
        yield _key(f"{name}__primary_key", marked, model)
    if model.primary_key:
        yield _key(f"{name}__primary_key", model.primary_key, model)


def _key(key: str, columns: tuple[str, ...], model: ModelObject) -> Check:
    is_sensitive = any(column in model.fields and model.fields[column].is_sensitive for column in columns)
    return Check(
        key,
        "primary_key",
        f"({', '.join(columns)}) is never null and identifies one row",
        column=columns[0] if len(columns) == 1 else None,
        columns=columns,
        arguments={"isSensitive": True} if is_sensitive else {},
    )


@dataclass(frozen=True)
class _Clauses:
    """The clauses of one field. ``path`` is its name, after those of its parents: ``address.city``."""

    model: str
    path: str
    field: FieldObject

    def checks(self) -> Iterator[Check]:
        yield self._check("field_present", f"column {self.path} exists")
        if self.field.type:
            yield self._check("field_type", f"{self.path} is of type {self.field.type}", type=self.field.type)
        if self.field.required:
            yield self._check("required", f"{self.path} is never null")
        if self.field.unique:
            yield self._check("unique", f"{self.path} has no value twice", columns=(self.path,))
        yield from self._value_checks()
        yield from self._untested()
        for name, child in (self.field.fields or {}).items():
            yield from _Clauses(self.model, f"{self.path}.{name}", child).checks()
            if child.is_primary_key:
                yield self._said("unsupported", f"{name}__primary_key", "a nested field cannot be a primary key")

    def _value_checks(self) -> Iterator[Check]:
        field = self.field
        if field.enum is not None:
            values = [_text(value) for value in field.enum]
            yield self._check("enum", f"{self.path} is one of {_listed(values)}", values=values)
        if field.pattern is not None:
            description = f"{self.path} matches {field.pattern}"
            yield self._applied(
                CHARACTER_TYPES, "pattern", description, pattern=field.pattern, java=to_java(field.pattern)
            )
        for name, (sign, types) in _LIMITS.items():
            if (limit := getattr(field, name)) is not None:
                yield self._applied(types, name, f"{self.path}: {sign} {limit}", limit=limit)

    def _untested(self) -> Iterator[Check]:
        field = self.field
        for name in _UNTESTED_FIELD_CLAUSES:
            if (value := getattr(field, name)) is not None:
                shown = value if isinstance(value, str | int) else "of nested values"
                yield self._said("unsupported", name, f"{self.path}: {name} {shown} is not tested")
        if field.fields and field.type and field.type not in STRUCT_TYPES:
            yield self._said("unsupported", "fields", f"{self.path}: fields of a {field.type} are not tested")
        if field.ref is not None:
            yield self._said("unsupported", "ref", f"{self.path}: $ref {field.ref} leads out of the document")
        yield from _quality(f"{self.model}__{self.path}__quality", self.path, field.quality, self.path)
        yield from _extensions(f"{self.model}__{self.path}", field, self.path)

    def _check(self, kind: str, description: str, columns: tuple[str, ...] = (), **arguments: Any) -> Check:
        if self.field.is_sensitive:
            arguments["isSensitive"] = True
        key = f"{self.model}__{self.path}__{kind}"
        return Check(key, kind, description, column=self.path, columns=columns, arguments=arguments)

    def _applied(self, types: frozenset[str], kind: str, description: str, **arguments: Any) -> Check:
        """Return a check of a clause that applies to some types only. It has no meaning for other types."""
        if self.field.type is None or self.field.type in types:
            if self.field.type is not None:
                arguments["type"] = self.field.type
            return self._check(kind, description, **arguments)
        return self._said("informational", kind, f"{description}: does not apply to {self.field.type}")

    def _said(self, kind: str, clause: str, description: str) -> Check:
        return Check(f"{self.model}__{self.path}__{clause}", kind, description, column=self.path)


def _quality(
    prefix: str, subject: str, quality: tuple[dict[str, Any], ...] | None, column: str | None = None
) -> Iterator[Check]:
    for index, entry in enumerate(quality or ()):
        kind = str(entry.get("type", "sql" if "query" in entry else "text"))
        said = str(entry.get("description") or entry.get("query") or entry.get("engine") or "").strip()
        outcome = "informational" if kind == "text" else "unsupported"
        description = (
            f"{subject}: {said}" if kind == "text" else f"{subject}: quality of type {kind} is not tested: {said}"
        )
        severity = str(entry.get("severity", "error"))
        yield Check(f"{prefix}_{kind}_{index}", outcome, description.rstrip(": "), column=column, severity=severity)


def _extensions(prefix: str, node: FieldObject | ModelObject, column: str | None = None) -> Iterator[Check]:
    for name in node.model_extra or {}:
        yield Check(f"{prefix}__{name}", "informational", f"{name} is an extension, not tested", column=column)


def _contract_checks(contract: DataContract, model: str) -> Iterator[Check]:
    for name, level in (contract.servicelevels or {}).items():
        said = str(level.get("description") or "").strip() or f"service level {name}"
        fields = [str(value) for key, value in level.items() if key.endswith("Field")]
        if name in _ANNOTATED_SERVICE_LEVELS or (name == "retention" and not fields):
            yield Check(f"servicelevels__{name}", "informational", said)
        elif fields and not any(f.startswith(f"{model}.") or "." not in f for f in fields):
            yield Check(f"servicelevels__{name}", "informational", f"{said}: about {', '.join(fields)}")
        else:
            description = f"service level {name} is not tested: {level.get('description') or ''}".strip().rstrip(":")
            yield Check(f"servicelevels__{name}", "unsupported", description)
    if contract.quality is not None:
        kind = contract.quality.get("type", "")
        yield Check("quality", "unsupported", f"top-level quality of type {kind} is not tested")
    if contract.schema_ is not None:
        yield Check("schema", "unsupported", "top-level schema (before 0.9.3) is not tested, models are")


def _text(value: object) -> str:
    """Return a scalar as YAML writes it: enums are lists of texts, and other types are compared after a cast."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _listed(values: list[str], most: int = 8) -> str:
    return ", ".join(values[:most]) + (f" and {len(values) - most} more" if len(values) > most else "")
