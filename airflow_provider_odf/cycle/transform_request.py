"""The request to compute the next records of a derivative, from its chain and those of its inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.state import InputPosition
from airflow_provider_odf.cycle.history import history
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.evolution.inputs import query_input, translated
from airflow_provider_odf.instant import Instant

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.messages import Progress

NOWHERE = InputPosition(None, None)
"""Position in an input of which nothing was read."""


@dataclass(frozen=True)
class InputState:
    """An input at the block up to which it is read now, and the position up to which it was read before."""

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


def transform_request(
    store: Store,
    derivative: Dataset,
    state: ChainState,
    inputs: Sequence[InputState],
    *,
    system_time: Instant,
    directory: str,
    progress: Progress,
    contract: protocol.Contract | None = None,
) -> protocol.TransformRequest:
    """Return the request for the records after a state of a derivative. ``directory`` is where the slice is written.

    :raises InvalidInput: a query cannot be translated.
    :raises ChainCorrupted: a slice of an input or of the derivative is missing or damaged.
    """
    if state.transform is None:
        raise InvalidInput(f"{derivative.alias} has no transform: add SetTransform to its manifest")
    watermark = watermark_of(inputs, state.watermark)
    query_inputs = tuple(_with_slices(store, i, progress) for i in inputs)
    return protocol.TransformRequest(
        dataset_id=state.dataset_id,
        dataset_alias=str(derivative.alias),
        system_time=str(system_time),
        vocab=state.vocab,
        transform=translated(state.transform.transform, {i.alias: i.state for i in inputs}),
        query_inputs=query_inputs,
        next_offset=0 if state.last_offset is None else state.last_offset + 1,
        new_checkpoint_path="",
        new_data_path=directory,
        history=history(store, derivative, state, progress),
        schema=chain_schema.ipc_base64(state.schema) if state.schema else None,
        watermark=str(watermark) if watermark else None,
        is_query_new=state.is_transform_new,
        contract=contract,
    )


def _with_slices(store: Store, of: InputState, progress: Progress) -> protocol.TransformRequestInput:
    state = of.state
    slices = history(store, of.dataset, state, progress)
    new_from = 0 if of.before.offset is None else of.before.offset + 1
    new = [s for s in slices if s.offset_interval.start >= new_from]
    watermarks = (protocol.Watermark(str(state.system_time), str(state.watermark)),) if state.watermark else ()
    return dataclasses.replace(
        query_input(of.dataset, state, of.alias),
        data_paths=tuple(s.path for s in new),
        schema_file=new[0].path if new else "",
        explicit_watermarks=watermarks,
        offset_interval=protocol.OffsetInterval(new_from, new[-1].offset_interval.end) if new else None,
        history=slices,
    )
