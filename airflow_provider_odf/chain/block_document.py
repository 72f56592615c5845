"""Blocks in the spelling of the specification, for users and scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_provider_odf.chain import codec
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.chain.publications import PublishedHistory, of_blocks
from airflow_provider_odf.manifest import url as urls
from airflow_provider_odf.manifest.model import dump
from airflow_provider_odf.wording import counted


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
            "event": dump(block.event),
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


def summary(event: Mapping[str, Any], input_name: Callable[[str, str | None], str]) -> str:
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
    return dump_yaml({"kind": "MetadataBlock", "version": version, "content": dump(block)})
