"""Compile quality rules of models and fields to checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from airflow_provider_odf.contract import expectations, library, queries, soda
from airflow_provider_odf.contract.metric import Metric, Rule
from airflow_provider_odf.contract.model import Clause, Model
from airflow_provider_odf.contract.thresholds import RuleError, require
from airflow_provider_odf.protocol import Check

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
        severity=_severity(value.get("severity")),
        is_sensitive=model.is_sensitive(field or ""),
    )
    if kind == "text":
        return replace(described, outcome="informational", reason="a text rule is documentation and cannot be tested")
    if kind not in _COMPILERS:
        engine = value.get("engine")
        what = f"engine {engine} is" if engine else f"quality rules of type {value.get('type')} are"
        return replace(described, outcome="unsupported", reason=f"{what} not supported")
    return compiled(described, _COMPILERS[kind], rule)


def compiled(described: Check, compiler: _Compiler, rule: Rule) -> Check:
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
    return f"{name} of {', '.join(map(str, names))}" if names else str(name)


def _severity(value: object) -> str:
    return "warning" if str(value or "error").lower() in _WARNINGS else "error"


def _sql(rule: Rule) -> Metric:
    query = rule.value.get("query")
    if not isinstance(query, str) or not query.strip():
        raise RuleError("the rule has no query")
    return queries.of_query(query, require(rule.value), rule)


_COMPILERS: Mapping[str, _Compiler] = {
    "sql": _sql,
    "library": library.compile_rule,
    "soda": soda.compile_rule,
    "great_expectations": expectations.compile_rule,
}
"""Kind of a rule -> its compiler."""
