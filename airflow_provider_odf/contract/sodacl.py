"""Checks of Soda's older language, SodaCL: ``missing_count(email) < 5``, with options."""

from __future__ import annotations

import re
from typing import Any

from airflow_provider_odf.contract import durations, soda
from airflow_provider_odf.contract.metric import Metric, Rule
from airflow_provider_odf.contract.thresholds import RuleError

_LINE = re.compile(
    r"(?P<metric>\w+)\s*(?:\((?P<columns>[^)]*)\))?\s*"
    r"(?:(?P<operator>[<>]=?|!=|<>|=)\s*(?P<limit>.+)|(?P<not>not\s+)?between\s+(?P<low>\S+)\s+and\s+(?P<high>\S+))",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"values in \((?P<column>[^)]+)\) must exist in (?P<model>\S+)\s*\((?P<other>[^)]+)\)", re.I)
_OPERATORS = {
    "<": "must_be_less_than",
    "<=": "must_be_less_than_or_equal_to",
    ">": "must_be_greater_than",
    ">=": "must_be_greater_than_or_equal_to",
    "=": "must_be",
    "!=": "must_not_be",
    "<>": "must_not_be",
}


def compile_check(entry: object, rule: Rule) -> Metric:
    """Return the metric of a check, a text or a mapping of the text to its options.

    :raises RuleError: it is not valid.
    """
    line, options = next(iter(entry.items()), ("", {})) if isinstance(entry, dict) else (entry, {})
    text = str(line).strip()
    keys = {str(key).replace(" ", "_"): value for key, value in (options if isinstance(options, dict) else {}).items()}
    if reference := _REFERENCE.fullmatch(text):
        target = {"dataset": reference["model"], "column": reference["other"].strip()}
        value = {"type": "no_invalid_values", "column": reference["column"].strip()}
        return soda.of_check({**value, "valid_values_reference_data": target}, rule)
    match = _LINE.fullmatch(text)
    if match is None or match["metric"] not in (*soda.TYPES, "freshness"):
        return Metric(unsupported=f"the SodaCL check {text!r} is not supported")
    if unknown := [key for key in keys if key in ("filter", "fail", "warn")]:
        return Metric(unsupported=f"{unknown[0]} is not supported in a SodaCL check: use a rule of type sql")
    columns = [column.strip() for column in (match["columns"] or "").split(",") if column.strip()]
    if match["metric"] == "freshness":
        return _freshness(match, columns, rule)
    value = {**keys, **_thresholds(match), "type": match["metric"]}
    if match["metric"] == "percentile" and len(columns) == 2:
        value["percentile"] = _number(columns.pop())
    if len(columns) > 1:
        value["columns"] = columns
    elif columns:
        value["column"] = columns[0]
    return soda.of_check(value, rule)


def _thresholds(match: re.Match[str]) -> dict[str, Any]:
    if match["operator"]:
        return {_OPERATORS[match["operator"]]: _number(match["limit"])}
    name = "must_not_be_between" if match["not"] else "must_be_between"
    return {name: [_number(match["low"]), _number(match["high"])]}


def _number(text: str) -> int | float:
    plain = text.strip().removesuffix("%").strip()
    try:
        return int(plain) if re.fullmatch(r"[-+]?\d+", plain) else float(plain)
    except ValueError as e:
        raise RuleError(f"{text!r} is not a number") from e


def _freshness(match: re.Match[str], columns: list[str], rule: Rule) -> Metric:
    if not match["operator"] or len(columns) != 1:
        raise RuleError("freshness needs a column and a limit: freshness(created_at) < 1d")
    duration = durations.parse(re.sub(r"(?<=[a-z])(?=\d)", " ", match["limit"].strip()))
    if duration.months:
        raise RuleError("a freshness limit cannot be in months: use days")
    value = {"type": "freshness_in_minutes", "column": columns[0]}
    return soda.of_check({**value, _OPERATORS[match["operator"]]: float(duration.seconds / 60)}, rule)
