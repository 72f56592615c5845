"""Compile quality rules to checks: those of models and fields, and the deprecated ``quality`` of the whole contract.

Rules are SQL, library metrics of the specifications (here), checks of Soda, or expectations of Great Expectations.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from airflow_provider_odf.contract import expectations, queries, soda
from airflow_provider_odf.contract.metric import Metric, Rule, from_yaml, matches, texts, values_in
from airflow_provider_odf.contract.model import Clause, DataContract, Model, pointer
from airflow_provider_odf.contract.thresholds import RuleError, of_rule, require
from airflow_provider_odf.protocol import Check

_METRICS = {
    "rowcount": "row_count",
    "nullvalues": "null_values",
    "missingvalues": "missing_values",
    "invalidvalues": "invalid_values",
    "duplicatevalues": "duplicate_values",
    # Names of the Open Data Contract Standard before 3.1.
    "nullcheck": "null_values",
    "nullcount": "null_values",
    "missingcount": "missing_values",
    "invalidcount": "invalid_values",
    "validvalues": "invalid_values",
    "duplicatecount": "duplicate_values",
    "duplicates": "duplicate_values",
    "uniquecheck": "duplicate_values",
    "countcheck": "row_count",
}
_COUNTS_NOTHING = frozenset({"nullcheck", "uniquecheck", "validvalues"})
"""Rules whose name says that there must be no such value."""


def _library(rule: Rule) -> Metric:
    """Return the metric of a rule.

    :raises RuleError: the rule is not valid.
    """
    value = rule.value
    name = str(value.get("metric") or value.get("rule") or "")
    key = name.lower().replace("_", "")
    if not name:
        raise RuleError("the rule has no metric")
    if (metric := _METRICS.get(key)) is None:
        return Metric(unsupported=f"there is no library metric {name}")
    limits = of_rule(value) or ({"must_be": 0} if key in _COUNTS_NOTHING else {})
    if not limits:
        raise RuleError("the rule has no threshold: add one, such as mustBe or mustBeLessThan")
    arguments: dict[str, Any] = {"thresholds": limits, "unit": _unit(value.get("unit"))}
    if metric == "row_count":
        return Metric(metric, arguments)
    if metric == "duplicate_values":
        return Metric(metric, arguments, columns=_columns(rule))
    if rule.field is None:
        raise RuleError(f"{name} applies to a single field: move the rule to that field")
    options = _options(value)
    if metric == "missing_values":
        arguments["missing"] = texts(options.get("missingValues") or [])
    if metric == "invalid_values":
        arguments["rules"] = _valid(options)
    return Metric(metric, arguments)


def _unit(value: object) -> str:
    unit = str(value or "rows").lower()
    if unit not in ("rows", "percent"):
        raise RuleError(f"unit {value!r} is neither rows nor percent")
    return unit


def _options(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of a rule. Authors also write them beside the metric."""
    inner = value.get("arguments")
    return {**value, **inner} if isinstance(inner, dict) else value


def _columns(rule: Rule) -> tuple[str, ...]:
    options = _options(rule.value)
    if names := options.get("properties") or options.get("fields") or options.get("columns"):
        return tuple(texts(names))
    if rule.field is None:
        raise RuleError(
            "duplicateValues on a model needs arguments.properties: list the names of the fields to compare"
        )
    return (rule.field,)


def _valid(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rules that valid values follow."""
    rules = [values_in(options["validValues"])] if options.get("validValues") is not None else []
    rules += [matches(options["pattern"])] if options.get("pattern") is not None else []
    if not rules:
        raise RuleError("invalidValues needs validValues or a pattern as arguments")
    return rules


_MOST_NAMED = 10
"""Valid values that a description names."""

_DOCUMENTATION = "a text rule is documentation and cannot be tested"
_WARNINGS = frozenset({"warning", "warn", "info", "information", "low"})
"""Severities that do not block. All others are ``error``."""

_Compiler: TypeAlias = Callable[[Rule], Metric]


def check(clause: Clause, model: Model, field: str | None) -> Check:
    """Return the check of one quality rule of a model or a field. ``field`` is the path of the field."""
    value = clause.value
    kind = _kind(value)
    rule = Rule(value, model, field)
    text = " ".join(str(value.get("description") or value.get("name") or _query(rule) or _subject(rule)).split())
    described = Check(
        clause.path,
        f"quality_{kind}",
        f"{field or model.name}: {text}".rstrip(": "),
        field,
        severity="warning" if str(value.get("severity")).lower() in _WARNINGS else "error",
        is_sensitive=model.is_sensitive(field or ""),
    )
    if kind == "text":
        return replace(described, outcome="informational", reason=_DOCUMENTATION)
    if kind not in _COMPILERS:
        engine = value.get("engine")
        what = f"engine {engine} is" if engine else f"quality rules of type {value.get('type')} are"
        return replace(described, outcome="unsupported", reason=f"{what} not supported")
    return _compiled(described, _COMPILERS[kind], rule)


def _compiled(described: Check, compiler: _Compiler, rule: Rule) -> Check:
    """Return a check with what a compiler makes of its rule, or with the outcome ``error``."""
    try:
        metric = compiler(rule)
    except RuleError as e:
        return replace(described, outcome="error", reason=str(e))
    if metric.unsupported:
        return replace(described, outcome="unsupported", reason=metric.unsupported)
    return replace(
        described,
        field=metric.field or described.field,
        columns=metric.columns,
        arguments=metric.arguments,
        is_sensitive=described.is_sensitive
        or any(rule.model.is_sensitive(path or "") for path in (metric.field, *metric.columns)),
    )


def _kind(value: Mapping[str, Any]) -> str:
    """Return the kind of a rule: its type, or its engine if the type is ``custom``."""
    kind = value.get("type")
    if kind is None:
        keys = {"query": "sql", "metric": "library", "rule": "library", "engine": "custom"}
        kind = next((kind for key, kind in keys.items() if key in value), "text")
    kind = str(kind).lower()
    if kind != "custom":
        return kind
    return _ENGINES.get(str(value.get("engine")).lower().replace("-", "").replace("_", ""), "custom")


_ENGINES = {"soda": "soda", "greatexpectations": "great_expectations", "gx": "great_expectations"}


def _query(rule: Rule) -> str:
    """Return the query of a rule as a reader knows it, with the names in its placeholders, or an empty text."""
    query = str(rule.value.get("query") or "")
    try:
        return queries.filled(query, rule.model.name, rule.field)
    except RuleError:
        return query


def _subject(rule: Rule) -> str:
    """Return what a rule without a description tests: its metric, or the check of its engine with the columns."""
    value = rule.value
    text = str(value.get("metric") or value.get("rule") or value.get("engine") or value.get("type") or "")
    try:
        of_engine = rule.specification()
    except RuleError:
        return text
    name = of_engine.get("expectation_type") or of_engine.get("type") or text
    arguments = of_engine.get("kwargs") or of_engine
    columns = arguments.get("columns") or arguments.get("column") if isinstance(arguments, dict) else None
    names = columns if isinstance(columns, list) else [columns] if columns else []
    valid = _options(value).get("validValues")
    if isinstance(valid, list):
        return (
            f"{name} other than {', '.join(map(str, valid[:_MOST_NAMED]))}{', …' if len(valid) > _MOST_NAMED else ''}"
        )
    return f"{name} of {', '.join(map(str, names))}" if names else str(name)


def _sql(rule: Rule) -> Metric:
    query = rule.value.get("query")
    if not isinstance(query, str) or not query.strip():
        raise RuleError("the rule has no query")
    return queries.of_query(query, require(rule.value), rule)


_COMPILERS: Mapping[str, _Compiler] = {
    "sql": _sql,
    "library": _library,
    "soda": lambda rule: soda.of_check(rule.specification(), rule),
    "great_expectations": lambda rule: expectations.of_expectation(rule.specification(), rule),
}
"""Kind of a rule -> its compiler."""


def of_contract(contract: DataContract, tested: Collection[str]) -> Iterator[Check]:
    """Yield the checks of the quality of a contract; ``tested`` are the tested models."""
    for clause in contract.quality:
        value = clause.value if isinstance(clause.value, dict) else {}
        kind = re.sub(r"[^a-z]", "", str(value.get("type", "")).lower())
        check = Check(clause.path, "quality", str(value.get("type") or "quality"), line=clause.place.line)
        if kind not in _LANGUAGES:
            if not value.get("type") or value["type"] == "text":
                yield replace(check, outcome="informational", reason=_DOCUMENTATION)
            else:
                reason = f"`quality` of type {value['type']} is not supported"
                yield replace(check, outcome="unsupported", reason=reason)
            continue
        try:
            parts = from_yaml(value.get("specification"))
            if not isinstance(parts, dict) or not parts:
                raise RuleError("`quality.specification` must be a mapping from models to their rules")
        except RuleError as e:
            yield replace(check, outcome="error", reason=str(e))
            continue
        for key, entries in parts.items():
            yield from _of_part(check, kind, contract, tested, key, entries)


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
    elif model.name not in tested:
        yield replace(part, outcome="informational", reason=f"it applies to model {model.name}")
    else:
        try:
            for index, entry in enumerate(_entries(entries)):
                check = replace(part, path=f"{path}/{index}", model=model.name, kind=_LANGUAGES[kind][0])
                yield _of_entry(check, kind, model, entry)
        except RuleError as e:
            yield replace(part, outcome="error", reason=str(e), model=model.name)


def _entries(entries: object) -> list[Any]:
    try:
        entries = json.loads(entries) if isinstance(entries, str) else entries
    except ValueError as e:
        raise RuleError(f"the rules are not JSON: {e}") from e
    if not isinstance(entries, list):
        raise RuleError("the rules must be a list")
    return entries


def _of_entry(check: Check, kind: str, model: Model, entry: object) -> Check:
    text = entry
    if isinstance(entry, dict):
        text = next(iter(entry), "") if kind == "sodacl" else entry.get("expectation_type", entry.get("type"))
    described = replace(check, description=f"{model.name}: {text}")
    compiler = _LANGUAGES[kind][1]
    return _compiled(described, lambda rule: compiler(entry, rule), Rule({}, model))


def _expectation(entry: object, rule: Rule) -> Metric:
    if not isinstance(entry, dict):
        raise RuleError(f"{entry!r} is not an expectation")
    return expectations.of_expectation(entry, rule)


_LANGUAGES: Mapping[str, tuple[str, Callable[[object, Rule], Metric]]] = {
    "sodacl": ("quality_soda", soda.compile_check),
    "greatexpectations": ("quality_great_expectations", _expectation),
}
"""Type of a quality, in lower case without other characters -> the kind of its checks, and their compiler."""
