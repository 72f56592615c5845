"""Which attribute of a metadata object lies in which slot of its flatbuffers table (specification: opendatafabric.fbs).

One line for each table, the slots in order, each ``attribute:kind``. Kinds:

- ``string bytes time``, ``hash`` (binary multihash, text in the model), ``did`` (binary dataset id, text in the model)
  and ``json`` (a string that holds a JSON object);
- ``bool uint8 … uint64 int32 int64``: a scalar that is left out when 0; with ``?`` one that is left out when None;
- the name of an enumeration of ``ENUMS`` (with or without ``?``), of a table of ``TABLES``, or of a union of
  ``UNIONS``, which takes two slots;
- ``[kind]``: a vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from airflow_provider_odf.merge_strategies import MERGE_STRATEGIES, Traits
from airflow_provider_odf.read_steps import READ_STEPS

SCALARS = {
    "bool": "?",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "uint8": "B",
}
"""Scalar -> its letter in ``struct``."""

ENUMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "DatasetKind": ("int32", ("Root", "Derivative")),
    "SourceOrdering": ("int32", ("ByEventTime", "ByName")),
    "CompressionFormat": ("int32", ("Gzip", "Zip")),
    "MqttQos": ("int32", ("AtMostOnce", "AtLeastOnce", "ExactlyOnce")),
    "TimeUnit": ("int16", ("Second", "Millisecond", "Microsecond", "Nanosecond")),
}
"""Enumeration -> its scalar, and its values in the order of their numbers."""


def _members(prefix: str, names: str) -> tuple[str, ...]:
    return tuple(prefix + name for name in names.split())


UNIONS: dict[str, tuple[str, ...]] = {
    "MetadataEvent": _members(
        "",
        "AddData ExecuteTransform Seed SetPollingSource SetTransform SetVocab SetAttachments SetInfo SetLicense "
        "SetDataSchema AddPushSource DisablePushSource DisablePollingSource",
    ),
    "FetchStep": _members("FetchStep", "Url FilesGlob Container Mqtt EthereumLogs"),
    "EventTimeSource": _members("EventTimeSource", "FromMetadata FromPath FromSystemTime"),
    "SourceCaching": _members("SourceCaching", "Forever"),
    "PrepStep": _members("PrepStep", "Decompress Pipe"),
    "ReadStep": _members("ReadStep", " ".join(READ_STEPS)),
    "Transform": _members("Transform", "Sql"),
    "MergeStrategy": _members("MergeStrategy", " ".join(MERGE_STRATEGIES)),
    "Attachments": _members("Attachments", "Embedded"),
    "DataType": _members(
        "DataType",
        "Binary Bool Date Decimal Duration Float16 Float32 Float64 Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 "
        "List Map Null Option Struct Time Timestamp String",
    ),
}
"""Union -> its members in the order of their numbers, which start at 1."""


def _merge_slots(traits: Traits) -> str:
    return "primary_key:[string]" + " compare_columns:[string]" * traits.compares_columns


_EMPTY = (
    "DisablePollingSource EventTimeSourceFromMetadata EventTimeSourceFromSystemTime SourceCachingForever "
    "MergeStrategyAppend DataTypeBool DataTypeDate DataTypeFloat16 DataTypeFloat32 DataTypeFloat64 DataTypeInt8 "
    "DataTypeInt16 DataTypeInt32 DataTypeInt64 DataTypeUInt8 DataTypeUInt16 DataTypeUInt32 DataTypeUInt64 DataTypeNull "
    "DataTypeString"
)

_SLOTS = {
    "MetadataBlock": "system_time:time prev_block_hash:hash sequence_number:uint64 event:MetadataEvent",
    # events
    "AddData": "prev_checkpoint:hash prev_offset:uint64? new_data:DataSlice new_checkpoint:Checkpoint "
    "new_watermark:time new_source_state:SourceState extra:ExtraAttributes",
    "ExecuteTransform": "query_inputs:[ExecuteTransformInput] prev_checkpoint:hash prev_offset:uint64? "
    "new_data:DataSlice new_checkpoint:Checkpoint new_watermark:time",
    "Seed": "dataset_id:did dataset_kind:DatasetKind",
    "SetPollingSource": "fetch:FetchStep prepare:[PrepStep] read:ReadStep preprocess:Transform merge:MergeStrategy",
    "SetTransform": "inputs:[TransformInput] transform:Transform",
    "SetVocab": "offset_column:string operation_type_column:string system_time_column:string event_time_column:string",
    "SetAttachments": "attachments:Attachments",
    "SetInfo": "description:string keywords:[string]",
    "SetLicense": "short_name:string name:string spdx_id:string website_url:string",
    "SetDataSchema": "raw_arrow_schema:bytes schema_:DataSchema",
    "AddPushSource": "source_name:string read:ReadStep preprocess:Transform merge:MergeStrategy",
    "DisablePushSource": "source_name:string",
    # data
    "DataSlice": "logical_hash:hash physical_hash:hash offset_interval:OffsetInterval size:uint64",
    "OffsetInterval": "start:uint64 end:uint64",
    "Checkpoint": "physical_hash:hash size:uint64",
    "SourceState": "source_name:string kind:string value:string",
    "ExecuteTransformInput": "dataset_id:did prev_block_hash:hash new_block_hash:hash prev_offset:uint64? "
    "new_offset:uint64?",
    "ExtraAttributes": "entries:json",
    # sources
    "FetchStepUrl": "url:string event_time:EventTimeSource cache:SourceCaching headers:[RequestHeader]",
    "FetchStepFilesGlob": "path:string event_time:EventTimeSource cache:SourceCaching order:SourceOrdering?",
    "FetchStepContainer": "image:string command:[string] args:[string] env:[EnvVar]",
    "FetchStepMqtt": "host:string port:int32 username:string password:string topics:[MqttTopicSubscription]",
    "FetchStepEthereumLogs": "chain_id:uint64? node_url:string filter:string signature:string",
    "MqttTopicSubscription": "path:string qos:MqttQos?",
    "EventTimeSourceFromPath": "pattern:string timestamp_format:string",
    "RequestHeader": "name:string value:string",
    "EnvVar": "name:string value:string",
    "PrepStepDecompress": "format:CompressionFormat sub_path:string",
    "PrepStepPipe": "command:[string]",
    # reading and merging
    "ReadStepCsv": "ddl_schema:[string] separator:string encoding:string quote:string escape:string header:bool? "
    "infer_schema:bool? null_value:string date_format:string timestamp_format:string schema_:DataSchema",
    "ReadStepGeoJson": "ddl_schema:[string] schema_:DataSchema",
    "ReadStepEsriShapefile": "ddl_schema:[string] sub_path:string schema_:DataSchema",
    "ReadStepParquet": "ddl_schema:[string] schema_:DataSchema",
    "ReadStepJson": "sub_path:string ddl_schema:[string] date_format:string encoding:string timestamp_format:string "
    "schema_:DataSchema",
    "ReadStepNdJson": "ddl_schema:[string] date_format:string encoding:string timestamp_format:string "
    "schema_:DataSchema",
    "ReadStepNdGeoJson": "ddl_schema:[string] schema_:DataSchema",
    "TransformSql": "engine:string version:string query:string queries:[SqlQueryStep] temporal_tables:[TemporalTable]",
    "SqlQueryStep": "alias:string query:string",
    "TemporalTable": "name:string primary_key:[string]",
    "TransformInput": "dataset_ref:string alias:string",
    **{f"MergeStrategy{name}": _merge_slots(traits) for name, traits in MERGE_STRATEGIES.items() if traits.has_key},
    # attachments
    "AttachmentsEmbedded": "items:[AttachmentEmbedded]",
    "AttachmentEmbedded": "path:string content:string",
    # schemas
    "DataSchema": "fields:[DataField] extra:ExtraAttributes",
    "DataField": "name:string type:DataType extra:ExtraAttributes",
    "DataTypeBinary": "fixed_length:uint64?",
    "DataTypeDecimal": "precision:uint32 scale:int32",
    "DataTypeDuration": "unit:TimeUnit?",
    "DataTypeList": "item_type:DataType fixed_length:uint64?",
    "DataTypeMap": "key_type:DataType value_type:DataType keys_sorted:bool?",
    "DataTypeOption": "inner:DataType",
    "DataTypeStruct": "fields:[DataField]",
    "DataTypeTime": "unit:TimeUnit?",
    "DataTypeTimestamp": "unit:TimeUnit? timezone:string",
} | dict.fromkeys(_EMPTY.split(), "")


class Plain(Enum):
    """Kinds without parameters."""

    STRING = "string"
    JSON = "json"
    BYTES = "bytes"
    HASH = "hash"
    DID = "did"
    TIME = "time"


@dataclass(frozen=True)
class Scalar:
    """A number; ``values`` are the names of an enumeration, empty for a plain number."""

    type: str
    is_optional: bool
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    name: str


@dataclass(frozen=True)
class OneOf:
    """A union. In a vector each item lies in a table of its own (``PrepStepWrapper``)."""

    name: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Vector:
    of: Kind


Kind: TypeAlias = Plain | Scalar | Table | OneOf | Vector


@dataclass(frozen=True)
class Slot:
    """An attribute's place; ``number`` is its first slot."""

    attribute: str
    number: int
    kind: Kind


_PLAIN = {plain.value: plain for plain in Plain}


def _kind(text: str) -> Kind:
    if text in _PLAIN:
        return _PLAIN[text]
    if text.startswith("["):
        return Vector(_kind(text[1:-1]))
    name, is_optional = text.removesuffix("?"), text.endswith("?")
    if name in SCALARS:
        return Scalar(name, is_optional)
    if name in ENUMS:
        return Scalar(ENUMS[name][0], is_optional, ENUMS[name][1])
    return OneOf(name, UNIONS[name]) if name in UNIONS else Table(name)


def _slots(line: str) -> tuple[Slot, ...]:
    slots: list[Slot] = []
    number = 0
    for part in line.split():
        attribute, _, text = part.partition(":")
        slots.append(Slot(attribute, number, _kind(text)))
        number += 2 if isinstance(slots[-1].kind, OneOf) else 1
    return tuple(slots)


TABLES: dict[str, tuple[Slot, ...]] = {name: _slots(line) for name, line in _SLOTS.items()}
"""Class of the manifest model -> its slots."""


def slot_count(table: str) -> int:
    slots = TABLES[table]
    return slots[-1].number + (2 if isinstance(slots[-1].kind, OneOf) else 1) if slots else 0
