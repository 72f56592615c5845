"""Read and preprocess polled input ahead of its merge, in an engine application of its own."""

from __future__ import annotations

import dataclasses
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf import protocol
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle.merge import merge_source, preprocess, read_step
from airflow_provider_odf.cycle.messages import Polled, Progress, silent

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.runner import Runner


def read(store: Store, polled: Polled, runner: Runner, *, progress: Progress = silent) -> Polled:
    """The same input as typed Parquet in the work area, which `merge` takes as it is.

    :raises InvalidQuery: the data or the SQL are not acceptable.
    :raises InternalError: the engine broke down.
    """
    source = merge_source(ChainState.of(store.dataset(polled.dataset), polled.base), polled.source_name)
    step = read_step(source, polled)
    # Beside what was fetched it is removed with it; files that are not ours have no such place.
    parent = Path(polled.directory) if polled.directory else store.work_area / polled.dataset.lower()
    work = parent / f"read-{uuid.uuid4().hex[:12]}"
    work.mkdir(parents=True)
    requests = [
        protocol.RawQueryRequest(
            input_data_paths=file.paths,
            output_data_path=str(work / f"{index}.parquet"),
            transform=preprocess(source, step),
            read=step,
            label=file.label,
            dataset_alias=polled.dataset,
        )
        for index, file in enumerate(polled.files)
    ]
    for answer in [runner.submit(request, progress) for request in requests]:
        answer.result()
    files = tuple(
        dataclasses.replace(file, paths=(request.output_data_path,))
        for file, request in zip(polled.files, requests, strict=True)
    )
    return dataclasses.replace(polled, files=files, is_read=True)
