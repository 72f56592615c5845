"""Compile models of a contract to checks for the engine: one check for each clause.

A clause that the engine cannot test, or that does not apply to its type, becomes an ``unsupported`` check, one with
nothing to test an ``informational`` check, and one that is not valid an ``error``. Titles, descriptions, tags,
examples, lineage, servers and terms are not clauses, nor is a boolean clause that is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_odf.contract import ecma_patterns, quality, service_levels, top_level
from airflow_provider_odf.contract.load import ContractFile
from airflow_provider_odf.contract.model import (
    CHARACTER_TYPES,
    NUMERIC_TYPES,
    STRUCT_TYPES,
    TIME_TYPES,
    Clause,
    DataContract,
    Field,
    Model,
)
from airflow_provider_odf.protocol import Check, Contract


@dataclass(frozen=True)
class _Kind:
    """How a clause of a field becomes a check.

    ``argument`` is the name of the clause's value in the arguments of the check. ``types`` are the types of fields that
    the clause applies to, None for all.
    """

    name: str
    description: str
    argument: str = "limit"
    types: frozenset[str] | None = None


_SWITCHES = {
    "required": _Kind("required", "{field} is never null"),
    "unique": _Kind("unique", "{field} has no duplicate values"),
    "uniqueItems": _Kind("unique_items", "{field} has no duplicate items"),
}
_KINDS = {
    "type": _Kind("field_type", "{field} is of type {value}", "type"),
    "enum": _Kind("enum", "{field} is one of {value}", "values"),
    "format": _Kind("format", "{field} is a valid {value}", "format", CHARACTER_TYPES),
    "pattern": _Kind("pattern", "{field} matches {value}", "pattern", CHARACTER_TYPES),
    "minLength": _Kind("min_length", "{field}: length >= {value}", types=CHARACTER_TYPES),
    "maxLength": _Kind("max_length", "{field}: length <= {value}", types=CHARACTER_TYPES),
    "minimum": _Kind("minimum", "{field}: >= {value}", types=NUMERIC_TYPES),
    "exclusiveMinimum": _Kind("exclusive_minimum", "{field}: > {value}", types=NUMERIC_TYPES),
    "maximum": _Kind("maximum", "{field}: <= {value}", types=NUMERIC_TYPES),
    "exclusiveMaximum": _Kind("exclusive_maximum", "{field}: < {value}", types=NUMERIC_TYPES),
    "precision": _Kind("precision", "{field}: at most {value} digits", types=NUMERIC_TYPES),
    "scale": _Kind("scale", "{field}: at most {value} decimal places", types=NUMERIC_TYPES),
    "references": _Kind("references", "{field} exists in {value}", "target"),
    "multipleOf": _Kind("multiple_of", "{field}: a multiple of {value}", types=NUMERIC_TYPES),
    "integerFormat": _Kind("range", "{field} fits in {value}", types=NUMERIC_TYPES),
    "minItems": _Kind("min_items", "{field}: at least {value} items", types=frozenset({"array"})),
    "maxItems": _Kind("max_items", "{field}: at most {value} items", types=frozenset({"array"})),
    "dimensions": _Kind("items", "{field}: {value} items", types=frozenset({"array"})),
    "requiredFields": _Kind("required_fields", "{field}: {value} are never null", "fields", STRUCT_TYPES),
    "databricksType": _Kind("physical_type", "{field} is stored as {value}", "type"),
}
"""Clause of a field -> its check."""

_LIMITS = frozenset({"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"})
"""Clauses that also apply to times, if their value is a text."""

_INTEGER_FORMATS = {
    **{f"i{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64, 128)},
    **{f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64, 128)},
}

_NOT_TESTED = {
    "physicalType": ("informational", "it is a type of the contract's server, not of Spark"),
    "timeFormat": ("informational", "times are read as timestamps, which have no text format"),
    "timezone": ("informational", "timestamps are read in UTC, without their original time zone"),
    "defaultTimezone": ("informational", "timestamps are read in UTC, without their original time zone"),
    "elementType": ("informational", "numbers of any width are accepted"),
    "distanceMetric": ("informational", "it is advice to consumers, which data cannot violate"),
    "embeddingModel": ("informational", "it documents the origin of the values"),
    "embeddingModelVersion": ("informational", "it documents the origin of the values"),
    "normalized": ("unsupported", "the length of vectors is not tested"),
    "minProperties": ("unsupported", "a struct always has all its fields"),
    "maxProperties": ("unsupported", "a struct always has all its fields"),
}
"""Clauses of the Open Data Contract Standard without a test, and why."""

_ANNOTATIONS = frozenset({
    "title", "description", "example", "examples", "pii", "classification", "tags", "links", "lineage", "config",
    "$ref_obj", "domain", "name", "primaryKey", "primaryKeyPosition", "semanticType", *_SWITCHES,
})  # fmt: skip
"""Clauses of a field with nothing to test, and those that are compiled by functions of their own."""

_MODEL_ANNOTATIONS = frozenset(
    {"type", "title", "description", "examples", "tags", "config", "primaryKey", "physicalName"}
)

_INNER = {"fields": STRUCT_TYPES, "items": {"array"}, "keys": {"map"}, "values": {"map"}}
"""Key with nested fields -> types that have them."""


def compile_model(file: ContractFile, model: str) -> Contract:
    """Return the contract with the checks of one model, in the order of the file."""
    return replace(compile_models(file, [model]), model=model)


def compile_models(file: ContractFile, models: Iterable[str]) -> Contract:
    """Return the contract with the checks of some models, in the order of the file."""
    contract = file.contract
    names = set(models)
    checks = [check for m in contract.models if m.name in names for check in _model_checks(m)]
    checks += (*top_level.checks(contract, names), *service_levels.checks(contract, names), *_contract_checks(contract))
    return Contract(
        id=contract.id,
        model="",
        digest=file.digest,
        checks=tuple(checks),
        version=contract.version,
        title=contract.title,
        specification=contract.specification,
    )


def _contract_checks(contract: DataContract) -> Iterator[Check]:
    for clause in contract.clauses:
        reason = f"{clause.name} of the whole contract is not supported yet"
        yield Check(clause.path, clause.name, clause.name, outcome="unsupported", reason=reason, line=clause.place.line)


def _model_checks(model: Model) -> Iterator[Check]:
    hides = any(field.is_sensitive for field in model.fields)
    present = Check(model.path, "model_present", f"the data of {model.name} can be read", is_sensitive=hides)
    yield replace(present, model=model.name, line=model.place.line)
    marked = sorted(
        (f for f in model.fields if f.value("primaryKey")), key=lambda f: f.value("primaryKeyPosition") or 0
    )
    for field in model.fields:
        for check in _FieldChecks(model, field, field.name, tuple(marked)).checks():
            yield replace(check, model=model.name)
    for clause in model.clauses:
        if (of_model := _model_check(model, clause)) is not None:
            yield replace(of_model, model=model.name, line=clause.place.line)
    for rule in model.quality:
        yield replace(quality.check(rule, model, None), model=model.name, line=rule.place.line)


def _model_check(model: Model, clause: Clause) -> Check | None:
    if clause.name == "primaryKey" and clause.value:
        return _key(model, clause.path, tuple(clause.value))
    if clause.name == "additionalFields":
        columns = tuple(field.name for field in model.fields)
        description = "the data has no columns other than those of the contract"
        return None if clause.value else Check(clause.path, "additional_fields", description, columns=columns)
    if clause.name == "references":
        return _foreign_key(model, clause)
    return None if clause.name in _MODEL_ANNOTATIONS else _extension(clause)


def _key(model: Model, path: str, columns: tuple[str, ...]) -> Check:
    return Check(
        path,
        "primary_key",
        f"({', '.join(columns)}) is never null and identifies one row",
        field=columns[0] if len(columns) == 1 else None,
        columns=columns,
        is_sensitive=any(map(model.is_sensitive, columns)),
    )


def _foreign_key(model: Model, clause: Clause) -> Check:
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


def _extension(clause: Clause) -> Check:
    reason = f"{clause.name} is not part of the specification"
    return Check(clause.path, "extension", f"{clause.name}: {clause.value}", outcome="informational", reason=reason)


@dataclass(frozen=True)
class _FieldChecks:
    """The checks of one field. ``path`` is its name, after those of its parents: ``address.city``.

    ``marked`` are the fields of the model that are marked as primary keys. Several of them are one compound key.
    """

    model: Model
    field: Field
    path: str
    marked: tuple[Field, ...] = ()
    is_in_sensitive: bool = False
    """Whether a field around this one is sensitive."""

    def checks(self) -> Iterator[Check]:
        """Yield the checks of the field and of the fields inside it, in the order of the file."""
        is_computed = self.field.value("semanticType") == "measure"
        for check in self._checks():
            reason = "a measure is computed, not stored"
            yield replace(check, outcome="informational", reason=reason) if is_computed else check

    def _checks(self) -> Iterator[Check]:
        yield self._check(self.field.path, self.field.place.line, "field_present", f"column {self.path} exists")
        for clause in self.field.clauses:
            if (check := self._of(clause)) is not None:
                yield check
        for rule in self.field.quality:
            yield replace(quality.check(rule, self.model, self.path), line=rule.place.line)
        yield from self._inner()

    def _of(self, clause: Clause) -> Check | None:
        if clause.name == "primaryKey" and clause.value:
            return self._primary_key(clause)
        if clause.name in _SWITCHES and clause.value:
            kind = _SWITCHES[clause.name]
            check = self._clause(clause, kind.name, kind.description.format(field=self.path))
            return replace(check, columns=(self.path,)) if kind.name == "unique" else check
        if clause.name == "config" and isinstance(clause.value, dict):
            return self._physical_type(clause)
        if clause.name == "$ref":
            check = self._clause(clause, "ref", f"{self.path}: $ref {clause.value}")
            return replace(check, outcome="unsupported", reason="the reference points outside the document")
        if clause.name in _KINDS:
            return self._limit(clause, _KINDS[clause.name])
        if clause.name in _NOT_TESTED:
            outcome, reason = _NOT_TESTED[clause.name]
            check = self._clause(
                clause, "not_tested", f"{self.path}: {clause.path.rpartition('/')[2]} {_shown(clause.value)}"
            )
            return replace(check, outcome=outcome, reason=reason)
        if clause.name in _ANNOTATIONS:
            return None
        return replace(_extension(clause), field=self.path, line=clause.place.line)

    def _limit(self, clause: Clause, kind: _Kind) -> Check:
        description = kind.description.format(field=self.path, value=_shown(clause.value))
        arguments = {kind.argument: _argument(clause)}
        if clause.name in _LIMITS and isinstance(clause.value, str):
            kind = replace(kind, types=TIME_TYPES)
        if self.field.type is not None and kind.argument != "type":
            arguments["type"] = self.field.type
        check = replace(self._clause(clause, kind.name, description), arguments=arguments)
        if kind.types is not None and self.field.type is not None and self.field.type not in kind.types:
            reason = f"{clause.name} does not apply to the type {self.field.type}"
            return replace(check, outcome="unsupported", reason=reason)
        if clause.name == "references":
            return _reference(check, clause)
        return _translated(check) if clause.name == "pattern" else check

    def _primary_key(self, clause: Clause) -> Check:
        columns = tuple(field.name for field in self.marked) if self.field in self.marked else (self.path,)
        return replace(_key(self.model, clause.path, columns), field=self.path, line=clause.place.line)

    def _physical_type(self, clause: Clause) -> Check | None:
        if not (kind := clause.value.get("databricksType")):
            return None
        check = self._clause(clause, "physical_type", f"{self.path} is stored as {kind}")
        return replace(check, path=f"{clause.path}/databricksType", arguments={"type": str(kind)})

    def _inner(self) -> Iterator[Check]:
        for end, child in self.field.children:
            hides = self.is_in_sensitive or self.field.is_marked_sensitive
            checks = _FieldChecks(self.model, child, f"{self.path}{end}", is_in_sensitive=hides).checks()
            key = "fields" if end.startswith(".") else child.name
            if self.field.type is None or self.field.type in _INNER[key]:
                yield from checks
            else:
                reason = f"a field of type {self.field.type} has no {key}"
                yield from (replace(check, outcome="unsupported", reason=reason) for check in checks)

    def _clause(self, clause: Clause, kind: str, description: str) -> Check:
        return self._check(clause.path, clause.place.line, kind, description)

    def _check(self, path: str, line: int, kind: str, description: str) -> Check:
        return Check(
            path, kind, description, self.path, line=line, is_sensitive=self.is_in_sensitive or self.field.is_sensitive
        )


def _argument(clause: Clause) -> Any:
    """Return the value of a clause as an argument of its check."""
    if clause.name == "enum":
        return _texts(clause.value)
    return _INTEGER_FORMATS[clause.value] if clause.name == "integerFormat" else clause.value


def _reference(check: Check, clause: Clause) -> Check:
    if isinstance(clause.value, dict):
        return replace(check, description="foreign key", outcome="error", reason=clause.value["problem"])
    return _elsewhere(check, [clause.value])


def _translated(check: Check) -> Check:
    """Return the check of a pattern with the pattern in the dialect of the engine that matches it."""
    arguments, problem = ecma_patterns.arguments(str(check.arguments["pattern"]))
    if problem:
        return replace(check, outcome="error", reason=problem)
    return replace(check, arguments={**check.arguments, **arguments})


def _texts(values: Iterable[Any]) -> list[str]:
    """Return scalars as YAML writes them: enums are lists of texts, and other types are compared after a cast."""
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]


def _shown(value: Any, most: int = 8) -> str:
    if not isinstance(value, list):
        return str(value)
    texts = _texts(value)
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")
