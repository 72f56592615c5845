"""Check contracts without data: alone, and against the columns in a manifest.

A field without a column, or with a type that its column cannot have, fails every test. A column with a wider type than
its field may pass, value by value (`engine.contract.texts`), and is not a problem here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from airflow_provider_odf.clauses import Number
from airflow_provider_odf.contract import examples, problems
from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import ContractFile, document_of, is_standard, parse
from airflow_provider_odf.contract.model import Clause
from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.evolution.columns import of_manifest
from airflow_provider_odf.manifest import ddl, yaml_source
from airflow_provider_odf.manifest import model as manifest_model
from airflow_provider_odf.manifest.manifest import Manifest
from airflow_provider_odf.protocol import Check, Contract
from airflow_provider_odf.wording import suggestion

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
COLUMN_TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("string", "text", "varchar"), ("STRING",)),
    **dict.fromkeys(("number", "decimal", "numeric"), (*_INTEGERS, *_FLOATS, "DECIMAL")),
    **dict.fromkeys(("int", "integer", "long", "bigint"), _INTEGERS),
    **dict.fromkeys(("float", "double"), _FLOATS),
    **dict.fromkeys(("timestamp", "timestamp_tz"), ("TIMESTAMP",)),
    "timestamp_ntz": (),
    **dict.fromkeys(("object", "record", "struct"), ("STRUCT",)),
    "boolean": ("BOOLEAN",),
    "date": ("DATE",),
    "time": ("TIME",),
    "bytes": ("BINARY",),
    "array": ("ARRAY",),
    "map": ("MAP",),
    "variant": ("VARIANT",),
}
"""Type of a field -> types of columns that can hold it.

Datasets store times in UTC, also those of TIMESTAMP_NTZ columns.
"""

_TYPES = frozenset(kind for kinds in COLUMN_TYPES.values() for kind in kinds)


def manifest_problems(manifest: Manifest, file: ContractFile, contract: Contract) -> Iterator[Problem]:
    """Yield the problems of a contract, which is compiled for the dataset of a manifest, with the manifest's columns.

    There are none where only the data define the columns.
    """
    if (given := of_manifest(manifest.snapshot)) is None:
        return
    vocab = ddl.vocabulary(manifest.snapshot.last(manifest_model.SetVocab))
    system = dict(zip(vocab.columns, ("BIGINT", "INT", "TIMESTAMP", "TIMESTAMP"), strict=True))
    yield from _Comparison(file, contract.model, given, system).problems()


def invalid_clauses(file: ContractFile, checks: Iterable[Check]) -> Iterator[Problem]:
    """Yield the clauses that no test can evaluate, such as an invalid pattern. Those that cannot be read are among the
    problems of the file."""
    unreadable = {clause.value for clause in file.contract.invalid}
    for check in checks:
        if check.outcome == "error" and check.reason not in unreadable:
            yield Problem(file.place_of(check.path), check.reason)


class _Comparison:
    def __init__(self, contract: ContractFile, name: str, given: Mapping[str, str], system: Mapping[str, str]) -> None:
        self._contract, self._model = contract, contract.contract.model(name)
        self._given = given
        self._types = {column.lower(): kind for column, kind in {**system, **given}.items()}
        self._system = {column.lower() for column in system}

    def problems(self) -> Iterator[Problem]:
        for field in self._model.fields:
            name = field.name
            if field.value("semanticType") == "measure":
                continue
            if (column := self._column(name)) is None:
                yield self._missing(name, field.place)
            elif column == name.lower() and (kind := field.clause("type")) is not None:
                yield from self._of_type(name, kind, self._types[column])
        key = self._model.clause("primaryKey")
        for index, name in enumerate(key.value if key else ()):
            if self._column(name) is None:
                yield self._missing(name, self._contract.place_of(key.path if key else "", index))
        yield from self._additional()

    def _column(self, field: str) -> str | None:
        """Return the column of a field, or the first column of a path such as ``address.city``."""
        names = (field.lower(), field.lower().partition(".")[0])
        return next((name for name in names if name in self._types), None)

    def _missing(self, name: str, place: Place) -> Problem:
        message = f"the manifest of the dataset declares no column {name}"
        return Problem(place, message, suggestion(name, [*self._given]))

    def _of_type(self, name: str, clause: Clause, given: str) -> Iterator[Problem]:
        expected = str(clause.value).lower()
        kind = re.sub(r"TIMESTAMP_\w+", "TIMESTAMP", given.upper()).partition("(")[0].partition("<")[0].strip()
        if kind in _TYPES and expected in COLUMN_TYPES and kind not in COLUMN_TYPES[expected]:
            message = f"{name} is of type {expected} in the contract, but {given} in the manifest"
            yield Problem(clause.place, message, "change one of them, or cast in preprocess")

    def _additional(self) -> Iterator[Problem]:
        fields = {field.name.lower() for field in self._model.fields} | self._system
        extra = [name for name in self._given if name.lower() not in fields]
        closed = self._model.clause("additionalFields")
        if closed is not None and closed.value is False and extra:
            message = f"the manifest declares columns that are not in the contract: {', '.join(extra)}"
            fix = "add fields for them to the contract, or allow additional columns there"
            yield Problem(closed.place, message, fix)


_ENDED = ("deprecated", "retired")


def lint(path: Path) -> tuple[list[Problem], list[Problem]]:
    """Return the errors and the warnings of the contract in a file, in the order of their places."""
    try:
        text = yaml_source.read_text(path)
        document = document_of(text, str(path))
    except ManifestInvalid as e:
        return [*e.problems], []
    errors, warnings = list[Problem](), list[Problem]()
    try:
        file = parse(text, str(path))
    except ManifestInvalid as e:
        errors += e.problems
    else:
        errors += file.problems
        checks = compile_models(file).checks
        errors += [*invalid_clauses(file, checks), *_keys(file), *_ranges(file), *examples.of_fields(file, checks)]
        warnings += _warnings(file, checks)
    places = {problem.place for problem in errors}
    errors += [p for p in problems.of_schema(document, is_standard(document)) if p.place not in places]
    # Each problem once, with its fix if one of its repetitions has a fix.
    once = {(p.place, p.message): p for p in sorted(errors, key=lambda problem: bool(problem.fix))}
    return sorted(once.values()), sorted(set(warnings))


def warnings_of(file: ContractFile) -> list[Problem]:
    """Return the warnings of a contract, in the order of their places."""
    return sorted({*_warnings(file, compile_models(file).checks)})


def _warnings(file: ContractFile, checks: Sequence[Check]) -> Iterator[Problem]:
    yield from file.unknown
    if file.contract.status.lower() in _ENDED:
        path = ("status",) if is_standard(file.document) else ("info", "status")
        yield Problem(file.place(*path), f"the contract is {file.contract.status}")
    for check in checks:
        if check.outcome == "unsupported":
            yield Problem(file.place_of(check.path), f"not enforced: {check.reason}")
    yield from examples.of_models(file, checks)


def _keys(file: ContractFile) -> Iterator[Problem]:
    for model in file.contract.models:
        key = model.clause("primaryKey")
        for index, name in enumerate(key.value if key else ()):
            if model.field(str(name).partition(".")[0]) is None:
                message = f"{model.name} has no field {name}"
                fix = suggestion(str(name), [field.name for field in model.fields])
                yield Problem(file.place_of(key.path if key else "", index), message, fix)


_RANGES = (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems"))


def _ranges(file: ContractFile) -> Iterator[Problem]:
    """Yield limits of a field that no value can be within."""
    fields = [field for model in file.contract.models for field in model.fields]
    while fields:
        field = fields.pop()
        fields += [child for _, child in field.children]
        for low, high in _RANGES:
            lower, upper = field.value(low), field.value(high)
            if isinstance(lower, Number) and isinstance(upper, Number) and lower > upper and (at := field.clause(low)):
                message = f"{low} {lower} is greater than {high} {upper}: no value can satisfy both"
                yield Problem(at.place, message, "correct one of them")
