from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from airflow_provider_odf import multiformats
from airflow_provider_odf.chain import codec
from airflow_provider_odf.chain.flatbuffer_slots import Scalar, slots
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.model import MetadataBlock, dump

from .golden_blocks import VECTORS, Vector
from .golden_datasets import DATASETS

HASH = "f16209eb949bd8ff0bb1d827f11809aebc6bd0d5955c7f368469a913c70d196620272"
DID = "did:odf:fed016b65f9b5b23c00006b65f9b5b23c0000b056960700000000561226bab29c83f7"

STORED = {
    path.removeprefix("blocks/"): data
    for files in DATASETS.values()
    for path, data in files.items()
    if path.startswith("blocks/")
}


def block(**event) -> MetadataBlock:
    return MetadataBlock.model_validate(
        {"systemTime": "2024-05-02T08:00:00.123456789Z", "prevBlockHash": HASH, "sequenceNumber": 7, "event": event}
    )


ADD_DATA = codec.encode(
    block(
        kind="AddData",
        prevOffset=9,
        newData={
            "logicalHash": "f9680c00120" + "ab" * 32,
            "physicalHash": HASH,
            "offsetInterval": {"start": 10, "end": 99},
            "size": 100,
        },
        newWatermark="2024-05-01T00:00:00Z",
        newSourceState={"sourceName": "default", "kind": "odf/etag", "value": "x"},
        extra={"a": {"b": 1}},
    )
)


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)
def test_vectors_are_met_to_the_byte(vector: Vector):
    value = MetadataBlock.model_validate(vector.block)
    encoded = codec.encode(value, vector.version)
    assert encoded.hex() == vector.data.hex()
    assert multiformats.sha3_256(encoded) == vector.hash
    assert codec.decode_frame(vector.data) == (vector.version, value)


@pytest.mark.parametrize("block_hash", STORED)
def test_blocks_of_another_writer_are_read_and_written_the_same(block_hash):
    data = STORED[block_hash]
    version, value = codec.decode_frame(data)
    assert multiformats.sha3_256(data) == block_hash
    assert codec.encode(value, version) == data
    assert MetadataBlock.model_validate(dump(value)) == value


def test_seed_is_read():
    seed = codec.decode(STORED["f16205f132235a7ab3e12b28492f28504c2f4d241cfeaa6baf47e86f24b3fb9292ed9"])
    assert dump(seed) == {
        "systemTime": "2024-05-01T00:00:00Z",
        "sequenceNumber": 0,
        "event": {
            "kind": "Seed",
            "datasetId": "did:odf:fed018a6159847b1a8da335da967f5598dcb4515e29d7e66af2b486b0788f2230f980",
            "datasetKind": "Root",
        },
    }


def test_slots_follow_from_the_models():
    places = {slot.attribute: slot.number for slot in slots(model.SetPollingSource)}
    assert places == {"fetch": 0, "prepare": 2, "read": 3, "preprocess": 5, "merge": 7}
    numbers = {slot.attribute: slot.kind for slot in slots(model.FetchStepMqtt) + slots(model.AddData)}
    assert numbers["port"] == Scalar("int32", is_optional=False)
    assert numbers["prev_offset"] == Scalar("uint64", is_optional=True)


# --- any block round-trips ------------------------------------------------------------------------------------------

TEXT = st.text(max_size=8)
NAMES = st.lists(TEXT, max_size=2)
HASHES = st.sampled_from([HASH, "f1620" + "00" * 32, "f9680c00120" + "ff" * 32])
TIMES = st.integers(-62_135_596_800_000_000_000, 253_402_300_799_999_999_999).map(lambda ns: str(Instant(ns)))
UINT64 = st.integers(0, 2**64 - 1)
UNITS = st.sampled_from(["Second", "Millisecond", "Microsecond", "Nanosecond"])


def record(required=None, **optional):
    return st.fixed_dictionaries(required or {}, optional=optional)


def kind(name, required=None, **optional):
    return record({"kind": st.just(name)} | (required or {}), **optional)


TYPES = st.recursive(
    st.one_of(
        st.sampled_from(["Bool", "Date", "Float64", "Int64", "UInt8", "String", "Null"]).map(lambda k: {"kind": k}),
        kind("Binary", fixedLength=UINT64),
        kind("Decimal", {"precision": st.integers(1, 38), "scale": st.integers(-5, 38)}),
        kind("Timestamp", unit=UNITS, timezone=TEXT),
        kind("Time", unit=UNITS),
    ),
    lambda inner: st.one_of(
        kind("Option", {"inner": inner}),
        kind("List", {"itemType": inner}, fixedLength=UINT64),
        kind("Map", {"keyType": inner, "valueType": inner}, keysSorted=st.booleans()),
        kind("Struct", {"fields": st.lists(record({"name": TEXT, "type": inner}), max_size=3)}),
    ),
    max_leaves=6,
)
EXTRA = st.dictionaries(TEXT.filter(lambda t: t != "entries"), st.integers(-5, 5) | TEXT, max_size=2)
SCHEMA = record({"fields": st.lists(record({"name": TEXT, "type": TYPES}, extra=EXTRA), max_size=3)}, extra=EXTRA)
SLICE = record(
    {
        "logicalHash": HASHES,
        "physicalHash": HASHES,
        "offsetInterval": record({"start": UINT64, "end": UINT64}),
        "size": UINT64,
    }
)
CHECKPOINT = record({"physicalHash": HASHES, "size": UINT64})
TRANSFORM = kind(
    "Sql",
    {"engine": TEXT},
    version=TEXT,
    queries=st.lists(record({"query": TEXT}, alias=TEXT), max_size=2),
    temporalTables=st.lists(record({"name": TEXT, "primaryKey": NAMES}), max_size=2),
)
EVENT_TIME = st.one_of(kind("FromMetadata"), kind("FromSystemTime"), kind("FromPath", {"pattern": TEXT}))
FETCH = st.one_of(
    kind("Url", {"url": TEXT}, eventTime=EVENT_TIME, cache=kind("Forever"),
         headers=st.lists(record({"name": TEXT, "value": TEXT}), max_size=2)),
    kind("FilesGlob", {"path": TEXT}, eventTime=EVENT_TIME, order=st.sampled_from(["ByEventTime", "ByName"])),
    kind("Container", {"image": TEXT}, command=NAMES, args=NAMES, env=st.lists(record({"name": TEXT}, value=TEXT))),
    kind("Mqtt", {"host": TEXT, "port": st.integers(0, 65535),
                  "topics": st.lists(record({"path": TEXT}, qos=st.sampled_from(["AtMostOnce", "ExactlyOnce"])))}),
    kind("EthereumLogs", chainId=UINT64, nodeUrl=TEXT, filter=TEXT),
)  # fmt: skip
PREPARE = st.one_of(
    kind("Decompress", {"format": st.sampled_from(["Gzip", "Zip"])}, subPath=TEXT), kind("Pipe", {"command": NAMES})
)
READ = st.one_of(
    kind("Csv", separator=TEXT, header=st.booleans(), inferSchema=st.booleans(), nullValue=TEXT, ddlSchema=NAMES),
    kind("Json", subPath=TEXT, schema=SCHEMA),
    kind("Parquet", schema=SCHEMA),
    kind("EsriShapefile", ddlSchema=NAMES, subPath=TEXT),
)
MERGE = st.one_of(
    kind("Append"),
    kind("Ledger", {"primaryKey": NAMES}),
    kind("Snapshot", {"primaryKey": NAMES}, compareColumns=NAMES),
    kind("UpsertStream", {"primaryKey": NAMES}),
)
STATE = record({"sourceName": TEXT, "kind": TEXT, "value": TEXT})
INPUT = record({"datasetId": st.just(DID)}, prevBlockHash=HASHES, newBlockHash=HASHES, prevOffset=UINT64,
               newOffset=UINT64)  # fmt: skip
EVENTS = st.one_of(
    kind("AddData", prevCheckpoint=HASHES, prevOffset=UINT64, newData=SLICE, newCheckpoint=CHECKPOINT,
         newWatermark=TIMES, newSourceState=STATE, extra=EXTRA),
    kind("ExecuteTransform", {"queryInputs": st.lists(INPUT, max_size=2)}, newData=SLICE, newWatermark=TIMES),
    kind("Seed", {"datasetId": st.just(DID), "datasetKind": st.sampled_from(["Root", "Derivative"])}),
    kind("SetPollingSource", {"fetch": FETCH, "read": READ, "merge": MERGE}, prepare=st.lists(PREPARE, max_size=2),
         preprocess=TRANSFORM),
    kind("SetVocab", offsetColumn=TEXT, eventTimeColumn=TEXT),
    kind("SetAttachments", {"attachments": kind("Embedded", {
        "items": st.lists(record({"path": TEXT, "content": TEXT}), max_size=2)})}),
    kind("SetInfo", description=TEXT, keywords=NAMES),
    kind("SetLicense", {"shortName": TEXT, "name": TEXT, "websiteUrl": TEXT}, spdxId=TEXT),
    kind("SetDataSchema", {"schema": SCHEMA}),
    kind("SetDataSchema", {"rawArrowSchema": st.just("AAECAw==")}),
    kind("SetTransform", {"inputs": st.just([{"datasetRef": DID, "alias": "a"}]), "transform": TRANSFORM}),
    kind("AddPushSource", {"sourceName": TEXT, "read": READ, "merge": MERGE}),
    kind("DisablePushSource", {"sourceName": TEXT}),
    kind("DisablePollingSource"),
)  # fmt: skip
BLOCKS = record({"systemTime": TIMES, "sequenceNumber": UINT64, "event": EVENTS}, prevBlockHash=HASHES)


@settings(max_examples=250, deadline=None)
@given(BLOCKS, st.sampled_from([2, 3]))
def test_any_block_is_read_as_it_was_written(fields, version):
    value = MetadataBlock.model_validate(fields)
    data = codec.encode(value, version)
    assert codec.decode_frame(data) == (version, value)
    assert codec.encode(codec.decode(data), version) == data


# --- damage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["AddData with extra attributes, v3", "SetPollingSource with a schema, v3"])
def test_truncated_blocks_are_refused(name):
    data = VECTORS[name].data
    for length in range(len(data) - 8):
        with pytest.raises(ChainCorrupted):
            codec.decode(data[:length])


def test_no_damage_raises_anything_else():
    for at in range(len(ADD_DATA)):
        for value in (0, 1, 0x7F, 0x80, 0xFF, ADD_DATA[at] ^ 0x04):
            with contextlib.suppress(ChainCorrupted):
                codec.decode(ADD_DATA[:at] + bytes([value]) + ADD_DATA[at + 1 :])


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_noise_is_refused(data):
    with pytest.raises(ChainCorrupted):
        codec.decode(data)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(ADD_DATA) - 4), st.integers(-(2**31), 2**31 - 1)), min_size=1, max_size=4))
def test_wild_offsets_raise_nothing_else(edits):
    data = bytearray(ADD_DATA)
    for at, number in edits:
        struct.pack_into("<i", data, at, number)
    with contextlib.suppress(ChainCorrupted):
        codec.decode(bytes(data))


def test_nesting_without_end_is_refused():
    inner: dict = {"kind": "Int32"}
    for _ in range(100):
        inner = {"kind": "Option", "inner": inner}
    value = model.MetadataBlock.model_construct(
        system_time=Instant(0),
        prev_block_hash=None,
        sequence_number=0,
        event=model.SetDataSchema.model_construct(
            raw_arrow_schema=None,
            schema_=model.DataSchema(
                fields=(model.DataField(name="a", type=TypeAdapter(model.DataType).validate_python(inner)),)
            ),
        ),
    )
    with pytest.raises(ChainCorrupted, match="nested too deeply"):
        codec.decode(codec.encode(value))


def test_small_buffer_does_not_unfold_into_a_huge_object():
    data = bytearray(codec.encode(block(kind="SetInfo", keywords=["x" * 20_000] + [""] * 400)))
    long_text = data.index(b"x" * 20_000) - 4
    items = data.index(struct.pack("<I", 401)) + 4
    for at in range(items, items + 4 * 401, 4):
        struct.pack_into("<I", data, at, long_text - at)
    with pytest.raises(ChainCorrupted, match="overlap"):
        codec.decode(bytes(data))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"kind": 0x400001}, "^not a metadata block$"),
        ({"version": 1}, "version 1"),
        ({"version": 4}, "version 4"),
    ],
)
def test_frame_is_checked(edit, message):
    data = bytearray(ADD_DATA)
    at = data.index((0x400000).to_bytes(8, "little"))
    if "kind" in edit:
        data[at : at + 8] = edit["kind"].to_bytes(8, "little")
    else:
        data[data.index(b"\x03\x00\x00\x00", 20)] = edit["version"]
    with pytest.raises(ChainCorrupted, match=message):
        codec.decode(bytes(data))


@pytest.mark.parametrize("version", [0, 1, 4])
def test_other_versions_are_not_written(version):
    with pytest.raises(InvalidInput, match="is not supported: use 2 or 3"):
        codec.encode(block(kind="SetInfo"), version)


def test_numbers_out_of_range_are_not_written():
    value = block(kind="SetInfo").model_copy(update={"sequence_number": 2**64})
    with pytest.raises(InvalidInput, match="is out of range for the type uint64"):
        codec.encode(value)


def test_zero_and_absent_are_different_where_the_format_has_both():
    with_zero, without = block(kind="AddData", prevOffset=0), block(kind="AddData")
    assert codec.decode(codec.encode(with_zero)).event.prev_offset == 0
    assert codec.decode(codec.encode(without)).event.prev_offset is None


@pytest.mark.parametrize(("size", "is_kept"), [(100, True), (1 << 16, False)])
def test_small_blocks_are_kept_in_memory(size: int, is_kept: bool):
    readme = model.AttachmentEmbedded(path="README.md", content="x" * size)
    event = model.SetAttachments(attachments=model.AttachmentsEmbedded(items=(readme,)))
    block = MetadataBlock(system_time=Instant(0), prev_block_hash=None, sequence_number=0, event=event)
    data = codec.encode(block)
    first = codec.decode(data)
    assert first == block
    assert (codec.decode(bytes(bytearray(data))) is first) is is_kept
