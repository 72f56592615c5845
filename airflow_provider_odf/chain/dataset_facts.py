"""Facts about a dataset and its blocks as JSON documents in the spelling of the specification, without secrets of its
sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic.alias_generators import to_camel

from airflow_provider_odf.author import NOBODY
from airflow_provider_odf.chain import codec, schema
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.publications import NewestData, PublishedHistory, newest_data, of_blocks
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import InvalidInput, TypeUnsupported
from airflow_provider_odf.manifest import ddl, model, public_source
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.wording import counted


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


def facts(dataset: Dataset, state: ChainState, history: PublishedHistory | None = None) -> dict[str, Any]:
    """Return the facts about a dataset as of a state of its chain, and the history up to it, if it was just read.

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
        "publication": publication(newest_data(dataset, state.head, history)),
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


def column_changes(before: model.SetDataSchema | None, after: model.SetDataSchema | None) -> Iterator[str]:
    """Yield how the columns of a schema differ from those of an earlier one, such as ``added price DOUBLE``."""
    old, new = (
        {c["name"]: c["type"] + ("" if c["nullable"] else " NOT NULL") for c in columns(event)}
        for event in (before, after)
    )
    yield from (f"added {name} {new[name]}" for name in new if name not in old)
    yield from (f"removed {name} {old[name]}" for name in old if name not in new)
    yield from (f"{name}: {old[name]} became {new[name]}" for name in new if name in old and new[name] != old[name])


def _type(data_type: model.DataType) -> str:
    try:
        return ddl.spark_type(data_type)
    except InvalidInput:
        while isinstance(data_type, model.DataTypeOption):
            data_type = data_type.inner
        return data_type.kind


def log_entries(dataset: Dataset, ref: str = HEAD) -> list[dict[str, Any]]:
    """Return the blocks of a dataset, newest last: ``{"hash", "sequenceNumber", "systemTime", "published",
    "isRecorded", "event": {"kind", …}}``. ``published`` is when readers saw the block, null if they did not;
    ``isRecorded`` tells whether a record says so, and not the time of the block.

    :raises ChainCorrupted: a block is missing or damaged.
    """
    blocks = list(dataset.walk(ref))[::-1]
    history = of_blocks(dataset, [block_hash for block_hash, _ in blocks])
    read = _blocks_in_head(dataset, ref, history)
    return [
        {
            "hash": block_hash,
            "sequenceNumber": number,
            "systemTime": str(block.system_time),
            "published": str(history.since(number, block.system_time)) if number < read else None,
            "isRecorded": history.entry(number) is not None,
            "event": model.dump(block.event),
        }
        for number, (block_hash, block) in enumerate(blocks)
    ]


def _blocks_in_head(dataset: Dataset, ref: str, history: PublishedHistory) -> int:
    """Return how many of the first blocks of a history were published: up to its last publication, and all those that
    ``head`` has."""
    if ref == HEAD:
        return len(history.hashes)
    common = dataset.common_block(dataset.resolve(HEAD), history.hashes[-1])
    in_head = dataset.block(common).sequence_number + 1 if common is not None else 0
    return max(in_head, history.entries[-1].last + 1 if history.entries else 0)


def event_summary(event: Mapping[str, Any], input_name: Callable[[str, str | None], str]) -> str:
    """Return a summary of an event of ``log_entries`` in one line; it may be empty.

    :param input_name: returns the name of an input for people, from its ref and alias.
    """
    if event["kind"] in ("AddData", "ExecuteTransform"):
        return _data_summary(event)
    if event["kind"] in ("SetPollingSource", "AddPushSource"):
        fetch = event.get("fetch", {})
        source = (
            event.get("sourceName") or urls.public(fetch.get("url", "")) or fetch.get("path") or fetch.get("kind", "")
        )
        return ", ".join(part for part in (source, event["read"]["kind"], event["merge"]["kind"]) if part)
    if event["kind"] == "SetTransform":
        return ", ".join(input_name(i["datasetRef"], i.get("alias")) for i in event["inputs"])
    if event["kind"] == "SetDataSchema":
        return ", ".join(field["name"] for field in event.get("schema", {}).get("fields", ()))
    if event["kind"] == "SetAttachments":
        return ", ".join(item["path"] for item in event["attachments"]["items"])
    names = ("datasetKind", "description", "shortName", "sourceName", "offsetColumn", "operationTypeColumn",
             "systemTimeColumn", "eventTimeColumn")  # fmt: skip
    return ", ".join(str(event[name]) for name in names if event.get(name))


def _data_summary(event: Mapping[str, Any]) -> str:
    parts = []
    if "newData" in event:
        interval = event["newData"]["offsetInterval"]
        count = interval["end"] - interval["start"] + 1
        parts.append(f"{counted(count, 'record')} (offsets {interval['start']}..{interval['end']})")
    if "newWatermark" in event:
        parts.append(f"watermark {event['newWatermark']}")
    if "newSourceState" in event:
        parts.append(f"source at {event['newSourceState']['value']}")
    return ", ".join(parts)


def block_yaml(data: bytes) -> str:
    """Return a block file as the YAML manifest ``MetadataBlock``, with the version of its frame.

    :raises ChainCorrupted: the file is not a block.
    """
    from airflow_provider_odf.manifest.yaml_source import dump_yaml

    version, block = codec.decode_frame(data)
    return dump_yaml({"kind": "MetadataBlock", "version": version, "content": model.dump(block)})
