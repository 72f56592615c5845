"""Read and preprocess polled input ahead of its merge, in an engine application of its own."""

from __future__ import annotations

import dataclasses
import shutil
import uuid
from typing import TYPE_CHECKING, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.cycle import headers
from airflow_provider_odf.cycle.fetched import check_input, seal_input
from airflow_provider_odf.cycle.merge import merge_source, preprocess, read_step
from airflow_provider_odf.cycle.messages import Polled, Progress, silent
from airflow_provider_odf.cycle.shapefiles import readable
from airflow_provider_odf.source.options import Options

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.runner import Runner


def read(
    store: Store,
    polled: Polled,
    runner: Runner,
    *,
    options: Options = Options(),  # noqa: B008 - frozen
    progress: Progress = silent,
) -> Polled:
    """The same input as typed Parquet in the work area, which `merge` takes as it is.

    :raises InvalidQuery: the data or the SQL are not acceptable.
    :raises SourceError: the input is no shapefile, where one is to be read.
    :raises ChainCorrupted: a fetched file is not what was fetched.
    :raises InternalError: the engine broke down.
    """
    state = replay(store.dataset(polled.dataset), polled.base)
    check_input(store, polled, state.dataset_id)
    source = merge_source(state, polled.source_name)
    # Beside what was fetched it is removed with it; files that are not ours have no such place.
    parent = store.work(polled.dataset)
    work = (parent / polled.directory if polled.directory else parent) / f"read-{uuid.uuid4().hex[:12]}"
    work.mkdir(parents=True)
    features = work / "features"
    inputs = readable(read_step(source, polled, state), polled.files, features, progress, options)
    requests = [
        protocol.RawQueryRequest(
            input_data_paths=file.paths,
            output_data_path=str(work / f"{index}.parquet"),
            transform=preprocess(source, inputs.read),
            read=inputs.read,
            label=file.label,
            dataset_alias=polled.dataset,
        )
        for index, file in enumerate(inputs.files)
    ]
    answers = [runner.submit(request, progress) for request in requests]
    read_inputs = [cast(protocol.RawQuerySuccess, answer.result()) for answer in answers]
    shutil.rmtree(features, ignore_errors=True)
    outputs = iter(requests)
    files = tuple(
        dataclasses.replace(file, paths=(next(outputs).output_data_path,)) if file.paths else file
        for file in polled.files
    )
    positional = headers.distinct(header for success in read_inputs for header in success.headers)
    warnings = (*polled.warnings, *inputs.notices)
    result = dataclasses.replace(polled, files=files, is_read=True, headers=positional, warnings=warnings)
    seal_input(store, result, state.dataset_id)
    return result
