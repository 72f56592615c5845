"""Facts about a dataset as one JSON document, from its chain, without secrets of its sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic.alias_generators import to_camel

from airflow_provider_odf.author import NOBODY
from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.dataset import Dataset
from airflow_provider_odf.chain.publications import NewestData, newest_data
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import InvalidInput, TypeUnsupported
from airflow_provider_odf.manifest import ddl, model, public_source


def summary(dataset: Dataset) -> dict[str, Any]:
    """Return one dataset's entry in a list: size in bytes, times in RFC 3339, null if unknown."""
    state, newest = replay(dataset), newest_data(dataset)
    return {
        "name": str(dataset.alias),
        "kind": state.kind,
        "records": state.next_offset,
        "size": _size(state),
        "watermark": str(state.watermark) if state.watermark else None,
        "published": _time(newest),
        "updated": str(state.system_time),
    }


def facts(dataset: Dataset, state: ChainState) -> dict[str, Any]:
    """Return the facts about a dataset as of a state of its chain.

    Every key is present; unknown values are null or an empty list. Names are the specification's; sizes are in bytes,
    times in RFC 3339.
    """
    return {
        "id": state.dataset_id,
        "alias": str(dataset.alias),
        "kind": state.kind,
        "uri": dataset.uri,
        **_about(state),
        **_sources(state),
        "vocabulary": {to_camel(role): column for role, column in vars(state.vocab).items()},
        "schema": columns(state.schema),
        "head": state.head,
        "blocks": state.sequence_number + 1,
        "systemTime": str(state.system_time),
        "publication": publication(newest_data(dataset, state.head)),
        "records": state.next_offset,
        "slices": len(state.slices),
        "size": _size(state),
        "watermark": str(state.watermark) if state.watermark else None,
        "sourceStates": [model.dump(s) for s in (state.polling_state, *state.push_states.values()) if s is not None],
    }


def publication(newest: NewestData | None) -> dict[str, Any] | None:
    """Return when the newest data was merged and published, and what is recorded of it, null if unknown."""
    if newest is None:
        return None
    recorded = newest.publication
    author = recorded.author if recorded is not None else NOBODY
    return {
        "block": newest.block_hash,
        "merged": str(newest.merged),
        "published": str(newest.published),
        "isRecorded": recorded is not None,
        "decision": recorded.decision if recorded is not None else None,
        "who": author.who,
        "reason": author.reason,
        "run": dict(author.run),
    }


def _time(newest: NewestData | None) -> str | None:
    return str(newest.published) if newest is not None else None


def origins(state: ChainState, separator: str, inputs: str = "") -> Iterator[tuple[str, str]]:
    """Yield label and text about where the data comes from: its sources with their steps, the names of its inputs, the
    transform, and the merge."""
    if state.polling_source is not None:
        steps = [public_source.fetch(state.polling_source.fetch), *public_source.steps(state.polling_source)]
        yield "Source", separator.join(steps)
    for source in state.push_sources.values():
        yield "Push source", separator.join([source.source_name, *public_source.steps(source)])
    if inputs:
        yield "Inputs", inputs
    if state.transform is not None:
        yield "Transform", f"SQL ({state.transform.transform.engine})"
    if state.merge is not None:
        yield "Merge", public_source.merge(state.merge)


def attachments(state: ChainState) -> dict[str, str]:
    """Return the content of the dataset's attachments by path."""
    return {item.path: item.content for item in state.attachments.attachments.items} if state.attachments else {}


def _size(state: ChainState) -> int:
    return sum(s.size for s in state.slices)


def _about(state: ChainState) -> dict[str, Any]:
    return {
        "description": state.info.description if state.info else None,
        "keywords": list(state.info.keywords or ()) if state.info else [],
        "license": _without_kind(state.license),
        "attachments": [{"path": p, "size": len(content.encode())} for p, content in attachments(state).items()],
    }


def _sources(state: ChainState) -> dict[str, Any]:
    return {
        "pollingSource": _without_kind(state.polling_source),
        "pushSources": [_without_kind(source) for source in state.push_sources.values()],
        "transform": _without_kind(state.transform),
        "mergeStrategy": model.dump(state.merge) if state.merge else None,
    }


def _without_kind(event: model.Variant | None) -> dict[str, Any] | None:
    return {k: v for k, v in public_source.dump(event).items() if k != "kind"} if event else None


def columns(event: model.SetDataSchema | None) -> list[dict[str, Any]]:
    """Return the columns of a schema: names, types as in a manifest, and whether they may be null."""
    if event is None:
        return []
    try:
        fields = schema.data_schema(event).fields
    except TypeUnsupported:
        arrow = schema.arrow_schema(event)
        return [{"name": f.name, "type": str(f.type), "nullable": f.nullable} for f in arrow]
    return [
        {"name": f.name, "type": _type(f.type), "nullable": isinstance(f.type, model.DataTypeOption)} for f in fields
    ]


def _type(data_type: model.DataType) -> str:
    try:
        return ddl.spark_type(data_type)
    except InvalidInput:
        while isinstance(data_type, model.DataTypeOption):
            data_type = data_type.inner
        return data_type.kind
