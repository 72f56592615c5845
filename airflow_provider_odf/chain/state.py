"""``ChainState``: what a metadata chain says up to one of its blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.chain import rules
from airflow_provider_odf.chain.dataset import HEAD, Dataset
from airflow_provider_odf.errors import BlockRejected, ChainCorrupted
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import ddl, model
from airflow_provider_odf.manifest.model import MetadataBlock
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

    @classmethod
    def of(cls, dataset: Dataset, ref: str = HEAD) -> ChainState:
        """The state at a ref or block hash, every block checked.

        :raises DatasetNotFound: there is no such ref.
        :raises ChainCorrupted: a block is missing, damaged, or breaks a rule.
        """
        state: ChainState | None = None
        slices: list[model.DataSlice] = []
        for block_hash, block in reversed(list(dataset.walk(ref))):
            try:
                state = cls.seed(block_hash, block) if state is None else state._next(block_hash, block)
            except BlockRejected as e:
                path = dataset.storage.local_path(f"blocks/{block_hash}")
                raise ChainCorrupted(f"{path}: {e}") from e
            if (new_data := _new_data(block)) is not None:
                slices.append(new_data)
        assert state is not None  # noqa: S101 - a walk has at least one block
        return replace(state, slices=tuple(slices))

    @classmethod
    def seed(cls, block_hash: str, block: MetadataBlock) -> ChainState:
        """The state after the first block.

        :raises BlockRejected: it is no first block.
        """
        event = rules.check_seed(block)
        return cls(block_hash, 0, block.system_time, event.dataset_id, event.dataset_kind)

    def apply(self, block_hash: str, block: MetadataBlock) -> ChainState:
        """The state after one more block.

        :raises BlockRejected: the block may not follow.
        """
        state, new_data = self._next(block_hash, block), _new_data(block)
        return state if new_data is None else replace(state, slices=(*self.slices, new_data))

    def _next(self, block_hash: str, block: MetadataBlock) -> ChainState:
        """The next state but for its slices: adding to a tuple block by block would cost the square of their number."""
        rules.check(self, block)
        changes = _CHANGES[block.event.kind](self, block.event)
        return replace(
            self,
            head=block_hash,
            sequence_number=block.sequence_number,
            system_time=block.system_time,
            **changes,
        )

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


def _new_data(block: MetadataBlock) -> model.DataSlice | None:
    return block.event.new_data if isinstance(block.event, model.AddData | model.ExecuteTransform) else None


def _data(state: ChainState, event: model.AddData | model.ExecuteTransform) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "watermark": event.new_watermark,
        "last_checkpoint": event.new_checkpoint.physical_hash if event.new_checkpoint else None,
    }
    if event.new_data is not None:
        changes["last_offset"] = event.new_data.offset_interval.end
    return changes


def _add_data(state: ChainState, event: model.AddData) -> dict[str, Any]:
    changes = _data(state, event)
    source_state = event.new_source_state
    if state.polling_source is not None:
        # A polling source is the only source. Its state is what its newest block says, be it nothing.
        changes |= {"polled": source_state, "polled_fetch": state.polling_source.fetch}
    elif source_state is not None:
        changes["push_states"] = {**state.push_states, source_state.source_name: source_state}
    return changes


def _execute_transform(state: ChainState, event: model.ExecuteTransform) -> dict[str, Any]:
    positions = {
        i.dataset_id: InputPosition(
            i.new_block_hash or i.prev_block_hash, i.prev_offset if i.new_offset is None else i.new_offset
        )
        for i in event.query_inputs
    }
    return {**_data(state, event), "query_inputs": positions}


def _disable_push(state: ChainState, event: model.DisablePushSource) -> dict[str, Any]:
    return {"push_sources": {name: s for name, s in state.push_sources.items() if name != event.source_name}}


_CHANGES: dict[str, Callable[[ChainState, Any], dict[str, Any]]] = {
    "AddData": _add_data,
    "ExecuteTransform": _execute_transform,
    "SetPollingSource": lambda _, event: {"polling_source": event, "merge": event.merge},
    "DisablePollingSource": lambda _, event: {"polling_source": None},
    "AddPushSource": lambda state, event: {
        "push_sources": {**state.push_sources, event.source_name: event},
        "merge": event.merge,
    },
    "DisablePushSource": _disable_push,
    "SetTransform": lambda _, event: {"transform": event},
    "SetVocab": lambda _, event: {"set_vocab": event},
    "SetDataSchema": lambda _, event: {"schema": event},
    "SetInfo": lambda _, event: {"info": event},
    "SetLicense": lambda _, event: {"license": event},
    "SetAttachments": lambda _, event: {"attachments": event},
}
"""Event -> what it changes of the state."""
