"""Clauses in the standard terms of DataHub: scope, aggregation, operator and parameters of each kind.

Whatever has no standard form is ``_NATIVE_``; the kind and the arguments of a clause are on every assertion.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from datahub.metadata import schema_classes as dh

from airflow_provider_odf.contract.report import query_of
from airflow_provider_odf.datahub.thresholds import comparison, number
from airflow_provider_odf.protocol import Check

_Aggregation = dh.AssertionStdAggregationClass
_Operator = dh.AssertionStdOperatorClass
_Scope = dh.DatasetAssertionScopeClass
_Type = dh.AssertionStdParameterTypeClass

_OF_VOLUME = frozenset(
    {
        _Operator.GREATER_THAN,
        _Operator.GREATER_THAN_OR_EQUAL_TO,
        _Operator.EQUAL_TO,
        _Operator.LESS_THAN,
        _Operator.LESS_THAN_OR_EQUAL_TO,
        _Operator.BETWEEN,
    }
)

_COUNTS_ROWS = re.compile(
    r"\s*select\s+count\s*\(\s*(\*|1)\s*\)\s*(as\s+\w+\s+|\w+\s+)?from\s+[\w.`\"{}]+\s*;?\s*", re.I
)


@dataclass(frozen=True)
class Form:
    """A clause in standard terms. An empty ``scope`` is that of the clause's field, or of rows if it has none."""

    operator: str = _Operator._NATIVE_
    parameters: dh.AssertionStdParametersClass | None = None
    aggregation: str | None = _Aggregation.IDENTITY
    scope: str = ""

    @property
    def is_row_count(self) -> bool:
        """Whether the clause compares the number of rows by an operator of DataHub's volume assertions."""
        return self.aggregation == _Aggregation.ROW_COUNT and self.operator in _OF_VOLUME


_Former: TypeAlias = Callable[[Check], Form]


def form(check: Check) -> Form:
    """Return the standard form of a check."""
    shape = _FORMS.get(check.kind, _metric)(check)
    if shape.scope:
        return shape
    return replace(shape, scope=_Scope.DATASET_COLUMN if check.field else _Scope.DATASET_ROWS)


def _fixed(operator: str, aggregation: str | None = _Aggregation.IDENTITY, scope: str = "") -> _Former:
    return lambda check: Form(operator, None, aggregation, scope)


def _limit(operator: str, aggregation: str = _Aggregation.IDENTITY) -> _Former:
    """Return the form of a limit, which is a number, or a date or time as text; none in a clause that is not valid."""

    def former(check: Check) -> Form:
        limit = check.arguments.get("limit")
        kind = _Type.NUMBER if isinstance(limit, int | float) else _Type.STRING
        return Form(
            operator,
            _value(dh.AssertionStdParameterClass(str(limit), kind)) if limit is not None else None,
            aggregation,
        )

    return former


def _enum(check: Check) -> Form:
    values = json.dumps(check.arguments.get("values") or [], ensure_ascii=False, default=str)
    return Form(_Operator.IN, _value(dh.AssertionStdParameterClass(values, _Type.SET)))


def _text(operator: str, argument: str, aggregation: str | None, scope: str = "") -> _Former:
    def former(check: Check) -> Form:
        value = check.arguments.get(argument) or getattr(check, argument, None) or ""
        return Form(operator, _value(dh.AssertionStdParameterClass(str(value), _Type.STRING)), aggregation, scope)

    return former


def _unique(check: Check) -> Form:
    return Form(_Operator.EQUAL_TO, _value(number(1)), _Aggregation.UNIQUE_PROPORTION)


def _metric(check: Check) -> Form:
    """Return the form of a metric, such as the number of rows, with its thresholds."""
    metric = str(check.arguments.get("metric"))
    aggregation, in_percent = _METRICS.get(metric, (_Aggregation._NATIVE_, _Aggregation._NATIVE_))
    return Form(*comparison(check.arguments), in_percent if check.arguments.get("unit") == "percent" else aggregation)


def _sql(check: Check) -> Form:
    query = query_of(check) or ""
    is_count = _COUNTS_ROWS.fullmatch(query.strip()) is not None
    return Form(*comparison(check.arguments), _Aggregation.ROW_COUNT if is_count else _Aggregation._NATIVE_)


def _value(parameter: dh.AssertionStdParameterClass) -> dh.AssertionStdParametersClass:
    return dh.AssertionStdParametersClass(value=parameter)


_METRICS = {
    "row_count": (_Aggregation.ROW_COUNT, _Aggregation._NATIVE_),
    **dict.fromkeys(("null_values", "missing_values"), (_Aggregation.NULL_COUNT, _Aggregation.NULL_PROPORTION)),
    "distinct_values": (_Aggregation.UNIQUE_COUNT, _Aggregation._NATIVE_),
    "distinct_share": (_Aggregation.UNIQUE_PROPORTION, _Aggregation._NATIVE_),
    "column_count": (_Aggregation.COLUMN_COUNT, _Aggregation._NATIVE_),
    "avg": (_Aggregation.MEAN, _Aggregation._NATIVE_),
    "median": (_Aggregation.MEDIAN, _Aggregation._NATIVE_),
    "max": (_Aggregation.MAX, _Aggregation._NATIVE_),
    "min": (_Aggregation.MIN, _Aggregation._NATIVE_),
    "sum": (_Aggregation.SUM, _Aggregation._NATIVE_),
    **dict.fromkeys(("stddev", "stddev_samp"), (_Aggregation.STDDEV, _Aggregation._NATIVE_)),
}
"""Metric of a quality rule -> its aggregation, and that of its share in percent."""

_FORMS: Mapping[str, _Former] = {
    "field_present": _text(_Operator.CONTAIN, "field", _Aggregation.COLUMNS, _Scope.DATASET_SCHEMA),
    **dict.fromkeys(
        ("model_present", "physical_type"), _fixed(_Operator._NATIVE_, _Aggregation._NATIVE_, _Scope.DATASET_SCHEMA)
    ),
    "required": _fixed(_Operator.NOT_NULL),
    "unique": _unique,
    "enum": _enum,
    "pattern": _text(_Operator.REGEX_MATCH, "pattern", _Aggregation.IDENTITY),
    "min_length": _limit(_Operator.GREATER_THAN_OR_EQUAL_TO, _Aggregation._NATIVE_),
    "max_length": _limit(_Operator.LESS_THAN_OR_EQUAL_TO, _Aggregation._NATIVE_),
    "minimum": _limit(_Operator.GREATER_THAN_OR_EQUAL_TO),
    "maximum": _limit(_Operator.LESS_THAN_OR_EQUAL_TO),
    "exclusive_minimum": _limit(_Operator.GREATER_THAN),
    "exclusive_maximum": _limit(_Operator.LESS_THAN),
    "quality_sql": _sql,
    "service_level_freshness": _fixed(_Operator._NATIVE_, _Aggregation.MAX),
    "service_level_retention": _fixed(_Operator._NATIVE_, _Aggregation.MIN),
}
"""Kind of a check -> its standard form."""
