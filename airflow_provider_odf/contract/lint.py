"""Check contracts without data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from airflow_provider_odf.contract import examples, json_schema
from airflow_provider_odf.contract.columns import invalid_clauses
from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import ContractFile, document_of, is_standard, parse
from airflow_provider_odf.contract.thresholds import Number
from airflow_provider_odf.errors import ManifestInvalid, Problem
from airflow_provider_odf.manifest import yaml_source
from airflow_provider_odf.protocol import Check
from airflow_provider_odf.wording import suggestion

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
        checks = compile_models(file, [model.name for model in file.contract.models]).checks
        errors += [*invalid_clauses(file, checks), *_keys(file), *_ranges(file), *examples.of_fields(file, checks)]
        warnings += _warnings(file, checks)
    places = {problem.place for problem in errors}
    errors += [p for p in json_schema.problems(document, is_standard(document)) if p.place not in places]
    return sorted(_without_repetitions(errors)), sorted(set(warnings))


def warnings_of(file: ContractFile) -> list[Problem]:
    """Return the warnings of a contract, in the order of their places."""
    checks = compile_models(file, [model.name for model in file.contract.models]).checks
    return sorted({*_warnings(file, checks)})


def _warnings(file: ContractFile, checks: Sequence[Check]) -> Iterator[Problem]:
    yield from file.unknown
    yield from _status(file)
    yield from _inapplicable(file, checks)
    yield from examples.of_models(file, checks)


def _without_repetitions(problems: Iterable[Problem]) -> Iterable[Problem]:
    """Return each problem once, with its fix if one of its repetitions has a fix."""
    return {(p.place, p.message): p for p in sorted(problems, key=lambda problem: bool(problem.fix))}.values()


def _inapplicable(file: ContractFile, checks: Iterable[Check]) -> Iterator[Problem]:
    for check in checks:
        if check.outcome == "unsupported":
            yield Problem(file.place_of(check.path), f"not enforced: {check.reason}")


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
            least, most = field.clause(low), field.clause(high)
            if (
                least
                and most
                and isinstance(least.value, Number)
                and isinstance(most.value, Number)
                and least.value > most.value
            ):
                message = f"{low} {least.value} is greater than {high} {most.value}: no value can satisfy both"
                yield Problem(least.place, message, "correct one of them")


def _status(file: ContractFile) -> Iterator[Problem]:
    if file.contract.status.lower() in _ENDED:
        path = ("status",) if is_standard(file.document) else ("info", "status")
        yield Problem(file.place(*path), f"the contract is {file.contract.status}")
