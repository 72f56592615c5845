"""Checks of Soda's language for data contracts, and of SodaCL, its older one, as metrics of the engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_odf.clauses import METRICS
from airflow_provider_odf.contract import queries, service_levels
from airflow_provider_odf.contract.metric import Metric, Rule, matches, matches_on_spark, texts, values_in
from airflow_provider_odf.contract.thresholds import RuleError, number, of_rule

_AGGREGATES = [name for name, metric in METRICS.items() if "{x}" in metric.sql and name not in ("median", "percentile")]
_UNITS = {"freshness_in_days": 86400, "freshness_in_hours": 3600, "freshness_in_minutes": 60}

_NAMED_FORMATS = ("email", "uuid")
_PATTERNS = {
    "integer": r"^\s*[-+]?\d+\s*$",
    "positive integer": r"^\s*\+?\d+\s*$",
    "negative integer": r"^\s*(-\s*\d+|0+)\s*$",
    "decimal": r"^\s*[-+]?(\d+([.,]\d+)?|([.,]\d+))\s*$",
    "positive decimal": r"^\s*\+?(\d+([.,]\d+)?|([.,]\d+))\s*$",
    "negative decimal": r"^\s*-(\d+([.,]\d+)?|([.,]\d+))\s*$",
    "percentage": r"^\s*[-+]?(\d+([.,]\d+)?|([.,]\d+))\s*%\s*$",
    "money": r"^\s*([$€£¥]\s*)?[-+]?\d{1,3}([.,]?\d{3})*([.,]\d+)?(\s*[$€£¥])?\s*$",
    "date us": r"^\s*(0?[1-9]|1[0-2])[-./](0?[1-9]|[12]\d|3[01])[-./](19|20)?\d\d\s*$",
    "date eu": r"^\s*(0?[1-9]|[12]\d|3[01])[-./](0?[1-9]|1[0-2])[-./](19|20)?\d\d\s*$",
    "date iso 8601": (
        r"^\s*\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
        r"([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?(Z|[-+]\d\d:?\d\d)?)?\s*$"
    ),
    "time 24h": r"^\s*([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?\s*$",
    "time 12h": r"^\s*(0?\d|1[0-2]):[0-5]\d(:[0-5]\d)?\s*$",
    "phone number": r"^\s*(\+\d{1,3}[\s.-]?)?(\(\d{1,4}\)[\s.-]?)?\d{2,4}([\s.-]?\d{2,4}){1,4}\s*$",
    "credit card number": r"^\s*\d{4}[\s-]?\d{4}[\s-]?\d{4}[\s-]?\d{1,7}\s*$",
    "ip address": r"^\s*((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)\s*$",
}
"""Soda's other formats of text -> the pattern of their values. They are translated when a rule asks for one: every DAG
file imports this module."""


@dataclass(frozen=True)
class _Soda:
    """One check: its type, its configuration, and the rule that it is written in."""

    type: str
    value: Mapping[str, Any]
    rule: Rule

    @property
    def field(self) -> str:
        column = self.value.get("column", self.rule.field)
        if column is None:
            raise RuleError(
                f"{self.type} applies to a single column: move the rule to a field, or add the key `column`"
            )
        return str(column)

    def limits(self) -> dict[str, Any]:
        if not (limits := of_rule(self.value)):
            raise RuleError(f"{self.type} has no threshold: add one, such as must_be or must_be_less_than")
        return limits


def of_check(value: Mapping[str, Any], rule: Rule) -> Metric:
    """Return the metric of one check of Soda.

    :raises RuleError: it is not valid.
    """
    name = str(value.get("type") or "")
    if not name:
        raise RuleError("the Soda check has no type")
    compiler = _COMPILERS.get(name)
    if compiler is None:
        return Metric(unsupported=f"Soda's contract language has no check of type {name}")
    if unknown := [key for key in ("filter_sql", "filter_expression") if value.get(key)]:
        return Metric(unsupported=f"{unknown[0]} is not supported in a Soda check: use a rule of type sql")
    return compiler(_Soda(name, value, rule))


def _count(check: _Soda) -> dict[str, Any]:
    """Return the arguments of a check that counts or forbids values."""
    unit = "percent" if check.type.endswith("_percent") else "rows"
    if not check.type.startswith("no_"):
        return {"thresholds": check.limits(), "unit": unit}
    if of_rule(check.value):
        raise RuleError(f"{check.type} takes no threshold")
    return {"thresholds": {"must_be": 0}, "unit": unit}


def _count_missing(check: _Soda) -> dict[str, Any]:
    value = check.value
    arguments = {**_count(check), "missing": texts(value.get("missing_values") or [])}
    if (pattern := value.get("missing_regex", value.get("missing_regex_sql"))) is not None:
        arguments["missing_rules"] = [matches_on_spark(pattern)]
    return arguments


def _of_duplicates(check: _Soda) -> Metric:
    columns = texts(check.value["columns"]) if check.value.get("columns") else [check.field]
    return Metric("duplicate_values", _count(check), columns=tuple(columns))


def _of_invalid(check: _Soda) -> Metric:
    target = check.value.get("valid_values_reference_data")
    if isinstance(target, dict):
        return _of_reference(check, target)
    rules, broken = _rules(check.value, "valid_", {**_RULES, **_LIMITS}), _rules(check.value, "invalid_", _RULES)
    if not rules and not broken:
        raise RuleError(
            f"{check.type} does not define valid values: add valid_values, valid_regex or another `valid_` or "
            "`invalid_` key"
        )
    return Metric("invalid_values", {"rules": rules, "forbidden": broken} | _count_missing(check), check.field)


def _rules(
    value: Mapping[str, Any], prefix: str, makers: Mapping[str, Callable[[Any], list[dict[str, Any]]]]
) -> list[dict[str, Any]]:
    given = ((make, value.get(prefix + name)) for name, make in makers.items())
    return [rule for make, argument in given if argument is not None for rule in make(argument)]


def _of_reference(check: _Soda, target: Mapping[str, Any]) -> Metric:
    model, column = target.get("dataset"), target.get("column")
    if not model or not column:
        raise RuleError("valid_values_reference_data needs dataset and column")
    return Metric("reference", {"target": f"{model}.{column}"} | _count(check), check.field)


def _limit(kind: str) -> Callable[[Any], list[dict[str, Any]]]:
    return lambda value: [{"kind": kind, "arguments": {"limit": number(value)}}]


def _format(value: object) -> list[dict[str, Any]]:
    name = str(value).lower().replace("_", " ")
    if name in _NAMED_FORMATS:
        return [{"kind": "format", "arguments": {"format": name}}]
    if name not in _PATTERNS:
        raise RuleError(f"unknown format {value}: use one of {', '.join((*_NAMED_FORMATS, *_PATTERNS))}")
    return [matches(_PATTERNS[name])]


_RULES: Mapping[str, Callable[[Any], list[dict[str, Any]]]] = {
    "values": lambda value: [values_in(value)],
    "format": _format,
    "regex": lambda value: [matches_on_spark(value)],
    "regex_sql": lambda value: [matches_on_spark(value)],
}
"""Key of a check after ``valid_`` or ``invalid_`` -> rules that its values follow."""

_LIMITS: Mapping[str, Callable[[Any], list[dict[str, Any]]]] = {
    "min": _limit("minimum"),
    "max": _limit("maximum"),
    "length": lambda value: [*_limit("min_length")(value), *_limit("max_length")(value)],
    "min_length": _limit("min_length"),
    "max_length": _limit("max_length"),
}
"""The same of the keys that only valid values have."""


def _of_percentile(check: _Soda) -> Metric:
    fraction = number(check.value.get("percentile"))
    if not 0 <= fraction <= 1:
        raise RuleError(f"percentile {fraction} is not between 0 and 1")
    return Metric("percentile", {"fraction": fraction, "thresholds": check.limits()}, check.field)


def _of_query(check: _Soda) -> Metric:
    key = "query_sql" if check.type == "metric_query" else "expression_sql"
    if not isinstance(sql := check.value.get(key), str):
        raise RuleError(f"{check.type} has no {key}")
    query = sql if key == "query_sql" else f"SELECT {sql} FROM {{model}}"  # noqa: S608 - the guard judges it
    return queries.of_query(query, check.limits(), check.rule)


_COMPILERS: Mapping[str, Callable[[_Soda], Metric]] = {
    "row_count": lambda check: Metric("row_count", {"thresholds": check.limits()}),
    **dict.fromkeys(
        ("rows_exist", "rows_present"), lambda _: Metric("row_count", {"thresholds": {"must_be_greater_than": 0}})
    ),
    **dict.fromkeys(
        ("no_missing_values", "missing_count", "missing_percent"),
        lambda check: Metric("missing_values", _count_missing(check), check.field),
    ),
    **dict.fromkeys(("no_invalid_values", "invalid_count", "invalid_percent"), _of_invalid),
    **dict.fromkeys(("no_duplicate_values", "duplicate_count", "duplicate_percent"), _of_duplicates),
    **dict.fromkeys(
        _UNITS,
        lambda check: Metric("age", {"seconds": _UNITS[check.type], "thresholds": check.limits()}, check.field),
    ),
    **dict.fromkeys(sorted(_AGGREGATES), lambda check: Metric(check.type, {"thresholds": check.limits()}, check.field)),
    "percentile": _of_percentile,
    **dict.fromkeys(("metric_expression", "metric_sql_expression", "metric_query"), _of_query),
}
"""Type of a check -> its compiler."""

TYPES = tuple(_COMPILERS)
"""Types of checks of Soda's contract language."""


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
        return of_check({**value, "valid_values_reference_data": target}, rule)
    match = _LINE.fullmatch(text)
    if match is None or match["metric"] not in (*TYPES, "freshness"):
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
    return of_check(value, rule)


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
    duration = service_levels.parse_duration(re.sub(r"(?<=[a-z])(?=\d)", " ", match["limit"].strip()))
    if duration.months:
        raise RuleError("a freshness limit cannot be in months: use days")
    value = {"type": "freshness_in_minutes", "column": columns[0]}
    return of_check({**value, _OPERATORS[match["operator"]]: float(duration.seconds / 60)}, rule)
