"""Resources of the specification, ``DatasetSnapshot`` and ``MetadataBlock``, and every class that they consist of."""

from __future__ import annotations

from typing import Any, TypeVar

from airflow_provider_odf.manifest.base import AliasText, Hash, Time, UInt64
from airflow_provider_odf.manifest.base import Model as Model
from airflow_provider_odf.manifest.base import Variant as Variant
from airflow_provider_odf.manifest.data_schema import DataField as DataField
from airflow_provider_odf.manifest.data_schema import DataSchema as DataSchema
from airflow_provider_odf.manifest.data_schema import DataType as DataType
from airflow_provider_odf.manifest.data_schema import DataTypeBinary as DataTypeBinary
from airflow_provider_odf.manifest.data_schema import DataTypeBool as DataTypeBool
from airflow_provider_odf.manifest.data_schema import DataTypeDate as DataTypeDate
from airflow_provider_odf.manifest.data_schema import DataTypeDecimal as DataTypeDecimal
from airflow_provider_odf.manifest.data_schema import DataTypeDuration as DataTypeDuration
from airflow_provider_odf.manifest.data_schema import DataTypeFloat16 as DataTypeFloat16
from airflow_provider_odf.manifest.data_schema import DataTypeFloat32 as DataTypeFloat32
from airflow_provider_odf.manifest.data_schema import DataTypeFloat64 as DataTypeFloat64
from airflow_provider_odf.manifest.data_schema import DataTypeInt8 as DataTypeInt8
from airflow_provider_odf.manifest.data_schema import DataTypeInt16 as DataTypeInt16
from airflow_provider_odf.manifest.data_schema import DataTypeInt32 as DataTypeInt32
from airflow_provider_odf.manifest.data_schema import DataTypeInt64 as DataTypeInt64
from airflow_provider_odf.manifest.data_schema import DataTypeList as DataTypeList
from airflow_provider_odf.manifest.data_schema import DataTypeMap as DataTypeMap
from airflow_provider_odf.manifest.data_schema import DataTypeNull as DataTypeNull
from airflow_provider_odf.manifest.data_schema import DataTypeOption as DataTypeOption
from airflow_provider_odf.manifest.data_schema import DataTypeString as DataTypeString
from airflow_provider_odf.manifest.data_schema import DataTypeStruct as DataTypeStruct
from airflow_provider_odf.manifest.data_schema import DataTypeTime as DataTypeTime
from airflow_provider_odf.manifest.data_schema import DataTypeTimestamp as DataTypeTimestamp
from airflow_provider_odf.manifest.data_schema import DataTypeUInt8 as DataTypeUInt8
from airflow_provider_odf.manifest.data_schema import DataTypeUInt16 as DataTypeUInt16
from airflow_provider_odf.manifest.data_schema import DataTypeUInt32 as DataTypeUInt32
from airflow_provider_odf.manifest.data_schema import DataTypeUInt64 as DataTypeUInt64
from airflow_provider_odf.manifest.data_schema import ExtraAttributes as ExtraAttributes
from airflow_provider_odf.manifest.data_schema import TimeUnit as TimeUnit
from airflow_provider_odf.manifest.events import AddData as AddData
from airflow_provider_odf.manifest.events import AddPushSource as AddPushSource
from airflow_provider_odf.manifest.events import AttachmentEmbedded as AttachmentEmbedded
from airflow_provider_odf.manifest.events import Attachments as Attachments
from airflow_provider_odf.manifest.events import AttachmentsEmbedded as AttachmentsEmbedded
from airflow_provider_odf.manifest.events import Checkpoint as Checkpoint
from airflow_provider_odf.manifest.events import DatasetKind as DatasetKind
from airflow_provider_odf.manifest.events import DataSlice as DataSlice
from airflow_provider_odf.manifest.events import DisablePollingSource as DisablePollingSource
from airflow_provider_odf.manifest.events import DisablePushSource as DisablePushSource
from airflow_provider_odf.manifest.events import ExecuteTransform as ExecuteTransform
from airflow_provider_odf.manifest.events import ExecuteTransformInput as ExecuteTransformInput
from airflow_provider_odf.manifest.events import MetadataEvent as MetadataEvent
from airflow_provider_odf.manifest.events import OffsetInterval as OffsetInterval
from airflow_provider_odf.manifest.events import Seed as Seed
from airflow_provider_odf.manifest.events import SetAttachments as SetAttachments
from airflow_provider_odf.manifest.events import SetDataSchema as SetDataSchema
from airflow_provider_odf.manifest.events import SetInfo as SetInfo
from airflow_provider_odf.manifest.events import SetLicense as SetLicense
from airflow_provider_odf.manifest.events import SetPollingSource as SetPollingSource
from airflow_provider_odf.manifest.events import SetTransform as SetTransform
from airflow_provider_odf.manifest.events import SetVocab as SetVocab
from airflow_provider_odf.manifest.events import SourceState as SourceState
from airflow_provider_odf.manifest.fetch_steps import CompressionFormat as CompressionFormat
from airflow_provider_odf.manifest.fetch_steps import EnvVar as EnvVar
from airflow_provider_odf.manifest.fetch_steps import EventTimeSource as EventTimeSource
from airflow_provider_odf.manifest.fetch_steps import EventTimeSourceFromMetadata as EventTimeSourceFromMetadata
from airflow_provider_odf.manifest.fetch_steps import EventTimeSourceFromPath as EventTimeSourceFromPath
from airflow_provider_odf.manifest.fetch_steps import EventTimeSourceFromSystemTime as EventTimeSourceFromSystemTime
from airflow_provider_odf.manifest.fetch_steps import FetchStep as FetchStep
from airflow_provider_odf.manifest.fetch_steps import FetchStepContainer as FetchStepContainer
from airflow_provider_odf.manifest.fetch_steps import FetchStepEthereumLogs as FetchStepEthereumLogs
from airflow_provider_odf.manifest.fetch_steps import FetchStepFilesGlob as FetchStepFilesGlob
from airflow_provider_odf.manifest.fetch_steps import FetchStepMqtt as FetchStepMqtt
from airflow_provider_odf.manifest.fetch_steps import FetchStepUrl as FetchStepUrl
from airflow_provider_odf.manifest.fetch_steps import MqttQos as MqttQos
from airflow_provider_odf.manifest.fetch_steps import MqttTopicSubscription as MqttTopicSubscription
from airflow_provider_odf.manifest.fetch_steps import PrepStep as PrepStep
from airflow_provider_odf.manifest.fetch_steps import PrepStepDecompress as PrepStepDecompress
from airflow_provider_odf.manifest.fetch_steps import PrepStepPipe as PrepStepPipe
from airflow_provider_odf.manifest.fetch_steps import RequestHeader as RequestHeader
from airflow_provider_odf.manifest.fetch_steps import SourceCaching as SourceCaching
from airflow_provider_odf.manifest.fetch_steps import SourceCachingForever as SourceCachingForever
from airflow_provider_odf.manifest.fetch_steps import SourceOrdering as SourceOrdering
from airflow_provider_odf.manifest.fragments import MergeStrategy as MergeStrategy
from airflow_provider_odf.manifest.fragments import MergeStrategyAppend as MergeStrategyAppend
from airflow_provider_odf.manifest.fragments import MergeStrategyChangelogStream as MergeStrategyChangelogStream
from airflow_provider_odf.manifest.fragments import MergeStrategyLedger as MergeStrategyLedger
from airflow_provider_odf.manifest.fragments import MergeStrategySnapshot as MergeStrategySnapshot
from airflow_provider_odf.manifest.fragments import MergeStrategyUpsertStream as MergeStrategyUpsertStream
from airflow_provider_odf.manifest.fragments import ReadStep as ReadStep
from airflow_provider_odf.manifest.fragments import ReadStepCsv as ReadStepCsv
from airflow_provider_odf.manifest.fragments import ReadStepEsriShapefile as ReadStepEsriShapefile
from airflow_provider_odf.manifest.fragments import ReadStepGeoJson as ReadStepGeoJson
from airflow_provider_odf.manifest.fragments import ReadStepJson as ReadStepJson
from airflow_provider_odf.manifest.fragments import ReadStepNdGeoJson as ReadStepNdGeoJson
from airflow_provider_odf.manifest.fragments import ReadStepNdJson as ReadStepNdJson
from airflow_provider_odf.manifest.fragments import ReadStepParquet as ReadStepParquet
from airflow_provider_odf.manifest.fragments import SqlQueryStep as SqlQueryStep
from airflow_provider_odf.manifest.fragments import TemporalTable as TemporalTable
from airflow_provider_odf.manifest.fragments import Transform as Transform
from airflow_provider_odf.manifest.fragments import TransformInput as TransformInput
from airflow_provider_odf.manifest.fragments import TransformSql as TransformSql
from airflow_provider_odf.manifest.names import DatasetAlias

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
