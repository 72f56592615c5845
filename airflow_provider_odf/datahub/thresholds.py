"""Thresholds of quality rules as an operator with parameters of DataHub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from datahub.metadata import schema_classes as dh

_Operator = dh.AssertionStdOperatorClass
_Type = dh.AssertionStdParameterTypeClass

_OPERATORS = {
    "must_be": _Operator.EQUAL_TO,
    "must_not_be": _Operator.NOT_EQUAL_TO,
    "must_be_greater_than": _Operator.GREATER_THAN,
    "must_be_greater_than_or_equal_to": _Operator.GREATER_THAN_OR_EQUAL_TO,
    "must_be_greater_or_equal_to": _Operator.GREATER_THAN_OR_EQUAL_TO,
    "must_be_less_than": _Operator.LESS_THAN,
    "must_be_less_than_or_equal_to": _Operator.LESS_THAN_OR_EQUAL_TO,
    "must_be_less_or_equal_to": _Operator.LESS_THAN_OR_EQUAL_TO,
    "must_be_between": _Operator.BETWEEN,
}


class Comparison(NamedTuple):
    """An operator with its parameters."""

    operator: str
    parameters: dh.AssertionStdParametersClass | None = None


def comparison(arguments: Mapping[str, Any]) -> Comparison:
    """Return the comparison of a rule's thresholds. Several ones, none, and ``must_not_be_between`` have no standard
    operator: ``_NATIVE_``."""
    thresholds = arguments.get("thresholds") or {}
    if len(thresholds) != 1 or not thresholds.keys() <= _OPERATORS.keys():
        return Comparison(_Operator._NATIVE_)
    ((name, value),) = thresholds.items()
    if _OPERATORS[name] != _Operator.BETWEEN:
        return Comparison(_OPERATORS[name], dh.AssertionStdParametersClass(value=number(value)))
    low, high = value
    return Comparison(_Operator.BETWEEN, dh.AssertionStdParametersClass(minValue=number(low), maxValue=number(high)))


def number(value: object) -> dh.AssertionStdParameterClass:
    """Return a parameter of type NUMBER."""
    return dh.AssertionStdParameterClass(value=str(value), type=_Type.NUMBER)
