"""Public view of a source: its steps in a few words or complete, without user, password and other credentials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from airflow_provider_odf import redaction
from airflow_provider_odf.manifest import fetch_kinds, model
from airflow_provider_odf.manifest import url as urls

_KILO, _THREE_DIGITS = 1000, 99.95
_UNITS = ("kB", "MB", "GB", "TB")


def dump(part: model.Model) -> dict[str, Any]:
    """Return a source in the specification's spelling with its credentials masked.

    Templates stay, but their fallbacks are masked if the name is that of a credential.
    """
    return {name: _shown(name, value) for name, value in _named(model.dump(part)).items()}


def secrets(part: model.Model) -> set[str]:
    """Return the literal secrets in a part of a manifest."""
    return set(_secrets(model.dump(part), dump(part)))


def fetch(step: model.FetchStep) -> str:
    """Return the place that a fetch step reads from."""
    return fetch_kinds.kind_of(step).label(step)


def steps(source: model.SetPollingSource | model.AddPushSource) -> list[str]:
    """Return the steps between fetch and merge, each in a few words."""
    prepare = source.prepare or () if isinstance(source, model.SetPollingSource) else ()
    query = [f"SQL ({source.preprocess.engine})"] if source.preprocess is not None else []
    return [*map(_prepare, prepare), source.read.kind, *query]


def merge(strategy: model.MergeStrategy) -> str:
    """Return a merge strategy and its key in words."""
    key = ", ".join(strategy.primary_key)
    return f"{strategy.kind} by {key}" if key else strategy.kind


def size(count: float) -> str:
    """Return a number of bytes in readable units.

    >>> size(3), size(1500), size(234_567_890)
    ('3 B', '1.5 kB', '235 MB')
    """
    if count < _KILO:
        return f"{count} B"
    unit = 0
    while (count := count / _KILO) >= _KILO and unit < len(_UNITS) - 1:
        unit += 1
    return f"{count:,.{0 if count >= _THREE_DIGITS else 1}f} {_UNITS[unit]}"


def _prepare(step: model.PrepStep) -> str:
    if isinstance(step, model.PrepStepDecompress):
        return f"{step.format} {step.sub_path}" if step.sub_path else step.format
    return f"pipe {step.command[0]}" if step.command else "pipe"


def _secrets(value: Any, public: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _secrets(item, public[key])
    elif isinstance(value, list):
        for item, other in zip(value, public, strict=True):
            yield from _secrets(item, other)
    elif value != public and isinstance(value, str):
        in_url = tuple(redaction.literals(value))
        yield from in_url or (() if "${{" in value else (value,))


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shown(key, item) for key, item in _named(value).items()}
    if isinstance(value, list):
        return [_shown("", item) for item in value]
    if name in ("url", "nodeUrl", "websiteUrl") and isinstance(value, str):
        return urls.public(value)
    return redaction.hidden(value) if name == "password" else value


def _named(pair: dict[str, Any]) -> dict[str, Any]:
    """Return a header or variable, its value masked if its name is sensitive; return anything else unchanged."""
    name, value = pair.get("name"), pair.get("value")
    return {**pair, "value": redaction.value(name, value)} if isinstance(name, str) and isinstance(value, str) else pair
