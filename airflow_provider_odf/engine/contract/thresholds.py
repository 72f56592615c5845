"""Thresholds of quality rules. All of a rule count."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from airflow_provider_odf.protocol import Check

Number: TypeAlias = int | float | Decimal


def _between(value: Number, limits: Any) -> bool:
    low, high = limits
    return _exact(low) <= _exact(value) <= _exact(high)


_COMPARISONS: Mapping[str, tuple[str, Callable[[Number, Any], bool]]] = {
    "must_be": ("= {}", lambda value, limit: _exact(value) == _exact(limit)),
    "must_not_be": ("not {}", lambda value, limit: _exact(value) != _exact(limit)),
    "must_be_greater_than": ("> {}", lambda value, limit: _exact(value) > _exact(limit)),
    "must_be_greater_than_or_equal_to": (">= {}", lambda value, limit: _exact(value) >= _exact(limit)),
    "must_be_less_than": ("< {}", lambda value, limit: _exact(value) < _exact(limit)),
    "must_be_less_than_or_equal_to": ("<= {}", lambda value, limit: _exact(value) <= _exact(limit)),
    "must_be_between": ("between {0[0]} and {0[1]}", _between),
    "must_not_be_between": ("not between {0[0]} and {0[1]}", lambda value, limits: not _between(value, limits)),
}
_SPELLINGS = {
    "must_be_greater_or_equal_to": "must_be_greater_than_or_equal_to",
    "must_be_less_or_equal_to": "must_be_less_than_or_equal_to",
    "must_be_not_between": "must_not_be_between",
}


@dataclass(frozen=True)
class Limits:
    """The thresholds of a rule by their names, and the unit of what they limit, empty or ``percent``."""

    thresholds: Mapping[str, Any]
    unit: str = ""

    @property
    def text(self) -> str:
        """The thresholds in words: ``>= 1 and < 5 percent``."""
        texts = (_comparison(name)[0].format(limit) for name, limit in self.thresholds.items())
        return f"{' and '.join(texts)} {self.unit}".strip()

    def hold(self, value: Number) -> bool:
        """Whether a number is within all thresholds. NaN is within none."""
        if isinstance(value, float) and math.isnan(value):
            return False
        return all(_comparison(name)[1](value, limit) for name, limit in self.thresholds.items())


def shown(value: Number) -> str:
    """Return a number as text, without the zeros that a type adds."""
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _comparison(name: str) -> tuple[str, Callable[[Number, Any], bool]]:
    return _COMPARISONS[_SPELLINGS.get(name, name)]


def _exact(number: Any) -> Decimal:
    """Return a number as it is written: 0.1 is the decimal. A limit that no float holds is a text."""
    return Decimal(repr(number) if isinstance(number, float) else number)


def limits_of(check: Check) -> Limits:
    """Return the thresholds of a rule."""
    unit = "percent" if check.arguments.get("unit") == "percent" or check.arguments["metric"] == "violations" else ""
    return Limits(check.arguments.get("thresholds") or {}, unit)
