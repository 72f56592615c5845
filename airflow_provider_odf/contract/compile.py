"""Compile models of a contract to checks for the engine: one check for each clause.

A clause that the engine cannot test, or that does not apply to its type, becomes an ``unsupported`` check, one with
nothing to test an ``informational`` check, and one that is not valid an ``error``. Titles, descriptions, tags,
examples, lineage, servers and terms are not clauses, nor is a boolean clause that is false.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from airflow_provider_odf.contract import invalid, quality, service_levels, top_level
from airflow_provider_odf.contract.clauses import MODEL_ANNOTATIONS
from airflow_provider_odf.contract.fields import FieldChecks, extension
from airflow_provider_odf.contract.keys import foreign_key, key
from airflow_provider_odf.contract.load import ContractFile
from airflow_provider_odf.contract.model import Clause, DataContract, Model
from airflow_provider_odf.protocol import Check, Contract


def compile_model(file: ContractFile, model: str) -> Contract:
    """Return the contract of a dataset, with the checks of its model, in the order of the file.

    Service levels have severity warning: they judge the dataset over time, and refusing new data would break them more.
    """
    contract = compile_models(file, [model])
    checks = (replace(c, severity="warning") if service_levels.is_one(c) else c for c in contract.checks)
    return replace(contract, model=model, checks=tuple(checks))


def compile_models(file: ContractFile, models: Iterable[str]) -> Contract:
    """Return the contract with the checks of some models, in the order of the file."""
    contract = file.contract
    names = set(models)
    checks = [check for m in contract.models if m.name in names for check in _model_checks(m)]
    checks += map(_unknown, contract.unknown)
    checks += (*top_level.checks(contract, names), *service_levels.checks(contract, names), *_contract_checks(contract))
    return Contract(
        id=contract.id,
        model="",
        digest=file.digest,
        checks=_one_each(c for c in invalid.with_errors(checks, contract) if _is_about(contract, c.path, names)),
        version=contract.version,
        title=contract.title,
        specification=contract.specification,
    )


def _one_each(checks: Iterable[Check]) -> tuple[Check, ...]:
    """Return the first check of each clause: an unknown key of a field is a clause of the field already."""
    by_path: dict[str, Check] = {}
    for check in checks:
        by_path.setdefault(check.path, check)
    return tuple(by_path.values())


def _unknown(clause: Clause) -> Check:
    return replace(extension(clause), line=clause.place.line)


def _is_about(contract: DataContract, path: str, names: set[str]) -> bool:
    """Whether a clause concerns a test of models: it is not in another model."""
    others = [m.path for m in contract.models if m.name not in names]
    return not any(f"{path}/".startswith(f"{other}/") for other in others)


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
        for check in FieldChecks(model, field, field.name, tuple(marked)).checks():
            yield replace(check, model=model.name)
    for clause in model.clauses:
        if (of_model := _model_check(model, clause)) is not None:
            yield replace(of_model, model=model.name, line=clause.place.line)
    for rule in model.quality:
        yield replace(quality.check(rule, model, None), model=model.name, line=rule.place.line)


def _model_check(model: Model, clause: Clause) -> Check | None:
    if clause.name == "primaryKey" and clause.value:
        return key(model, clause.path, tuple(clause.value))
    if clause.name == "additionalFields":
        columns = tuple(field.name for field in model.fields)
        description = "the data has no columns other than those of the contract"
        return None if clause.value else Check(clause.path, "additional_fields", description, columns=columns)
    if clause.name == "references":
        return foreign_key(model, clause)
    return None if clause.name in MODEL_ANNOTATIONS else extension(clause)
