"""Thresholds of quality rules: ``mustBeGreaterThan`` and its siblings, in every spelling of the specifications."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from airflow_provider_odf.clauses import THRESHOLDS, Number
from airflow_provider_odf.wording import nearest


class RuleError(ValueError):
    """A quality rule is not valid; the message says why."""


def of_rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the thresholds of a rule by their names in snake case. All of them count.

    :raises RuleError: a threshold is unknown, or no number.
    """
    names = {str(key): snake_case(str(key)) for key in rule}
    return {name: _limit(key, name, rule[key]) for key, name in names.items() if name.startswith("must")}


def require(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the thresholds of a rule that must have some.

    :raises RuleError: it has none, or one is not valid.
    """
    if not (thresholds := of_rule(rule)):
        raise RuleError("the rule has no threshold: add one, such as mustBe or mustBeLessThan")
    return thresholds


def number(value: Any) -> Number:
    """Return a finite number of a document.

    :raises RuleError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not Decimal(value).is_finite():
        raise RuleError(f"{value!r} is not a number")
    return value


def _limit(key: str, name: str, value: Any) -> Any:
    """Return the value of a threshold; ``key`` is its name in the document, ``name`` the same in snake case."""
    if name not in THRESHOLDS:
        raise RuleError(f"unknown threshold {key!r}: {_nearest(key)}")
    if not THRESHOLDS[name].is_range:
        return _number(key, value)
    if not isinstance(value, list) or len(value) != 2:
        raise RuleError(f"{key} needs a list of two numbers, not {value!r}")
    low, high = (_number(key, limit) for limit in value)
    if low > high:
        raise RuleError(f"{key}: {low} is greater than {high}")
    return [low, high]


def _number(key: str, value: Any) -> Number:
    try:
        return number(value)
    except RuleError as e:
        raise RuleError(f"{key}: {e}") from None


def _nearest(key: str) -> str:
    """Return the most similar threshold as a suggestion, in the spelling of the key."""
    name = nearest(key, sorted(THRESHOLDS)) or "must_be"
    return f"did you mean {name if '_' in key else re.sub('_(.)', lambda match: match[1].upper(), name)!r}?"


def snake_case(name: str) -> str:
    """Return a name in camel case as one in snake case: ``values_a_to_be`` for ``ValuesAToBe``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
