"""Resources of the specification, ``DatasetSnapshot`` and ``MetadataBlock``, and every class that they consist of."""

from __future__ import annotations

from typing import Any, TypeVar

from airflow_provider_odf.manifest.base import AliasText, Hash, Model, Time, UInt64, Variant
from airflow_provider_odf.manifest.data_schema import (
    DataField,
    DataSchema,
    DataType,
    DataTypeBinary,
    DataTypeBool,
    DataTypeDate,
    DataTypeDecimal,
    DataTypeDuration,
    DataTypeFloat16,
    DataTypeFloat32,
    DataTypeFloat64,
    DataTypeInt8,
    DataTypeInt16,
    DataTypeInt32,
    DataTypeInt64,
    DataTypeList,
    DataTypeMap,
    DataTypeNull,
    DataTypeOption,
    DataTypeString,
    DataTypeStruct,
    DataTypeTime,
    DataTypeTimestamp,
    DataTypeUInt8,
    DataTypeUInt16,
    DataTypeUInt32,
    DataTypeUInt64,
    ExtraAttributes,
    TimeUnit,
)
from airflow_provider_odf.manifest.events import (
    AddData,
    AddPushSource,
    AttachmentEmbedded,
    Attachments,
    AttachmentsEmbedded,
    Checkpoint,
    DatasetKind,
    DataSlice,
    DisablePollingSource,
    DisablePushSource,
    ExecuteTransform,
    ExecuteTransformInput,
    MetadataEvent,
    OffsetInterval,
    Seed,
    SetAttachments,
    SetDataSchema,
    SetInfo,
    SetLicense,
    SetPollingSource,
    SetTransform,
    SetVocab,
    SourceState,
)
from airflow_provider_odf.manifest.fetch_steps import (
    CompressionFormat,
    EnvVar,
    EventTimeSource,
    EventTimeSourceFromMetadata,
    EventTimeSourceFromPath,
    EventTimeSourceFromSystemTime,
    FetchStep,
    FetchStepContainer,
    FetchStepEthereumLogs,
    FetchStepFilesGlob,
    FetchStepMqtt,
    FetchStepUrl,
    MqttQos,
    MqttTopicSubscription,
    PrepStep,
    PrepStepDecompress,
    PrepStepPipe,
    RequestHeader,
    SourceCaching,
    SourceCachingForever,
    SourceOrdering,
)
from airflow_provider_odf.manifest.fragments import (
    MergeStrategy,
    MergeStrategyAppend,
    MergeStrategyChangelogStream,
    MergeStrategyLedger,
    MergeStrategySnapshot,
    MergeStrategyUpsertStream,
    ReadStep,
    ReadStepCsv,
    ReadStepEsriShapefile,
    ReadStepGeoJson,
    ReadStepJson,
    ReadStepNdGeoJson,
    ReadStepNdJson,
    ReadStepParquet,
    SqlQueryStep,
    TemporalTable,
    Transform,
    TransformInput,
    TransformSql,
)
from airflow_provider_odf.manifest.names import DatasetAlias

__all__ = [
    "AddData",
    "AddPushSource",
    "AttachmentEmbedded",
    "Attachments",
    "AttachmentsEmbedded",
    "Checkpoint",
    "CompressionFormat",
    "DataField",
    "DataSchema",
    "DataSlice",
    "DataType",
    "DataTypeBinary",
    "DataTypeBool",
    "DataTypeDate",
    "DataTypeDecimal",
    "DataTypeDuration",
    "DataTypeFloat16",
    "DataTypeFloat32",
    "DataTypeFloat64",
    "DataTypeInt8",
    "DataTypeInt16",
    "DataTypeInt32",
    "DataTypeInt64",
    "DataTypeList",
    "DataTypeMap",
    "DataTypeNull",
    "DataTypeOption",
    "DataTypeString",
    "DataTypeStruct",
    "DataTypeTime",
    "DataTypeTimestamp",
    "DataTypeUInt8",
    "DataTypeUInt16",
    "DataTypeUInt32",
    "DataTypeUInt64",
    "DatasetKind",
    "DatasetSnapshot",
    "DisablePollingSource",
    "DisablePushSource",
    "EnvVar",
    "EventTimeSource",
    "EventTimeSourceFromMetadata",
    "EventTimeSourceFromPath",
    "EventTimeSourceFromSystemTime",
    "ExecuteTransform",
    "ExecuteTransformInput",
    "ExtraAttributes",
    "FetchStep",
    "FetchStepContainer",
    "FetchStepEthereumLogs",
    "FetchStepFilesGlob",
    "FetchStepMqtt",
    "FetchStepUrl",
    "MergeStrategy",
    "MergeStrategyAppend",
    "MergeStrategyChangelogStream",
    "MergeStrategyLedger",
    "MergeStrategySnapshot",
    "MergeStrategyUpsertStream",
    "MetadataBlock",
    "MetadataEvent",
    "Model",
    "MqttQos",
    "MqttTopicSubscription",
    "OffsetInterval",
    "PrepStep",
    "PrepStepDecompress",
    "PrepStepPipe",
    "ReadStep",
    "ReadStepCsv",
    "ReadStepEsriShapefile",
    "ReadStepGeoJson",
    "ReadStepJson",
    "ReadStepNdGeoJson",
    "ReadStepNdJson",
    "ReadStepParquet",
    "RequestHeader",
    "Seed",
    "SetAttachments",
    "SetDataSchema",
    "SetInfo",
    "SetLicense",
    "SetPollingSource",
    "SetTransform",
    "SetVocab",
    "SourceCaching",
    "SourceCachingForever",
    "SourceOrdering",
    "SourceState",
    "SqlQueryStep",
    "TemporalTable",
    "TimeUnit",
    "Transform",
    "TransformInput",
    "TransformSql",
    "Variant",
    "dump",
]

E = TypeVar("E", bound=Variant)


class DatasetSnapshot(Model):
    """Dataset as its author declares it: the events of its chain after the Seed."""

    name: AliasText
    kind: DatasetKind
    metadata: tuple[MetadataEvent, ...]

    @property
    def alias(self) -> DatasetAlias:
        return DatasetAlias.parse(self.name)

    def events(self, event: type[E]) -> list[E]:
        """Return the events of one class, in order."""
        return [e for e in self.metadata if isinstance(e, event)]

    def last(self, event: type[E]) -> E | None:
        """Return the last event of one class, which is the effective one, or None."""
        return next(reversed(self.events(event)), None)


class MetadataBlock(Model):
    """Block of the chain. ``prev_block_hash`` is None only for the first one."""

    system_time: Time
    prev_block_hash: Hash | None = None
    sequence_number: UInt64
    event: MetadataEvent


def dump(model: Model) -> dict[str, Any]:
    """Return the model in the specification's spelling: camelCase, ``kind`` first, no nulls, times as text."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)
