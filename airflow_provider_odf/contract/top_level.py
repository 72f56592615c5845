"""Compile the deprecated ``quality`` of the whole contract: SodaCL and expectations, by model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import yaml

from airflow_provider_odf.contract import expectations, quality, soda
from airflow_provider_odf.contract.metric import Metric, Rule
from airflow_provider_odf.contract.model import DataContract, Model, pointer
from airflow_provider_odf.contract.thresholds import RuleError
from airflow_provider_odf.protocol import Check


def checks(contract: DataContract, tested: Collection[str]) -> Iterator[Check]:
    """Yield the checks of the quality of a contract; ``tested`` are the tested models."""
    for clause in contract.quality:
        value = clause.value if isinstance(clause.value, dict) else {}
        kind = re.sub(r"[^a-z]", "", str(value.get("type", "")).lower())
        check = Check(clause.path, "quality", str(value.get("type") or "quality"), line=clause.place.line)
        if kind not in _ENGINES:
            yield _unknown(check, value)
            continue
        try:
            parts = _parsed(value.get("specification"))
        except RuleError as e:
            yield replace(check, outcome="error", reason=str(e))
            continue
        for key, entries in parts.items():
            yield from _of_part(check, kind, contract, tested, key, entries)


def _unknown(check: Check, value: Mapping[str, Any]) -> Check:
    if not value.get("type") or value["type"] == "text":
        reason = "a text rule is documentation and cannot be tested"
        return replace(check, outcome="informational", reason=reason)
    return replace(check, outcome="unsupported", reason=f"`quality` of type {value['type']} is not supported")


def _parsed(value: object) -> Mapping[str, Any]:
    """Return a specification, which may be YAML or JSON in a text."""
    if isinstance(value, str):
        try:
            value = yaml.safe_load(value)
        except yaml.YAMLError as e:
            raise RuleError(f"the specification is not YAML: {' '.join(str(e).split())}") from e
    if not isinstance(value, dict) or not value:
        raise RuleError("`quality.specification` must be a mapping from models to their rules")
    return value


def _of_part(
    whole: Check, kind: str, contract: DataContract, tested: Collection[str], key: str, entries: object
) -> Iterator[Check]:
    """Yield the checks of the entries for one model."""
    path = f"{whole.path}{pointer('specification', key)}"
    part = replace(whole, path=path, description=str(key))
    name = re.sub(r"^checks for\s+", "", str(key)).strip()
    model = next((m for m in contract.models if m.name.lower() == name.lower()), None)
    if model is None:
        known = str(key).startswith("checks for") or kind != "sodacl"
        reason = f"the contract has no model {name}" if known else f"{key} is not supported"
        yield replace(part, outcome="error" if known else "unsupported", reason=reason)
        return
    if model.name not in tested:
        yield replace(part, outcome="informational", reason=f"it applies to model {model.name}")
        return
    try:
        rules = _list(entries)
    except RuleError as e:
        yield replace(part, outcome="error", reason=str(e), model=model.name)
        return
    for index, entry in enumerate(rules):
        check = replace(part, path=f"{path}/{index}", model=model.name, kind=_ENGINES[kind][0])
        yield _compiled(check, kind, model, entry)


def _list(entries: object) -> list[Any]:
    if isinstance(entries, str):
        try:
            entries = json.loads(entries)
        except ValueError as e:
            raise RuleError(f"the rules are not JSON: {e}") from e
    if not isinstance(entries, list):
        raise RuleError("the rules must be a list")
    return entries


def _compiled(check: Check, kind: str, model: Model, entry: object) -> Check:
    text = entry
    if isinstance(entry, dict):
        text = next(iter(entry), "") if kind == "sodacl" else entry.get("expectation_type", entry.get("type"))
    described = replace(check, description=f"{model.name}: {text}")
    compiler = _ENGINES[kind][1]
    return quality.compiled(described, lambda rule: compiler(entry, rule), Rule({}, model))


def _expectation(entry: object, rule: Rule) -> Metric:
    if not isinstance(entry, dict):
        raise RuleError(f"{entry!r} is not an expectation")
    return expectations.of_expectation(entry, rule)


_ENGINES: Mapping[str, tuple[str, Callable[[object, Rule], Metric]]] = {
    "sodacl": ("quality_soda", soda.compile_check),
    "greatexpectations": ("quality_great_expectations", _expectation),
}
"""Type of a quality, in lower case without other characters -> the kind of its checks, and their compiler."""
