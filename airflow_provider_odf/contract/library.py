"""Library metrics of the Data Contract Specification 1.2.1 and of the Open Data Contract Standard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_provider_odf.contract.metric import Metric, Rule, matches, texts, values_in
from airflow_provider_odf.contract.thresholds import RuleError, of_rule

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


def compile_rule(rule: Rule) -> Metric:
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
    return Metric(metric, arguments | _OF_VALUES.get(metric, lambda _: {})(_options(value)))


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
    names = (
        _options(rule.value).get("properties")
        or _options(rule.value).get("fields")
        or _options(rule.value).get("columns")
    )
    if names:
        return tuple(texts(names))
    if rule.field is None:
        raise RuleError(
            "duplicateValues on a model needs arguments.properties: list the names of the fields to compare"
        )
    return (rule.field,)


def _missing(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"missing": texts(options.get("missingValues") or [])}


def _invalid(options: Mapping[str, Any]) -> dict[str, Any]:
    rules = [values_in(options["validValues"])] if options.get("validValues") is not None else []
    rules += [matches(options["pattern"])] if options.get("pattern") is not None else []
    if not rules:
        raise RuleError("invalidValues needs validValues or a pattern as arguments")
    return {"rules": rules}


_OF_VALUES = {"missing_values": _missing, "invalid_values": _invalid}
