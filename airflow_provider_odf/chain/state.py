"""``ChainState``: what a metadata chain says up to one of its blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.protocol import DatasetVocabulary

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class InputPosition:
    """How far a derivative has read an input: its block, and the last record, None before the first."""

    block_hash: str | None
    offset: int | None


@dataclass(frozen=True)
class ChainState:
    """The fold of a chain from the seed to ``head``. Of events that replace each other the last one counts."""

    head: str
    sequence_number: int
    system_time: Instant
    dataset_id: str
    kind: str
    polling_source: model.SetPollingSource | None = None
    push_sources: Mapping[str, model.AddPushSource] = field(default_factory=dict)
    transform: model.SetTransform | None = None
    set_vocab: model.SetVocab | None = None
    schema: model.SetDataSchema | None = None
    info: model.SetInfo | None = None
    license: model.SetLicense | None = None
    attachments: model.SetAttachments | None = None
    merge: model.MergeStrategy | None = None
    """Of the source declared last, also once it is disabled: how the history reads."""
    last_offset: int | None = None
    """None before the first data."""
    watermark: Instant | None = None
    last_checkpoint: str | None = None
    """Physical hash of the checkpoint that the last data block left."""
    polled: model.SourceState | None = None
    """How far a polling source was read, also once it is disabled."""
    polled_fetch: model.FetchStep | None = None
    """What it was read by."""
    push_states: Mapping[str, model.SourceState] = field(default_factory=dict)
    """By name of the push source, one of which may have the name under which blocks keep the polling source's state."""
    query_inputs: Mapping[str, InputPosition] = field(default_factory=dict)
    """By dataset id."""
    slices: tuple[model.DataSlice, ...] = ()

    @property
    def has_data(self) -> bool:
        return self.last_offset is not None

    @cached_property
    def vocab(self) -> DatasetVocabulary:
        """The names of the system columns."""
        return ddl.vocabulary(self.set_vocab)

    def source_state(self, name: str) -> model.SourceState | None:
        """Of the polling source where there is one, else of the push source of that name."""
        return self.polled if self.polling_source is not None else self.push_states.get(name)

    def arrow_schema(self) -> pa.Schema | None:
        """The dataset's columns as Arrow, None before they are known."""
        from airflow_provider_odf.chain import schema

        return schema.arrow_schema(self.schema) if self.schema else None
