from __future__ import annotations

import copy
import typing

import pytest
from pydantic import BaseModel, ValidationError

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.base import spellings

HASH = "f1620" + "ab" * 32
LOGICAL = "f9680c00120" + "cd" * 32
DID = "did:odf:fed01" + "0f" * 32


def validate(cls: type[BaseModel], value: object) -> BaseModel:
    return cls.model_validate(value, by_alias=True, by_name=False)


@pytest.mark.parametrize(
    ("cls", "yaml"),
    [
        (
            model.AddData,
            {
                "kind": "AddData",
                "prevCheckpoint": HASH,
                "prevOffset": 9,
                "newData": {
                    "logicalHash": LOGICAL,
                    "physicalHash": HASH,
                    "offsetInterval": {"start": 10, "end": 19},
                    "size": 100,
                },
                "newCheckpoint": {"physicalHash": HASH, "size": 1},
                "newWatermark": "2024-05-02T08:00:00.123Z",
                "newSourceState": {"sourceName": "default", "kind": "odf/etag", "value": "x"},
                "extra": {"a.org/x": {"z": 1, "b": 2}},
            },
        ),
        (
            model.ExecuteTransform,
            {
                "kind": "ExecuteTransform",
                "queryInputs": [
                    {
                        "datasetId": DID,
                        "prevBlockHash": HASH,
                        "newBlockHash": HASH,
                        "prevOffset": 0,
                        "newOffset": 2**64 - 1,
                    }
                ],
                "prevOffset": 0,
            },
        ),
        (model.Seed, {"kind": "Seed", "datasetId": DID, "datasetKind": "Derivative"}),
        (
            model.SetPollingSource,
            {
                "kind": "SetPollingSource",
                "fetch": {
                    "kind": "Url",
                    "url": "https://example.org/a.csv",
                    "eventTime": {"kind": "FromPath", "pattern": "(.*)", "timestampFormat": "yyyy"},
                    "cache": {"kind": "Forever"},
                    "headers": [{"name": "a", "value": "b"}],
                },
                "prepare": [
                    {"kind": "Decompress", "format": "Zip", "subPath": "a/*.csv"},
                    {"kind": "Pipe", "command": ["jq", "."]},
                ],
                "read": {
                    "kind": "Csv",
                    "ddlSchema": ["a INT"],
                    "separator": ";",
                    "encoding": "latin1",
                    "quote": "'",
                    "escape": "!",
                    "header": True,
                    "inferSchema": False,
                    "nullValue": "NA",
                    "dateFormat": "yyyy",
                    "timestampFormat": "rfc3339",
                },
                "preprocess": {
                    "kind": "Sql",
                    "engine": "spark",
                    "version": "4.0",
                    "queries": [{"alias": "x", "query": "select 1"}, {"query": "select * from x"}],
                },
                "merge": {"kind": "Snapshot", "primaryKey": ["a"], "compareColumns": ["b"]},
            },
        ),
        (
            model.SetTransform,
            {
                "kind": "SetTransform",
                "inputs": [{"datasetRef": "acme/orders", "alias": "o"}, {"datasetRef": DID}],
                "transform": {
                    "kind": "Sql",
                    "engine": "flink",
                    "query": "select 1",
                    "temporalTables": [{"name": "o", "primaryKey": ["k"]}],
                },
            },
        ),
        (
            model.SetVocab,
            {
                "kind": "SetVocab",
                "offsetColumn": "a",
                "operationTypeColumn": "b",
                "systemTimeColumn": "c",
                "eventTimeColumn": "d",
            },
        ),
        (
            model.SetAttachments,
            {
                "kind": "SetAttachments",
                "attachments": {"kind": "Embedded", "items": [{"path": "README.md", "content": "# x"}]},
            },
        ),
        (model.SetInfo, {"kind": "SetInfo", "description": "d", "keywords": ["k"]}),
        (
            model.SetLicense,
            {"kind": "SetLicense", "shortName": "s", "name": "n", "spdxId": "i", "websiteUrl": "https://x"},
        ),
        (model.SetDataSchema, {"kind": "SetDataSchema", "rawArrowSchema": "AAEC/w=="}),
        (
            model.SetDataSchema,
            {
                "kind": "SetDataSchema",
                "schema": {
                    "fields": [{"name": "a", "type": {"kind": "Int64"}, "extra": {"k": "v"}}],
                    "extra": {"n": [1, None]},
                },
            },
        ),
        (
            model.AddPushSource,
            {
                "kind": "AddPushSource",
                "sourceName": "s",
                "read": {"kind": "NdJson", "schema": {"fields": []}},
                "merge": {"kind": "Append"},
            },
        ),
        (model.DisablePushSource, {"kind": "DisablePushSource", "sourceName": "s"}),
        (model.DisablePollingSource, {"kind": "DisablePollingSource"}),
    ],
)
def test_every_event_is_read_and_dumped_in_the_spelling_of_the_specification(
    cls: type[model.Model], yaml: dict[str, object]
) -> None:
    given = copy.deepcopy(yaml)
    assert model.dump(validate(cls, given)) == yaml  # type: ignore[arg-type]
    block = {"systemTime": "2024-05-02T08:00:00Z", "sequenceNumber": 1, "event": yaml}
    assert model.dump(validate(model.MetadataBlock, block)) == block  # type: ignore[arg-type]
    assert given == yaml


@pytest.mark.parametrize(
    ("cls", "yaml"),
    [
        (model.FetchStepFilesGlob, {"kind": "FilesGlob", "path": "*.csv", "order": "ByEventTime"}),
        (
            model.FetchStepContainer,
            {
                "kind": "Container",
                "image": "i",
                "command": ["c"],
                "args": ["a"],
                "env": [{"name": "A"}, {"name": "B", "value": "b"}],
            },
        ),
        (
            model.FetchStepMqtt,
            {"kind": "Mqtt", "host": "h", "port": 1883, "topics": [{"path": "a/b", "qos": "AtLeastOnce"}]},
        ),
        (model.FetchStepEthereumLogs, {"kind": "EthereumLogs", "chainId": 1, "nodeUrl": "u", "signature": "s"}),
        (model.ReadStepJson, {"kind": "Json", "subPath": "a.b", "ddlSchema": ["a INT"]}),
        (model.ReadStepEsriShapefile, {"kind": "EsriShapefile", "subPath": "*.shp"}),
    ],
)
def test_fragments(cls: type[model.Model], yaml: dict[str, object]) -> None:
    assert model.dump(validate(cls, yaml)) == yaml  # type: ignore[arg-type]


def members(union: object) -> list[type[model.Variant]]:
    return list(typing.get_args(typing.get_args(union)[0])) or [typing.get_args(union)[0]]


@pytest.mark.parametrize(
    ("union", "kinds"),
    [
        (model.FetchStep, "Url FilesGlob Container Mqtt EthereumLogs"),
        (model.PrepStep, "Decompress Pipe"),
        (model.ReadStep, "Csv GeoJson EsriShapefile Parquet Json NdJson NdGeoJson"),
        (model.MergeStrategy, "Append Ledger Snapshot ChangelogStream UpsertStream"),
        (model.EventTimeSource, "FromMetadata FromPath FromSystemTime"),
        (
            model.MetadataEvent,
            "AddData ExecuteTransform Seed SetPollingSource SetTransform SetVocab SetAttachments SetInfo SetLicense "
            "SetDataSchema AddPushSource DisablePushSource DisablePollingSource",
        ),
        (
            model.DataType,
            "Binary Bool Date Decimal Duration Float16 Float32 Float64 Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 "
            "UInt64 List Map Null Option Struct Time Timestamp String",
        ),
    ],
)
def test_members_of_unions_stand_in_the_order_of_the_specification(union: object, kinds: str) -> None:
    assert [m.model_fields["kind"].default for m in members(union)] == kinds.split()


@pytest.mark.parametrize("kind", ["NdJson", "ndJson", "ndjson"])
def test_spellings_of_kinds(kind: str) -> None:
    event = {"kind": "addPushSource", "sourceName": "s", "read": {"kind": kind}, "merge": "append"}
    snapshot = validate(model.DatasetSnapshot, {"name": "a", "kind": "root", "metadata": [event]})
    assert model.dump(snapshot) == {  # type: ignore[arg-type]
        "name": "a",
        "kind": "Root",
        "metadata": [
            {"kind": "AddPushSource", "sourceName": "s", "read": {"kind": "NdJson"}, "merge": {"kind": "Append"}}
        ],
    }


def test_spellings_are_three() -> None:
    assert spellings("NdJson") == ["NdJson", "ndJson", "ndjson"]
    assert spellings("UInt8") == ["UInt8", "uInt8", "uint8"]
    with pytest.raises(ValidationError):
        validate(model.SetPollingSource, {"fetch": {"kind": "URL", "url": "x"}, "read": "csv", "merge": "append"})


def test_read_schema_may_be_a_ddl_list_or_an_odf_schema() -> None:
    old = validate(model.ReadStepCsv, {"kind": "Csv", "schema": ["a INT"]})
    assert old == model.ReadStepCsv(ddl_schema=("a INT",))
    new = validate(model.ReadStepCsv, {"kind": "Csv", "schema": {"fields": [{"name": "a", "type": "int32"}]}})
    assert new == model.ReadStepCsv(
        schema_=model.DataSchema(fields=(model.DataField(name="a", type=model.DataTypeInt32()),))
    )
    with pytest.raises(ValidationError, match="`schema` and `ddlSchema` cannot be used together"):
        validate(model.ReadStepCsv, {"kind": "Csv", "schema": ["a INT"], "ddlSchema": ["a INT"]})


def test_a_data_schema_event_takes_base64_under_either_name() -> None:
    for key in ("schema", "rawArrowSchema"):
        event = validate(model.SetDataSchema, {"kind": "SetDataSchema", key: "AAEC\n/w=="})
        assert event == model.SetDataSchema(raw_arrow_schema=b"\x00\x01\x02\xff")
    with pytest.raises(ValidationError, match="exactly one of"):
        model.SetDataSchema()


def test_attributes_are_kept_as_json_with_sorted_keys() -> None:
    extra = validate(model.ExtraAttributes, {"b": {"z": 1, "a": "é"}, "a": [1.5, None]})
    assert extra == model.ExtraAttributes(entries='{"a":[1.5,null],"b":{"z":1,"a":"é"}}')


def test_hashes_and_ids_are_kept_in_base16() -> None:
    upper = validate(model.Checkpoint, {"physicalHash": "F1620" + "AB" * 32, "size": 0})
    assert upper == model.Checkpoint(physical_hash=HASH, size=0)
    with pytest.raises(ValidationError, match="is not a SHA3-256 multihash"):
        model.Checkpoint(physical_hash="f1220" + "ab" * 32, size=0)


def test_times_are_instants() -> None:
    block = validate(
        model.MetadataBlock,
        {"systemTime": "2024-05-02T10:00:00+02:00", "sequenceNumber": 0, "event": "DisablePollingSource"},
    )
    assert block == model.MetadataBlock(
        system_time=Instant.parse("2024-05-02T08:00:00Z"), sequence_number=0, event=model.DisablePollingSource()
    )


@pytest.mark.parametrize("key", ["primary_key", "primarykey", "PrimaryKey"])
def test_yaml_keys_have_one_spelling(key: str) -> None:
    with pytest.raises(ValidationError):
        validate(model.MergeStrategyLedger, {"kind": "Ledger", key: ["a"]})


@pytest.mark.parametrize(
    ("cls", "value"),
    [
        (model.OffsetInterval, {"start": -1, "end": 0}),
        (model.OffsetInterval, {"start": 0, "end": 2**64}),
        (model.OffsetInterval, {"start": True, "end": 0}),
        (model.OffsetInterval, {"start": "1", "end": 0}),
        (model.ReadStepCsv, {"header": "true"}),
        (model.ReadStepCsv, {"header": 1}),
        (model.MergeStrategyLedger, {"primaryKey": "a"}),
        (model.TransformInput, {"datasetRef": "not_a_name"}),
    ],
)
def test_values_are_not_coerced(cls: type[model.Model], value: object) -> None:
    with pytest.raises(ValidationError):
        validate(cls, value)


def test_models_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        model.SetInfo().description = "x"  # type: ignore[misc]


def test_queries_are_normalized() -> None:
    short = model.TransformSql(engine="spark", query="select 1")
    assert short.steps == (model.SqlQueryStep(query="select 1"),)
    assert short.normalized() == model.TransformSql(engine="spark", queries=(model.SqlQueryStep(query="select 1"),))


def test_the_last_event_of_a_class_counts() -> None:
    metadata = (model.SetVocab(offset_column="a"), model.SetInfo(), model.SetVocab(event_time_column="b"))
    snapshot = model.DatasetSnapshot(name="acme/x", kind="Root", metadata=metadata)
    assert snapshot.last(model.SetVocab) == metadata[2]
    assert snapshot.last(model.SetLicense) is None
    assert (snapshot.alias.account, snapshot.alias.name) == ("acme", "x")
