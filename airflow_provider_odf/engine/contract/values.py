"""Values that metrics count: missing ones, and those that break a rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import types as T  # noqa: N812

from airflow_provider_odf.engine.contract import rules
from airflow_provider_odf.engine.contract.fields import Found
from airflow_provider_odf.engine.contract.rules import OnField, Verdict
from airflow_provider_odf.engine.contract.thresholds import limits_of
from airflow_provider_odf.engine.sql import text
from airflow_provider_odf.protocol import Check


def nulls(check: Check, found: Found) -> tuple[str, str]:
    """Return SQL for values that are null, and for the rows that it is about."""
    return found.is_null, "true"


def present(check: Check, found: Found) -> tuple[str, str]:
    """Return the same for values that are not null."""
    return f"NOT ({found.is_null})", "true"


def missing(check: Check, found: Found) -> tuple[str, str] | Verdict:
    """Return the same for values that are null or stand for it."""
    broken = _is_missing(check, found)
    return broken if isinstance(broken, Verdict) else (broken, "true")


def _is_missing(check: Check, found: Found) -> str | Verdict:
    parts = [found.is_null]
    if values := check.arguments.get("missing"):
        parts.append(f"{_text(found)} IN ({', '.join(map(text, values))})")
        if isinstance(found.type, _WITH_TEXT):  # which can have several texts
            parts.append(rules.is_one_of(values, found))
    for rule in check.arguments.get("missing_rules", ()):
        broken = _broken(rule, check, found)
        if isinstance(broken, Verdict):
            return broken
        parts.append(f"NOT coalesce({broken}, true)")
    return " OR ".join(f"({part})" for part in parts)


def _text(found: Found) -> str:
    """Return SQL for the text of a value, also inside an array or a map."""
    return found.raw or f"CAST({found.sql} AS STRING)"


def invalid(check: Check, found: Found) -> tuple[str, str] | Verdict:
    """Return the same for values that are present and break a rule."""
    missing, broken = _is_missing(check, found), _violates(check, found)
    if isinstance(missing, Verdict):
        return missing
    if isinstance(broken, Verdict):
        return broken
    return f"NOT ({missing}) AND ({broken})", "true"


def violations(check: Check, found: Found) -> tuple[str, str] | Verdict:
    """Return the same for values that break a rule; the rows are those with a value."""
    broken = _violates(check, found)
    return broken if isinstance(broken, Verdict) else (broken, f"NOT ({found.is_null})")


def _violates(check: Check, found: Found) -> str | Verdict:
    """Return SQL that is true for values that break one of the rules, or that follow a forbidden one."""
    parts = []
    if found.raw:  # a text that is no value of the type follows no rule
        parts.append(found.is_no_value)
    for key, form in (("rules", "coalesce({}, false)"), ("forbidden", "NOT coalesce({}, true)")):
        for rule in check.arguments.get(key, ()):
            broken = _broken(rule, check, found)
            if isinstance(broken, Verdict):
                return broken
            parts.append(f"{found.has_value} AND {form.format(broken)}")
    return " OR ".join(f"({part})" for part in parts)


def _broken(rule: Mapping[str, Any], check: Check, found: Found) -> str | Verdict:
    """Return SQL that is true for values that break a rule."""
    if rule["arguments"].get("as_text") and isinstance(found.type, _WITH_TEXT):
        found = replace(found, sql=f"CAST({found.sql} AS STRING)", type=T.StringType())
    judged = VALUE_RULES[rule["kind"]](replace(check, kind=rule["kind"], arguments=rule["arguments"]), found)
    if isinstance(judged, Verdict):
        return replace(judged, outcome="error", expected=limits_of(check).text)
    return judged.broken


_WITH_TEXT = (T.NumericType, T.BooleanType, T.DateType, T.TimestampType, T.TimestampNTZType)
"""Types whose values Spark casts to text where a function needs one."""

VALUE_RULES: Mapping[str, OnField] = {
    "enum": rules.enum,
    "in_set": rules.in_set,
    "pattern": rules.pattern,
    "format": rules.format_of,
    "min_length": rules.length("<", "at least"),
    "max_length": rules.length(">", "at most"),
    "minimum": rules.limit("<", ">="),
    "exclusive_minimum": rules.limit("<=", ">"),
    "maximum": rules.limit(">", "<="),
    "exclusive_maximum": rules.limit(">=", "<"),
}
"""Kind of a clause about single values -> its rule."""
