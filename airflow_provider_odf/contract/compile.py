"""Compile models of a contract to checks for the engine: one check for each clause.

A clause that the engine cannot test, or that does not apply to its type, becomes an ``unsupported`` check, one with
nothing to test an ``informational`` check, and one that is not valid an ``error``. Titles, descriptions, tags,
examples, lineage, servers and terms are not clauses, nor is a boolean clause that is false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_odf import time_limits
from airflow_provider_odf.clauses import KINDS, LIMITS, NOT_TESTED, OF_FIELDS, STRUCT_TYPES, TIME_TYPES, Kind
from airflow_provider_odf.contract import ecma_patterns, quality, service_levels
from airflow_provider_odf.contract.load import ContractFile
from airflow_provider_odf.contract.model import Clause, DataContract, Field, Model
from airflow_provider_odf.engine.contract.formats import FORMATS
from airflow_provider_odf.protocol import SERVICE_LEVEL, Check, Contract

_INTEGER_FORMATS = {
    **{f"i{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64, 128)},
    **{f"u{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64, 128)},
}

_ANNOTATIONS = frozenset({
    "title", "description", "example", "examples", "pii", "classification", "tags", "links", "lineage", "config",
    "$ref_obj", "domain", "name", "primaryKey", "primaryKeyPosition", "semanticType",
    *(kind.key for kind in OF_FIELDS.values() if kind.is_switch),
})  # fmt: skip
"""Clauses of a field with nothing to test, and those that are compiled by functions of their own."""

_MODEL_ANNOTATIONS = frozenset(
    {"type", "title", "description", "examples", "tags", "config", "primaryKey", "physicalName"}
)
"""The same for clauses of a model."""

_INNER = {"fields": STRUCT_TYPES, "items": {"array"}, "keys": {"map"}, "values": {"map"}}
"""Key with nested fields -> types that have them."""


def _key(model: Model, path: str, columns: tuple[str, ...]) -> Check:
    """Return the check of a primary key."""
    return Check(
        path,
        "primary_key",
        KINDS["primary_key"].text.format(columns=", ".join(columns)),
        field=columns[0] if len(columns) == 1 else None,
        columns=columns,
        is_sensitive=any(map(model.is_sensitive, columns)),
    )


def _foreign_key(model: Model, clause: Clause) -> Check:
    """Return the check of a foreign key of several columns."""
    check = Check(clause.path, "references", "foreign key")
    if "problem" in clause.value:
        return replace(check, outcome="error", reason=clause.value["problem"])
    columns, targets = tuple(clause.value["columns"]), clause.value["targets"]
    text, hides = f"({', '.join(columns)}) exists in ({', '.join(targets)})", any(map(model.is_sensitive, columns))
    check = replace(check, description=text, columns=columns, arguments={"targets": targets}, is_sensitive=hides)
    return _elsewhere(check, targets)


def _elsewhere(check: Check, targets: Iterable[str]) -> Check:
    """Return the check of a reference, which is unsupported if it leads to another contract."""
    if not any("#" in target for target in targets):
        return check
    return replace(check, outcome="unsupported", reason="the reference points to another contract")


def _reference(check: Check, clause: Clause) -> Check:
    """Return the check of a reference from one field, unless it is not valid or points to another contract."""
    if isinstance(clause.value, dict):
        return replace(check, description="foreign key", outcome="error", reason=clause.value["problem"])
    if "#" not in clause.value and not all(clause.value.partition(".")[::2]):
        reason = f"{clause.value!r} is no reference: write MODEL.FIELD, such as customers.id"
        return replace(check, outcome="error", reason=reason)
    return _elsewhere(check, [clause.value])


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
        present = KINDS["field_present"]
        yield self._check(self.field.path, self.field.place.line, present.name, present.text.format(field=self.path))
        for clause in self.field.clauses:
            if (check := self._of(clause)) is not None:
                yield check
        for rule in self.field.quality:
            yield replace(quality.check(rule, self.model, self.path), line=rule.place.line)
        yield from self._inner()

    def _of(self, clause: Clause) -> Check | None:
        if clause.name == "primaryKey" and clause.value:
            columns = tuple(field.name for field in self.marked) if self.field in self.marked else (self.path,)
            return replace(_key(self.model, clause.path, columns), field=self.path, line=clause.place.line)
        if (kind := OF_FIELDS.get(clause.name)) is not None and kind.is_switch and clause.value:
            check = self._clause(clause, kind.name)
            return replace(check, columns=(self.path,)) if kind.name == "unique" else check
        if clause.name == "config" and isinstance(clause.value, dict):
            stored = replace(clause, value=clause.value.get("databricksType"), path=f"{clause.path}/databricksType")
            check = self._clause(stored, "physical_type")
            return replace(check, arguments={"type": str(stored.value)}) if stored.value else None
        if clause.name == "$ref":
            check = self._clause(clause, "ref", f"{self.path}: $ref {clause.value}")
            return replace(check, outcome="unsupported", reason="the reference points outside the document")
        if kind is not None and not kind.is_switch:
            return self._limit(clause, kind)
        if clause.name in NOT_TESTED:
            outcome, reason = NOT_TESTED[clause.name]
            check = self._clause(
                clause, "not_tested", f"{self.path}: {clause.path.rpartition('/')[2]} {_shown(clause.value)}"
            )
            return replace(check, outcome=outcome, reason=reason)
        if clause.name in _ANNOTATIONS:
            return None
        return replace(_extension(clause), field=self.path)

    def _limit(self, clause: Clause, kind: Kind) -> Check:
        value = _INTEGER_FORMATS[clause.value] if clause.name == "integerFormat" else clause.value
        arguments = {kind.argument: _texts(value) if clause.name == "enum" else value}
        if clause.name in LIMITS and isinstance(clause.value, str):
            kind = replace(kind, types=TIME_TYPES)
        if self.field.type is not None and kind.argument != "type":
            arguments["type"] = self.field.type
        check = replace(self._clause(clause, kind.name), arguments=arguments)
        if kind.types is not None and self.field.type is not None and self.field.type not in kind.types:
            reason = f"{clause.name} does not apply to the type {self.field.type}"
            return replace(check, outcome="unsupported", reason=reason)
        if clause.name == "format" and clause.value not in FORMATS:
            reason = f"unknown format {clause.value}: use one of {', '.join(FORMATS)}"
            return replace(check, outcome="unsupported", reason=reason)
        if clause.name == "references":
            return _reference(check, clause)
        if clause.name in LIMITS and isinstance(clause.value, str) and self.field.type is not None:
            reason = time_limits.problem(clause.value, is_time=self.field.type == "time")
            return replace(check, outcome="error", reason=reason) if reason else check
        if clause.name == "pattern":  # in the dialect of the engine that matches it, too
            patterns, problem = ecma_patterns.arguments(str(clause.value))
            check = replace(check, arguments={**check.arguments, **patterns})
            return replace(check, outcome="error", reason=problem) if problem else check
        return check

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

    def _clause(self, clause: Clause, kind: str, text: str = "") -> Check:
        """Return the check of a clause, which ``text`` describes, by default that of its kind."""
        description = text or KINDS[kind].text.format(field=self.path, value=_shown(clause.value))
        return self._check(clause.path, clause.place.line, kind, description)

    def _check(self, path: str, line: int, kind: str, text: str) -> Check:
        # A report shows the whole column for values inside an array or a map.
        is_shown_whole = "[]" in self.path or "{" in self.path
        hides = (
            self.is_in_sensitive or self.field.is_sensitive or (is_shown_whole and self.model.is_sensitive(self.path))
        )
        return Check(path, kind, text, self.path, line=line, is_sensitive=hides)


def _texts(values: Iterable[Any]) -> list[str]:
    """Return scalars as YAML writes them: enums are lists of texts, and other types are compared after a cast."""
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]


def _shown(value: Any, limit: int = 8) -> str:
    if not isinstance(value, list):
        return str(value)
    texts = _texts(value)
    return ", ".join(texts[:limit]) + (f" and {len(texts) - limit} more" if len(texts) > limit else "")


def _extension(clause: Clause) -> Check:
    """Return the check of a clause that the specification does not have."""
    reason = f"{clause.name} is not part of the specification"
    text, line = f"{clause.name}: {clause.value}", clause.place.line
    return Check(clause.path, "extension", text, line=line, outcome="informational", reason=reason)


_TYPED = frozenset(kind.name for kind in OF_FIELDS.values() if not kind.is_switch)
"""Kinds of checks that depend on the type of their field, which is an argument of them."""


def _with_errors(checks: Iterable[Check], contract: DataContract) -> Iterator[Check]:
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
    yield from (_invalid(clause, contract) for clause in contract.invalid if clause.path not in paths)


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


def _invalid(clause: Clause, contract: DataContract) -> Check:
    model = next((m.name for m in contract.models if f"{clause.path}/".startswith(f"{m.path}/")), "")
    kind = f"{SERVICE_LEVEL}invalid" if re.match("/(servicelevels|slaProperties)", clause.path) else "invalid"
    description = f"{clause.name} can be read"
    check = Check(clause.path, kind, description, outcome="error", reason=str(clause.value))
    return replace(check, model=model, line=clause.place.line)


def compile_model(file: ContractFile, model: str) -> Contract:
    """Return the contract of a dataset, with the checks of its model, in the order of the file.

    Service levels have severity warning: they judge the dataset over time, and refusing new data would break them more.
    """
    contract = compile_models(file, [model])
    checks = (replace(c, severity="warning") if service_levels.is_one(c) else c for c in contract.checks)
    return replace(contract, model=model, checks=tuple(checks))


def compile_models(file: ContractFile, models: Iterable[str] | None = None) -> Contract:
    """Return the contract with the checks of some models, by default of all, in the order of the file."""
    contract = file.contract
    names = {m.name for m in contract.models} if models is None else {*models}
    others = tuple(f"{m.path}/" for m in contract.models if m.name not in names)
    checks = [check for m in contract.models if m.name in names for check in _model_checks(m)]
    checks += map(_extension, contract.unknown)
    checks += (*quality.of_contract(contract, names), *service_levels.checks(contract, names))
    for clause in contract.clauses:
        reason, line = f"{clause.name} of the whole contract is not supported yet", clause.place.line
        checks.append(Check(clause.path, clause.name, clause.name, outcome="unsupported", reason=reason, line=line))
    by_path: dict[str, Check] = {}  # an unknown key of a field is a clause of the field already
    for check in _with_errors(checks, contract):
        if not f"{check.path}/".startswith(others):
            by_path.setdefault(check.path, check)
    return Contract(
        id=contract.id,
        model="",
        digest=file.digest,
        checks=tuple(by_path.values()),
        version=contract.version,
        title=contract.title,
        specification=contract.specification,
    )


def _model_checks(model: Model) -> Iterator[Check]:
    hides, text = any(field.is_sensitive for field in model.fields), KINDS["model_present"].text
    present = Check(model.path, "model_present", text.format(model=model.name), model=model.name, is_sensitive=hides)
    yield replace(present, line=model.place.line)
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
        text = KINDS["additional_fields"].text
        return None if clause.value else Check(clause.path, "additional_fields", text, columns=columns)
    if clause.name == "references":
        return _foreign_key(model, clause)
    return None if clause.name in _MODEL_ANNOTATIONS else _extension(clause)
