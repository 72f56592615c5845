"""Compile the clauses of a field, and of the fields inside it, to checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_odf import time_limits
from airflow_provider_odf.contract import ecma_patterns, quality
from airflow_provider_odf.contract.clauses import (
    ANNOTATIONS,
    FORMATS,
    INNER,
    INTEGER_FORMATS,
    KINDS,
    LIMITS,
    NOT_TESTED,
    SWITCHES,
    Kind,
)
from airflow_provider_odf.contract.keys import key, reference
from airflow_provider_odf.contract.model import TIME_TYPES, Clause, Field, Model
from airflow_provider_odf.protocol import Check


@dataclass(frozen=True)
class FieldChecks:
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
        if clause.name in SWITCHES and clause.value:
            kind = SWITCHES[clause.name]
            check = self._clause(clause, kind.name, kind.description.format(field=self.path))
            return replace(check, columns=(self.path,)) if kind.name == "unique" else check
        if clause.name == "config" and isinstance(clause.value, dict):
            return self._physical_type(clause)
        if clause.name == "$ref":
            check = self._clause(clause, "ref", f"{self.path}: $ref {clause.value}")
            return replace(check, outcome="unsupported", reason="the reference points outside the document")
        if clause.name in KINDS:
            return self._limit(clause, KINDS[clause.name])
        if clause.name in NOT_TESTED:
            outcome, reason = NOT_TESTED[clause.name]
            check = self._clause(
                clause, "not_tested", f"{self.path}: {clause.path.rpartition('/')[2]} {_shown(clause.value)}"
            )
            return replace(check, outcome=outcome, reason=reason)
        if clause.name in ANNOTATIONS:
            return None
        return replace(extension(clause), field=self.path, line=clause.place.line)

    def _limit(self, clause: Clause, kind: Kind) -> Check:
        description = kind.description.format(field=self.path, value=_shown(clause.value))
        arguments = {kind.argument: _argument(clause)}
        if clause.name in LIMITS and isinstance(clause.value, str):
            kind = replace(kind, types=TIME_TYPES)
        if self.field.type is not None and kind.argument != "type":
            arguments["type"] = self.field.type
        check = replace(self._clause(clause, kind.name, description), arguments=arguments)
        if kind.types is not None and self.field.type is not None and self.field.type not in kind.types:
            reason = f"{clause.name} does not apply to the type {self.field.type}"
            return replace(check, outcome="unsupported", reason=reason)
        if clause.name == "format" and clause.value not in FORMATS:
            reason = f"unknown format {clause.value}: use one of {', '.join(FORMATS)}"
            return replace(check, outcome="unsupported", reason=reason)
        if clause.name == "references":
            return reference(check, clause)
        if clause.name in LIMITS and isinstance(clause.value, str) and self.field.type is not None:
            reason = time_limits.problem(clause.value, is_time=self.field.type == "time")
            return replace(check, outcome="error", reason=reason) if reason else check
        return _translated(check) if clause.name == "pattern" else check

    def _primary_key(self, clause: Clause) -> Check:
        columns = tuple(field.name for field in self.marked) if self.field in self.marked else (self.path,)
        return replace(key(self.model, clause.path, columns), field=self.path, line=clause.place.line)

    def _physical_type(self, clause: Clause) -> Check | None:
        if not (kind := clause.value.get("databricksType")):
            return None
        check = self._clause(clause, "physical_type", f"{self.path} is stored as {kind}")
        return replace(check, path=f"{clause.path}/databricksType", arguments={"type": str(kind)})

    def _inner(self) -> Iterator[Check]:
        for end, child in self.field.children:
            hides = self.is_in_sensitive or self.field.is_marked_sensitive
            checks = FieldChecks(self.model, child, f"{self.path}{end}", is_in_sensitive=hides).checks()
            key = "fields" if end.startswith(".") else child.name
            if self.field.type is None or self.field.type in INNER[key]:
                yield from checks
            else:
                reason = f"a field of type {self.field.type} has no {key}"
                yield from (replace(check, outcome="unsupported", reason=reason) for check in checks)

    def _clause(self, clause: Clause, kind: str, description: str) -> Check:
        return self._check(clause.path, clause.place.line, kind, description)

    def _check(self, path: str, line: int, kind: str, description: str) -> Check:
        # A report shows the whole column for values inside an array or a map.
        is_shown_whole = "[]" in self.path or "{" in self.path
        hides = (
            self.is_in_sensitive or self.field.is_sensitive or (is_shown_whole and self.model.is_sensitive(self.path))
        )
        return Check(path, kind, description, self.path, line=line, is_sensitive=hides)


def _argument(clause: Clause) -> Any:
    """Return the value of a clause as an argument of its check."""
    if clause.name == "enum":
        return _texts(clause.value)
    return INTEGER_FORMATS[clause.value] if clause.name == "integerFormat" else clause.value


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


def extension(clause: Clause) -> Check:
    """Return the check of a clause that the specification does not have."""
    reason = f"{clause.name} is not part of the specification"
    return Check(clause.path, "extension", f"{clause.name}: {clause.value}", outcome="informational", reason=reason)
