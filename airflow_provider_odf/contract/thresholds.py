"""Thresholds of quality rules: ``mustBeGreaterThan`` and its siblings, in every spelling of the specifications."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_SINGLE = frozenset({
    "must_be", "must_not_be", "must_be_greater_than", "must_be_less_than",
    "must_be_greater_than_or_equal_to", "must_be_greater_or_equal_to",
    "must_be_less_than_or_equal_to", "must_be_less_or_equal_to",
})  # fmt: skip
_RANGES = frozenset({"must_be_between", "must_not_be_between", "must_be_not_between"})


class RuleError(ValueError):
    """A quality rule is not valid; the message says why."""


def of_rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the thresholds of a rule by their names in snake case. All of them count.

    :raises RuleError: a threshold is unknown, or no number.
    """
    named = {snake_case(str(key)): value for key, value in rule.items()}
    return {name: _limit(name, value) for name, value in named.items() if name.startswith("must")}


def require(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the thresholds of a rule that must have some.

    :raises RuleError: it has none, or one is not valid.
    """
    if not (thresholds := of_rule(rule)):
        raise RuleError("the rule has no threshold: add one, such as mustBe or mustBeLessThan")
    return thresholds


def number(value: Any) -> int | float:
    """Return a finite number of a document.

    :raises RuleError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise RuleError(f"{value!r} is not a number")
    return value


def _limit(name: str, value: Any) -> Any:
    if name in _SINGLE:
        return number(value)
    if name not in _RANGES:
        raise RuleError(f"there is no threshold {name}")
    if not isinstance(value, list) or len(value) != 2:
        raise RuleError(f"{name} needs a list of two numbers, not {value!r}")
    low, high = map(number, value)
    if low > high:
        raise RuleError(f"{name}: {low} is greater than {high}")
    return [low, high]


def snake_case(name: str) -> str:
    """Return a name in camel case as one in snake case: ``values_a_to_be`` for ``ValuesAToBe``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
