"""Fragments of the specification: steps of a source, transforms, slices, states.

Members of the unions and fields have the order of the flatbuffers schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, model_validator

from airflow_provider_odf.manifest.base import Bool, Hash, IdText, Model, RefText, Spelled, UInt64, Variant, refuse
from airflow_provider_odf.manifest.data_schema import DataSchema

DatasetKind: TypeAlias = Annotated[Literal["Root", "Derivative"], Spelled("kind of dataset")]
SourceOrdering: TypeAlias = Annotated[Literal["ByEventTime", "ByName"], Spelled("order of files")]
CompressionFormat: TypeAlias = Annotated[Literal["Gzip", "Zip"], Spelled("compression format")]
MqttQos: TypeAlias = Annotated[Literal["AtMostOnce", "AtLeastOnce", "ExactlyOnce"], Spelled("quality of service")]


# --- fetch ----------------------------------------------------------------------------------------------------------


class EventTimeSourceFromMetadata(Variant):
    """Event time is the time that the source reports: Last-Modified or modification time."""

    kind: Literal["FromMetadata"] = "FromMetadata"


class EventTimeSourceFromPath(Variant):
    """Event time is the first group of ``pattern`` in the path."""

    kind: Literal["FromPath"] = "FromPath"
    pattern: str
    timestamp_format: str | None = None


class EventTimeSourceFromSystemTime(Variant):
    """Event time is the time of the poll."""

    kind: Literal["FromSystemTime"] = "FromSystemTime"


EventTimeSource: TypeAlias = Annotated[
    EventTimeSourceFromMetadata | EventTimeSourceFromPath | EventTimeSourceFromSystemTime,
    Field(discriminator="kind"),
    Spelled("source of event time", "EventTimeSource"),
]


class SourceCachingForever(Variant):
    """A file that was ingested is never ingested again."""

    kind: Literal["Forever"] = "Forever"


SourceCaching: TypeAlias = Annotated[SourceCachingForever, Spelled("kind of caching", "SourceCaching")]


class RequestHeader(Model):
    name: str
    value: str


class EnvVar(Model):
    """Environment variable; without ``value`` it has the value of the run's environment."""

    name: str
    value: str | None = None


class MqttTopicSubscription(Model):
    path: str
    qos: MqttQos | None = None


class FetchStepUrl(Variant):
    """Pulls data from a URL."""

    kind: Literal["Url"] = "Url"
    url: str
    event_time: EventTimeSource | None = None
    cache: SourceCaching | None = None
    headers: tuple[RequestHeader, ...] | None = None


class FetchStepFilesGlob(Variant):
    """Reads the files that match a glob pattern, one after the other."""

    kind: Literal["FilesGlob"] = "FilesGlob"
    path: str
    event_time: EventTimeSource | None = None
    cache: SourceCaching | None = None
    order: SourceOrdering | None = None


class FetchStepContainer(Variant):
    """Runs an OCI container that writes the data to its standard output."""

    kind: Literal["Container"] = "Container"
    image: str
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] | None = None


class FetchStepMqtt(Variant):
    """Reads messages of MQTT topics (since specification 0.35)."""

    kind: Literal["Mqtt"] = "Mqtt"
    host: str
    port: Annotated[int, Field(strict=True, ge=0, le=65535)]
    username: str | None = None
    password: str | None = None
    topics: tuple[MqttTopicSubscription, ...]


class FetchStepEthereumLogs(Variant):
    """Reads logs of an Ethereum node (since specification 0.36)."""

    kind: Literal["EthereumLogs"] = "EthereumLogs"
    chain_id: UInt64 | None = None
    node_url: str | None = None
    filter: str | None = None
    signature: str | None = None


FetchStep: TypeAlias = Annotated[
    FetchStepUrl | FetchStepFilesGlob | FetchStepContainer | FetchStepMqtt | FetchStepEthereumLogs,
    Field(discriminator="kind"),
    Spelled("fetch step", "FetchStep"),
]


# --- prepare --------------------------------------------------------------------------------------------------------


class PrepStepDecompress(Variant):
    kind: Literal["Decompress"] = "Decompress"
    format: CompressionFormat
    sub_path: str | None = None


class PrepStepPipe(Variant):
    """Runs a program on the data, with its arguments and without a shell."""

    kind: Literal["Pipe"] = "Pipe"
    command: tuple[str, ...]


PrepStep: TypeAlias = Annotated[
    PrepStepDecompress | PrepStepPipe, Field(discriminator="kind"), Spelled("prepare step", "PrepStep")
]


# --- read -----------------------------------------------------------------------------------------------------------


def ddl_list_apart(value: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping with a DDL list under ``schema`` moved to ``ddlSchema``."""
    if not isinstance(value.get("schema"), list) or value.get("ddlSchema") is not None:
        return value
    return {("ddlSchema" if key == "schema" else key): v for key, v in value.items() if key != "ddlSchema"}


class _Read(Variant):
    """Read step. ``schema`` is an ODF schema or (until specification 0.37) a DDL list, which is stored in
    ``ddl_schema``."""

    @model_validator(mode="before")
    @classmethod
    def _ddl_list(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if value.get("schema") is not None and value.get("ddlSchema") is not None:
            raise refuse("`schema` and `ddlSchema` exclude each other", "keep one", ("ddlSchema",))
        return ddl_list_apart(value)


class ReadStepCsv(_Read):
    kind: Literal["Csv"] = "Csv"
    ddl_schema: tuple[str, ...] | None = None
    separator: str | None = None
    encoding: str | None = None
    quote: str | None = None
    escape: str | None = None
    header: Bool | None = None
    infer_schema: Bool | None = None
    null_value: str | None = None
    date_format: str | None = None
    timestamp_format: str | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepGeoJson(_Read):
    kind: Literal["GeoJson"] = "GeoJson"
    ddl_schema: tuple[str, ...] | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepEsriShapefile(_Read):
    kind: Literal["EsriShapefile"] = "EsriShapefile"
    ddl_schema: tuple[str, ...] | None = None
    sub_path: str | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepParquet(_Read):
    kind: Literal["Parquet"] = "Parquet"
    ddl_schema: tuple[str, ...] | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepJson(_Read):
    """An array of objects, at ``subPath`` (``a.b.c``) or at the root."""

    kind: Literal["Json"] = "Json"
    sub_path: str | None = None
    ddl_schema: tuple[str, ...] | None = None
    date_format: str | None = None
    encoding: str | None = None
    timestamp_format: str | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepNdJson(_Read):
    kind: Literal["NdJson"] = "NdJson"
    ddl_schema: tuple[str, ...] | None = None
    date_format: str | None = None
    encoding: str | None = None
    timestamp_format: str | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


class ReadStepNdGeoJson(_Read):
    kind: Literal["NdGeoJson"] = "NdGeoJson"
    ddl_schema: tuple[str, ...] | None = None
    schema_: DataSchema | None = Field(None, alias="schema")


ReadStep: TypeAlias = Annotated[
    ReadStepCsv
    | ReadStepGeoJson
    | ReadStepEsriShapefile
    | ReadStepParquet
    | ReadStepJson
    | ReadStepNdJson
    | ReadStepNdGeoJson,
    Field(discriminator="kind"),
    Spelled("read step", "ReadStep"),
]


# --- transform ------------------------------------------------------------------------------------------------------


class SqlQueryStep(Model):
    alias: str | None = None
    query: str


class TemporalTable(Model):
    name: str
    primary_key: tuple[str, ...]


class TransformSql(Variant):
    """Queries in the SQL of ``engine``. ``query`` is the short form of one query; blocks store only ``queries``."""

    kind: Literal["Sql"] = "Sql"
    engine: str
    version: str | None = None
    query: str | None = None
    queries: tuple[SqlQueryStep, ...] | None = None
    temporal_tables: tuple[TemporalTable, ...] | None = None

    @property
    def steps(self) -> tuple[SqlQueryStep, ...]:
        """Return the queries in order; the last has no alias and is the output."""
        return (SqlQueryStep(query=self.query),) if self.query is not None else self.queries or ()

    def normalized(self) -> TransformSql:
        """Return the transform with ``queries`` only, as the chain stores it."""
        return self if self.query is None else self.model_copy(update={"query": None, "queries": self.steps})


Transform: TypeAlias = Annotated[TransformSql, Spelled("transform", "Transform")]


class TransformInput(Model):
    """Input of a transform. ``datasetRef`` is an alias, or an id once the dataset is known; ``alias`` is its name in
    queries."""

    dataset_ref: RefText
    alias: str | None = None


# --- merge ----------------------------------------------------------------------------------------------------------


class MergeStrategyAppend(Variant):
    kind: Literal["Append"] = "Append"


class MergeStrategyLedger(Variant):
    kind: Literal["Ledger"] = "Ledger"
    primary_key: tuple[str, ...]


class MergeStrategySnapshot(Variant):
    kind: Literal["Snapshot"] = "Snapshot"
    primary_key: tuple[str, ...]
    compare_columns: tuple[str, ...] | None = None


class MergeStrategyChangelogStream(Variant):
    kind: Literal["ChangelogStream"] = "ChangelogStream"
    primary_key: tuple[str, ...]


class MergeStrategyUpsertStream(Variant):
    kind: Literal["UpsertStream"] = "UpsertStream"
    primary_key: tuple[str, ...]


MergeStrategy: TypeAlias = Annotated[
    MergeStrategyAppend
    | MergeStrategyLedger
    | MergeStrategySnapshot
    | MergeStrategyChangelogStream
    | MergeStrategyUpsertStream,
    Field(discriminator="kind"),
    Spelled("merge strategy", "MergeStrategy"),
]


# --- attachments, slices, states ------------------------------------------------------------------------------------


class AttachmentEmbedded(Model):
    path: str
    content: str


class AttachmentsEmbedded(Variant):
    kind: Literal["Embedded"] = "Embedded"
    items: tuple[AttachmentEmbedded, ...]


Attachments: TypeAlias = Annotated[AttachmentsEmbedded, Spelled("source of attachments", "Attachments")]


class OffsetInterval(Model):
    """Closed interval of record offsets."""

    start: UInt64
    end: UInt64


class DataSlice(Model):
    """Data file; ``size`` is in bytes."""

    logical_hash: Hash
    physical_hash: Hash
    offset_interval: OffsetInterval
    size: UInt64


class Checkpoint(Model):
    """Checkpoint file; ``size`` is in bytes."""

    physical_hash: Hash
    size: UInt64


class SourceState(Model):
    """Progress of reading a source. Standard kinds: ``odf/etag``, ``odf/last-modified``."""

    source_name: str
    kind: str
    value: str


class ExecuteTransformInput(Model):
    """Part ``(prev, new]`` of an input's blocks and records that a transaction read."""

    dataset_id: IdText
    prev_block_hash: Hash | None = None
    new_block_hash: Hash | None = None
    prev_offset: UInt64 | None = None
    new_offset: UInt64 | None = None
