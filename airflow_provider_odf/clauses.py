"""Clauses of contracts, one row for each kind of check: its text, its condition, and its terms in DataHub.

The compiler of contracts, their examples, the engine and DataHub import this module, so that it uses the standard
library only. A condition is data: a measure, an operator and the argument of the check. What a measure is of a value
stands once for each evaluator: ``MEASURES`` of `engine.contract.rules` as SQL, ``MEASURES`` of `contract.examples` in
Python. Quality rules limit a metric by thresholds.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

Number: TypeAlias = int | float | Decimal
"""A number of a contract: a Decimal if no float holds it as it is written."""

CHARACTER_TYPES = frozenset({"string", "text", "varchar"})
INTEGER_TYPES = frozenset({"int", "integer", "long", "bigint"})
NUMERIC_TYPES = INTEGER_TYPES | {"number", "decimal", "numeric", "float", "double"}
STRUCT_TYPES = frozenset({"object", "record", "struct"})
TIME_TYPES = frozenset({"timestamp", "timestamp_tz", "timestamp_ntz", "date", "time"})
_ARRAYS = frozenset({"array"})

NATIVE = "_NATIVE_"
"""What DataHub has no standard term for."""

_SCHEMA = "DATASET_SCHEMA"


@dataclass(frozen=True)
class Operator:
    """A comparison of what is measured with an argument, the one that is true for failing values, and DataHub's."""

    holds: Callable[[Any, Any], bool]
    opposite: str
    datahub: str


OPERATORS = {
    ">=": Operator(operator.ge, "<", "GREATER_THAN_OR_EQUAL_TO"),
    ">": Operator(operator.gt, "<=", "GREATER_THAN"),
    "<=": Operator(operator.le, ">", "LESS_THAN_OR_EQUAL_TO"),
    "<": Operator(operator.lt, ">=", "LESS_THAN"),
    "=": Operator(operator.eq, "!=", "EQUAL_TO"),
}


@dataclass(frozen=True)
class DataHub:
    """A clause in the standard terms of DataHub. Without a ``scope``, it is about its field, or rows if it has none.

    ``parameter`` is the type of the argument that is the parameter of the operator, empty for none: ``LIMIT`` is
    NUMBER, or STRING for a text; a number is the parameter itself.
    """

    operator: str = NATIVE
    aggregation: str = NATIVE
    parameter: str | int = ""
    scope: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of check. ``text`` describes a clause, ``expected`` what the data should have.

    ``key`` is the clause of a field in a contract, empty for those of other things, and ``argument`` the name of its
    value in the arguments of the check; a switch has none. ``types`` are the logical types that the clause applies to,
    None for all. A value is valid if ``measure`` of it is, by ``operator``, as the argument says; measures without an
    operator are tests of their own.
    """

    name: str
    text: str
    key: str = ""
    argument: str = "limit"
    types: frozenset[str] | None = None
    measure: str = ""
    operator: str = ""
    expected: str = ""
    datahub: DataHub = DataHub()
    is_switch: bool = False

    @property
    def comparison(self) -> Operator:
        """The operator of the condition."""
        return OPERATORS[self.operator]


def _limit(
    name: str, key: str, condition: str, types: frozenset[str], text: str, expected: str, aggregation: str = ""
) -> Kind:
    """Return the kind of a limit; ``condition`` is a measure with an operator. Without an ``aggregation``, DataHub has
    no terms for it."""
    measure, _, comparison = condition.rpartition(" ")
    datahub = DataHub(OPERATORS[comparison].datahub, aggregation, "LIMIT") if aggregation else DataHub()
    return Kind(name, text, key, "limit", types, measure, comparison, expected, datahub)


_KINDS = (
    Kind("model_present", "the data of {model} can be read", measure="rows", datahub=DataHub(scope=_SCHEMA)),
    Kind(
        "field_present", "column {field} exists", argument="field", measure="column",
        datahub=DataHub("CONTAIN", "COLUMNS", "STRING", _SCHEMA),
    ),
    Kind("field_type", "{field} is of type {value}", "type", "type", measure="type"),
    Kind(
        "physical_type", "{field} is stored as {value}", "databricksType", "type", measure="stored type",
        datahub=DataHub(scope=_SCHEMA),
    ),
    Kind(
        "required", "{field} is never null", "required", measure="null", expected="not null", is_switch=True,
        datahub=DataHub("NOT_NULL", "IDENTITY"),
    ),
    Kind(
        "unique", "{field} has no duplicate values", "unique", measure="key", expected="unique", is_switch=True,
        datahub=DataHub("EQUAL_TO", "UNIQUE_PROPORTION", 1),
    ),
    Kind(
        "unique_items", "{field} has no duplicate items", "uniqueItems", measure="distinct items",
        expected="no duplicate items", is_switch=True,
    ),
    Kind(
        "enum", "{field} is one of {value}", "enum", "values", measure="text", expected="one of {values}",
        datahub=DataHub("IN", "IDENTITY", "SET"),
    ),
    Kind("in_set", "", argument="values", measure="literal", expected="one of {values}"),
    Kind(
        "format", "{field} is a valid {value}", "format", "format", CHARACTER_TYPES, measure="format",
        expected="a valid {format}",
    ),
    Kind(
        "pattern", "{field} matches {value}", "pattern", "pattern", CHARACTER_TYPES, measure="match",
        expected="matches {pattern}", datahub=DataHub("REGEX_MATCH", "IDENTITY", "STRING"),
    ),
    _limit(
        "min_length", "minLength", "length >=", CHARACTER_TYPES, "{field}: length >= {value}",
        "at least {limit} characters", NATIVE,
    ),
    _limit(
        "max_length", "maxLength", "length <=", CHARACTER_TYPES, "{field}: length <= {value}",
        "at most {limit} characters", NATIVE,
    ),
    *(
        _limit(
            name, key, f"value {sign}", NUMERIC_TYPES, f"{{field}}: {sign} {{value}}", f"{sign} {{limit}}", "IDENTITY"
        )
        for name, key, sign in (
            ("minimum", "minimum", ">="),
            ("exclusive_minimum", "exclusiveMinimum", ">"),
            ("maximum", "maximum", "<="),
            ("exclusive_maximum", "exclusiveMaximum", "<"),
        )
    ),
    _limit(
        "precision", "precision", "digits <=", NUMERIC_TYPES, "{field}: at most {value} digits",
        "at most {limit} digits",
    ),
    _limit(
        "scale", "scale", "decimal places <=", NUMERIC_TYPES, "{field}: at most {value} decimal places",
        "at most {limit} decimal places",
    ),
    Kind(
        "multiple_of", "{field}: a multiple of {value}", "multipleOf", types=NUMERIC_TYPES, measure="remainder",
        expected="a multiple of {limit}",
    ),
    Kind(
        "range", "{field} fits in {value}", "integerFormat", types=NUMERIC_TYPES, measure="whole number",
        expected="a whole number from {limit[0]} to {limit[1]}",
    ),
    _limit("min_items", "minItems", "items >=", _ARRAYS, "{field}: at least {value} items", "at least {limit}"),
    _limit("max_items", "maxItems", "items <=", _ARRAYS, "{field}: at most {value} items", "at most {limit}"),
    _limit("items", "dimensions", "items =", _ARRAYS, "{field}: {value} items", "exactly {limit}"),
    Kind(
        "required_fields", "{field}: {value} are never null", "requiredFields", "fields", STRUCT_TYPES,
        measure="nulls of fields", expected="{fields} are not null",
    ),
    Kind(
        "primary_key", "({columns}) is never null and identifies one row", measure="key",
        expected="unique and not null",
    ),
    Kind("references", "{field} exists in {value}", "references", "target", measure="reference"),
    Kind(
        "additional_fields", "the data has no columns other than those of the contract",
        measure="columns",
    ),
    *(
        Kind(f"quality_{language}", "", measure="metric")
        for language in ("sql", "library", "soda", "great_expectations")
    ),
    Kind("service_level_freshness", "", measure="newest time", datahub=DataHub(aggregation="MAX")),
    Kind("service_level_retention", "", measure="oldest time", datahub=DataHub(aggregation="MIN")),
    Kind("service_level_latency", "", measure="delay"),
)  # fmt: skip

KINDS = {kind.name: kind for kind in _KINDS}
"""Kind of check -> its row."""

OF_FIELDS = {kind.key: kind for kind in _KINDS if kind.key}
"""Clause of a field in a contract -> its row."""

LIMITS = frozenset(kind.key for kind in _KINDS if kind.measure == "value")
"""Clauses that also apply to times, if their value is a text."""


NOT_TESTED = {
    "physicalType": ("informational", "it is a type of the contract's server, not of Spark"),
    "timeFormat": ("informational", "times are read as timestamps, which have no text format"),
    "timezone": ("informational", "timestamps are read in UTC, without their original time zone"),
    "defaultTimezone": ("informational", "timestamps are read in UTC, without their original time zone"),
    "elementType": ("informational", "numbers of any width are accepted"),
    "distanceMetric": ("informational", "it is advice to consumers, which data cannot violate"),
    "embeddingModel": ("informational", "it documents the origin of the values"),
    "embeddingModelVersion": ("informational", "it documents the origin of the values"),
    "normalized": ("unsupported", "the length of vectors is not tested"),
    "minProperties": ("unsupported", "a struct always has all its fields"),
    "maxProperties": ("unsupported", "a struct always has all its fields"),
}
"""Clauses of the Open Data Contract Standard without a test, and why."""


@dataclass(frozen=True)
class Metric:
    """A metric that quality rules limit, as Spark's SQL of all rows, in which ``{x}`` is a column.

    ``of_text`` says whether the column has texts, not numbers. ``datahub`` is DataHub's aggregation, and ``share`` that
    of the same in percent. Metrics without SQL are measured by functions of `engine.contract.metrics`.
    """

    sql: str = ""
    datahub: str = NATIVE
    share: str = NATIVE
    of_text: bool = False


METRICS = {
    "row_count": Metric("count(1)", "ROW_COUNT"),
    "column_count": Metric(datahub="COLUMN_COUNT"),
    "columns_exist": Metric(),
    "null_values": Metric(datahub="NULL_COUNT", share="NULL_PROPORTION"),
    "present_values": Metric(),
    "missing_values": Metric(datahub="NULL_COUNT", share="NULL_PROPORTION"),
    "invalid_values": Metric(),
    "violations": Metric(),
    "reference": Metric(),
    "duplicate_values": Metric(),
    "repeated_rows": Metric(),
    "distinct_values": Metric(datahub="UNIQUE_COUNT"),
    "distinct_share": Metric(datahub="UNIQUE_PROPORTION"),
    "age": Metric(),
    "min": Metric("min({x})", "MIN"),
    "max": Metric("max({x})", "MAX"),
    "avg": Metric("avg({x})", "MEAN"),
    "sum": Metric("sum({x})", "SUM"),
    "stddev": Metric("stddev_samp({x})", "STDDEV"),
    "stddev_samp": Metric("stddev_samp({x})", "STDDEV"),
    "stddev_pop": Metric("stddev_pop({x})"),
    "variance": Metric("var_samp({x})"),
    "var_samp": Metric("var_samp({x})"),
    "var_pop": Metric("var_pop({x})"),
    "median": Metric("percentile_cont(0.5) WITHIN GROUP (ORDER BY nullif({x}, double('NaN')))", "MEDIAN"),
    "percentile": Metric("percentile_cont({fraction}) WITHIN GROUP (ORDER BY {x})"),
    "min_length": Metric("min(char_length({x}))", of_text=True),
    "max_length": Metric("max(char_length({x}))", of_text=True),
    "avg_length": Metric("avg(char_length({x}))", of_text=True),
}
"""Metric of a quality rule -> its row. Queries and expectations of libraries are measured by themselves."""


@dataclass(frozen=True)
class Threshold:
    """A threshold in words, its comparison of a number with the limit, and its operator in DataHub."""

    words: str
    holds: Callable[[Number, Any], bool]
    datahub: str = NATIVE
    is_range: bool = False


def _compared(words: str, compare: Callable[[Decimal, Decimal], bool], datahub: str) -> Threshold:
    return Threshold(f"{words} {{}}", lambda value, limit: compare(_exact(value), _exact(limit)), datahub)


def _is_between(value: Number, limits: Any) -> bool:
    return _exact(limits[0]) <= _exact(value) <= _exact(limits[1])


_AT_LEAST = _compared(">=", operator.ge, "GREATER_THAN_OR_EQUAL_TO")
_AT_MOST = _compared("<=", operator.le, "LESS_THAN_OR_EQUAL_TO")
_OUTSIDE = Threshold("not between {0[0]} and {0[1]}", lambda n, limits: not _is_between(n, limits), is_range=True)

THRESHOLDS = {
    "must_be": _compared("=", operator.eq, "EQUAL_TO"),
    "must_not_be": _compared("not", operator.ne, "NOT_EQUAL_TO"),
    "must_be_greater_than": _compared(">", operator.gt, "GREATER_THAN"),
    "must_be_greater_than_or_equal_to": _AT_LEAST,
    "must_be_greater_or_equal_to": _AT_LEAST,
    "must_be_less_than": _compared("<", operator.lt, "LESS_THAN"),
    "must_be_less_than_or_equal_to": _AT_MOST,
    "must_be_less_or_equal_to": _AT_MOST,
    "must_be_between": Threshold("between {0[0]} and {0[1]}", _is_between, "BETWEEN", is_range=True),
    "must_not_be_between": _OUTSIDE,
    "must_be_not_between": _OUTSIDE,
}
"""Threshold of a quality rule, in snake case -> its row. All of a rule count."""


@dataclass(frozen=True)
class Limits:
    """The thresholds of a rule by their names, and the unit of what they limit, empty or ``percent``."""

    thresholds: Mapping[str, Any]
    unit: str = ""

    @property
    def text(self) -> str:
        """The thresholds in words: ``>= 1 and < 5 percent``."""
        texts = (THRESHOLDS[name].words.format(limit) for name, limit in self.thresholds.items())
        return f"{' and '.join(texts)} {self.unit}".strip()

    def hold(self, value: Number) -> bool:
        """Whether a number is within all thresholds. NaN is within none."""
        if isinstance(value, float) and math.isnan(value):
            return False
        return all(THRESHOLDS[name].holds(value, limit) for name, limit in self.thresholds.items())


def limits_of(arguments: Mapping[str, Any]) -> Limits:
    """Return the thresholds in the arguments of a check."""
    unit = "percent" if arguments.get("unit") == "percent" or arguments["metric"] == "violations" else ""
    return Limits(arguments.get("thresholds") or {}, unit)


def number_text(value: Number) -> str:
    """Return a number as text, without the zeros that a type adds."""
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _exact(number: Any) -> Decimal:
    """Return a number as it is written: 0.1 is the decimal. A limit that no float holds is a text."""
    return Decimal(repr(number) if isinstance(number, float) else number)
