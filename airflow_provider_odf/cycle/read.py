"""Read and preprocess new input ahead of its merge, in an engine application of its own."""

from __future__ import annotations

import dataclasses
import shutil
import uuid
from typing import TYPE_CHECKING, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.closed_files import make_folders
from airflow_provider_odf.cycle import matched_headers
from airflow_provider_odf.cycle.input_seal import check_input, seal_input
from airflow_provider_odf.cycle.messages import Input
from airflow_provider_odf.cycle.shapefiles import readable
from airflow_provider_odf.cycle.sources import read_step, source_of
from airflow_provider_odf.evolution import columns

if TYPE_CHECKING:
    from airflow_provider_odf.cycle.cycle import Cycle


def read(cycle: Cycle, new_input: Input) -> Input:
    """Return an input as typed Parquet in the work area, which `merge` does not read and preprocess again.

    :raises InvalidQuery: the data or the SQL are not valid.
    :raises SourceError: the input is no shapefile, where one is to be read.
    :raises ChainCorrupted: a fetched file is damaged.
    :raises InternalError: the engine broke down.
    """
    state = replay(cycle.store.dataset(new_input.dataset), new_input.base)
    check_input(cycle.store, new_input, state.dataset_id)
    source = source_of(state, new_input.source_name)
    # In the folder of the fetched files it is removed with them; other files have no such folder.
    parent = cycle.store.work(new_input.dataset)
    work = (parent / new_input.directory if new_input.directory else parent) / f"read-{uuid.uuid4().hex[:12]}"
    make_folders(work)
    features = work / "features"
    inputs = readable(read_step(source, new_input, state), new_input.files, features, cycle.progress, cycle.options)
    requests = [
        protocol.RawQueryRequest(
            input_data_paths=file.paths,
            output_data_path=str(work / f"{index}.parquet"),
            transform=columns.preprocess(source, inputs.read),
            read=inputs.read,
            label=file.label,
            dataset_alias=new_input.dataset,
            sensitive_columns=tuple(sorted(cycle.sensitivity.labels)),
        )
        for index, file in enumerate(inputs.files)
    ]
    answers = [cycle.runner.submit(request, cycle.progress) for request in requests]
    read_inputs = [cast(protocol.RawQuerySuccess, answer.result()) for answer in answers]
    shutil.rmtree(features, ignore_errors=True)
    outputs = iter(requests)
    files = tuple(
        dataclasses.replace(file, paths=(next(outputs).output_data_path,)) if file.paths else file
        for file in new_input.files
    )
    positional = matched_headers.distinct(header for success in read_inputs for header in success.headers)
    warnings = (*new_input.warnings, *inputs.notices)
    result = dataclasses.replace(new_input, files=files, is_read=True, headers=positional, warnings=warnings)
    seal_input(cycle.store, result, state.dataset_id)
    return result
