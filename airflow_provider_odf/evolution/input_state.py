"""Inputs of a derivative as of a block each, and the requests to analyze a query over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.state import InputPosition
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.evolution.inputs import merge_of, translated

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.names import DatasetAlias

NOWHERE = InputPosition(None, None)
"""Position in an input of which nothing was read."""


@dataclass(frozen=True)
class InputState:
    """An input at the block up to which it is read now, and the position up to which it was read before. ``alias`` is
    its name in queries."""

    dataset: Dataset
    state: ChainState
    before: InputPosition
    alias: str

    @property
    def has_new_records(self) -> bool:
        return self.state.last_offset is not None and self.state.last_offset != self.before.offset

    @property
    def has_new_blocks(self) -> bool:
        return self.state.head != self.before.block_hash


def watermark_of(inputs: Sequence[InputState], before: Instant | None) -> Instant | None:
    """Return the earliest watermark of the inputs, but never one earlier than before; None if an input has none."""
    watermarks = [i.state.watermark for i in inputs]
    known = [watermark for watermark in watermarks if watermark is not None]
    newest = min(known) if len(known) == len(watermarks) else None
    if newest is None or before is None:
        return newest or before
    return max(newest, before)


def analysis_request(
    derivative: DatasetAlias, state: ChainState, inputs: Sequence[InputState]
) -> protocol.TransformRequest:
    """Return the request to analyze the transform of a state: the inputs have columns and no records.

    :raises InvalidInput: the state has no transform, or a query cannot be translated.
    """
    if state.transform is None:
        raise InvalidInput(f"{derivative} has no transform: add SetTransform to its manifest")
    return protocol.TransformRequest(
        dataset_id=state.dataset_id,
        dataset_alias=str(derivative),
        system_time="1970-01-01T00:00:00Z",
        vocab=state.vocab,
        transform=translated(state.transform.transform, {i.alias: i.state for i in inputs}),
        query_inputs=tuple(map(_without_records, inputs)),
        next_offset=0,
        new_checkpoint_path="",
        new_data_path="",
        schema=chain_schema.ipc_base64(state.schema) if state.schema else None,
    )


def _without_records(of: InputState) -> protocol.TransformRequestInput:
    state = of.state
    return protocol.TransformRequestInput(
        dataset_id=state.dataset_id,
        dataset_alias=str(of.dataset.alias),
        query_alias=of.alias,
        vocab=state.vocab,
        data_paths=(),
        schema_file="",
        explicit_watermarks=(),
        merge=merge_of(state),
        schema=chain_schema.ipc_base64(state.schema) if state.schema else "",
    )
