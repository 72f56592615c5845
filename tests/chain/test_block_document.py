from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain import codec, dataset_facts
from airflow_provider_odf.errors import ChainCorrupted
from airflow_provider_odf.manifest.load import load_block

from .golden_blocks import VECTORS, Vector

SEED = "f16205f132235a7ab3e12b28492f28504c2f4d241cfeaa6baf47e86f24b3fb9292ed9"


def test_log_of_another_writer(foreign):
    entries = dataset_facts.log_entries(foreign("cities"))
    assert [e["event"]["kind"] for e in entries] == [
        "Seed", "SetPollingSource", "SetDataSchema", "AddData", "AddData", "AddData",
    ]  # fmt: skip
    assert entries[0] == {
        "hash": SEED,
        "sequenceNumber": 0,
        "systemTime": "2024-05-01T00:00:00Z",
        "published": "2024-05-01T00:00:00Z",
        "isRecorded": False,
        "event": {
            "kind": "Seed",
            "datasetId": "did:odf:fed018a6159847b1a8da335da967f5598dcb4515e29d7e66af2b486b0788f2230f980",
            "datasetKind": "Root",
        },
    }
    assert next(iter(entries[1]["event"])) == "kind"
    assert entries[-1]["event"]["newWatermark"] == "2024-05-04T07:00:00Z"


def test_summaries(foreign):
    events = [e["event"] for e in dataset_facts.log_entries(foreign("sensors"))]
    assert [dataset_facts.event_summary(event, str) for event in events] == [
        "Root",
        "Readings of three sensors",
        "CC-BY-4.0",
        "README.md",
        f"{events[4]['fetch']['path']}, NdJson, Ledger",
        "seq, change, recorded, measured",
        "seq, change, recorded, measured, sensor, celsius, fahrenheit",
        "2 records (offsets 0..1), watermark 2024-05-01T10:00:00Z, source at a.ndjson",
        "1 record (offsets 2..2), watermark 2024-05-01T11:00:00.250Z, source at b.ndjson",
        "1 record (offsets 3..3), watermark 2024-05-01T11:00:00.250Z, source at c.ndjson",
    ]
    attachments = {"kind": "Embedded", "items": [{"path": "a.md", "content": "A"}, {"path": "b/c.txt", "content": ""}]}
    assert dataset_facts.event_summary({"kind": "SetAttachments", "attachments": attachments}, str) == "a.md, b/c.txt"
    inputs = [{"datasetRef": "did:odf:x", "alias": "a"}, {"datasetRef": "did:odf:y"}]
    transform = {"kind": "SetTransform", "inputs": inputs}
    assert dataset_facts.event_summary(transform, lambda ref, alias: f"{ref} as {alias}") == (
        "did:odf:x as a, did:odf:y as None"
    )


@pytest.mark.parametrize("name", ["cities", "sensors"])
def test_blocks_survive_the_way_through_yaml(foreign, name):
    for path in (Path(foreign(name).location) / "blocks").iterdir():
        data = path.read_bytes()
        block, version = load_block(dataset_facts.block_yaml(data), "block.yaml")
        assert multiformats.sha3_256(codec.encode(block, version)) == path.name


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)
def test_vectors_survive_the_way_through_yaml(vector: Vector):
    block, version = load_block(dataset_facts.block_yaml(vector.data), "block.yaml")
    assert codec.encode(block, version) == vector.data


def test_block_yaml(foreign):
    cities = foreign("cities")
    assert dataset_facts.block_yaml(cities.storage.get(f"blocks/{SEED}")) == (
        "kind: MetadataBlock\n"
        "version: 3\n"
        "content:\n"
        "  systemTime: '2024-05-01T00:00:00Z'\n"
        "  sequenceNumber: 0\n"
        "  event:\n"
        "    kind: Seed\n"
        "    datasetId: did:odf:fed018a6159847b1a8da335da967f5598dcb4515e29d7e66af2b486b0788f2230f980\n"
        "    datasetKind: Root\n"
    )


def test_what_is_no_block():
    with pytest.raises(ChainCorrupted, match=r"^not a metadata block$"):
        dataset_facts.block_yaml(b"kind: MetadataBlock")
