"""The specification's types: its metadata events, with the attachments, data files and source states that they record,
its resources ``DatasetSnapshot`` and ``MetadataBlock``, and, from the modules beside, every class that they consist of.

Members of the unions and fields have the order of the flatbuffers schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import Field, model_validator

from airflow_provider_odf.manifest.base import AliasText, Base64, Hash, IdText, Spelled, Time, UInt64, refuse
from airflow_provider_odf.manifest.base import Model as Model
from airflow_provider_odf.manifest.base import Variant as Variant
from airflow_provider_odf.manifest.data_schema import *
from airflow_provider_odf.manifest.fetch_steps import *
from airflow_provider_odf.manifest.fragments import *
from airflow_provider_odf.manifest.names import DatasetAlias

DatasetKind: TypeAlias = Annotated[Literal["Root", "Derivative"], Spelled("kind of dataset")]


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


class AddData(Variant):
    """A run ingested data into a root dataset."""

    kind: Literal["AddData"] = "AddData"
    prev_checkpoint: Hash | None = None
    prev_offset: UInt64 | None = None
    new_data: DataSlice | None = None
    new_checkpoint: Checkpoint | None = None
    new_watermark: Time | None = None
    new_source_state: SourceState | None = None
    extra: ExtraAttributes | None = None


class ExecuteTransform(Variant):
    """A run executed a derivative's transform."""

    kind: Literal["ExecuteTransform"] = "ExecuteTransform"
    query_inputs: tuple[ExecuteTransformInput, ...]
    prev_checkpoint: Hash | None = None
    prev_offset: UInt64 | None = None
    new_data: DataSlice | None = None
    new_checkpoint: Checkpoint | None = None
    new_watermark: Time | None = None


class Seed(Variant):
    """Identity of the dataset; always the first event."""

    kind: Literal["Seed"] = "Seed"
    dataset_id: IdText
    dataset_kind: DatasetKind


class SetPollingSource(Variant):
    """Source from which runs poll the data of a root dataset, and how they merge them."""

    kind: Literal["SetPollingSource"] = "SetPollingSource"
    fetch: FetchStep
    prepare: tuple[PrepStep, ...] | None = None
    read: ReadStep
    preprocess: Transform | None = None
    merge: MergeStrategy


class SetTransform(Variant):
    """Inputs and query of a derivative dataset."""

    kind: Literal["SetTransform"] = "SetTransform"
    inputs: tuple[TransformInput, ...]
    transform: Transform


class SetVocab(Variant):
    """Names of the system columns; absent ones have their default."""

    kind: Literal["SetVocab"] = "SetVocab"
    offset_column: str | None = None
    operation_type_column: str | None = None
    system_time_column: str | None = None
    event_time_column: str | None = None


class SetAttachments(Variant):
    """Files that belong to the dataset, such as a README."""

    kind: Literal["SetAttachments"] = "SetAttachments"
    attachments: Attachments


class SetInfo(Variant):
    """Description of the dataset."""

    kind: Literal["SetInfo"] = "SetInfo"
    description: str | None = None
    keywords: tuple[str, ...] | None = None


class SetLicense(Variant):
    """License of the data."""

    kind: Literal["SetLicense"] = "SetLicense"
    short_name: str
    name: str
    spdx_id: str | None = None
    website_url: str


class SetDataSchema(Variant):
    """Schema of slices after this event: an Arrow schema (flatbuffers ``Schema`` table) or an ODF schema.

    The specification up to 0.36 calls the Arrow schema ``schema`` and writes it in base64.
    """

    kind: Literal["SetDataSchema"] = "SetDataSchema"
    raw_arrow_schema: Base64 | None = None
    schema_: DataSchema | None = Field(None, alias="schema")

    @model_validator(mode="before")
    @classmethod
    def _base64_schema(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if not isinstance(value.get("schema"), str) or "rawArrowSchema" in value:
            return value
        return {("rawArrowSchema" if key == "schema" else key): v for key, v in value.items()}

    @model_validator(mode="after")
    def _is_one_schema(self) -> SetDataSchema:
        count = (self.raw_arrow_schema is not None) + (self.schema_ is not None)
        if count != 1:
            raise refuse(f"a SetDataSchema needs exactly one of `schema` and `rawArrowSchema`, not {count}")
        return self


class AddPushSource(Variant):
    """Steps that read and merge the data pushed under ``sourceName``."""

    kind: Literal["AddPushSource"] = "AddPushSource"
    source_name: str
    read: ReadStep
    preprocess: Transform | None = None
    merge: MergeStrategy


class DisablePushSource(Variant):
    """Removes the push source of this name."""

    kind: Literal["DisablePushSource"] = "DisablePushSource"
    source_name: str


class DisablePollingSource(Variant):
    """Removes the polling source."""

    kind: Literal["DisablePollingSource"] = "DisablePollingSource"


MetadataEvent: TypeAlias = Annotated[
    AddData
    | ExecuteTransform
    | Seed
    | SetPollingSource
    | SetTransform
    | SetVocab
    | SetAttachments
    | SetInfo
    | SetLicense
    | SetDataSchema
    | AddPushSource
    | DisablePushSource
    | DisablePollingSource,
    Field(discriminator="kind"),
    Spelled("metadata event"),
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
