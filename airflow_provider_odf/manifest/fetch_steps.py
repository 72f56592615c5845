"""Fetch and prepare steps of a polling source: how its data is fetched and decompressed.

Members of the unions and fields have the order of the flatbuffers schema.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from airflow_provider_odf.manifest.base import Model, Spelled, UInt64, Variant

SourceOrdering: TypeAlias = Annotated[Literal["ByEventTime", "ByName"], Spelled("order of files")]
CompressionFormat: TypeAlias = Annotated[Literal["Gzip", "Zip"], Spelled("compression format")]
MqttQos: TypeAlias = Annotated[Literal["AtMostOnce", "AtLeastOnce", "ExactlyOnce"], Spelled("quality of service")]


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
