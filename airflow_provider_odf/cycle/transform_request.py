"""The request to compute the next records of a derivative, from its chain and those of its inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.cycle.history import history
from airflow_provider_odf.evolution.inputs import InputState, analysis_request, watermark_of
from airflow_provider_odf.instant import Instant

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.state import ChainState
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.messages import Progress


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
    sensitive_columns: tuple[str, ...] = (),
) -> protocol.TransformRequest:
    """Return the request for the records after a state of a derivative. ``directory`` is where the slice is written.

    :raises InvalidInput: a query cannot be translated.
    :raises ChainCorrupted: a slice of an input or of the derivative is missing or damaged.
    """
    watermark = watermark_of(inputs, state.watermark)
    request = analysis_request(derivative.alias, state, inputs)
    return dataclasses.replace(
        request,
        system_time=str(system_time),
        query_inputs=tuple(
            _with_records(store, i, message, progress) for i, message in zip(inputs, request.query_inputs, strict=True)
        ),
        next_offset=state.next_offset,
        new_data_path=directory,
        history=history(store, derivative, state, progress),
        watermark=str(watermark) if watermark else None,
        is_query_new=state.is_transform_new,
        contract=contract,
        sensitive_columns=sensitive_columns,
    )


def _with_records(
    store: Store, of: InputState, message: protocol.TransformRequestInput, progress: Progress
) -> protocol.TransformRequestInput:
    state = of.state
    slices = history(store, of.dataset, state, progress)
    new_from = 0 if of.before.offset is None else of.before.offset + 1
    new = [s for s in slices if s.offset_interval.start >= new_from]
    watermarks = (protocol.Watermark(str(state.system_time), str(state.watermark)),) if state.watermark else ()
    return dataclasses.replace(
        message,
        data_paths=tuple(s.path for s in new),
        schema_file=new[0].path if new else "",
        explicit_watermarks=watermarks,
        offset_interval=protocol.OffsetInterval(new_from, new[-1].offset_interval.end) if new else None,
        history=slices,
    )
