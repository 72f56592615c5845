"""``ChainState``: the state of a metadata chain at one of its blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """Position up to which a derivative has read an input: its block, and its last record, None before the first."""

    block_hash: str | None
    offset: int | None


@dataclass(frozen=True)
class ChainState:
    """State of a chain from the seed to ``head``. Of events that replace each other it has the last."""

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
    """Strategy of the newest source, even if it is disabled: it defines the current rows of the history."""
    last_offset: int | None = None
    """None before the first data."""
    watermark: Instant | None = None
    last_checkpoint: str | None = None
    """Physical hash of the newest checkpoint."""
    polling_state: model.SourceState | None = None
    """Source state of the polling source, even if it is disabled."""
    polling_fetch: model.FetchStep | None = None
    """Fetch step that this source state belongs to."""
    push_states: Mapping[str, model.SourceState] = field(default_factory=dict)
    """Source states by push source name. They are stored separately from ``polling_state``, because a push source may
    have the same name as the polling source has in blocks."""
    query_inputs: Mapping[str, InputPosition] = field(default_factory=dict)
    """Positions by dataset id."""
    is_transform_new: bool = False
    """Whether the transform is not the one that made the newest records."""
    slices: Sequence[model.DataSlice] = ()

    @property
    def has_data(self) -> bool:
        return self.last_offset is not None

    @property
    def next_offset(self) -> int:
        """The offset of the next record, which is the number of records so far."""
        return 0 if self.last_offset is None else self.last_offset + 1

    @cached_property
    def vocab(self) -> DatasetVocabulary:
        """Names of the system columns."""
        return ddl.vocabulary(self.set_vocab)

    def source_state(self, name: str) -> model.SourceState | None:
        """Return the state of the polling source if there is one, else of the push source of that name."""
        return self.polling_state if self.polling_source is not None else self.push_states.get(name)

    def arrow_schema(self) -> pa.Schema | None:
        """Return the dataset's columns as Arrow, or None if they are not known yet."""
        from airflow_provider_odf.chain import schema

        return schema.arrow_schema(self.schema) if self.schema else None

    def row_schema(self) -> pa.Schema | None:
        """Return the columns of the dataset's rows as readers get them, or None if they are not known yet."""
        from airflow_provider_odf.chain import schema

        stored = self.arrow_schema()
        return None if stored is None else schema.plain(stored)
