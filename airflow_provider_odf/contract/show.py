"""A contract as people read it: all of its sections, with the clauses that nobody enforces."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.load import ContractFile
from airflow_provider_odf.contract.model import Field, pointer
from airflow_provider_odf.contract.report import clause
from airflow_provider_odf.manifest.yaml_source import dump_yaml
from airflow_provider_odf.wording import counted


def document(file: ContractFile) -> dict[str, Any]:
    """Return the contract with its references resolved, and its clauses, as a JSON document."""
    contract = file.contract
    return {
        "contract": contract.id,
        "title": contract.title,
        "version": contract.version,
        "status": contract.status or None,
        "specification": contract.specification,
        "document": _resolved(file),
        "clauses": [
            clause(check) | {"enforced": not check.outcome, "outcome": check.outcome or None, "reason": check.reason}
            for check in compile_models(file).checks
        ],
    }


def lines(file: ContractFile) -> Iterator[str]:
    """Yield the contract as YAML with its references resolved. Comments mark the clauses that are not enforced."""
    contract, checks = file.contract, compile_models(file).checks
    notes = {check.path: f"  # not enforced: {check.reason}" for check in checks if check.outcome}
    status = f", {contract.status}" if contract.status else ""
    yield f"{contract.title} {contract.version}{status}"
    yield f"{contract.id}, {contract.specification}"
    yield f"{counted(len(checks), 'clause')}, of which {len(notes)} are not enforced"
    yield ""
    yield from _tree(_resolved(file), "", "", notes)


def _resolved(file: ContractFile) -> dict[str, Any]:
    """Return the document, in which fields have what they inherit from definitions."""
    value: dict[str, Any] = copy.deepcopy(file.document.value)
    for model in file.contract.models:
        for field in model.fields:
            _add(value, field)
    return value


def _add(root: dict[str, Any], field: Field) -> None:
    for own in field.clauses:
        _set(root, own.path, own.value)
    for rule in field.quality:
        _set(root, rule.path.rpartition("/")[0], [quality.value for quality in field.quality])
    for _, child in field.children:
        _set(root, child.path, {})
        _add(root, child)


def _set(root: Any, path: str, value: Any) -> None:
    """Set the value at a JSON pointer, unless there is one."""
    *steps, last = (step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:])
    for step in steps:
        root = root[int(step)] if isinstance(root, list) else root.setdefault(step, {})
    if isinstance(root, dict):
        root.setdefault(last, value)


def _tree(value: Any, path: str, indent: str, notes: Mapping[str, str]) -> Iterator[str]:
    """Yield a mapping or a list as block YAML; ``notes`` are comments by JSON pointer."""
    is_list = isinstance(value, list)
    for key, inner in enumerate(value) if is_list else value.items():
        place = path + pointer(key)
        note = notes.get(place, "")
        if isinstance(inner, dict | list) and inner:
            below = [*_tree(inner, place, indent + "  ", notes)]
            if is_list and not note:
                yield f"{indent}- {below[0].lstrip()}"
                yield from below[1:]
                continue
            yield (f"{indent}-" if is_list else f"{indent}{dump_yaml(key).partition(chr(10))[0]}:") + note
            yield from below
        else:
            first, *rest = dump_yaml([inner] if is_list else {key: inner}).rstrip("\n").split("\n")
            yield indent + first + note
            yield from (indent + line if line else "" for line in rest)
