"""Expectations of Great Expectations: the common ones as metrics of the engine, the others for the library itself.

Arguments are checked more strictly than by the library, which converts them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_odf.clauses import Number
from airflow_provider_odf.contract import queries
from airflow_provider_odf.contract.metric import Metric, Rule, matches_on_spark, texts
from airflow_provider_odf.contract.thresholds import RuleError, number, snake_case


@dataclass(frozen=True)
class Expectation:
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

    def flag(self, name: str, default: bool = False) -> bool:
        """Return whether an option is set. The library would also take texts such as ``"no"``."""
        if not isinstance(value := self.kwargs.get(name, default), bool):
            raise RuleError(f"{name} of {self.type} must be true or false, not {value!r}")
        return value

    def bounds(self, convert: Callable[[Any], Number] = number) -> dict[str, Number]:
        """Return ``min_value`` and ``max_value`` by the names of clauses; ``convert`` makes them numbers.

        :raises RuleError: there is none. The library would test nothing.
        """
        names = {
            "min_value": "exclusive_minimum" if self.flag("strict_min") else "minimum",
            "max_value": "exclusive_maximum" if self.flag("strict_max") else "maximum",
        }
        values = {names[name]: self.kwargs[name] for name in names if self.kwargs.get(name) is not None}
        if not values:
            raise RuleError(f"{self.type} needs min_value, max_value or both")
        return {name: convert(value) for name, value in values.items()}

    def thresholds(self, convert: Callable[[Any], Number] = number) -> dict[str, Number]:
        """Return the thresholds of ``min_value`` and ``max_value``."""
        return {_THRESHOLDS[name]: value for name, value in self.bounds(convert).items()}


_THRESHOLDS = {
    "minimum": "must_be_greater_than_or_equal_to",
    "exclusive_minimum": "must_be_greater_than",
    "maximum": "must_be_less_than_or_equal_to",
    "exclusive_maximum": "must_be_less_than",
}


def whole(value: Any) -> int:
    """Return a whole number. The library would cut a fraction off.

    :raises RuleError: it is none.
    """
    if int(given := number(value)) != given:
        raise RuleError(f"{value!r} is not a whole number")
    return int(given)


_Compiler = Callable[[Expectation], Metric]


class _Form:
    """How an expectation is compiled, and the names of all its arguments."""

    def __init__(self, compiler: _Compiler, *arguments: str) -> None:
        self.compiler, self.arguments = compiler, frozenset(arguments)


def of_expectation(value: Mapping[str, Any], rule: Rule) -> Metric:
    """Return the metric of one expectation. A rule of a field is about its column.

    :raises RuleError: it is not valid.
    """
    if unknown := [str(key) for key in value if key not in _KEYS]:
        raise RuleError(f"an expectation has no {', '.join(unknown)}: arguments belong into kwargs")
    name = value.get("expectation_type") or value.get("type")
    if not name:
        raise RuleError("the expectation has no expectation_type")
    kind = snake_case(str(name))
    given = value.get("kwargs") or {}
    if not isinstance(given, dict):
        raise RuleError(f"kwargs of {kind} must be a mapping")
    kwargs = {_argument(str(key)): argument for key, argument in given.items()}
    if rule.field is not None and re.match("expect_column_(?!pair_)", kind):
        kwargs = {"column": rule.field, **kwargs}
    expectation = Expectation(kind, kwargs)
    if any(argument.endswith("query") for argument in kwargs):
        return _unexpected_rows(expectation, rule)
    if kind in FORMS and not (set(kwargs) & _BY_LIBRARY) and (metric := _of_engine(expectation)).name:
        return metric
    condition = str(kwargs.get("row_condition")).lower()
    hidden = (f.name for f in rule.model.fields if f.is_sensitive and f.name.lower() in condition)
    columns = (*_named_columns(kwargs), *hidden)
    return Metric("expectation", {"type": kind, "kwargs": dict(kwargs)}, columns=columns)


def _of_engine(e: Expectation) -> Metric:
    form = FORMS[e.type]
    if unknown := sorted(set(e.kwargs) - form.arguments - _OUTPUT):
        raise RuleError(f"{e.type} has no argument {', '.join(unknown)}: it has {', '.join(sorted(form.arguments))}")
    return form.compiler(e)


def _unexpected_rows(e: Expectation, rule: Rule) -> Metric:
    """Return the metric of a query that returns no rows. The library would run any SQL."""
    if e.type != "unexpected_rows_expectation":
        raise RuleError(f"{e.type} runs queries of its own: use a rule of type sql")
    query = re.sub(r"\{(active_)?batch\}", "{model}", str(e.required("unexpected_rows_query"))).rstrip("; \t\n")
    counted = f"SELECT count(*) AS unexpected_rows FROM (\n{query}\n)"  # noqa: S608 - the guard judges it
    return queries.of_query(counted, {"must_be": 0}, rule)


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


_KEYS = frozenset({
    "type", "expectation_type", "kwargs", "id", "ge_cloud_id", "meta", "notes", "description", "severity",
    "expectation_context", "rendered_content", "success_on_last_run",
})  # fmt: skip
"""Keys of an expectation in a suite of the library."""

_BY_LIBRARY = frozenset({"row_condition", "condition_parser", "column_index"})
"""Arguments that only the library itself understands."""

_OUTPUT = frozenset({"result_format", "catch_exceptions"})
"""Arguments of all expectations that say what the library writes, not what it tests."""

_OTHER = Metric()
"""No metric of the engine: the library decides."""


def _values(*of: Callable[[Expectation], list[dict[str, Any]]], forbidden: bool = False) -> _Compiler:
    """Return the compiler of an expectation about single values: at least the share ``mostly`` follow some rules."""

    def compiler(e: Expectation) -> Metric:
        rules = [rule for rules in of for rule in rules(e)]
        return Metric("violations", {"forbidden" if forbidden else "rules": rules, **_mostly(e)}, e.column)

    return compiler


def _mostly(e: Expectation) -> dict[str, Any]:
    """Return the least share of valid rows, and the same as the threshold of the others in percent."""
    share = number(e.kwargs.get("mostly", 1))
    if not 0 <= share <= 1:
        raise RuleError(f"`mostly` is {share}, but must be between 0 and 1")
    limit = {"must_be_less_than_or_equal_to": round(100 * (1 - share), 10)}
    return {"thresholds": limit, "unit": "percent", "mostly": share}


def _between(e: Expectation) -> list[dict[str, Any]]:
    low, high = e.kwargs.get("min_value"), e.kwargs.get("max_value")
    if low is not None and high is not None and low > high:
        raise RuleError(f"min_value {low} of {e.type} is greater than max_value {high}")
    return [{"kind": kind, "arguments": {"limit": limit, "orders_nan": True}} for kind, limit in e.bounds().items()]


def _between_values(e: Expectation) -> Metric:
    """Return the metric for numbers; the library compares other values."""
    bounds = (e.kwargs.get("min_value"), e.kwargs.get("max_value"))
    is_number = all(bound is None or (isinstance(bound, Number) and not isinstance(bound, bool)) for bound in bounds)
    return _values(_between)(e) if is_number else _OTHER


def _lengths(e: Expectation) -> list[dict[str, Any]]:
    limits = {
        "minimum": ("min_length", 0),
        "exclusive_minimum": ("min_length", 1),
        "maximum": ("max_length", 0),
        "exclusive_maximum": ("max_length", -1),
    }
    kinds = ((*limits[name], value) for name, value in e.bounds(whole).items())
    return [_of_text(kind, limit=value + beyond) for kind, beyond, value in kinds]


def _length(e: Expectation) -> list[dict[str, Any]]:
    limit = whole(e.required("value"))
    return [_of_text(kind, limit=limit) for kind in ("min_length", "max_length")]


def _of_text(kind: str, **arguments: Any) -> dict[str, Any]:
    """Return a rule for the text of a value, which Spark makes of other types too."""
    return {"kind": kind, "arguments": {**arguments, "as_text": True}}


def _in_set(e: Expectation) -> list[dict[str, Any]]:
    values = e.required("value_set")
    if not isinstance(values, list) or any(not isinstance(value, str | Number) for value in values):
        # With a null, Spark and thus the library accept every value.
        raise RuleError(f"value_set of {e.type} must be a list of texts, numbers, true and false, not {values!r}")
    return [{"kind": "in_set", "arguments": {"values": values}}]


def _regex(e: Expectation) -> list[dict[str, Any]]:
    return [_pattern(e.required("regex"))]


def _regexes(e: Expectation) -> list[dict[str, Any]]:
    """Return a rule for each pattern."""
    if not (patterns := texts(e.required("regex_list"))):
        raise RuleError(f"{e.type} needs a pattern in regex_list")
    return [_pattern(pattern) for pattern in patterns]


def _matches(e: Expectation) -> list[dict[str, Any]]:
    """Return the rule for a match of all patterns or of any, which the library joins to one pattern."""
    match_on = e.kwargs.get("match_on", "any")
    if match_on not in ("any", "all"):
        raise RuleError(f"match_on of {e.type} must be any or all, not {match_on!r}")
    rules = _regexes(e)
    return rules if match_on == "all" else [_pattern("|".join(texts(e.required("regex_list"))))]


def _pattern(regex: object) -> dict[str, Any]:
    rule = matches_on_spark(regex)
    return _of_text(rule["kind"], **rule["arguments"])


def _share(metric: str) -> _Compiler:
    return lambda e: Metric(metric, _mostly(e), e.column)


def _unique_together(e: Expectation) -> Metric:
    columns = tuple(texts(e.required("column_list")))
    if len(columns) < 2:
        raise RuleError(f"{e.type} needs two columns at least in column_list")
    ignored = e.kwargs.get("ignore_row_if", "all_values_are_missing")
    if ignored not in (names := ("all_values_are_missing", "any_value_is_missing", "never")):
        raise RuleError(f"ignore_row_if of {e.type} must be {', '.join(names[:-1])} or {names[-1]}, not {ignored!r}")
    return Metric("repeated_rows", {**_mostly(e), "ignore_row_if": ignored}, columns=columns)


def _aggregate(metric: str) -> _Compiler:
    def compiler(e: Expectation) -> Metric:
        bounds = (e.kwargs.get("min_value"), e.kwargs.get("max_value"))
        if any(isinstance(bound, str | dict) for bound in bounds):
            return _OTHER
        return Metric(metric, {"thresholds": e.thresholds()}, e.column)

    return compiler


def _distinct(metric: str, convert: Callable[[Any], Number] = number) -> _Compiler:
    return lambda e: Metric(metric, {"thresholds": e.thresholds(convert)}, columns=(e.column,))


def _count(metric: str) -> _Compiler:
    """Return the compiler of a number of rows or columns."""

    def compiler(e: Expectation) -> Metric:
        is_one = e.type.endswith("_equal")
        return Metric(
            metric, {"thresholds": {"must_be": whole(e.required("value"))} if is_one else e.thresholds(whole)}
        )

    return compiler


def _columns(e: Expectation) -> Metric:
    if e.type.endswith("_set"):
        names, exact = e.required("column_set"), e.flag("exact_match", default=True)
        return Metric("columns_exist", {"exact": exact}, columns=tuple(texts(names)))
    return Metric("columns_exist", {"exact": True, "ordered": True}, columns=tuple(texts(e.required("column_list"))))


_LIMITS = ("min_value", "max_value")
_BOUNDS = (*_LIMITS, "strict_min", "strict_max")

FORMS: Mapping[str, _Form] = {
    "expect_column_to_exist": _Form(lambda e: Metric("columns_exist", columns=(e.column,)), "column"),
    "expect_table_columns_to_match_set": _Form(_columns, "column_set", "exact_match"),
    "expect_table_columns_to_match_ordered_list": _Form(_columns, "column_list"),
    "expect_table_column_count_to_equal": _Form(_count("column_count"), "value"),
    "expect_table_column_count_to_be_between": _Form(_count("column_count"), *_LIMITS),
    "expect_table_row_count_to_equal": _Form(_count("row_count"), "value"),
    "expect_table_row_count_to_be_between": _Form(_count("row_count"), *_BOUNDS),
    "expect_compound_columns_to_be_unique": _Form(_unique_together, "column_list", "mostly", "ignore_row_if"),
    **{
        kind: _Form(compiler, "column", "mostly", *arguments)
        for kind, compiler, *arguments in (
            ("expect_column_values_to_not_be_null", _share("null_values")),
            ("expect_column_values_to_be_null", _share("present_values")),
            ("expect_column_values_to_be_unique", lambda e: Metric("repeated_rows", _mostly(e), columns=(e.column,))),
            ("expect_column_values_to_be_between", _between_values, *_BOUNDS),
            ("expect_column_values_to_be_in_set", _values(_in_set), "value_set"),
            ("expect_column_values_to_not_be_in_set", _values(_in_set, forbidden=True), "value_set"),
            ("expect_column_values_to_match_regex", _values(_regex), "regex"),
            ("expect_column_values_to_not_match_regex", _values(_regex, forbidden=True), "regex"),
            ("expect_column_values_to_match_regex_list", _values(_matches), "regex_list", "match_on"),
            ("expect_column_values_to_not_match_regex_list", _values(_regexes, forbidden=True), "regex_list"),
            ("expect_column_value_lengths_to_be_between", _values(_lengths), *_BOUNDS),
            ("expect_column_value_lengths_to_equal", _values(_length), "value"),
        )
    },
    **{
        f"expect_column_{name}_to_be_between": _Form(compiler, "column", *_BOUNDS)
        for name, compiler in (
            ("min", _aggregate("min")),
            ("max", _aggregate("max")),
            ("mean", _aggregate("avg")),
            ("median", _aggregate("median")),
            ("sum", _aggregate("sum")),
            ("stdev", _aggregate("stddev_samp")),
            ("unique_value_count", _distinct("distinct_values", whole)),
            ("proportion_of_unique_values", _distinct("distinct_share")),
        )
    },
}
"""Expectation -> its form. All others, and the same with arguments such as ``row_condition``, need the library."""
