"""Rules for a manifest that does not validate: the parts that do are checked, so that all errors come at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from airflow_provider_odf.manifest import rules, step_rules
from airflow_provider_odf.manifest.events import MetadataEvent
from airflow_provider_odf.manifest.finding import Finding
from airflow_provider_odf.manifest.fragments import DatasetKind, FetchStep, PrepStep, ReadStep, Transform

_STEPS: Mapping[str, tuple[Any, Callable[[Any], Iterator[Finding]]]] = {
    "fetch": (FetchStep, step_rules.check_fetch),
    "prepare": (tuple[PrepStep, ...], step_rules.check_prepare),
    "read": (ReadStep, step_rules.check_read),
    "preprocess": (Transform, step_rules.check_preprocess),
    "transform": (Transform, step_rules.check_transform),
}


def check(content: Any) -> Iterator[Finding]:
    """What the rules find in the valid parts of a snapshot's content; paths start at the content."""
    metadata = content.get("metadata") if isinstance(content, dict) else None
    if not isinstance(metadata, list):
        return
    events = [(index, event) for index, raw in enumerate(metadata) if (event := _valid(MetadataEvent, raw))]
    yield from rules.check(rules.Declared(_valid(DatasetKind, content.get("kind")), events, is_whole=False))
    for index in set(range(len(metadata))) - {index for index, _ in events}:
        if isinstance(metadata[index], dict):
            yield from (finding.under("metadata", index) for finding in _steps(metadata[index]))


def _steps(event: dict[str, Any]) -> Iterator[Finding]:
    for key, (annotation, rule) in _STEPS.items():
        if key in event and (step := _valid(annotation, event[key])) is not None:
            yield from (finding.under(key) for finding in rule(step))


def _valid(annotation: Any, raw: Any) -> Any:
    try:
        return _adapter(annotation).validate_python(raw, by_alias=True, by_name=False)
    except ValidationError:
        return None


@lru_cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)
