"""What a quality rule measures, whatever its language: a metric of the engine with thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from airflow_provider_odf.contract import ecma_patterns
from airflow_provider_odf.contract.model import Model
from airflow_provider_odf.contract.thresholds import RuleError


def from_yaml(value: object) -> object:
    """Return the value of a specification, which may be YAML or JSON in a text.

    :raises RuleError: the text is no YAML.
    """
    try:
        return yaml.safe_load(value) if isinstance(value, str) else value
    except yaml.YAMLError as e:
        raise RuleError(f"the specification is not YAML: {' '.join(str(e).split())}") from e


@dataclass(frozen=True)
class Rule:
    """A quality rule. ``field`` is the path of its field, None for a rule of the model."""

    value: Mapping[str, Any]
    model: Model
    field: str | None = None

    def specification(self) -> Mapping[str, Any]:
        """Return the rule in the language of its engine, which may be YAML in a text.

        :raises RuleError: there is none.
        """
        value = from_yaml(self.value.get("specification", self.value.get("implementation")))
        if not isinstance(value, dict):
            raise RuleError("the rule has no specification")
        return value


@dataclass(frozen=True)
class Metric:
    """A metric of the engine (`engine.contract.metrics`), about a field, columns, or the whole model.

    ``arguments`` are those of the check. ``unsupported`` says why nothing is measured.
    """

    name: str = ""
    arguments: dict[str, Any] = field(default_factory=dict)
    field: str | None = None
    columns: tuple[str, ...] = ()
    unsupported: str = ""

    def __post_init__(self) -> None:
        self.arguments.setdefault("metric", self.name)


def values_in(values: object) -> dict[str, Any]:
    """Return the rule that values are among some.

    :raises RuleError: they are no list.
    """
    return {"kind": "enum", "arguments": {"values": texts(values)}}


def matches(pattern: object) -> dict[str, Any]:
    """Return the rule that values match a regular expression of ECMA-262.

    :raises RuleError: it is none, or it could take exponential time.
    """
    arguments, problem = ecma_patterns.arguments(str(pattern))
    if problem:
        raise RuleError(problem)
    return {"kind": "pattern", "arguments": arguments}


def matches_on_spark(pattern: object) -> dict[str, Any]:
    """Return the rule that values match a regular expression of Spark, which is Java's.

    Soda and Great Expectations hand their patterns to the engine as they are.

    :raises RuleError: it could take exponential time.
    """
    if ecma_patterns.needs_linear_time(str(pattern)):
        raise RuleError(ecma_patterns.TOO_SLOW)
    return {"kind": "pattern", "arguments": {"pattern": str(pattern), "java": str(pattern)}}


def texts(values: object) -> list[str]:
    """Return values as texts, without null.

    :raises RuleError: they are no list.
    """
    if not isinstance(values, list):
        raise RuleError(f"{values!r} is not a list of values")
    return [str(v).lower() if isinstance(v, bool) else str(v) for v in values if v is not None]
