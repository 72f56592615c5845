"""Arguments of expectations of Great Expectations, checked more strictly than by the library, which converts them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_odf.contract.thresholds import Number, RuleError, number


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
