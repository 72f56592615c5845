"""Expectations of Great Expectations: the common ones as metrics of the engine, the others for the library itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from airflow_provider_odf.contract import query_metric
from airflow_provider_odf.contract.metric import Metric, Rule, matches_on_spark, texts, values_in
from airflow_provider_odf.contract.thresholds import RuleError, number, snake_case


@dataclass(frozen=True)
class _Expectation:
    """An expectation and its arguments, whose names are in snake case."""

    type: str
    kwargs: Mapping[str, Any]

    @property
    def column(self) -> str:
        return str(self.required("column"))

    def required(self, name: str) -> Any:
        if self.kwargs.get(name) is None:
            raise RuleError(f"{self.type} needs {name}")
        return self.kwargs[name]

    def bounds(self) -> dict[str, Any]:
        """Return the thresholds of ``min_value`` and ``max_value``."""
        low, high = self.kwargs.get("min_value"), self.kwargs.get("max_value")
        limits: dict[str, Any] = {}
        if low is not None:
            name = "must_be_greater_than" if self.kwargs.get("strict_min") else "must_be_greater_than_or_equal_to"
            limits[name] = number(low)
        if high is not None:
            name = "must_be_less_than" if self.kwargs.get("strict_max") else "must_be_less_than_or_equal_to"
            limits[name] = number(high)
        if not limits:
            raise RuleError(f"{self.type} needs min_value, max_value or both")
        return limits


_Compiler = Callable[[_Expectation], Metric]


def compile_rule(rule: Rule) -> Metric:
    """Return the metric of a rule.

    :raises RuleError: the rule is not valid.
    """
    return of_expectation(rule.specification(), rule)


def of_expectation(value: Mapping[str, Any], rule: Rule) -> Metric:
    """Return the metric of one expectation. A rule of a field is about its column.

    :raises RuleError: it is not valid.
    """
    name = value.get("expectation_type") or value.get("type")
    if not name:
        raise RuleError("the expectation has no expectation_type")
    kind = snake_case(str(name))
    given = value.get("kwargs") or {}
    if not isinstance(given, dict):
        raise RuleError(f"kwargs of {kind} must be a mapping")
    kwargs = {_argument(str(key)): argument for key, argument in given.items()}
    if rule.field is not None and "_column_" in kind and kind.startswith("expect_column_"):
        kwargs = {"column": rule.field, **kwargs}
    expectation = _Expectation(kind, kwargs)
    if any(argument.endswith("query") for argument in kwargs):
        return _unexpected_rows(expectation, rule)
    is_plain = not (set(kwargs) & _BY_LIBRARY)
    if kind in COMPILERS and is_plain and (metric := COMPILERS[kind](expectation)).name:
        return metric
    columns = (*_named_columns(kwargs), *_sensitive_columns(kwargs.get("row_condition"), rule))
    return Metric("expectation", {"type": kind, "kwargs": dict(kwargs)}, columns=columns)


def _unexpected_rows(e: _Expectation, rule: Rule) -> Metric:
    """Return the metric of a query that returns no rows. The library would run any SQL."""
    if e.type != "unexpected_rows_expectation":
        raise RuleError(f"{e.type} runs queries of its own: use a rule of type sql")
    query = re.sub(r"\{(active_)?batch\}", "{model}", str(e.required("unexpected_rows_query"))).rstrip("; \t\n")
    counted = f"SELECT count(*) AS unexpected_rows FROM (\n{query}\n)"  # noqa: S608 - the guard judges it
    return query_metric.of_query(counted, {"must_be": 0}, rule)


def _sensitive_columns(condition: object, rule: Rule) -> list[str]:
    """Return the sensitive columns that a condition names."""
    return [f.name for f in rule.model.fields if f.is_sensitive and f.name.lower() in str(condition).lower()]


def _named_columns(kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that arguments name."""
    named = [kwargs.get(name) for name in ("column", "column_A", "column_B")]
    lists = [kwargs.get(name) for name in ("column_list", "column_set")]
    named += [name for names in lists if isinstance(names, list) for name in names]
    return tuple(str(name) for name in named if name is not None)


def _argument(name: str) -> str:
    """Return the library's name of an argument: ``min_value`` for ``minValue``, ``column_A`` for ``columnA``."""
    snake = name if "_" in name else snake_case(name)
    return {"column_a": "column_A", "column_b": "column_B"}.get(snake, snake)


_BY_LIBRARY = frozenset({"row_condition", "condition_parser", "parse_strings_as_datetimes"})
"""Arguments that only the library itself understands."""

_OTHER = Metric()
"""No metric of the engine: the library decides."""


def _values(*of: Callable[[_Expectation], list[dict[str, Any]]], forbidden: bool = False) -> _Compiler:
    """Return the compiler of an expectation about single values: at least the share ``mostly`` follow some rules."""

    def compiler(e: _Expectation) -> Metric:
        rules = [rule for rules in of for rule in rules(e)]
        key = "forbidden" if forbidden else "rules"
        return Metric("violations", {key: rules, "thresholds": _mostly(e)}, e.column)

    return compiler


def _mostly(e: _Expectation) -> dict[str, Any]:
    """Return the threshold of the violations in percent."""
    share = number(e.kwargs.get("mostly", 1))
    if not 0 <= share <= 1:
        raise RuleError(f"`mostly` is {share}, but must be between 0 and 1")
    return {"must_be_less_than_or_equal_to": round(100 * (1 - share), 10)}


def _between(e: _Expectation) -> list[dict[str, Any]]:
    limits = {
        ("exclusive_minimum" if e.kwargs.get("strict_min") else "minimum"): e.kwargs.get("min_value"),
        ("exclusive_maximum" if e.kwargs.get("strict_max") else "maximum"): e.kwargs.get("max_value"),
    }
    return _limits(e, limits)


def _lengths(e: _Expectation) -> list[dict[str, Any]]:
    return _limits(e, {"min_length": e.kwargs.get("min_value"), "max_length": e.kwargs.get("max_value")})


def _length(e: _Expectation) -> list[dict[str, Any]]:
    return _limits(e, dict.fromkeys(("min_length", "max_length"), e.required("value")))


def _limits(e: _Expectation, limits: Mapping[str, Any]) -> list[dict[str, Any]]:
    rules = [{"kind": kind, "arguments": {"limit": number(v)}} for kind, v in limits.items() if v is not None]
    if not rules:
        raise RuleError(f"{e.type} needs min_value, max_value or both")
    return rules


def _between_values(e: _Expectation) -> Metric:
    """Return the metric for numbers; the library compares other values."""
    bounds = (e.kwargs.get("min_value"), e.kwargs.get("max_value"))
    if any(
        bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float | Decimal))
        for bound in bounds
    ):
        return _OTHER
    return _values(_between)(e)


def _in_set(e: _Expectation) -> list[dict[str, Any]]:
    return [values_in(e.required("value_set"))]


def _regex(e: _Expectation) -> list[dict[str, Any]]:
    return [matches_on_spark(e.required("regex"))]


def _regexes(e: _Expectation) -> list[dict[str, Any]]:
    return [matches_on_spark(pattern) for pattern in texts(e.required("regex_list"))]


def _matches_all(e: _Expectation) -> Metric:
    return _values(_regexes)(e) if e.kwargs.get("match_on") == "all" else _OTHER


def _not_null(e: _Expectation) -> Metric:
    limits = {"thresholds": _mostly(e), "unit": "percent"}
    return Metric("null_values", limits, e.column)


def _null(e: _Expectation) -> Metric:
    return Metric("present_values", {"thresholds": _mostly(e), "unit": "percent"}, e.column)


def _unique(e: _Expectation) -> Metric:
    return Metric("repeated_rows", {"thresholds": _mostly(e), "unit": "percent"}, columns=(e.column,))


def _unique_together(e: _Expectation) -> Metric:
    if e.kwargs.get("ignore_row_if") not in (None, "any_value_is_missing"):
        return _OTHER
    columns = tuple(texts(e.required("column_list")))
    return Metric("repeated_rows", {"thresholds": _mostly(e), "unit": "percent"}, columns=columns)


def _aggregate(metric: str) -> _Compiler:
    def compiler(e: _Expectation) -> Metric:
        bounds = (e.kwargs.get("min_value"), e.kwargs.get("max_value"))
        if any(isinstance(bound, str | dict) for bound in bounds):
            return _OTHER
        return Metric(metric, {"thresholds": e.bounds()}, e.column)

    return compiler


def _distinct(metric: str) -> _Compiler:
    return lambda e: Metric(metric, {"thresholds": e.bounds()}, columns=(e.column,))


def _row_count(e: _Expectation) -> Metric:
    limits = {"must_be": number(e.required("value"))} if e.type.endswith("_equal") else e.bounds()
    return Metric("row_count", {"thresholds": limits})


def _column_count(e: _Expectation) -> Metric:
    limits = {"must_be": number(e.required("value"))} if e.type.endswith("_equal") else e.bounds()
    return Metric("column_count", {"thresholds": limits})


def _column_exists(e: _Expectation) -> Metric:
    return Metric("columns_exist", columns=(e.column,))


def _columns(e: _Expectation) -> Metric:
    if e.type.endswith("_set"):
        names, exact = e.kwargs.get("column_set"), bool(e.kwargs.get("exact_match", True))
        return Metric("columns_exist", {"exact": exact}, columns=tuple(texts(names)))
    return Metric("columns_exist", {"exact": True, "ordered": True}, columns=tuple(texts(e.required("column_list"))))


COMPILERS: Mapping[str, _Compiler] = {
    "expect_column_to_exist": _column_exists,
    "expect_table_columns_to_match_set": _columns,
    "expect_table_columns_to_match_ordered_list": _columns,
    "expect_table_column_count_to_equal": _column_count,
    "expect_table_column_count_to_be_between": _column_count,
    "expect_table_row_count_to_equal": _row_count,
    "expect_table_row_count_to_be_between": _row_count,
    "expect_column_values_to_not_be_null": _not_null,
    "expect_column_values_to_be_null": _null,
    "expect_column_values_to_be_unique": _unique,
    "expect_compound_columns_to_be_unique": _unique_together,
    "expect_column_values_to_be_between": _between_values,
    "expect_column_values_to_be_in_set": _values(_in_set),
    "expect_column_values_to_not_be_in_set": _values(_in_set, forbidden=True),
    "expect_column_values_to_match_regex": _values(_regex),
    "expect_column_values_to_not_match_regex": _values(_regex, forbidden=True),
    "expect_column_values_to_match_regex_list": _matches_all,
    "expect_column_values_to_not_match_regex_list": _values(_regexes, forbidden=True),
    "expect_column_value_lengths_to_be_between": _values(_lengths),
    "expect_column_value_lengths_to_equal": _values(_length),
    "expect_column_min_to_be_between": _aggregate("min"),
    "expect_column_max_to_be_between": _aggregate("max"),
    "expect_column_mean_to_be_between": _aggregate("avg"),
    "expect_column_median_to_be_between": _aggregate("median"),
    "expect_column_sum_to_be_between": _aggregate("sum"),
    "expect_column_stdev_to_be_between": _aggregate("stddev_samp"),
    "expect_column_unique_value_count_to_be_between": _distinct("distinct_values"),
    "expect_column_proportion_of_unique_values_to_be_between": _distinct("distinct_share"),
}
"""Expectation -> its compiler. All others, and the same with arguments such as ``row_condition``, need the library."""
